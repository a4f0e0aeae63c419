"""Tests of what a worker asks the store for the mails of a claim: nothing for a mail of its own, whatever is left out.

The defaults of new stores leave out some kinds of change, so that everybody might object to a mail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_independence import Collecting, yes
from tests.store.test_preferences import NIGHT_MS, company_of
from tests.workers import with_parts, worker_parts

from tocsin.delivery.dispatch import Dispatch, Route
from tocsin.delivery.worker.attempt import Attempts
from tocsin.delivery.worker.parts import WorkerTime
from tocsin.flow.track.attempts import Finished
from tocsin.model.message import OutcomeReason
from tocsin.model.preferences import RECOMMENDED, DefaultPreferences, Preferences
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.alerts.subscriptions import UnreadableError
from tocsin.store.database.tables import notification
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted

LATER_MS = 10**15
OF_FOLLOWERS = DefaultPreferences.model_validate({"kinds": {"follower": {"Email": "never"}}})


@dataclass
class Claiming:
    """A worker that claims all mails at once and sends them; its time stands still."""

    engine: Engine
    channel: Collecting = field(default_factory=Collecting)
    now_s: float = 100.0

    def __post_init__(self) -> None:
        self.parts = with_parts(
            worker_parts(self.engine, {Channel.EMAIL: self.channel}),
            time=WorkerTime(steady=self._steady),
            permitted=Permitted(self.engine, steady=self._steady),
            quiet_times=SqlQuietTimes(self.engine, steady=self._steady),
        )
        self.parts.queue.sessions.begin("s", lease_ms=90_000, now_ms=0)
        self.attempts = Attempts(self.parts.attempts, self.parts.time)

    def _steady(self) -> float:
        return self.now_s

    async def claim(self) -> list[Dispatch]:
        """Claim what is due and look ahead."""
        messages = self.parts.queue.messages
        return list(await self.attempts.look_ahead(messages.dispatches(messages.claim("s", 384, now_ms=LATER_MS))))

    async def send(self, dispatches: list[Dispatch]) -> dict[str, list[OutcomeReason]]:
        """Send; return by recipient why what is not sent is not."""
        reasons: dict[str, list[OutcomeReason]] = {}
        for dispatch in dispatches:
            finished = await self.attempts.make(dispatch, yes)
            assert isinstance(finished, Finished)
            reasons.setdefault(dispatch.message.target, []).extend(one.because for one in finished.attempt.dropped)
        return reasons


def company_with_mails(engine: Engine, count: int) -> SmallCompany:
    """Return a company with so many due mails to Ana, and to Ben, about descriptions."""
    company = company_of(engine)
    for number in range(count):
        company.describe("orders", f"text {number}")
    notify_all(engine, now_ms=NIGHT_MS)
    return company


@contextmanager
def statements_in(engine: Engine) -> Iterator[list[str]]:
    """Yield the statements of the block, as they are executed."""
    statements = list[str]()

    def note(*call: Any) -> None:  # Any: what SQLAlchemy hands over
        statements.append(call[2])

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


async def statements_for(engine: Engine, count: int) -> int:
    company_with_mails(engine, count)
    SqlPreferences(engine).put_defaults(RECOMMENDED, now_ms=1)
    claiming = Claiming(engine)
    with statements_in(engine) as statements:
        dispatches = await claiming.claim()
        claimed_count = len(statements)
        await claiming.send(dispatches)
    assert len(claiming.channel.sent) == len(dispatches) == 2 * count
    assert len(statements) - claimed_count <= 8, "routes and templates, once for all"
    return claimed_count


async def test_a_mail_asks_nothing_of_its_own_where_the_defaults_leave_out_some_kinds(store_engine: Engine) -> None:
    assert await statements_for(store_engine, 40) <= 16


async def test_of_a_claim_what_a_kind_leaves_out_is_dropped_and_the_others_are_sent(store_engine: Engine) -> None:
    company, claiming, preferences = company_of(store_engine), Claiming(store_engine), SqlPreferences(store_engine)
    company.describe("orders", "text")
    company.writes.follow("table", company.ids["orders"], company.ids["dia"], actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    preferences.put_defaults(OF_FOLLOWERS, now_ms=1)
    of_ben = Preferences.model_validate({"kinds": {"follower": {"Email": "immediate"}}})
    preferences.put(company.ids["ben"], of_ben, now_ms=1)
    dispatches = await claiming.claim()
    assert len(dispatches) == 4
    reasons = await claiming.send(dispatches)
    assert reasons == {"ana@example.com": [OutcomeReason.MUTED], "ben@example.com": []}
    assert len(claiming.channel.sent) == 3


async def test_what_is_left_out_after_the_look_ahead_is_dropped_a_second_later(store_engine: Engine) -> None:
    company, claiming, preferences = (
        company_with_mails(store_engine, 1),
        Claiming(store_engine),
        SqlPreferences(store_engine),
    )
    preferences.put_defaults(OF_FOLLOWERS, now_ms=1)
    dispatches = await claiming.claim()
    no_descriptions = Preferences.model_validate({"kinds": {"description": {"Email": "never"}}})
    preferences.put(company.ids["ana"], no_descriptions, now_ms=2)
    claiming.now_s += 1.0
    assert await claiming.send(dispatches) == {"ana@example.com": [OutcomeReason.MUTED], "ben@example.com": []}


async def statements_of_late(engine: Engine, *, waits_s: float) -> tuple[int, int]:
    """Send 80 mails that wait so long before the first, together; return statements, and how many were sent."""
    company_with_mails(engine, 40)
    SqlPreferences(engine).put_defaults(RECOMMENDED, now_ms=1)
    claiming = Claiming(engine)
    dispatches = await claiming.claim()
    claiming.now_s += waits_s
    with statements_in(engine) as statements, ExitStack() as stack:
        for dispatch in dispatches:
            stack.enter_context(claiming.attempts.waiting(dispatch))
        await claiming.send(dispatches)
    return len(statements), len(claiming.channel.sent)


async def test_mails_that_have_waited_for_others_are_judged_again_in_portions_that_double(store_engine: Engine) -> None:
    statement_count, sent_count = await statements_of_late(store_engine, waits_s=1.0)
    assert sent_count == 80
    assert statement_count <= 64, "eight routes and templates; of two lanes seven portions each, four statements"


async def test_mails_that_begin_together_after_a_second_are_judged_in_one_judgement(store_engine: Engine) -> None:
    company_with_mails(store_engine, 40)
    SqlPreferences(store_engine).put_defaults(RECOMMENDED, now_ms=1)
    claiming = Claiming(store_engine)
    dispatches = await claiming.claim()
    claiming.now_s += 1.0
    with statements_in(store_engine) as statements:
        await asyncio.gather(*(claiming.attempts.make(one, yes) for one in dispatches))
    assert len(claiming.channel.sent) == 80
    assert len(statements) <= 20, "routes and templates as well"


class LateRoutes(Routes):
    """Routes whose reading takes so long that what is known of rights and mutes is over."""

    def __init__(self, engine: Engine, claiming: Claiming) -> None:
        super().__init__(engine)
        self._claiming = claiming

    def of_all(self, subscription_ids: Collection[str]) -> dict[str, dict[str, Route] | UnreadableError]:
        routes = super().of_all(subscription_ids)
        self._claiming.now_s += 1.0
        return routes


async def test_mails_whose_rights_are_over_before_they_are_sent_ask_again_together(store_engine: Engine) -> None:
    company, preferences = company_with_mails(store_engine, 40), SqlPreferences(store_engine)
    claiming = Claiming(store_engine)
    parts = with_parts(claiming.parts, routes=LateRoutes(store_engine, claiming))
    claiming.attempts = Attempts(parts.attempts, parts.time)
    dispatches = await claiming.claim()
    no_descriptions = Preferences.model_validate({"kinds": {"description": {"Email": "never"}}})
    preferences.put(company.ids["ana"], no_descriptions, now_ms=2)
    to_ben = [one for one in dispatches if one.message.target == "ben@example.com"]
    to_ana = [one for one in dispatches if one not in to_ben][:1]
    with statements_in(store_engine) as statements:
        ends = await asyncio.gather(*(claiming.attempts.make(one, yes) for one in to_ana + to_ben))
    assert len(claiming.channel.sent) == len(to_ben) == 40
    assert [bool(one and one.attempt.dropped) for one in ends] == [True] + [False] * 40
    assert len(statements) <= 30, "routes and templates as well, and the mail that is not sent"


async def test_what_is_left_out_while_mails_wait_for_others_is_dropped_from_all_of_them(store_engine: Engine) -> None:
    company, claiming, preferences = (
        company_with_mails(store_engine, 4),
        Claiming(store_engine),
        SqlPreferences(store_engine),
    )
    dispatches = await claiming.claim()
    by_reader = sorted(dispatches, key=lambda one: one.message.target)
    no_descriptions = Preferences.model_validate({"kinds": {"description": {"Email": "never"}}})
    with ExitStack() as stack:
        for dispatch in by_reader:
            stack.enter_context(claiming.attempts.waiting(dispatch))
        claiming.now_s += 1.0
        reasons = [await claiming.send(by_reader[:2])]  # the third is judged with them
        preferences.put(company.ids["ana"], no_descriptions, now_ms=2)
        claiming.now_s += 1.0
        reasons.append(await claiming.send(by_reader[2:]))
    two_mutes = [OutcomeReason.MUTED] * 2
    assert reasons == [{"ana@example.com": []}, {"ana@example.com": two_mutes, "ben@example.com": []}]


async def test_who_leaves_out_what_they_have_read_is_asked_about_at_each_mail(store_engine: Engine) -> None:
    company, claiming = company_with_mails(store_engine, 1), Claiming(store_engine)
    leave_out = DefaultPreferences.model_validate({"leaveOutRead": True})
    SqlPreferences(store_engine).put_defaults(leave_out, now_ms=1)
    dispatches, inbox = await claiming.claim(), company.ids["ana"]
    with store_engine.begin() as connection:
        connection.execute(update(notification).where(notification.c.recipient_id == inbox).values(read_at_ms=NIGHT_MS))
    assert await claiming.send(dispatches) == {"ana@example.com": [OutcomeReason.HANDLED], "ben@example.com": []}
