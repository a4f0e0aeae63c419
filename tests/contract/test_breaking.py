"""Tests of breaking changes by HTTP: in versions, differences, events and their filter."""

from __future__ import annotations

import json

import httpx
from tests.contract.test_access import restrict
from tests.contract.test_events import PATCH, describe
from tests.serving import Json, Served, table


def drop_column(client: httpx.Client, asset: Json) -> str:
    """Remove the first column of a table; return its name."""
    answer = client.patch(
        f"/tables/{asset['id']}", content=json.dumps([{"op": "remove", "path": "/columns/0"}]), headers=PATCH
    )
    assert answer.is_success, answer.text
    return str(asset["columns"][0]["name"])


def test_versions_and_differences_say_whether_and_why_they_break(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    name = drop_column(administrator, orders)
    history = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()
    assert [json.loads(one)["version"] for one in history["versions"]] == [1.2, 0.2, 0.1]
    (reason,), *earlier_reasons = history["breaking"]
    assert (reason["kind"], reason["field"], earlier_reasons) == ("fieldRemoved", f"columns.{name}", [[], []])
    assert reason["text"].startswith(f"column {name} BIGINT removed")
    assert "breaking" not in administrator.get(f"/tables/{orders['id']}/versions").json()
    newest = administrator.get(f"/tables/{orders['id']}/diff").json()
    assert (newest["breaking"], newest["breakingReasons"]) == (True, [reason])
    assert newest["reasons"] == []
    backwards = administrator.get(f"/tables/{orders['id']}/diff?from=1.2&to=0.2").json()
    assert (backwards["breaking"], backwards["breakingReasons"]) == (False, [])


def test_events_are_found_by_what_they_break(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    drop_column(administrator, orders)
    breaking = administrator.get("/events?breaking=true&format=tocsin").json()["data"]
    assert [one["currentVersion"] for one in breaking] == [1.2]
    assert (breaking[0]["breaking"], breaking[0]["breakingReasons"][0]["kind"]) == (True, "fieldRemoved")
    harmless = administrator.get("/events?breaking=false&entityType=table&format=tocsin").json()["data"]
    assert [(one["currentVersion"], one["breaking"]) for one in harmless] == [(0.1, False), (0.2, False)]
    assert administrator.get("/events?breaking=true&entityType=user").json()["data"] == []
    assert administrator.get("/events?breaking=true&entityCreated=*").json()["data"] == []
    assert administrator.get("/events?breaking=perhaps").status_code == 400


def test_other_forms_of_an_event_have_no_key_of_ours(administrator: httpx.Client, orders: Json) -> None:
    drop_column(administrator, orders)
    for payload_format in ("default", "seed", "openmetadata"):
        (event,) = administrator.get(f"/events?breaking=true&format={payload_format}").json()["data"]
        assert not {"breaking", "breakingReasons"} & event.keys()
    (event,) = administrator.get("/events?breaking=true&format=cloudEvents").json()["data"]
    assert event["breaking"] == "true"


def test_an_explanation_names_what_reads_a_breaking_change_to_who_may_see_it(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    first, second = (column["name"] for column in orders["columns"][:2])
    hidden_table = table(administrator, "payroll", tags=[{"tagFQN": "PII.Sensitive"}])
    columns = {"by_lineage": None, "of_first": first, "of_second": second}
    for reader in (*(table(administrator, name) | {"reads": column} for name, column in columns.items()), hidden_table):
        to_column: Json = {"fromColumns": [f"{orders['fullyQualifiedName']}.{reader.get('reads')}"]}
        to_column["toColumn"] = f"{reader['fullyQualifiedName']}.{reader['columns'][0]['name']}"
        details = {"columnsLineage": [to_column]} if reader.get("reads") else {}
        ends = {key: {"id": one["id"], "type": "table"} for key, one in (("fromEntity", orders), ("toEntity", reader))}
        assert administrator.put("/lineage", json={"edge": {**ends, "lineageDetails": details}}).is_success
    describe(administrator, orders, "Orders.")
    drop_column(administrator, orders)
    user_id, rolf = served.person("rolf")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    harmless, breaking = administrator.get(f"/events?entityId={orders['id']}&entityUpdated=table").json()["data"]
    assert "readers" not in administrator.get(f"/events/{harmless['id']}/explain").json()

    def readers_shown_to(client: httpx.Client) -> tuple[set[str], int, int]:
        readers = client.get(f"/events/{breaking['id']}/explain").json()["readers"]
        return {one["name"] for one in readers["data"]}, readers["total"], readers["hidden"]

    assert readers_shown_to(administrator) == ({"by_lineage", "of_first", "payroll"}, 3, 0)
    with rolf:
        assert readers_shown_to(rolf) == ({"by_lineage", "of_first"}, 2, 1)
