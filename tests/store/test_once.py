"""Tests of one write through all stages, on a real store: its due messages, sent to recording channels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import dependencies_of

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.retry import wait_s
from tocsin.flow.once import Dependencies, Notified, once
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.flow.track.attempts import NextStep, next_step
from tocsin.model.message import Attempt, Delivered, MessageStatus, Outcome, OutcomeReason, Retry
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written
from tocsin.model.subscription import Destination
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions


@dataclass
class NotingChannel:
    """Records its dispatches and returns the given outcome."""

    outcome: Outcome = field(default_factory=Delivered)
    targets: list[str] = field(default_factory=list)

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        self.targets.append(dispatch.message.target)
        return self.outcome


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.alert("mail", [{"category": "Owners", "type": "Email"}], "fieldChanged == 'description'")
    small_company.alert("bell", [{"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
    small_company.alert("hook", [hook], "!isBot()")
    return small_company


Channels = dict[str, NotingChannel]


@dataclass(frozen=True)
class Ended:
    """One notification, and what became of the attempt to send it; None for the inbox."""

    scheduled: ScheduledNotification
    step: NextStep | None = None


def dependencies(company: SmallCompany) -> Dependencies:
    return dependencies_of(company.engine, Subscriptions(company.engine).list_enabled(), company.clock)


async def send_once(
    write: Callable[[], Written], dependencies: Dependencies, mail: NotingChannel, hook: NotingChannel
) -> list[Ended]:
    """Make one write, and one attempt to send each message that is due."""
    channels = {"Email": mail, "Webhook": hook}
    return [await attempt_once(one, dependencies, channels) for one in once(write, dependencies)]


async def attempt_once(notified: Notified, dependencies: Dependencies, channels: Channels) -> Ended:
    message, entry, now_ms = notified.message, notified.entry, dependencies.clock.now_ms()
    if message is None or entry is None or message.due_at_ms > now_ms:
        return Ended(notified.scheduled)
    (alert,) = [one for one in dependencies.subscriptions if one.id == message.subscription_id]
    (destination,) = [one for one in alert.destinations if one.id == message.destination_id]
    outcome = await channels[message.channel].send(Dispatch(message, (entry,)), destination, now_ms=now_ms)
    pause_s = wait_s(outcome, 1, jitter=0.5) if isinstance(outcome, Retry) else 0.0
    attempt = Attempt(message.id, 1, now_ms, 0, outcome)
    return Ended(notified.scheduled, next_step(attempt, retries=alert.retries, wait_s=pause_s))


def description_write(company: SmallCompany, text: str, *, by: str) -> Callable[[], Written]:
    patch = [{"op": "add", "path": "/description", "value": text}]
    key = Key.by_id(company.ids["orders"])
    return lambda: company.writes.patch("table", key, patch, actor=company.actor(by))


def by_channel(notified: list[Ended], channel: str) -> list[Ended]:
    return [one for one in notified if one.scheduled.draft.channel == channel]


async def test_the_follower_hears_the_bell_the_owners_get_mail_and_the_webhook_fires(company: SmallCompany) -> None:
    mail, hook = NotingChannel(), NotingChannel()
    notified = await send_once(description_write(company, "All orders.", by="dia"), dependencies(company), mail, hook)
    assert mail.targets == ["ana@example.com", "ben@example.com"]
    assert hook.targets == ["http://127.0.0.1:9/hook"]
    (bell,) = by_channel(notified, "ActivityFeed")
    assert bell.scheduled.draft.recipient_id == company.ids["cem"]
    assert bell.step is None
    assert [one.scheduled.draft.reasons.in_order[0].sentence() for one in by_channel(notified, "Email")] == [
        "you own it through team shop (alert mail)"
    ] * 2
    assert {one.step.status for one in notified if one.step} == {MessageStatus.DELIVERED}


async def test_a_receiver_that_is_down_leaves_a_due_time_and_nobody_else_waits(company: SmallCompany) -> None:
    mail, hook = NotingChannel(), NotingChannel(Retry(OutcomeReason.SERVER_ERROR, 503))
    notified = await send_once(description_write(company, "All orders.", by="dia"), dependencies(company), mail, hook)
    (failed,) = by_channel(notified, "Webhook")
    assert failed.step is not None
    assert failed.step.status is MessageStatus.AWAITING_RETRY
    assert failed.step.due_at_ms == company.clock.now_ms() + 5_000
    assert len(mail.targets) == 2


async def test_whoever_made_the_change_is_left_out(company: SmallCompany) -> None:
    mail = NotingChannel()
    await send_once(description_write(company, "Mine.", by="ana"), dependencies(company), mail, NotingChannel())
    assert mail.targets == ["ben@example.com"]


def test_a_write_that_changes_nothing_notifies_nobody(company: SmallCompany) -> None:
    assert once(description_write(company, "Same.", by="dia"), dependencies(company))
    assert once(description_write(company, "Same.", by="dia"), dependencies(company)) == ()


async def test_whoever_follows_later_is_not_notified_of_what_was_before(company: SmallCompany) -> None:
    written = description_write(company, "Early.", by="dia")()
    company.clock.advance(1)
    company.writes.follow("table", company.ids["orders"], company.ids["ben"], actor=company.actor("ben"))
    notified = await send_once(lambda: written, dependencies(company), NotingChannel(), NotingChannel())
    assert [one.scheduled.draft.recipient_id for one in by_channel(notified, "ActivityFeed")] == [company.ids["cem"]]


async def test_a_hard_delete_reaches_whom_it_concerned(company: SmallCompany) -> None:
    bell = {"type": "ActivityFeed", "notifyDownstream": True}
    company.alert("gone", [{"category": "Owners", **bell}, {"category": "Followers", **bell}], resources=("table",))
    hook = NotingChannel()
    company.clock.advance(1)

    def delete() -> Written:
        return company.writes.delete("table", Key.by_id(company.ids["orders"]), actor=SYSTEM, hard=True)

    attempt_results = await send_once(delete, dependencies(company), NotingChannel(), hook)
    bells = {one.scheduled.draft.recipient_id: one for one in by_channel(attempt_results, "ActivityFeed")}
    assert set(bells) == {company.ids[name] for name in ("ana", "ben", "cem", "dia")}
    (reason,) = bells[company.ids["dia"]].scheduled.draft.reasons.in_order
    assert reason.sentence() == "you own pg.store.public.revenue, 1 step below (alert gone)"


def test_an_event_that_is_too_old_notifies_nobody(company: SmallCompany) -> None:
    limited = replace(dependencies(company), max_age_ms=60_000)
    written = description_write(company, "All orders.", by="dia")()
    company.clock.advance(60_000)
    assert once(lambda: written, limited)
    company.clock.advance(1)
    assert once(lambda: written, limited) == ()
