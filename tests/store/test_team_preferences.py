"""Tests of the defaults of teams for their members, on both stores: ``shop`` has ana, ``tills`` below it has ben."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy import event as sqlalchemy_event
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, NIGHT_MS, company_of, due, in_app, of_kind

from tocsin.model.preferences import RECOMMENDED, DefaultPreferences, Layer, Preferences, TeamPreferences, zone_of
from tocsin.store.database.engine import reading
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences, find_preferences
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.outbox.team_preferences import SqlTeamPreferences
from tocsin.store.upkeep.fsck.inspection import inspect

MORNING_MS = NIGHT_MS + 9 * HOUR_MS
WEEK_MS = 7 * 24 * HOUR_MS


def put_defaults(company: SmallCompany, team: str, defaults: Preferences) -> None:
    SqlTeamPreferences(company.engine).put(company.ids[team], defaults, now_ms=1)


def due_after_a_change(company: SmallCompany) -> Mapping[str, list[tuple[int, int]]]:
    """Return when mails are due, by recipient, after a description has changed at midnight."""
    company.describe("orders", f"text at {company.clock.now_ms()}")
    notify_all(company.engine, now_ms=NIGHT_MS)
    return due(company.engine)


def test_a_team_decides_for_its_members_and_those_of_the_teams_below_beneath_their_own_choice(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    ana, ben = company.ids["ana"], company.ids["ben"]
    SqlPreferences(store_engine).put_defaults(
        DefaultPreferences.model_validate({"kinds": {"description": {"Email": "weekly"}}}), now_ms=1
    )
    put_defaults(company, "shop", of_kind("description", Email="daily", ActivityFeed="never"))
    SqlPreferences(store_engine).put(ben, of_kind("description", Email="immediate"), now_ms=1)
    due_by_recipient = due_after_a_change(company)
    assert due_by_recipient["ana@example.com"] == [(MORNING_MS, 1)]
    assert due_by_recipient["ben@example.com"] == [(NIGHT_MS, 1)]
    by_team = [f"team never description {company.ids['shop']}"]
    assert [choice for _, choice in in_app(store_engine, ana)] == by_team
    assert [choice for _, choice in in_app(store_engine, ben)] == by_team
    assert inspect(store_engine).findings == []


def test_of_several_teams_the_soonest_counts_whatever_their_names(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_defaults(company, "shop", of_kind("description", Email="daily"))
    put_defaults(company, "tills", of_kind("description", Email="immediate"))
    due_by_recipient = due_after_a_change(company)
    assert due_by_recipient["ana@example.com"] == [(MORNING_MS, 1)]
    assert due_by_recipient["ben@example.com"] == [(NIGHT_MS, 1)]
    rename = [{"op": "replace", "path": "/name", "value": "zebras"}]
    company.writes.patch("team", company.key("shop"), rename, actor=company.actor("dia"))
    assert due_after_a_change(company)["ana@example.com"] == [(MORNING_MS, 2)]


def test_of_times_those_of_the_first_team_by_name_count_and_ones_own_before(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_defaults(company, "shop", Preferences(digest_at="11:00", timezone="Asia/Kolkata"))
    put_defaults(company, "tills", Preferences.model_validate({"digestAt": "12:00", "frequency": "daily"}))
    layers = SqlPreferences(store_engine).layers_of(company.ids["ben"])
    assert (layers[0][1].digest_at, layers[0][1].timezone) == ("11:00", "Asia/Kolkata")
    assert due_after_a_change(company)["ben@example.com"] == [(NIGHT_MS + 5 * HOUR_MS + 30 * 60_000, 1)]
    SqlPreferences(store_engine).put(company.ids["ben"], Preferences(timezone="UTC"), now_ms=1)
    assert SqlPreferences(store_engine).layers_of(company.ids["ben"])[0][1].digest_at == "11:00"


def test_a_team_cannot_switch_off_what_is_mandatory_and_a_critical_alert_passes(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put_defaults(DefaultPreferences(mandatory=("description",)), now_ms=1)
    put_defaults(company, "shop", Preferences.model_validate({"frequency": "never"}))
    put_defaults(company, "tills", of_kind("description", ActivityFeed="never"))
    due_after_a_change(company)
    assert in_app(store_engine, company.ids["ben"]) == [(NIGHT_MS, "mandatory immediate description")]


@pytest.mark.parametrize("hard", [False, True])
def test_a_deleted_team_has_no_defaults(store_engine: Engine, *, hard: bool) -> None:
    company = company_of(store_engine)
    put_defaults(company, "tills", Preferences.model_validate({"frequency": "daily"}))
    company.writes.delete("team", company.key("tills"), hard=hard, actor=company.actor("dia"))
    assert SqlPreferences(store_engine).layers_of(company.ids["ben"]) == ()
    assert (SqlTeamPreferences(store_engine).of(company.ids["tills"]) == Preferences()) is hard
    if not hard:
        company.writes.restore("team", company.ids["tills"], actor=company.actor("dia"))
        ((layer, _),) = SqlPreferences(store_engine).layers_of(company.ids["ben"])
        assert layer is Layer.TEAM
    assert inspect(store_engine).findings == []


def test_a_member_who_leaves_has_the_defaults_no_longer(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_defaults(company, "shop", Preferences.model_validate({"frequency": "daily"}))
    leave = [{"op": "replace", "path": "/users", "value": []}]
    company.writes.patch("team", company.key("shop"), leave, actor=company.actor("dia"))
    assert SqlPreferences(store_engine).layers_of(company.ids["ana"]) == ()
    assert SqlPreferences(store_engine).layers_of(company.ids["ben"]) != ()


def test_a_team_that_sets_nothing_any_more_has_no_row(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_defaults(company, "shop", of_kind("description", Email="daily"))
    put_defaults(company, "shop", Preferences.model_validate({"kinds": {}, "categories": {}}))
    assert SqlPreferences(store_engine).layers_of(company.ids["ana"]) == ()


def test_a_team_without_quiet_hours_has_none_where_the_server_has_some(store_engine: Engine) -> None:
    company = company_of(store_engine)
    night = {"quietHours": {"start": "22:00", "end": "08:00"}}
    SqlPreferences(store_engine).put_defaults(DefaultPreferences.model_validate(night), now_ms=1)
    put_defaults(company, "tills", Preferences.model_validate({"quietHours": None}))
    assert SqlTeamPreferences(store_engine).of(company.ids["tills"]).to_stored() == {"quietHours": None}
    due_by_recipient = due_after_a_change(company)
    assert due_by_recipient["ana@example.com"] == [(NIGHT_MS + 8 * HOUR_MS, 1)]
    assert due_by_recipient["ben@example.com"] == [(NIGHT_MS, 1)]


def test_what_a_member_has_read_in_the_app_is_left_out_if_their_team_wants_that(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_defaults(company, "shop", Preferences.model_validate({"leaveOutRead": True}))
    put_defaults(company, "tills", Preferences.model_validate({"leaveOutRead": False}))
    due_after_a_change(company)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages, permitted = Messages(store_engine), Permitted(store_engine)
    for name in ("ana", "ben"):
        Inbox(store_engine).mark_all_read(company.ids[name], now_ms=NIGHT_MS)
    dispatches = messages.dispatches(messages.claim("worker", 9, now_ms=NIGHT_MS))
    parts = {one.message.target: permitted.permitted_part(one, now_ms=NIGHT_MS)[0] for one in dispatches}
    assert parts["ana@example.com"] is None
    assert parts["ben@example.com"] is None, "shop is before tills"


def test_a_team_that_names_no_zone_leaves_times_in_the_zone_of_the_alert(store_engine: Engine) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    ben = company.ids["ben"]
    preferences.put_defaults(RECOMMENDED, now_ms=1)
    assert zone_of(preferences.layers_of(ben)) is None
    put_defaults(company, "tills", of_kind("description", Email="immediate"))
    assert zone_of(preferences.layers_of(ben)) is None
    put_defaults(company, "shop", Preferences(timezone="Asia/Tokyo"))
    assert zone_of(preferences.layers_of(ben)) == "Asia/Tokyo"
    preferences.put(ben, Preferences(timezone="Europe/Berlin"), now_ms=1)
    assert zone_of(preferences.layers_of(ben)) == "Europe/Berlin"


def test_the_defaults_of_fifty_teams_of_a_thousand_people_take_as_many_statements_as_one_teams(
    store_engine: Engine,
) -> None:
    company, statements = SmallCompany(store_engine), list[str]()
    people = [company.ids["ana"], company.ids["ben"]]
    put_defaults(company, "shop", of_kind("description", Email="daily"))

    @sqlalchemy_event.listens_for(store_engine, "before_cursor_execute")
    def note(*call: Any) -> None:  # Any: what SQLAlchemy hands over
        statements.append(call[2])

    def count_statements() -> int:
        statements.clear()
        with reading(store_engine) as connection:
            assert people[0] in find_preferences(connection, [*people, *(f"person-{at}" for at in range(1_000))]).layers
        return len(statements)

    before = count_statements()
    for number in range(50):
        users = [{"id": company.ids["ana"], "type": "user"}]
        company.put("team", {"name": f"team{number}", "users": users})
        put_defaults(company, f"team{number}", of_kind("tag", Email="weekly"))
    assert count_statements() == before <= 6
    with reading(store_engine) as connection:
        (together, *_) = find_preferences(connection, people).layers[company.ids["ana"]]
    assert isinstance(together[1], TeamPreferences)
    assert len(together[1].teams) == 51
