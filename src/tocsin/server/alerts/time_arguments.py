"""Parser of points in time: ``90d``, ``2026-01-31`` or epoch milliseconds, as limits of time windows.

Next: ``server/alerts/backtests.py``, ``server/alerts/noise.py``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput

_UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_AGO = re.compile(r"(?P<count>[1-9]\d{0,5})(?P<unit>[mhdw])", re.ASCII)
_EPOCH_MS = re.compile(r"\d{9,16}", re.ASCII)
"""Fewer digits are a date as ISO 8601 also writes them: 20260131."""


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
