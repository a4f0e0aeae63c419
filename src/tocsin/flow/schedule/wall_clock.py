"""Conversion of a local time of day to an instant, across daylight-saving changes.

Where clocks change: a time that is skipped is shown at the moment of the change, once with all others that are skipped;
a time that comes twice counts the first time. Moments are epoch seconds, times of a clock naive datetimes.
Next: ``flow/schedule/cron.py``, ``flow/schedule/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from tocsin.errors import InvalidInput
from tocsin.model.phrases import hint

_OF_THE_MACHINE = frozenset(("localtime", "Factory"))
"""Files among those of the zones that say how a machine is set up. Source: ``tz-link``, ``zic(8)``."""

_NAIVE_EPOCH = datetime(1970, 1, 1)


@lru_cache(maxsize=1_024)
def zone_named(name: str, *, field: str) -> ZoneInfo:
    """Return a time zone.

    Raises
    ------
    InvalidInput : there is none of that name; ``field`` says where the name stands
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"unknown time zone {name!r}; it takes names such as Europe/Berlin{hint(name, available_timezones())}"
        raise InvalidInput(message, field=field) from None


@lru_cache(maxsize=1_024)
def check_zone(name: str, *, field: str) -> None:
    """Refuse a time zone that a request names, unless it is the same on every machine.

    Raises
    ------
    InvalidInput : there is none of that name, or it is whichever zone the machine is set to, as ``localtime``
    """
    zone_named(name, field=field)
    if name in _OF_THE_MACHINE or name not in available_timezones():
        raise InvalidInput(f"{name!r} depends on the machine; name a zone, such as Europe/Berlin", field=field)


def next_shown_s(walls_after: Callable[[datetime], Iterable[datetime]], zone: ZoneInfo, after_s: int) -> int | None:
    """Return the first moment after ``after_s`` at which the clocks show a time that ``walls_after`` yields, if any.

    ``walls_after`` yields times of the clock after another one, in order.
    """
    for wall in walls_after(wall_at(after_s + offset_of_s(after_s, zone))):
        moment_s = first_moment_s(wall, zone)
        if moment_s > after_s:
            return moment_s
    return None


def first_moment_s(wall: datetime, zone: ZoneInfo) -> int:
    """Return when the clocks of the zone first show that time or, where they skip it, a later one."""
    offsets_s = [_utc_offset_s(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)]
    moment_s = seconds_of(wall) - offsets_s[0]
    if offsets_s[1] <= offsets_s[0]:
        return moment_s
    return change_s(seconds_of(wall) - offsets_s[1], moment_s, zone)


def change_s(low_s: int, high_s: int, zone: ZoneInfo) -> int:
    """Return the first second of another offset than that of ``low_s``, which does not hold at ``high_s`` any more."""
    old_s = offset_of_s(low_s, zone)
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        low_s, high_s = (middle_s, high_s) if offset_of_s(middle_s, zone) == old_s else (low_s, middle_s)
    return high_s


def offset_of_s(moment_s: int, zone: ZoneInfo) -> int:
    """Return by how many seconds the clocks are ahead of UTC at a moment."""
    return _utc_offset_s(datetime.fromtimestamp(moment_s, UTC).astimezone(zone))


def wall_at(seconds: int) -> datetime:
    """Return what a clock shows so many seconds after it showed the first of January 1970."""
    return _NAIVE_EPOCH + timedelta(seconds=seconds)


def seconds_of(wall: datetime) -> int:
    """Return the inverse of ``wall_at``."""
    return (wall - _NAIVE_EPOCH) // timedelta(seconds=1)


def _utc_offset_s(moment: datetime) -> int:
    return round((moment.utcoffset() or timedelta()).total_seconds())
