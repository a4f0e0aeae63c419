"""Counts per person and hour: test sends, new alerts, threads and posts.

Administrators are limited only in the number of test sends; what they write is allowed by that.
Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from tocsin.errors import Forbidden, TocsinError, TooManyRequests
from tocsin.model.change_request import ChangeAnswer, ConsumerAnswer
from tocsin.model.mentions import mentions_in
from tocsin.model.subscription import Destination
from tocsin.server.alerts.trial import trial_targets
from tocsin.server.request import Caller

_SECONDS_PER_MINUTE = 60
_QUOTAS = {
    "trial": "test messages (trial_messages_per_hour)",
    "alert": "new alerts (alerts_per_hour)",
    "post": "threads, posts and mentions (posts_per_hour)",
}


def count_alert(caller: Caller) -> None:
    """Count one more alert of the caller's.

    Raises
    ------
    Forbidden : they have as many as one person may
    TooManyRequests : they have made as many in this hour
    """
    if caller.actor.is_admin:
        return
    limit = caller.parts.settings.alerts_per_person
    if len(caller.parts.subscriptions.alerts_made_by(caller.actor.id)) >= limit:
        raise Forbidden(f"You have created {limit} alerts, the maximum (alerts_per_person); delete one first.")
    _take(caller, "alert", 1, caller.parts.settings.alerts_per_hour)


def own_address(caller: Caller) -> str | None:
    """Return the caller's e-mail address, if they have one: a test that has no other recipient goes there."""
    person = caller.parts.people.by_id(caller.actor.id)
    return person.email if person else None


def count_trials(destinations: Sequence[Destination], caller: Caller) -> None:
    """Count the messages of a trial; raise ``TooManyRequests`` where they are too many in this hour."""
    asker = own_address(caller)
    messages = [name for one in destinations for name in trial_targets(one, asker)]
    if messages:
        _take(caller, "trial", len(messages), caller.parts.settings.trial_messages_per_hour)


def count_trial(caller: Caller) -> None:
    """Count a test message to the caller's own browser or address, or a delivered message that is sent again."""
    _take(caller, "trial", 1, caller.parts.settings.trial_messages_per_hour)


def count_post(texts: Iterable[object], caller: Caller) -> None:
    """Count a thread or post and its mentions; raise ``TooManyRequests`` above the hourly limit."""
    if amount := _post_amount(texts, caller):
        _take(caller, "post", amount, caller.parts.settings.posts_per_hour)


@contextmanager
def counted_post(texts: Iterable[object], caller: Caller) -> Iterator[None]:
    """Count a post and its mentions for what the block does; what is refused there does not count.

    Raises
    ------
    TooManyRequests : above the hourly limit; the block is not entered
    """
    amount = _post_amount(texts, caller)
    if not amount:
        yield
        return
    taken_at_ms = _take(caller, "post", amount, caller.parts.settings.posts_per_hour)
    try:
        yield
    except TocsinError:
        caller.parts.quotas.give_back(caller.actor.id, "post", amount, taken_at_ms=taken_at_ms)
        raise


def counted_answer(
    answer: ChangeAnswer, consumers: Iterable[ConsumerAnswer], caller: Caller
) -> AbstractContextManager[None]:
    """Count the caller's answer for some consumers of a change request as a post; the same answer again is none."""
    is_repeated = all(one.answer and one.answer.is_answer(answer, caller.actor.id) for one in consumers)
    return nullcontext() if is_repeated else counted_post([answer.comment], caller)


def _post_amount(texts: Iterable[object], caller: Caller) -> int:
    """Return for how many posts these texts count; nothing by administrators and bots counts."""
    return 0 if caller.actor.is_admin or caller.actor.is_bot else 1 + len(mentions_in(*texts))


def _take(caller: Caller, kind: str, amount: int, limit: int) -> int:
    """Count an amount; return at which time it is counted."""
    now_ms = caller.parts.clock.now_ms()
    wait_s = caller.parts.quotas.take(caller.actor.id, kind, amount, limit=limit, now_ms=now_ms)
    if wait_s is not None:
        minutes = -(-wait_s // _SECONDS_PER_MINUTE)
        message = f"At most {limit} {_QUOTAS[kind]} per hour; try again in {minutes} min."
        raise TooManyRequests(message, retry_after_s=wait_s)
    return now_ms
