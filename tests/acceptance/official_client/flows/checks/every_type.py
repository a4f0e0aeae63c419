"""Checks of the operations that every type has, for each type that Tocsin serves and the client has a class for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from checks.checking import CHECKS, Check, CheckSetup, check, id_of, status_of_refusal, text
from everything import EVERYTHING, Row
from metadata.generated.schema.type.basic import Markdown
from metadata.ingestion.ometa.routes import ROUTES
from speaking import fqn_of, put

_ROWS: dict[str, Row] = {row[0].__name__: row for row in EVERYTHING}
_GONE_FOR_GOOD = frozenset(name for name, row in _ROWS.items() if "deleted" not in row[0].model_fields)
"""Types that are always deleted for good: their schema has no ``deleted``."""

_NEVER_SEEN = "00000000-0000-4000-8000-000000000000"

OfType = Callable[[CheckSetup, type, Any], None]
"""A check of a type: the setup, the class, and an entity of that class."""


def _for_each_type(methods: str, claim: str, *, but: frozenset[str] = frozenset()) -> Callable[[OfType], OfType]:
    """Register a check once for every type but some."""

    def register(work: OfType) -> OfType:
        for name in (one for one in _ROWS if one not in but):
            check_name = f"{name}: {methods.replace(' ', ', ')}: {claim}"
            CHECKS.append(Check(check_name, frozenset(methods.split()), _of_type(name, work)))
        return work

    return register


def _of_type(name: str, work: OfType) -> Callable[[CheckSetup], None]:
    def run(setup: CheckSetup) -> None:
        if name not in setup.entities_by_type:
            setup.entities_by_type[name] = new(setup, name, "kept")
        work(setup, _ROWS[name][0], setup.entities_by_type[name])

    return run


def request_of(setup: CheckSetup, type_name: str, name: str) -> tuple[type, str, dict[str, Any]]:
    """Return what ``put`` takes to make another entity of a type."""
    _, request, _, fields = _ROWS[type_name]
    changed: dict[str, Any] = {"email": f"{name}@example.org"} if "email" in fields else {}
    if type_name == "Bot":
        changed["botUser"] = text(put(setup.metadata, *request_of(setup, "User", f"{name}_user")).name)
    if type_name == "User":
        changed["isBot"] = name.endswith("_user")
    if type_name == "Query":
        changed["query"] = f"SELECT '{name}'"
    return request, name, fields | changed


def new(setup: CheckSetup, type_name: str, prefix: str) -> Any:
    """Create another entity of a type."""
    return put(setup.metadata, *request_of(setup, type_name, setup.name(prefix)))


@_for_each_type("create_or_update", "makes it, version 0.1, with the name that was sent")
def _create(setup: CheckSetup, kind: type, stored: Any) -> None:
    name = setup.name("made")
    created = put(setup.metadata, *request_of(setup, kind.__name__, name))
    assert type(created) is kind
    assert (text(created.name), created.version.root) == (name, 0.1), created
    assert created.id != stored.id


@_for_each_type("create_or_update", "unchanged the second time, it stays the version that it was")
def _put_again(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    request = request_of(setup, kind.__name__, setup.name("twice"))
    first, second = put(setup.metadata, *request), put(setup.metadata, *request)
    assert (second.id, second.version) == (first.id, first.version), second.changeDescription


@_for_each_type("create", "refuses a name that is taken with 409")
def _create_again(setup: CheckSetup, kind: type, stored: Any) -> None:
    request, name, fields = request_of(setup, kind.__name__, text(stored.name))
    if "service" in request.model_fields and "service" not in fields:
        fields = fields | {"service": {"id": id_of(setup.entities["DatabaseService pg"]), "type": "databaseService"}}
    assert status_of_refusal(lambda: setup.metadata.create(request(name=name, **fields))) == 409


@_for_each_type("get_by_name", "reads it with all fields")
def _by_name(setup: CheckSetup, kind: type, stored: Any) -> None:
    read = setup.metadata.get_by_name(kind, fqn_of(stored), fields=["*"])
    assert (type(read), read.id, text(read.name)) == (kind, stored.id, text(stored.name))


@_for_each_type("get_by_name get_by_id", "None for a name and an id that nobody has")
def _none(setup: CheckSetup, kind: type, stored: Any) -> None:
    assert setup.metadata.get_by_name(kind, fqn_of(stored) + "_not") is None
    assert setup.metadata.get_by_id(kind, _NEVER_SEEN) is None


@_for_each_type("get_by_id", "reads it with all fields")
def _by_id(setup: CheckSetup, kind: type, stored: Any) -> None:
    read = setup.metadata.get_by_id(kind, stored.id, fields=["*"])
    assert (type(read), read.id, text(read.name)) == (kind, stored.id, text(stored.name))


@_for_each_type("get_entity_reference", "names its type, id and FQN")
def _reference(setup: CheckSetup, kind: type, stored: Any) -> None:
    read = setup.metadata.get_entity_reference(kind, fqn_of(stored))
    assert (read.id, read.fullyQualifiedName) == (stored.id, fqn_of(stored))


@_for_each_type("list_entities", "pages forth and back, each entity once")
def _pages(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    new(setup, kind.__name__, "paged")
    first = setup.metadata.list_entities(kind, limit=1)
    second = setup.metadata.list_entities(kind, limit=1, after=first.after)
    assert (len(first.entities), len(second.entities)) == (1, 1)
    assert first.entities[0].id != second.entities[0].id
    back = setup.metadata.list_entities(kind, limit=1, before=second.before)
    assert back.entities[0].id == first.entities[0].id
    assert first.total == second.total >= 2


@_for_each_type("list_all_entities", "yields every entity once, with all fields")
def _all(setup: CheckSetup, kind: type, stored: Any) -> None:
    ids = [id_of(one) for one in setup.metadata.list_all_entities(kind, fields=["*"], limit=20)]
    assert len(set(ids)) == len(ids) == setup.metadata.list_entities(kind, limit=1).total
    assert id_of(stored) in ids


@_for_each_type("patch_description get_by_id", "with force, what is there is replaced; without, it stays")
def _description_is_patched(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    created = new(setup, kind.__name__, "described")
    fields = ["testDefinition", "testSuite"] if kind.__name__ == "TestCase" else None
    read = setup.metadata.get_by_id(kind, created.id, fields=fields)
    patched = setup.metadata.patch_description(kind, read, "Said anew.", force=True)
    assert text(patched.description) == "Said anew."
    assert patched.version.root == 0.2
    assert setup.metadata.patch_description(kind, patched, "Said again.") is None
    assert text(setup.metadata.get_by_id(kind, created.id).description) == "Said anew."


@_for_each_type("patch", "a display name makes version 0.2 and says what changed")
def _display_name_is_patched(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    source = new(setup, kind.__name__, "displayed")
    renamed = source.model_copy(deep=True)
    renamed.displayName = "Shown so"
    patched = setup.metadata.patch(kind, source, renamed, skip_on_failure=False)
    assert (patched.displayName, patched.version.root) == ("Shown so", 0.2)
    changed = patched.changeDescription
    assert "displayName" in {text(one.name) for one in [*changed.fieldsAdded, *changed.fieldsUpdated]}


@_for_each_type("get_list_entity_versions list_versions patch", "all versions, newest first, each of the type")
def _versions(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    source = new(setup, kind.__name__, "versioned")
    changed = source.model_copy(deep=True)
    changed.description = Markdown("Another one.")
    assert setup.metadata.patch(kind, source, changed, skip_on_failure=False) is not None
    for history in (
        setup.metadata.get_list_entity_versions(source.id, kind),
        setup.metadata.list_versions(source.id, kind),
    ):
        versions = [kind(**json.loads(one)) for one in history.versions]
        assert [one.version.root for one in versions] == [0.2, 0.1]


@_for_each_type("get_entity_version", "the first version, as it was")
def _first_version(setup: CheckSetup, kind: type, stored: Any) -> None:
    read = setup.metadata.get_entity_version(kind, stored.id, 0.1)
    assert (type(read), read.id, read.version.root) == (kind, stored.id, 0.1)
    assert setup.metadata.get_entity_version(kind, stored.id, 9.9) is None


@_for_each_type("delete get_by_name", "for good: it cannot be read, even among deleted ones")
def _hard_delete(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    created = new(setup, kind.__name__, "gone")
    setup.metadata.delete(kind, created.id, recursive=True, hard_delete=True)
    assert setup.metadata.get_by_name(kind, fqn_of(created), fields=["*"], include="all") is None


@_for_each_type(
    "delete get_by_name restore",
    "softly: it is hidden until it is restored",
    but=_GONE_FOR_GOOD | {"EventSubscription"},
)
def _soft_delete(setup: CheckSetup, kind: type, stored: Any) -> None:
    del stored
    created = new(setup, kind.__name__, "hidden")
    setup.metadata.delete(kind, created.id, recursive=True)
    assert setup.metadata.get_by_name(kind, fqn_of(created)) is None
    deleted = setup.metadata.get_by_name(kind, fqn_of(created), fields=["*"], include="deleted")
    assert (deleted.id, deleted.deleted) == (created.id, True)
    restored = setup.metadata.restore(kind, created.id)
    assert (restored.id, restored.deleted) == (created.id, False)
    assert setup.metadata.get_by_name(kind, fqn_of(created)).id == created.id


@check("get_suffix", "every type that the client can create and the server serves has its checks")
def _no_type_is_missing(setup: CheckSetup) -> None:
    paths = setup.metadata.client.get("/openapi.json")["paths"]
    served = {name for name, path in ROUTES.items() if f"/api/v1{path}" in paths and name.startswith("Create")}
    request_names = {request.__name__ for _, request, _, _ in EVERYTHING}
    of_tasks = {"CreateSuggestionRequest"} & ROUTES.keys()  # their own module checks them
    assert served - request_names - of_tasks == {"CreateQueryCostRecordRequest"}, "a type that is served has no checks"
    assert all(setup.metadata.get_suffix(kind) in ROUTES.values() for kind, *_ in EVERYTHING)
