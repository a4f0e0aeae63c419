"""Entity types that OpenMetadata does not have, added to the table before anything reads it.

For a process of its own (``test_invented_type.py`` starts one). The rows are what ``docs/recipes.md`` asks for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx

from tocsin.model.entity_type import COMMON, DATA, EntityType, Parentage, words
from tocsin.model.types import assets

_OWN = (COMMON | DATA) - words("service serviceType")
FOLDER = EntityType("notebookFolder", "notebookFolders", keys=_OWN | words("size"), shapes={"size": "integer"})
NOTEBOOK = EntityType(
    "notebook",
    "notebooks",
    keys=_OWN | words("cells language notebookFolder"),
    required=("name", "notebookFolder", "language"),
    places=(Parentage("notebookFolder", ("notebookFolder",)),),
    members=("cells",),
    breaking=("cells",),
    shapes={
        "language": {"enum": ["Python", "SQL"]},
        "cells": {"list": {"fields": {"name": "text", "source": "text"}, "required": ["name"], "open": True}},
    },
)
CELLS = [{"name": "load", "source": "select 1"}, {"name": "plot"}]
PATCH = {"Content-Type": "application/json-patch+json"}


def refusals(client: httpx.Client) -> None:
    """Requests that its row does not allow are refused, and the answer says where."""
    good = {"name": "n", "notebookFolder": "f", "language": "SQL"}
    for wrong, place in (
        ({"language": "Cobol"}, "language"),
        ({"cells": [{"source": "x"}]}, "cells"),
        ({"tags": 5}, "tags"),
        ({"spoon": 1}, "spoon"),
        ({"notebookFolder": "nowhere"}, "nowhere"),
    ):
        answer = client.post("/notebooks", json=good | wrong)
        assert answer.status_code in (400, 404), answer.text
        assert place in answer.json()["message"]
    answer = client.post("/notebooks", json={"name": "n", "language": "SQL"})
    assert (answer.status_code, answer.json()["message"]) == (400, "a notebook needs notebookFolder")


def life(client: httpx.Client) -> None:
    """One is created, found, patched, followed, talked about, deleted, restored and deleted for good."""
    folder = expect_status(client.post("/notebookFolders", json={"name": "f", "size": 3}), 201)
    refusals(client)
    body = {"name": "n", "notebookFolder": "f", "language": "SQL", "cells": CELLS}
    notebook = expect_status(client.post("/notebooks", json=body), 201)
    path = f"/notebooks/{notebook['id']}"
    assert (notebook["fullyQualifiedName"], notebook["notebookFolder"]["id"]) == ("f.n", folder["id"])
    assert expect_status(client.put("/notebooks", json=body))["version"] == 0.1
    changes = [{"op": "add", "path": "/description", "value": "Sales."}, {"op": "remove", "path": "/cells/1"}]
    changed_document = expect_status(client.patch(path, content=json.dumps(changes), headers=PATCH))
    deletions = [{"name": "cells", "oldValue": [{"name": "plot"}]}]
    assert (changed_document["version"], changed_document["changeDescription"]["fieldsDeleted"]) == (1.1, deletions)
    me = expect_status(client.get("/users/loggedInUser"))["id"]
    expect_status(client.put(f"{path}/followers", json=me))
    assert [entry["id"] for entry in expect_status(client.get(f"{path}?fields=followers"))["followers"]] == [me]
    expect_status(
        client.post("/feed", json={"message": "Why?", "about": "<#E::notebook::f.n::cells::load::source>"}), 201
    )
    expect_status(client.delete(path))
    expect_status(client.put("/notebooks/restore", json={"id": notebook["id"]}))
    assert expect_status(client.get("/notebooks/name/f.n"))["deleted"] is False
    expect_status(client.delete(f"/notebookFolders/{folder['id']}?recursive=true&hardDelete=true"))
    assert client.get(path).status_code == 404
    event_types = [
        entry["eventType"]
        for entry in expect_status(client.get("/events?limit=1000"))["data"]
        if entry["entityType"] == "notebook"
    ]
    assert event_types == [
        "entityCreated", "entityUpdated", "entityUpdated", "entitySoftDeleted", "entityRestored", "entityDeleted"
    ], event_types  # fmt: skip


def name_in_rules(client: httpx.Client) -> None:
    """Policies, alerts and searches may name it."""
    rule = {"name": "r", "effect": "deny", "operations": ["EditDescription"], "resources": ["notebook"]}
    expect_status(client.post("/policies", json={"name": "p", "rules": [rule]}), 201)
    expect_status(client.get("/permissions/notebook"))
    rules = [{"name": "r", "effect": "include", "condition": "matchAnyFieldChange({'cells'})"}]
    alert = {"name": "a", "alertType": "Notification", "filteringRules": {"resources": ["notebook"], "rules": rules}}
    expect_status(
        client.post(
            "/events/subscriptions", json=alert | {"destinations": [{"category": "Followers", "type": "ActivityFeed"}]}
        ),
        201,
    )
    assert expect_status(client.get("/search/query?q=*&index=notebook"))["hits"]["hits"] == []
    assert expect_status(client.get("/metadata/types/name/notebook"))["category"] == "entity"


def expect_status(answer: httpx.Response, status: int = 200) -> dict[str, Any]:
    """Return what an answer says, which is the one expected."""
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.json()
    return document


def main(path: Path) -> None:
    """Add the types, and see a server handle them."""
    assets.ROWS = (*assets.ROWS, FOLDER, NOTEBOOK)  # type: ignore[assignment]  # a longer table
    from tests.serving import running_server

    from tocsin.store.database.engine import open_engine
    from tocsin.store.database.schema import migrate

    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served, served.administrator() as client:
        life(client)
        name_in_rules(client)
    engine.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
