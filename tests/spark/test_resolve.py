"""Tests of recipient resolution: both engines agree on generated companies, alerts and events."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession
from tests.directories import Company, company

from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.local import recipients as local_recipients
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.model.change import ChangeEvent, EventType, LoggedEvent
from tocsin.spark import schema
from tocsin.spark.lookups import batch_of, each_once, not_before, table_of
from tocsin.spark.resolve import recipients
from tocsin.spark.schedule import notifications

NOW_MS = 1_760_000_000_000


@dataclass(frozen=True)
class Case:
    events: tuple[LoggedEvent, ...]
    rows: tuple[RecipientRule, ...]
    matched: tuple[tuple[LoggedEvent, str, int], ...]
    company: Company


def case(seed: int, *, is_personal: bool = False) -> Case:
    rng = random.Random(seed)
    made = company(rng)
    alerts = made.alerts(rng)
    events = tuple(_event(rng, made, number) for number in range(12))
    questions = {alert.id: _questions(rng) if is_personal else () for alert in alerts}
    matched = tuple(
        (event, alert.id, rng.randrange(1, 2**2 ** len(questions[alert.id])))
        for event in events
        for alert in alerts
        if rng.random() < 0.6
    )
    return Case(
        events, tuple(row for alert in alerts for row in recipient_rules(alert, questions[alert.id])), matched, made
    )


def _questions(rng: random.Random) -> tuple[str, ...]:
    known = ["follows", "owns", "isMemberOf:team-0", "isMemberOf:team-1", "isMemberOf:nobody"]
    return tuple(sorted(rng.sample(known, rng.randrange(4))))


def _event(rng: random.Random, made: Company, number: int) -> LoggedEvent:
    event = ChangeEvent(
        id=f"event-{number}",
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id=rng.choice(made.assets),
        user_id=rng.choice([*made.users, "system"]),
        timestamp=NOW_MS + rng.choice([-1, 0, 1]),
    )
    return LoggedEvent(offset=number, event=event, derived={})


def resolved_locally(case: Case) -> dict[object, dict[str, object]]:
    notified = {}
    for logged in case.events:
        rows = [
            row
            for event, alert, _ in case.matched
            for row in case.rows
            if event is logged and row.subscription_id == alert
        ]
        audience = audience_of({logged.event.entity_id}, rows, case.company)
        asked = {alert: left for event, alert, left in case.matched if event is logged}
        for one in local_recipients(logged, rows, audience, asked):
            alerts = list(dict.fromkeys(reason.subscription_id for reason in one.reasons))
            subscription_id, destination_id = one.reasons[0].destination_key
            row = {
                "event_id": logged.event.id,
                "log_offset": logged.offset,
                "channel": str(one.channel),
                "key": one.key,
                "target": one.target,
                "recipient_id": one.user_id,
                "reasons": [reason.to_wire() for reason in one.reasons],
                "subscription_id": subscription_id,
                "destination_id": destination_id,
                "subscription_ids": alerts,
            }
            notified[logged.offset, one.channel, one.key] = row
    return notified


def resolved_on_spark(spark: SparkSession, case: Case) -> dict[object, dict[str, object]]:
    matched = [
        (e.offset, e.event.id, e.event.entity_id, e.event.user_id, e.event.timestamp, alert, asked)
        for e, alert, asked in case.matched
    ]
    audience = audience_of({row[2] for row in matched}, case.rows, case.company)
    table = table_of([(*row, None, None) for row in matched], schema.MATCHES).drop_columns(["is_for_anybody", "now_ms"])
    batch = batch_of(spark, table, case.rows, audience, now_ms=NOW_MS)
    rows = spark.sql(notifications(recipients(batch))).toArrow().to_pylist()
    found = {(row["log_offset"], row["channel"], row["key"]): row for row in rows}
    assert len(found) == len(rows)
    return {key: {**row, "reasons": json.loads(row["reasons"])} for key, row in found.items()}


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(8))
def test_both_engines_tell_the_same_people_for_the_same_reasons(compiling_spark: SparkSession, seed: int) -> None:
    made = case(seed)
    expected = resolved_locally(made)
    assert resolved_on_spark(compiling_spark, made) == expected
    assert expected, "a case that tells nobody proves nothing"


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(12))
def test_both_engines_ask_the_same_of_people(compiling_spark: SparkSession, seed: int) -> None:
    made = case(seed, is_personal=True)
    expected = resolved_locally(made)
    assert resolved_on_spark(compiling_spark, made) == expected
    assert expected, "a case that tells nobody proves nothing"


@pytest.mark.spark
def test_no_match_gives_no_notification(compiling_spark: SparkSession) -> None:
    made = case(0)
    nothing = Case(made.events, made.rows, (), made.company)
    assert resolved_on_spark(compiling_spark, nothing) == {}


def test_cases_of_one_alert_are_one_match() -> None:
    rows = [(1, "event-1", "asset-0", "u", NOW_MS, alert, asked, None, None) for alert, asked in _CASES]
    once = each_once(table_of(rows, schema.MATCHES)).to_pylist()
    assert [(one["subscription_id"], one["asked"]) for one in once] == [("a", 1), ("b", 0b1010), ("c", 0b100)]
    plain = table_of(rows[:1], schema.MATCHES)
    assert each_once(plain) is plain


_CASES = (("a", 1), ("b", 0b10), ("c", 0b100), ("b", 0b1000))


def test_what_happened_too_long_ago_is_left_out() -> None:
    rows = [(n, f"event-{n}", "asset-0", "u", NOW_MS + n, "alert", 1, None, None) for n in (-1, 0, 1)]
    assert not_before(table_of(rows, schema.MATCHES), NOW_MS)["log_offset"].to_pylist() == [0, 1]
