"""Tests of limits per person, channel and hour on both stores: what is too much comes together in the next hour."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, NIGHT_MS, company_of

from tocsin.delivery.dispatch import Dispatch
from tocsin.flow.track.attempts import Finished, hold, next_step
from tocsin.model.message import Attempt, Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import DefaultPreferences, Preferences
from tocsin.store.database.people_tables import hourly_message
from tocsin.store.database.tables import message
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.sessions import Sessions

ANA = "ana@example.com"


def limit(company: SmallCompany, limit_count: int | None, **options: object) -> None:
    own_choice = Preferences.model_validate({"mostPerHour": limit_count, **options})
    SqlPreferences(company.engine).put(company.ids["ana"], own_choice, now_ms=NIGHT_MS + (limit_count or 0))


def change(company: SmallCompany, count: int, *, now_ms: int = NIGHT_MS) -> None:
    for _ in range(count):
        company.clock.advance(1_000)
        company.describe("orders", f"at {company.clock.now_ms()}")
        notify_all(company.engine, now_ms=now_ms)


def claim_due(engine: Engine, now_ms: int, target: str = ANA) -> list[Dispatch]:
    """Return the messages to an address that are due; those to others stay claimed by a worker that has gone."""
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=now_ms)
    messages = Messages(engine)
    dispatches = messages.dispatches(messages.claim("worker", 100, now_ms=now_ms))
    return [one for one in dispatches if one.message.target == target]


def work(engine: Engine, now_ms: int, outcome: Outcome | None = None, target: str = ANA) -> list[int]:
    """Let a worker send what is due; return how many notifications are in each message to an address that it tried."""
    quiet_times, sizes, ended_attempts = SqlQuietTimes(engine), list[int](), list[Finished]()
    for dispatch in claim_due(engine, now_ms, target):
        until_ms = quiet_times.held_until_ms(dispatch, now_ms=now_ms)
        if until_ms is not None:
            ended_attempts.append(hold(dispatch.message, dispatch.entries, until_ms=until_ms, now_ms=now_ms))
            continue
        sizes.append(len(dispatch.entries))
        number = dispatch.message.attempt_count + 1
        attempt = Attempt(dispatch.message.id, number, now_ms, 0, outcome or Delivered())
        ended_attempts.append(
            Finished(dispatch.message, attempt, next_step(attempt, retries=9, wait_s=60), dispatch.entries)
        )
    Messages(engine).record("worker", ended_attempts, now_ms=now_ms)
    Sessions(engine).end("worker")
    return sorted(sizes)


def test_what_is_too_much_comes_as_one_message_in_the_next_hour_and_nobody_elses_mail_changes(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    limit(company, 2)
    change(company, 5)
    assert work(store_engine, NIGHT_MS) == [1, 1]
    assert work(store_engine, NIGHT_MS + HOUR_MS - 1) == []
    change(company, 1, now_ms=NIGHT_MS + HOUR_MS)
    assert work(store_engine, NIGHT_MS + HOUR_MS) == [1, 3]
    change(company, 1, now_ms=NIGHT_MS + HOUR_MS)
    assert work(store_engine, NIGHT_MS + HOUR_MS + 1) == []
    assert work(store_engine, NIGHT_MS + 2 * HOUR_MS) == [1]


def test_how_many_were_wanted_stays_with_what_waited(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 3)
    work(store_engine, NIGHT_MS)
    with store_engine.connect() as connection:
        keys = connection.scalars(select(message.c.grouping_key).where(message.c.target == ANA)).all()
    assert sorted(key.partition(":most:")[2] for key in keys if key) == ["1"]


@pytest.mark.parametrize("limit_count", [1, 3])
def test_workers_that_race_take_no_more_places_than_there_are(store_engine: Engine, limit_count: int) -> None:
    company = company_of(store_engine)
    limit(company, limit_count)
    change(company, 8)
    dispatches = claim_due(store_engine, NIGHT_MS)
    workers = [SqlQuietTimes(store_engine) for _ in dispatches]
    with ThreadPoolExecutor(len(dispatches)) as threads:
        ends = list(
            threads.map(lambda pair: pair[0].held_until_ms(pair[1], now_ms=NIGHT_MS), zip(workers, dispatches))  # noqa: B905
        )
    assert [ends.count(None), ends.count(NIGHT_MS + HOUR_MS)] == [limit_count, 8 - limit_count]
    with_place = [one for one, end in zip(dispatches, ends, strict=True) if end is None]
    again = [SqlQuietTimes(store_engine).held_until_ms(one, now_ms=NIGHT_MS) for one in with_place]
    assert again == [None] * limit_count, "a worker that died after it took the place had it"


def test_a_retry_needs_no_further_place(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 2)
    assert work(store_engine, NIGHT_MS, Retry(OutcomeReason.MAIL_DEFERRED)) == [1]
    assert work(store_engine, NIGHT_MS + 120_000, Retry(OutcomeReason.MAIL_DEFERRED)) == [1]
    assert work(store_engine, NIGHT_MS + HOUR_MS) == [1, 1], "the retry, and what waited"


def test_what_is_not_sent_on_purpose_gives_its_place_back(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 1)
    assert work(store_engine, NIGHT_MS, Rejected(OutcomeReason.MUTED)) == [1]
    change(company, 1)
    assert work(store_engine, NIGHT_MS + 1) == [1]


def test_critical_alerts_pass_and_need_no_place(store_engine: Engine) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    limit(company, 1)
    change(company, 3)
    assert work(store_engine, NIGHT_MS) == [1, 1, 1]


def test_who_wants_all_again_gets_at_once_what_waited(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 4)
    assert work(store_engine, NIGHT_MS) == [1]
    limit(company, None)
    assert work(store_engine, NIGHT_MS + 10) == [3]


def test_the_next_hour_waits_for_the_end_of_quiet_hours(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1, quietHours={"start": "01:00", "end": "08:00"})
    change(company, 3)
    assert work(store_engine, NIGHT_MS) == [1]
    assert work(store_engine, NIGHT_MS + HOUR_MS) == []
    assert work(store_engine, NIGHT_MS + 8 * HOUR_MS) == [2]


def test_the_server_limits_who_has_chosen_nothing_and_null_is_ones_own_choice(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put_defaults(DefaultPreferences(most_per_hour=1), now_ms=0)
    change(company, 2)
    assert work(store_engine, NIGHT_MS) == [1]
    limit(company, None)
    assert work(store_engine, NIGHT_MS + 10) == [1]


def test_a_clock_that_is_set_back_loses_and_repeats_nothing(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 3)
    assert work(store_engine, NIGHT_MS + 5 * HOUR_MS) == [1]
    change(company, 1, now_ms=NIGHT_MS)
    assert work(store_engine, NIGHT_MS) == [1]
    assert work(store_engine, NIGHT_MS + 6 * HOUR_MS) == [2]


def test_who_is_erased_leaves_no_places(store_engine: Engine) -> None:
    company = company_of(store_engine)
    limit(company, 1)
    change(company, 1)
    work(store_engine, NIGHT_MS)
    company.writes.delete("user", company.key("ana"), actor=SYSTEM, hard=True)
    with store_engine.connect() as connection:
        assert connection.execute(select(hourly_message)).all() == []
