"""Tests of what is told as one: an entity that is deleted, restored or renamed with all below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import chain, pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.test_resolving import match_rows, work_of
from tests.store.test_retention import check_sound, plan_at, read_all
from tests.store.test_retention import run as run_retention

from tocsin.flow.match.local import accepted_answers
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.pipeline import MATCHING, NOTIFYING, Batch, Context, alert_facts_of, drafts_of, run
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.jobs.resolving import Resolving
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.notification_draft import head_of
from tocsin.model.retention import RetentionRule
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.tables import change_event, message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.recipients.wholes import Wholes

HOOK: list[Document] = [{"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}]
CHAT: list[Document] = [{"category": "External", "type": "Slack", "config": {"endpoint": "http://127.0.0.1:9/chat"}}]
OWNERS: list[Document] = [{"category": "Owners", "type": "ActivityFeed"}]
FOLLOWERS: list[Document] = [{"category": "Followers", "type": "Email"}]
SCHEMA = "pg.store.public"


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def delete_schema(company: SmallCompany, *, hard: bool = False) -> None:
    company.writes.delete(
        "databaseSchema", company.key("public"), actor=company.actor("dia"), recursive=True, hard=hard
    )


def restore_schema(company: SmallCompany) -> None:
    company.writes.restore("databaseSchema", company.ids["public"], actor=company.actor("dia"))


def follow(company: SmallCompany, who: str, entity_type: str, name: str) -> None:
    company.writes.follow(entity_type, company.ids[name], company.ids[who], actor=company.actor(who))


def last_events(company: SmallCompany, count: int) -> list[LoggedEvent]:
    log = EventLog(company.engine)
    return log.read(0, 10_000)[-count:]


def new_notifications(company: SmallCompany) -> Counter[tuple[str, str, str]]:
    """Return channel, recipient and the FQN of what each notification is about that the pipeline adds now."""
    names = {identity: name for name, identity in company.ids.items()}
    columns = (notification.c.id, notification.c.channel, notification.c.recipient, change_event.c.entity_fqn)
    query = select(*columns).join(change_event, change_event.c.log_offset == notification.c.log_offset)
    with company.engine.connect() as connection:
        before = {row.id for row in connection.execute(query)}
    notify_all(company.engine)
    with company.engine.connect() as connection:
        added = [row for row in connection.execute(query) if row.id not in before]
    return Counter(
        (row.channel, names.get(row.recipient, row.recipient.partition(":")[2] or row.recipient), row.entity_fqn)
        for row in added
    )


def names_told(company: SmallCompany, channel: str) -> set[tuple[str, str]]:
    return {(who, fqn.rpartition(".")[2]) for (via, who, fqn) in new_notifications(company) if via == channel}


@pytest.mark.parametrize("hard", [False, True])
def test_the_log_keeps_an_event_of_each_entity_and_says_what_is_part_of_what(company: SmallCompany, hard: bool) -> None:
    delete_schema(company, hard=hard)
    *parts, whole_event = last_events(company, 3)
    assert (
        whole_event.event.entity_fully_qualified_name,
        whole_event.event.below_count,
        whole_event.event.part_of,
    ) == (SCHEMA, 2, None)
    assert [(one.event.part_of, one.event.below_count) for one in parts] == [(whole_event.event.id, None)] * 2


def test_a_restore_is_a_whole_with_parts_and_what_lies_below_nothing_is_not(company: SmallCompany) -> None:
    delete_schema(company)
    restore_schema(company)
    whole_event, *parts = last_events(company, 3)
    assert (whole_event.event.event_type, whole_event.event.below_count) == ("entityRestored", 2)
    assert {one.event.part_of for one in parts} == {whole_event.event.id}
    company.writes.delete("table", company.key("revenue"), actor=company.actor("dia"))
    (alone,) = last_events(company, 1)
    assert (alone.event.below_count, alone.event.part_of) == (None, None)


def test_a_rename_of_a_glossary_is_a_whole_with_the_renames_of_its_terms(company: SmallCompany) -> None:
    company.put("glossary", {"name": "words", "description": "x"})
    for name in ("one", "two"):
        company.put("glossaryTerm", {"name": name, "glossary": "words", "description": "x"})
    company.alert("hook", HOOK)
    new_notifications(company)
    patch = [{"op": "replace", "path": "/name", "value": "terms"}]
    company.writes.patch("glossary", company.key("words"), patch, actor=company.actor("dia"))
    whole_event, *parts = last_events(company, 3)
    assert (whole_event.event.below_count, {one.event.part_of for one in parts}) == (2, {whole_event.event.id})
    assert new_notifications(company) == {("Webhook", "http://127.0.0.1:9/hook", "terms"): 1}


def test_who_watches_the_schema_hears_once_and_who_owns_a_table_hears_of_it(company: SmallCompany) -> None:
    company.alert("hook", HOOK)
    company.alert("chat", CHAT)
    company.alert("owners", OWNERS)
    new_notifications(company)
    delete_schema(company)
    assert new_notifications(company) == {
        ("Webhook", "http://127.0.0.1:9/hook", SCHEMA): 1,
        ("Slack", "http://127.0.0.1:9/chat", SCHEMA): 1,
        ("ActivityFeed", "ana", f"{SCHEMA}.orders"): 1,
        ("ActivityFeed", "ben", f"{SCHEMA}.orders"): 1,
    }, "dia, who owns revenue, has deleted it"
    restore_schema(company)
    assert names_told(company, "Webhook") == {("http://127.0.0.1:9/hook", "public")}


def test_an_alert_that_does_not_match_the_whole_tells_of_its_parts(company: SmallCompany) -> None:
    company.alert("tables", HOOK, resources=("table",))
    new_notifications(company)
    delete_schema(company)
    assert names_told(company, "Webhook") == {("http://127.0.0.1:9/hook", name) for name in ("orders", "revenue")}


def test_who_hears_of_the_whole_by_one_alert_hears_of_a_part_by_another(company: SmallCompany) -> None:
    for kind, name in (("databaseSchema", "public"), ("table", "orders")):
        follow(company, "ana", kind, name)
    company.alert("all", FOLLOWERS)
    new_notifications(company)
    delete_schema(company)
    assert names_told(company, "Email") == {("ana@example.com", "public"), ("cem@example.com", "orders")}
    restore_schema(company)
    new_notifications(company)
    company.alert("tables", FOLLOWERS, resources=("table",))
    delete_schema(company)
    whole_and_parts = {("ana@example.com", name) for name in ("public", "orders", "revenue")}
    assert names_told(company, "Email") == {*whole_and_parts, ("cem@example.com", "orders")}


def test_who_muted_the_schema_or_made_the_change_is_not_told_of_parts_in_its_place(company: SmallCompany) -> None:
    """Who does not hear of the whole, for whatever reason, is asked of each part by itself."""
    follow(company, "dia", "databaseSchema", "public")
    company.alert("all", [*FOLLOWERS, *OWNERS])
    new_notifications(company)
    company.writes.delete("databaseSchema", company.key("public"), actor=company.actor("ana"), recursive=True)
    assert new_notifications(company) == {
        ("Email", "dia@example.com", SCHEMA): 1,
        ("Email", "cem@example.com", f"{SCHEMA}.orders"): 1,
        ("ActivityFeed", "ben", f"{SCHEMA}.orders"): 1,
        ("ActivityFeed", "dia", f"{SCHEMA}.revenue"): 1,
    }, "dia follows the schema by mail, and hears in the app of the table that she owns"


@pytest.mark.soak_on_postgresql
def test_however_the_events_are_cut_into_batches_everybody_is_told_the_same(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    follow(company, "ben", "databaseSchema", "public")
    for name, destinations, kinds in (
        ("all", [*HOOK, *FOLLOWERS], ("all",)),
        ("tables", [*CHAT, *OWNERS], ("table",)),
        ("schemas", CHAT, ("databaseSchema", "table")),
    ):
        company.alert(name, destinations, resources=kinds)
    delete_schema(company)
    restore_schema(company)
    matched_events = _matched_events(company)
    expected_drafts = Counter(_drafts(company, matched_events))

    @settings(max_examples=25 if SOAK else 8, deadline=None)
    @given(st.lists(st.integers(0, len(matched_events)), max_size=5))
    def check(cuts: list[int]) -> None:
        bounds = [0, *sorted(cuts), len(matched_events)]
        batches = [matched_events[start:end] for start, end in pairwise(bounds)]
        assert Counter(chain.from_iterable(_drafts(company, batch) for batch in batches)) == expected_drafts

    check()


def _matched_events(company: SmallCompany) -> list[MatchedEvent]:
    plans = [plan_of(one) for one in Subscriptions(company.engine).list_enabled()]
    matched_events = []
    for logged in EventLog(company.engine).read(0, 10_000):
        answers = {plan.subscription_id: accepted_answers(plan, logged) for plan in plans}
        matched_events.append(MatchedEvent(head_of(logged), {alert: ways for alert, ways in answers.items() if ways}))
    return [event for event in matched_events if event.answers_by_alert]


def _drafts(company: SmallCompany, events: list[MatchedEvent]) -> list[tuple[int, str, str, tuple[str, ...]]]:
    facts = alert_facts_of(Subscriptions(company.engine).list_enabled())
    context = Context(facts, Resolving(company.engine).lookups(may_claim=False), company.clock.now_ms())
    batch = run((*MATCHING, *NOTIFYING), Batch(events), context)
    drafts = chain.from_iterable(drafts_of(batch, context))
    return [(one.event.offset, one.channel.value, one.key, one.reasons.alert_ids) for one in drafts]


@pytest.mark.parametrize("group_by", ["alert", "asset"])
@pytest.mark.soak_on_postgresql
def test_who_follows_many_parts_gets_one_message_about_them_whichever_micro_batch_they_are_in(
    company: SmallCompany, group_by: str
) -> None:
    follow(company, "cem", "table", "revenue")
    for number in range(5):
        company.table(f"t{number}")
        follow(company, "cem", "table", f"t{number}")
    company.alert("mail", FOLLOWERS, trigger={"triggerType": "RealTime", "groupBy": group_by})
    delete_schema(company)
    work = work_of(company.engine)
    for match in match_rows(company.engine):
        list(work(iter([pa.RecordBatch.from_pylist([match])])))
    with company.engine.connect() as connection:
        messages = connection.execute(select(message.c.id, message.c.due_at_ms)).all()
        carrying = connection.execute(select(notification.c.message_id)).scalars().all()
    (deletion,) = {one.event.timestamp for one in last_events(company, 8)}
    ((message_id, due_at_ms),) = messages
    assert due_at_ms == deletion + 5_000
    assert carrying == [message_id] * 7


def test_parts_stay_one_entry_when_the_whole_expires_before_them(company: SmallCompany) -> None:
    for name in ("orders", "revenue"):
        follow(company, "ben", "table", name)
    bell: list[Document] = [{"category": "Followers", "type": "ActivityFeed"}]
    company.alert("bell", bell, "matchAnyEventType({'entitySoftDeleted'})")
    delete_schema(company)
    notify_all(company.engine, now_ms=company.clock.now_ms())
    company.put("user", {"name": "eve", "email": "eve@example.com"})  # the last event of the log is kept
    read_all(company)
    kinds = (EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED, EventType.ENTITY_RESTORED)
    rules = tuple(
        RetentionRule(event_type=kind, entity_type="databaseSchema", log_days=7, audit_days=7) for kind in kinds
    )
    restore_schema(company)
    company.describe("orders", "restored")
    read_all(company)
    assert sum(run_retention(company, plan_at(company, rules)).removed.values()) == 2
    inbox, now_ms = Inbox(company.engine), company.clock.now_ms()
    (entry,) = [one for one in inbox.page(company.ids["ben"], now_ms, limit=9) if one.notification_count > 1]
    assert entry.notification_count == 2
    inbox.mark_read(company.ids["ben"], entry.id, now_ms)
    assert {one.read for one in inbox.page(company.ids["ben"], now_ms, limit=9) if one.id == entry.id} == {True}
    check_sound(company.engine)


def test_wholes_are_looked_up_together(company: SmallCompany) -> None:
    for _ in range(3):
        delete_schema(company)
        restore_schema(company)
    wholes = {one.event.id: {"alert"} for one in last_events(company, 10_000) if one.event.below_count is not None}
    statements: list[str] = []
    event.listen(company.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    offsets: list[int] = []

    def no_plans(alerts: Collection[str], since_offset: int) -> list[Plan]:
        offsets.append(since_offset)
        return []

    assert (len(wholes), Wholes(company.engine, no_plans).of(wholes)) == (6, [])
    assert len([one for one in statements if "FROM change_event" in one]) == len(offsets) == 1


def test_a_glossary_deleted_for_good_costs_no_statement_per_term(company: SmallCompany, store_engine: Engine) -> None:
    actor, counts = company.actor("ana"), Counter[int]()
    for term_count in (2, 7):
        name = f"Terms{term_count}"
        company.writes.create("glossary", {"name": name, "description": "x"}, actor=actor)
        for number in range(term_count):
            term = {"name": f"t{number}", "glossary": name, "description": "x"}
            company.writes.create("glossaryTerm", term, actor=actor)

        def count(*_: object, size: int = term_count) -> None:
            counts[size] += 1

        event.listen(store_engine, "before_cursor_execute", count)
        company.writes.delete("glossary", Key.by_name(name), actor=actor, recursive=True, hard=True)
        event.remove(store_engine, "before_cursor_execute", count)
    assert counts[2] == counts[7]
