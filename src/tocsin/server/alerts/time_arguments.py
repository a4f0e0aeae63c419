"""Parser of points in time: ``90d``, ``2026-01-31`` or epoch milliseconds, and of places in the log.

Next: ``server/alerts/backtests.py``, ``server/alerts/noise.py``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.flow.eventlog.lake import Cut

_UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_AGO = re.compile(r"(?P<count>[1-9]\d{0,5})(?P<unit>[mhdw])", re.ASCII)
_EPOCH_MS = re.compile(r"\d{9,16}|0", re.ASCII)
"""Fewer digits are a date as ISO 8601 also writes them: 20260131."""
_OFFSET = re.compile(r"\d{1,12}", re.ASCII)
"""More digits are epoch milliseconds."""


def moment(value: object, field: str, now_ms: int) -> int:
    """Return the moment that ``value`` names, in epoch milliseconds: those, an ISO date or time, or ``90d`` ago.

    Raises
    ------
    InvalidInput : it names none
    """
    moment_ms = _milliseconds(value, now_ms)
    if moment_ms is None or not 0 <= moment_ms <= LATEST_MS:
        raise InvalidInput(
            "must be epoch milliseconds, a date such as 2026-01-31, or a duration back from now such as 90d",
            field=field,
        )
    return moment_ms


def history_cut(value: object, field: str, now_ms: int) -> Cut:
    """Return the earlier state of the history that ``value`` names: an offset of the log, or a moment as above.

    Raises
    ------
    InvalidInput : it names none, or a moment that is still to come
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and _OFFSET.fullmatch(value):
        return Cut(through=int(value))
    until_ms = _milliseconds(value, now_ms)
    if until_ms is None or not 0 <= until_ms <= LATEST_MS:
        raise InvalidInput(
            "must be an offset of the log such as 2052, a date or time such as 2026-01-31 or 2026-01-31T12:00,"
            " a duration back from now such as 90d, or epoch milliseconds",
            field=field,
        )
    if until_ms > now_ms:
        raise InvalidInput("must not be in the future", field=field)
    return Cut(until_ms=until_ms)


def _milliseconds(value: object, now_ms: int) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    if ago := _AGO.fullmatch(value):
        return max(0, now_ms - int(ago["count"]) * _UNITS_MS[ago["unit"]])
    if _EPOCH_MS.fullmatch(value):
        return int(value)
    try:
        at = datetime.fromisoformat(value)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
