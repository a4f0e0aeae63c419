"""State machine of change requests: what may be done to one at a given time, and what comes of it.

A request is ``announced`` until its date, then ``due``, unless it is withdrawn, and ``done`` when what it is about has
changed (``flow/capture/announced.py``); a deprecation is done by itself. Its date only moves later: consumers have
answered for the time they were told.
Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.errors import Conflict, InvalidInput
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.change_request import AnnouncedChange, ChangeKind, RequestStatus

DAY_MS = 86_400_000
LONGEST_NOTICE_MS = 3 * 366 * DAY_MS
"""How far ahead a change may be announced."""


def status_at(request: AnnouncedChange, at_ms: int) -> RequestStatus:
    """Return how far a request is at a time."""
    if request.withdrawn_at_ms is not None:
        return RequestStatus.WITHDRAWN
    if request.done_at_ms is not None:
        return RequestStatus.DONE
    return RequestStatus.ANNOUNCED if at_ms < request.due_at_ms else RequestStatus.DUE


def is_awaited(request: AnnouncedChange, at_ms: int) -> bool:
    """Return whether what a request announced is still to happen at a time; a deprecation happens on its date."""
    status = status_at(request, at_ms)
    return status is RequestStatus.ANNOUNCED or (
        status is RequestStatus.DUE and request.kind is not ChangeKind.DEPRECATION
    )


def check_date(due_at_ms: int, at_ms: int) -> None:
    """Refuse a date that is not ahead, or too far.

    Raises
    ------
    InvalidInput : it is not after ``at_ms``, or more than three years after it
    """
    if not at_ms < due_at_ms <= at_ms + LONGEST_NOTICE_MS:
        raise InvalidInput("must be in the future, at most three years ahead", field="date")


def check_open(request: AnnouncedChange, at_ms: int) -> None:
    """Refuse an answer to a request that takes none.

    Raises
    ------
    Conflict : its date has come, or it is withdrawn or done
    """
    status = status_at(request, at_ms)
    if status is not RequestStatus.ANNOUNCED:
        raise Conflict(f"{request.name} is {status.value}: answers are final")


def next_reminder_ms(request: AnnouncedChange, at_ms: int) -> int | None:
    """Return when those that are open are reminded if they have heard of it at a time; None: never."""
    return at_ms + request.remind_every_days * DAY_MS if request.remind_every_days else None


def coming_reminder_ms(request: AnnouncedChange, at_ms: int) -> int | None:
    """Return when those that are open are reminded next; None: never, as its date comes before, or it has ended."""
    is_ahead = request.remind_at_ms is not None and request.remind_at_ms < request.due_at_ms
    return request.remind_at_ms if is_ahead and status_at(request, at_ms) is RequestStatus.ANNOUNCED else None


def is_reminder_due(request: AnnouncedChange, at_ms: int) -> bool:
    """Return whether those that are open are to be reminded at a time: only before the date."""
    if request.remind_at_ms is None or status_at(request, at_ms) is not RequestStatus.ANNOUNCED:
        return False
    # What lies ahead by two intervals was noted by a clock that has been set back since.
    interval_ms = (request.remind_every_days or 0) * DAY_MS
    return not at_ms < request.remind_at_ms < at_ms + 2 * interval_ms


def remind(request: AnnouncedChange, at_ms: int) -> AnnouncedChange:
    """Return a request whose consumers are reminded; those missed while nothing ran are one.

    Raises
    ------
    Conflict : no reminder is due
    """
    if not is_reminder_due(request, at_ms):
        raise Conflict(f"no reminder of {request.name} is due")
    return replace(request, remind_at_ms=next_reminder_ms(request, at_ms))


def move(request: AnnouncedChange, due_at_ms: int, at_ms: int) -> AnnouncedChange:
    """Return a request with a later date; one that is due is announced again.

    Raises
    ------
    Conflict : it is withdrawn or done
    InvalidInput : the date is not later than before, not ahead, or too far
    """
    _check_stands(request)
    check_date(due_at_ms, at_ms)
    if due_at_ms < request.due_at_ms:
        raise InvalidInput(
            f"must be later than that of {request.name}: consumers have answered for it; withdraw it and announce anew",
            field="date",
        )
    after = replace(request, due_at_ms=due_at_ms, updated_at_ms=at_ms)
    return replace(after, remind_at_ms=next_reminder_ms(request, at_ms)) if due_at_ms > request.due_at_ms else after


def deprecate(request: AnnouncedChange, at_ms: int) -> AnnouncedChange:
    """Return a deprecation whose date has come as done.

    Raises
    ------
    Conflict : it is no deprecation, or not due
    """
    if request.kind is not ChangeKind.DEPRECATION or status_at(request, at_ms) is not RequestStatus.DUE:
        raise Conflict(f"{request.name} is no deprecation that is due")
    return replace(request, done_at_ms=at_ms, outcome=ChangeOutcome.AS_ANNOUNCED, updated_at_ms=at_ms)


def end_with_asset(request: AnnouncedChange, at_ms: int) -> AnnouncedChange:
    """Return a request about a column whose asset is deleted for good as done, otherwise than announced.

    Raises
    ------
    Conflict : it is withdrawn or done
    """
    _check_stands(request)
    return replace(request, done_at_ms=at_ms, outcome=ChangeOutcome.OTHERWISE, updated_at_ms=at_ms)


def withdraw(request: AnnouncedChange, at_ms: int) -> AnnouncedChange:
    """Return a request that no longer announces anything.

    Raises
    ------
    Conflict : it is withdrawn already, or done
    """
    _check_stands(request)
    return replace(request, withdrawn_at_ms=at_ms, updated_at_ms=at_ms)


def _check_stands(request: AnnouncedChange) -> None:
    if request.withdrawn_at_ms is not None:
        raise Conflict(f"{request.name} is withdrawn")
    if request.done_at_ms is not None:
        raise Conflict(f"{request.name} is done: what it announced has changed")
