"""Tests of choices for single follows on both stores: what they tell of, when, and how long they last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy import event as sqlalchemy_event
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, NIGHT, NIGHT_MS, due, in_app, of_kind

from tocsin.delivery.dispatch import Dispatch
from tocsin.errors import InvalidInput
from tocsin.model.follow_choices import MOST_CHOSEN, FollowChoices
from tocsin.model.mute import Mute, MuteKind, kind_key
from tocsin.model.notification import follow_key, followed_mark
from tocsin.model.people import Actor
from tocsin.model.preferences import DefaultPreferences, Preferences
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.recipients.team_follows import TeamFollows
from tocsin.store.upkeep.fsck.inspection import inspect

FOLLOWERS = [{"category": "Followers", "type": "Email"}, {"category": "Followers", "type": "ActivityFeed"}]
MORNING_MS = NIGHT_MS + 9 * HOUR_MS
AT_ONCE = FollowChoices.only([], [], "immediate")
ONLY_COLUMNS = FollowChoices.only(["columns"], [], "immediate")


def company_of(engine: Engine, **destination: Any) -> SmallCompany:
    """Return a company whose followers hear of everything, by mail and in the app; cem follows orders."""
    company = SmallCompany(engine)
    company.clock.advance(1_000)
    company.alert("all", [one | destination for one in FOLLOWERS], poll_interval_s=0)
    notify_all(engine, now_ms=NIGHT_MS)
    return company


def choose(company: SmallCompany, choices: FollowChoices, *keys: str, at_ms: int = 1) -> None:
    """Let cem choose for follows."""
    choices_by_key = {company.ids.get(key, key): choices for key in keys}
    store = SqlPreferences(company.engine)
    store.choose_for_follows(company.ids["cem"], choices_by_key, now_ms=at_ms)


def choices_told(company: SmallCompany, table: str = "orders", *, at_ms: int = NIGHT_MS) -> list[str | None]:
    """Return by which choices cem is told in the app after a description has changed."""
    company.describe(table, f"text at {company.clock.now_ms()}")
    before = len(in_app(company.engine, company.ids["cem"]))
    notify_all(company.engine, now_ms=at_ms)
    return [choice for _, choice in in_app(company.engine, company.ids["cem"])[before:]]


def dispatches_of(company: SmallCompany) -> Sequence[Dispatch]:
    """Return the mails that are due at midnight."""
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    return messages.dispatches(messages.claim("worker", 64, now_ms=NIGHT_MS))


def mails(company: SmallCompany) -> list[tuple[int, int]]:
    return due(company.engine).get("cem@example.com", [])


def test_everything_about_one_asset_comes_at_once_above_ones_own_preferences(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["cem"], of_kind("description", Email="daily"), now_ms=1)
    choose(company, AT_ONCE, "orders")
    company.writes.follow("table", company.ids["revenue"], company.ids["cem"], actor=company.actor("cem"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert choices_told(company) == [f"follow immediate  {company.ids['orders']}"]
    assert mails(company)[-1] == (NIGHT_MS, 1)
    assert choices_told(company, "revenue") == [None]
    assert mails(company)[-1] == (MORNING_MS, 1)
    assert inspect(store_engine).findings == []


def test_choices_without_any_preferences_give_a_digest_and_move_what_waits(store_engine: Engine) -> None:
    company = company_of(store_engine)
    choose(company, FollowChoices.only([], [], "daily"), "orders")
    choices_told(company)
    assert mails(company) == [(MORNING_MS, 1)]
    assert in_app(store_engine, company.ids["cem"])[-1][0] == MORNING_MS
    choose(company, AT_ONCE, "orders", at_ms=NIGHT_MS)
    assert mails(company) == [(NIGHT_MS, 1)]
    assert in_app(store_engine, company.ids["cem"])[-1][0] == NIGHT_MS
    assert SqlPreferences(store_engine).of(company.ids["cem"]) == Preferences()
    assert SqlPreferences(store_engine).layers_of(company.ids["cem"]) == ()


def test_a_follow_tells_of_the_kinds_that_are_chosen_and_of_nothing_else(store_engine: Engine) -> None:
    company = company_of(store_engine)
    choose(company, ONLY_COLUMNS, "orders")
    assert choices_told(company) == [f"follow never  {company.ids['orders']}"]
    company.table("orders", owners=[{"type": "team", "name": "shop"}], columns=[{"name": "id", "dataType": "INT"}])
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, company.ids["cem"])[-1] == (
        NIGHT_MS,
        f"follow immediate columns {company.ids['orders']}",
    )
    parts = [Permitted(store_engine).permitted_part(one, now_ms=NIGHT_MS) for one in dispatches_of(company)]
    (says,) = [reason.says for part, dropped in parts if part is None for reason in dropped]
    assert says.startswith("the recipient's follow of pg.store.public.orders does not tell of such changes")
    assert len([part for part, _ in parts if part is not None]) == 1


def test_a_worker_that_looks_ahead_sends_what_a_follow_tells_of_although_nothing_else_would_come(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["cem"], Preferences.model_validate({"frequency": "never"}), now_ms=1)
    choose(company, AT_ONCE, "orders", at_ms=2)
    choices_told(company)
    (dispatch,) = dispatches_of(company)
    permitted = Permitted(store_engine)
    assert permitted.permitted_part(dispatch, now_ms=NIGHT_MS)[0] is not None
    permitted.look_ahead([dispatch], SqlQuietTimes(store_engine).look_ahead([dispatch]))
    assert permitted.is_certain(dispatch)
    choose(company, FollowChoices(), "orders", at_ms=3)
    assert Permitted(store_engine).permitted_part(dispatch, now_ms=NIGHT_MS)[0] is None


def test_mutes_quiet_hours_and_mandatory_kinds_stand_above_a_follow(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    choose(company, AT_ONCE, "orders")
    preferences.put(company.ids["cem"], NIGHT, now_ms=2)
    choices_told(company)
    assert mails(company) == [(NIGHT_MS + 8 * HOUR_MS, 1)]
    assert SqlPreferences(store_engine).choices_for_follows(company.ids["cem"])  # own preferences leave them alone
    preferences.put_defaults(DefaultPreferences(mandatory=("description",)), now_ms=3)
    choose(company, ONLY_COLUMNS, "orders", at_ms=4)
    assert choices_told(company) == ["mandatory immediate description"]
    preferences.put_defaults(DefaultPreferences(), now_ms=5)
    choose(company, AT_ONCE, "orders", at_ms=6)
    Mutes(store_engine).put(Mute(company.ids["cem"], MuteKind.KIND, kind_key("description")))
    (choice,) = choices_told(company)
    assert choice is not None
    assert choice.startswith("mute never ")


def test_choices_are_gone_when_the_follow_ends(store_engine: Engine) -> None:
    """Fault scenario 83."""
    company = company_of(store_engine)
    cem, actor = company.ids["cem"], company.actor("cem")
    company.writes.follow("table", company.ids["orders"], cem, actor=actor, column="email")
    column_key = f"{company.ids['orders']}/email"
    choose(company, AT_ONCE, "orders", column_key)
    company.writes.unfollow("table", company.ids["orders"], cem, actor=actor)
    assert list(SqlPreferences(store_engine).choices_for_follows(cem)) == [column_key]
    company.writes.unfollow("table", company.ids["orders"], cem, actor=actor, column="email")
    assert SqlPreferences(store_engine).choices_for_follows(cem) == {}
    company.writes.follow("table", company.ids["orders"], cem, actor=actor)
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert choices_told(company) == [None]


def test_choices_survive_a_rename_and_a_deletion_that_is_undone(store_engine: Engine) -> None:
    company = company_of(store_engine)
    choose(company, AT_ONCE, "orders")
    company.writes.follow("team", company.ids["shop"], company.ids["cem"], actor=company.actor("cem"))
    choose(company, FollowChoices.only([], [], "hourly"), "shop")
    rename = [{"op": "replace", "path": "/name", "value": "stores"}]
    company.writes.patch("team", company.key("shop"), rename, actor=company.actor("dia"))
    company.writes.delete("table", company.key("orders"), actor=company.actor("dia"))
    company.writes.restore("table", company.ids["orders"], actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert choices_told(company) == [f"follow immediate  {company.ids['orders']}"]
    company.writes.unfollow("table", company.ids["orders"], company.ids["cem"], actor=company.actor("cem"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert choices_told(company) == [f"follow hourly  {company.ids['shop']}"]  # which owns it


@pytest.mark.parametrize("followed", ["public", "store", "pg"])
def test_a_follow_of_a_container_has_choices_for_all_that_it_contains(store_engine: Engine, followed: str) -> None:
    company = company_of(store_engine)
    kind = {"public": "databaseSchema", "store": "database", "pg": "databaseService"}[followed]
    company.writes.follow(kind, company.ids[followed], company.ids["cem"], actor=company.actor("cem"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    choose(company, ONLY_COLUMNS, followed)
    assert choices_told(company, "revenue") == [f"follow never  {company.ids[followed]}"]
    assert choices_told(company, "orders") == [None]  # followed itself, without choices
    choose(company, FollowChoices.only([], [], "hourly"), "orders")
    assert choices_told(company, "orders") == [f"follow hourly  {company.ids['orders']}"]


def test_a_follow_has_choices_for_tests_of_its_table_and_for_what_lies_above_it(store_engine: Engine) -> None:
    company = company_of(store_engine, config={"receivers": []}, notifyDownstream=True, downstreamDepth=2)
    company.test_case("orders")
    company.writes.follow("table", company.ids["revenue"], company.ids["cem"], actor=company.actor("cem"))
    company.writes.unfollow("table", company.ids["orders"], company.ids["cem"], actor=company.actor("cem"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    choose(company, FollowChoices.only([], [], "hourly"), "revenue")
    assert choices_told(company, "orders") == [f"follow hourly  {company.ids['revenue']}"]
    company.writes.follow("table", company.ids["orders"], company.ids["cem"], actor=company.actor("cem"))
    choose(company, FollowChoices.only(["testFailure"], [], "immediate"), "orders")
    company.result("orders", "Failed")
    notify_all(store_engine, now_ms=NIGHT_MS)
    by_follow = f"follow immediate testFailure {company.ids['orders']}"
    assert in_app(store_engine, company.ids["cem"])[-1][1] == by_follow


def test_a_follow_of_a_column_has_choices_of_its_own(store_engine: Engine) -> None:
    company = company_of(store_engine)
    cem, orders = company.ids["cem"], company.ids["orders"]
    company.writes.unfollow("table", orders, cem, actor=company.actor("cem"))
    company.writes.follow("table", orders, cem, actor=company.actor("cem"), column="email")
    notify_all(store_engine, now_ms=NIGHT_MS)
    choose(company, FollowChoices.only([], [], "hourly"), f"{orders}/email")
    patch = [{"op": "add", "path": "/columns/1/description", "value": "of buyers"}]
    company.writes.patch("table", company.key("orders"), patch, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, cem)[-1][1] == f"follow hourly  {followed_mark(follow_key(orders, 'email'))}"


def test_choices_cost_a_micro_batch_no_statement_and_go_with_their_person(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["cem"], of_kind("description", Email="daily"), now_ms=1)
    choices_told(company)

    def statements() -> int:
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sqlalchemy_event.listen(store_engine, "after_cursor_execute", note)
        choices_told(company)
        sqlalchemy_event.remove(store_engine, "after_cursor_execute", note)
        return count

    before = statements()
    choose(company, FollowChoices.model_validate({"channels": {"Email": "daily"}}), "orders")
    assert statements() == before
    company.writes.delete("user", company.key("cem"), hard=True, actor=Actor(id=company.ids["dia"], name="dia"))
    assert SqlPreferences(store_engine).choices_for_follows(company.ids["cem"]) == {}


def test_a_person_has_choices_for_so_many_follows_and_for_none_that_ended(store_engine: Engine) -> None:
    company = company_of(store_engine)
    store, cem = SqlPreferences(store_engine), company.ids["cem"]
    many = {f"asset {number}": AT_ONCE for number in range(MOST_CHOSEN)}
    store.choose_for_follows(cem, many, now_ms=1)
    with pytest.raises(InvalidInput, match="1,000 follows at most, not 1,001"):
        store.choose_for_follows(cem, {"another": AT_ONCE}, now_ms=2)
    assert len(store.choices_for_follows(cem)) == MOST_CHOSEN
    store.choose_for_follows(cem, {"another": AT_ONCE}, many.keys(), now_ms=3)
    assert list(store.choices_for_follows(cem)) == ["another"]


def test_choices_that_change_while_a_micro_batch_is_under_way_are_used_whole(
    store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault scenario 83."""
    company = company_of(store_engine)
    daily = FollowChoices.only([], [], "daily")
    choose(company, daily, "orders")
    company.describe("orders", "first")
    company.describe("orders", "second")
    read_preferences = SqlPreferences.of_recipients

    def read_and_change(self: SqlPreferences, drafts: Any) -> Any:  # Any: as of the method
        preferred = read_preferences(self, drafts)
        choose(company, AT_ONCE, "orders", at_ms=NIGHT_MS + 5)
        return preferred

    with monkeypatch.context() as patch:
        patch.setattr(SqlPreferences, "of_recipients", read_and_change)
        notify_all(store_engine, now_ms=NIGHT_MS)
    assert mails(company) == [(NIGHT_MS, 2)]  # both waited by the older choices, and were moved together
    of_orders = f"follow daily  {company.ids['orders']}"
    assert in_app(store_engine, company.ids["cem"]) == [(NIGHT_MS, of_orders)] * 2
    assert choices_told(company, at_ms=NIGHT_MS + 10) == [f"follow immediate  {company.ids['orders']}"]
    assert inspect(store_engine).findings == []


