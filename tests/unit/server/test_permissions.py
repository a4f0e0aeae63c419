"""May they? Every rule of who may write what, from both sides."""

from __future__ import annotations

import pytest

from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Actor
from tocsin.server.permissions import check_alert, check_delete, check_patch, check_put

ADMIN = Actor(id="a", name="admin", is_admin=True)
BOT = Actor(id="b", name="bot", is_bot=True)
ALICE = Actor(id="c", name="alice")
TABLE, USER, TEAM = (ENTITY_TYPES[name] for name in ("table", "user", "team"))


def replace(path: str) -> list[Document]:
    return [{"op": "replace", "path": path, "value": True}]


def test_everybody_writes_assets() -> None:
    for actor in (ADMIN, BOT, ALICE):
        check_put(actor, TABLE, {"name": "t"})
        check_patch(actor, TABLE, "1", replace("/isAdmin"))
        check_delete(actor, TABLE, "1")


@pytest.mark.parametrize("row", [USER, TEAM], ids=lambda row: row.name)
def test_people_and_teams_are_made_by_administrators_and_bots(row: object) -> None:
    for actor in (ADMIN, BOT):
        check_put(actor, row, {"name": "x"})  # type: ignore[arg-type]  # a row of the table
    with pytest.raises(Forbidden):
        check_put(ALICE, row, {"name": "x"})  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize("power", ["isAdmin", "isBot"])
def test_only_administrators_give_powers(power: str) -> None:
    check_put(ADMIN, USER, {"name": "x", power: True})
    check_patch(ADMIN, USER, "x", replace(f"/{power}"))
    with pytest.raises(Forbidden):
        check_put(BOT, USER, {"name": "x", power: False})
    for actor, user_id in ((BOT, "x"), (ALICE, ALICE.id)):
        for operations in (
            replace(f"/{power}"),
            replace(""),
            [{"op": "move", "from": f"/{power}", "path": "/displayName"}],
            [{"op": "copy", "from": "/displayName", "path": f"/{power}"}],
        ):
            with pytest.raises(Forbidden):
                check_patch(actor, USER, user_id, operations)


def test_everybody_changes_how_they_are_shown_but_not_others() -> None:
    check_patch(ALICE, USER, ALICE.id, [*replace("/displayName"), *replace("/profile/images")])
    for user_id, path in (("somebody", "/displayName"), (ALICE.id, "/email"), (ALICE.id, "/teams/0")):
        with pytest.raises(Forbidden):
            check_patch(ALICE, USER, user_id, replace(path))


def test_people_are_deleted_by_administrators_and_never_by_themselves() -> None:
    check_delete(ADMIN, USER, "x")
    for actor in (BOT, ALICE):
        with pytest.raises(Forbidden):
            check_delete(actor, USER, "x")
    with pytest.raises(Forbidden):
        check_delete(ADMIN, USER, ADMIN.id)


@pytest.mark.parametrize("operations", [None, 1, "text", {}, [1], [[]]])
def test_what_is_no_patch_is_refused(operations: object) -> None:
    with pytest.raises(InvalidInput):
        check_patch(ADMIN, TABLE, "1", operations)


def test_an_alert_is_changed_by_its_owners_its_maker_and_administrators() -> None:
    alert = {"owners": [{"id": ALICE.id}, {"id": "team"}]}
    check_alert(ADMIN, alert, "somebody", [])
    check_alert(ALICE, alert, "somebody", [])
    check_alert(BOT, alert, "bot", [])
    check_alert(BOT, alert, "somebody", ["team"])
    with pytest.raises(Forbidden):
        check_alert(BOT, alert, "somebody", ["another"])
    with pytest.raises(Forbidden):
        check_alert(ALICE, {}, "somebody", [])
