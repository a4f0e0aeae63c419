"""Words for cron expressions that people write most: ``every weekday at 08:00``. Others are shown as they are.

Next: ``delivery/wording/subjects.py``.
"""

from __future__ import annotations

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORT = {day[:3].upper(): number for number, day in enumerate(_WEEKDAYS)}
_ANY = ("*", "?")
_QUARTZ_FIELDS, _UNIX_FIELDS = 6, 5
_LAST_HOUR, _LAST_MINUTE, _LAST_DAY = 23, 59, 28
_SUNDAY_OF_UNIX = 7


def cron_text(expression: str) -> str:
    """Return when an expression of Unix or Quartz is due: ``every weekday at 08:00``; ``at …`` where no words fit."""
    return _in_words(expression.split()) or f"at {expression}"


def _in_words(fields: list[str]) -> str | None:
    is_quartz = len(fields) == _QUARTZ_FIELDS and fields[0] == "0"
    if not (is_quartz or len(fields) == _UNIX_FIELDS):
        return None
    minute, hour, day, month, weekday = fields[1:] if is_quartz else fields
    days = _days_text(day, weekday, first=int(is_quartz)) if month == "*" else None
    if days is None or not _is_number(minute, _LAST_MINUTE):
        return None
    if hour == "*":
        return f"every hour at :{int(minute):02}" if days == "every day" else None
    return f"{days} at {int(hour):02}:{int(minute):02}" if _is_number(hour, _LAST_HOUR) else None


def _days_text(day: str, weekday: str, *, first: int) -> str | None:
    """Return the days in words: of the week, of which ``first`` is Sunday's number, or of the month, if not of both."""
    if weekday in _ANY:
        if day in _ANY:
            return "every day"
        return f"on day {int(day)} of each month" if _is_number(day, _LAST_DAY) and int(day) else None
    if day not in _ANY:
        return None
    numbers = [_weekday(part, first) for part in weekday.split("-")]
    if numbers == [1, 5]:
        return "every weekday"
    number = numbers[0]
    return None if len(numbers) > 1 or number is None else f"every {_WEEKDAYS[number]}"


def _weekday(text: str, first: int) -> int | None:
    """Return the number of a weekday from Sunday's 0; None for what names none."""
    if text.upper() in _SHORT:
        return _SHORT[text.upper()]
    if not _is_number(text, _SUNDAY_OF_UNIX) or int(text) < first:
        return None
    return (int(text) - first) % len(_WEEKDAYS)


def _is_number(text: str, greatest: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(greatest)) and int(text) <= greatest