def test_who_follows_again_keeps_the_choices_and_a_new_follow_begins_without(store_engine: Engine) -> None:
    company = company_of(store_engine)
    cem, actor, orders = company.ids["cem"], company.actor("cem"), company.ids["orders"]
    company.writes.follow("table", orders, cem, actor=actor, column="email")
    choose(company, AT_ONCE, "orders", f"{orders}/email")
    for column in (None, "email"):
        assert company.writes.follow("table", orders, cem, actor=actor, column=column).event is None
    assert SqlPreferences(store_engine).choices_for_follows(cem) == {orders: AT_ONCE, f"{orders}/email": AT_ONCE}
    company.writes.unfollow("table", orders, cem, actor=actor)
    choose(company, FollowChoices.only([], [], "never"), "orders")  # asked before the follow ended, stored after it
    company.writes.follow("table", orders, cem, actor=actor)
    assert list(SqlPreferences(store_engine).choices_for_follows(cem)) == [f"{orders}/email"]


def test_choices_for_what_a_team_lets_follow_go_on_when_it_is_followed_directly_and_end_with_the_team(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    cem, actor, revenue = company.ids["cem"], company.actor("cem"), company.ids["revenue"]
    teams = TeamFollows(store_engine)
    teams.add(company.ids["shop"], "table", revenue, now_ms=1)
    choose(company, AT_ONCE, "revenue")
    company.writes.follow("table", revenue, cem, actor=actor)
    assert list(SqlPreferences(store_engine).choices_for_follows(cem)) == [revenue]
    company.writes.unfollow("table", revenue, cem, actor=actor)
    choose(company, AT_ONCE, "revenue")
    teams.remove(company.ids["shop"], revenue)
    company.writes.follow("table", revenue, cem, actor=actor)
    assert SqlPreferences(store_engine).choices_for_follows(cem) == {}
