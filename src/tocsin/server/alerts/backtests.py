"""What does somebody ask who wants a backtest, and how is it told? Request to row, row to answer.

The server never runs one: the pipeline does (``jobs/backtests.py``). Next: ``server/routes/backtests.py``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tocsin.errors import InvalidInput
from tocsin.model.backtest import Backtest, BacktestState
from tocsin.model.entity import Document

UNSEEN_MS = 20_000
"""A pipeline that was not seen for so long is not there."""
GIVEN_UP_MS = 10 * 60_000
"""So long a backtest waits for a pipeline while there is none."""

NO_PIPELINE = "No pipeline is running, so nobody works on it: start one with `tocsin pipeline`."

_UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_AGO = re.compile(r"(?P<count>\d{1,6})(?P<unit>[mhdw])")
_LATEST_MS = 253_402_300_799_999


def moment(given: object, field: str, now_ms: int) -> int | None:
    """Return the moment that ``given`` names, in epoch milliseconds: those, an ISO date or time, or ``90d`` ago.

    Raises
    ------
    InvalidInput : it names none
    """
    if given is None:
        return None
    found = _milliseconds(given, now_ms)
    if found is None or not 0 <= found <= _LATEST_MS:
        raise InvalidInput("must be epoch milliseconds, a date as 2026-01-31, or how long ago as 90d", field=field)
    return found


def _milliseconds(given: object, now_ms: int) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if not isinstance(given, str):
        return None
    if ago := _AGO.fullmatch(given):
        return max(0, now_ms - int(ago["count"]) * _UNITS_MS[ago["unit"]])
    try:
        at = datetime.fromisoformat(given)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def told(asked: Backtest, *, ahead: int, seen_ago_ms: int) -> Document:
    """Return a backtest as the API shows it; ``seen_ago_ms`` is how long ago a pipeline was there for backtests."""
    document: Document = {
        "id": asked.id,
        "alert": {"name": asked.alert.get("name")},
        "since": asked.since_ms,
        "until": asked.until_ms,
        "state": asked.state.value,
        "requestedAt": asked.requested_at_ms,
        "endedAt": asked.ended_at_ms,
        "progress": {"done": asked.done_count, "total": asked.total_count},
        "reason": asked.reason,
        "message": _message(asked, ahead, seen_ago_ms),
        "result": asked.result,
    }
    return {key: value for key, value in document.items() if value is not None}


def _message(asked: Backtest, ahead: int, seen_ago_ms: int) -> str | None:
    if asked.state is BacktestState.CANCELLED:
        return "It was cancelled."
    if not asked.is_open:
        return asked.reason
    if seen_ago_ms > UNSEEN_MS:
        return NO_PIPELINE
    if asked.state is BacktestState.WAITING and ahead:
        return f"Waiting for {ahead} asked for earlier."
    return None
