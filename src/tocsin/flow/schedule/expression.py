"""Cron expressions: Quartz's with six or seven fields, Unix's with five, parsed into sets of numbers and rules of days.

They know the times of a calendar without time zones. croniter, the oracle of the tests, does not replace this module:
it refuses ``LW``, ``L-3`` and ``6L``. Sources: Quartz 2.3 ``CronExpression``, POSIX ``crontab``. Next:
``flow/schedule/cron.py``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache

from tocsin.errors import InvalidInput

FIELD = "trigger.cronExpression"
"""The place that errors name."""

_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
_SATURDAY, _SUNDAY = 6, 0
_LAST_YEAR = 2099  # Quartz's last one
_LONGEST = 500
_RANGE = re.compile(r"(?:(?P<all>\*|\?)|(?P<first>\w+)(?:-(?P<last>\w+))?)?(?:/(?P<step>\d+))?")
_LAST_DAY = re.compile(r"L(?:-(?P<before>\d+))?(?P<workday>W)?")
_WORKDAY = re.compile(r"(?P<day>\d+)W")
_LAST_OF_WEEKDAY = re.compile(r"(?P<weekday>\w+)L")
_NTH_OF_WEEKDAY = re.compile(r"(?P<weekday>\w+)#(?P<nth>\d)")

DayRule = Callable[[int, int], frozenset[int]]
"""Returns the days of a month, given year and month."""


@dataclass(frozen=True)
class CronField:
    """One field: what it is called, the numbers it takes and the names of some; ``first`` is the number of the first.

    Weekdays are counted from Sunday: 0 in Unix, where 7 is Sunday, too; 1 in Quartz.
    """

    name: str
    least: int
    greatest: int
    names: tuple[str, ...] = ()
    first: int = 0

    def number(self, text: str) -> int:
        """Return the number of a name or number.

        Raises
        ------
        InvalidInput : it is none, or too small or large
        """
        if text.upper() in self.names:
            return self.names.index(text.upper()) + self.first
        if not (text.isascii() and text.isdecimal()):
            raise wrong(f"{text!r} is not a number{' or name' if self.names else ''}", self)
        if not self.least <= int(text) <= self.greatest:
            raise wrong(f"{text} is not between {self.least} and {self.greatest}", self)
        return int(text)

    def numbers(self, part: str) -> frozenset[int]:
        """Return what ``*``, ``a``, ``a-b``, ``a/n``, ``*/n`` or ``a-b/n`` means; ranges may wrap, as ``FRI-MON``.

        Raises
        ------
        InvalidInput : it is none of these, or names what there is not
        """
        match = _RANGE.fullmatch(part)
        if not part or match is None:
            raise wrong(f"{part!r} is not a number, range or step", self)
        step = int(match["step"] or 1)
        if not 1 <= step <= self.greatest:
            raise wrong(f"the step {step} is not between 1 and {self.greatest}", self)
        if match["first"] is None:
            return frozenset(range(self.least, self.greatest + 1, step))
        first = self.number(match["first"])
        last = self.number(match["last"]) if match["last"] else self.greatest if match["step"] else first
        if last >= first:
            return frozenset(range(first, last + 1, step))
        if self is _YEAR:
            raise wrong(f"{part!r} ends before it begins", self)
        size = self.greatest - self.least + (0 if self is _UNIX_WEEKDAY else 1)
        return frozenset((one - self.least) % size + self.least for one in range(first, last + size + 1, step))


_SECOND, _MINUTE, _HOUR = CronField("second", 0, 59), CronField("minute", 0, 59), CronField("hour", 0, 23)
_DAY, _MONTH = CronField("day of month", 1, 31), CronField("month", 1, 12, tuple(_MONTHS), 1)
_YEAR = CronField("year", 1970, _LAST_YEAR)
_UNIX_WEEKDAY = CronField("day of week", 0, 7, tuple(_WEEKDAYS), 0)
_QUARTZ_WEEKDAY = CronField("day of week", 1, 7, tuple(_WEEKDAYS), 1)


def wrong(problem: str, field: CronField | None = None) -> InvalidInput:
    """Return the error of an expression, with the field that is wrong."""
    place = f", in the field {field.name}" if field else ""
    return InvalidInput(f"is not a cron expression: {problem}{place}", field=FIELD)


@dataclass(frozen=True)
class Expression:
    """A parsed expression; ``days`` returns which days of a month it names."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    years: frozenset[int]
    days: DayRule

    @property
    def names_every_hour(self) -> bool:
        """Return whether it has times in every hour of its days."""
        return len(self.hours) == _HOUR.greatest + 1

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Yield the times later than ``moment``, in order, to the end of 2099; naive, to the second."""
        for day in self._days_from(moment.date()):
            first = moment.time() if day == moment.date() else None
            yield from (datetime.combine(day, one) for one in self._times_after(first))

    def _days_from(self, first: date) -> Iterator[date]:
        for year in range(first.year, _LAST_YEAR + 1):
            for month in sorted(self.months) if year in self.years else ():
                if (year, month) >= (first.year, first.month):
                    days = (date(year, month, day) for day in sorted(self.days(year, month)))
                    yield from (day for day in days if day >= first)

    def _times_after(self, moment: time | None) -> Iterator[time]:
        hours = self.hours if moment is None else [hour for hour in self.hours if hour >= moment.hour]
        for hour in hours:
            first = moment if moment is not None and hour == moment.hour else None
            yield from self._times_of(hour, first)

    def _times_of(self, hour: int, moment: time | None) -> Iterator[time]:
        """Yield the times of an hour, those later than ``moment`` if it is given."""
        minutes = self.minutes if moment is None else [one for one in self.minutes if one >= moment.minute]
        times = (time(hour, minute, second) for minute in minutes for second in self.seconds)
        return times if moment is None else (one for one in times if one > moment)


@lru_cache(maxsize=1_024)
def parse_expression(text: str) -> Expression:
    """Return the expression of a text.

    Raises
    ------
    InvalidInput : it is none, or has no time before 2100; the message names the field
    """
    if len(text) > _LONGEST:
        raise wrong(f"it has more than {_LONGEST} characters")
    fields = text.split()
    if len(fields) == 5:
        expression = _unix(fields)
    elif len(fields) in (6, 7):
        expression = _quartz(fields)
    else:
        raise wrong(f"it has {len(fields)} fields; Quartz's have 6 or 7, Unix's 5")
    if next(expression.after(datetime(min(expression.years), 1, 1)), None) is None:
        raise InvalidInput("matches no date", field=FIELD)
    return expression


def check_standard(text: str) -> None:
    """Check an expression that is to be saved: what Quartz refuses, and stored alerts may have, counts for them alone.

    Raises
    ------
    InvalidInput : as ``parse_expression``; Quartz's ``?`` is missing; or ``L``, ``W`` or ``#`` stands beside other days
    """
    parse_expression(text)
    fields = text.split()
    day, weekday = (fields[2], fields[4]) if len(fields) == 5 else (fields[3], fields[5])
    if len(fields) > 5 and "?" not in (day, weekday):
        place = 5 if weekday == "*" else 3
        better = " ".join("?" if index == place else field for index, field in enumerate(fields))
        raise wrong(f"Quartz demands ? for day of month or day of week; write {better!r}")
    _check_alone(day, _DAY, is_special=lambda part: "L" in part or "W" in part)
    _check_alone(weekday, _UNIX_WEEKDAY, is_special=lambda part: part.endswith("L") or "#" in part)


def _check_alone(text: str, field: CronField, *, is_special: Callable[[str], bool]) -> None:
    parts = text.upper().split(",")
    if len(parts) > 1 and (special := next(filter(is_special, parts), None)):
        raise wrong(f"{special!r} cannot stand beside other days; make an alert for each", field)


def _unix(fields: Sequence[str]) -> Expression:
    minutes, hours, day, months, weekday = fields
    in_month, in_week = _days_of_month(day), _days_of_week(weekday, _UNIX_WEEKDAY)
    days = _intersection(in_month, in_week) if day[0] in "*?" or weekday[0] in "*?" else _union([in_month, in_week])
    return _expression(("0", minutes, hours, months, "*"), days)


def _quartz(fields: Sequence[str]) -> Expression:
    seconds, minutes, hours, day, months, weekday, *year = fields
    if day == weekday == "?":
        raise wrong("only one of day of month and day of week can be ?")
    if day not in "*?" and weekday not in "*?":
        raise wrong("it names days of the month and days of the week; write ? for one of them")
    in_month, in_week = _days_of_month(day), _days_of_week(weekday, _QUARTZ_WEEKDAY)
    return _expression((seconds, minutes, hours, months, *(year or "*")), _intersection(in_month, in_week))


def _expression(texts: Sequence[str], days: DayRule) -> Expression:
    fields = (_SECOND, _MINUTE, _HOUR, _MONTH, _YEAR)
    seconds, minutes, hours, months, years = (_set(text, field) for text, field in zip(texts, fields, strict=True))
    return Expression(
        tuple(sorted(seconds)), tuple(sorted(minutes)), tuple(sorted(hours)), months, years, lru_cache(64)(days)
    )


def _set(text: str, field: CronField) -> frozenset[int]:
    if "?" in text:
        raise wrong("? is only for days", field)
    return frozenset().union(*(field.numbers(part) for part in text.split(",")))


def _intersection(first: DayRule, second: DayRule) -> DayRule:
    return lambda year, month: first(year, month) & second(year, month)


def _union(rules: Sequence[DayRule]) -> DayRule:
    return lambda year, month: frozenset().union(*(rule(year, month) for rule in rules))


def _parts(text: str, field: CronField) -> list[str]:
    if "?" in text and text != "?":
        raise wrong("? stands alone", field)
    return text.upper().split(",")


def _days_of_month(text: str) -> DayRule:
    return _union([_day_rule(part) for part in _parts(text, _DAY)])


def _day_rule(part: str) -> DayRule:
    if match := _LAST_DAY.fullmatch(part):
        before = int(match["before"] or 0)
        if before >= _DAY.greatest:
            raise wrong(f"{part!r} is before every month's first day", _DAY)
        return _last_day(before, nearest_workday=match["workday"] is not None)
    if match := _WORKDAY.fullmatch(part):
        return _workday(_DAY.number(match["day"]))
    days = _DAY.numbers(part)
    return lambda year, month: frozenset(day for day in days if day <= _length(year, month))


def _last_day(before: int, *, nearest_workday: bool) -> DayRule:
    def rule(year: int, month: int) -> frozenset[int]:
        day = _length(year, month) - before
        if day < 1:
            return frozenset()
        return frozenset({_nearest_workday(year, month, day) if nearest_workday else day})

    return rule


def _workday(day: int) -> DayRule:
    return lambda year, month: frozenset({_nearest_workday(year, month, day)} if day <= _length(year, month) else ())


def _nearest_workday(year: int, month: int, day: int) -> int:
    """Return the day from Monday to Friday that is nearest, within the month."""
    weekday = _weekday(year, month, day)
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == _SUNDAY:
        return day + 1 if day < _length(year, month) else day - 2
    return day


def _days_of_week(text: str, field: CronField) -> DayRule:
    return _union([_weekday_rule(part, field) for part in _parts(text, field)])


def _weekday_rule(part: str, field: CronField) -> DayRule:
    if part == "L":
        return _on_weekdays({_SATURDAY})
    if match := _LAST_OF_WEEKDAY.fullmatch(part):
        return _nth_weekday((field.number(match["weekday"]) - field.first) % 7, -1)
    if match := _NTH_OF_WEEKDAY.fullmatch(part):
        if not 1 <= int(match["nth"]) <= 5:
            raise wrong(f"#{match['nth']} is not between #1 and #5", field)
        return _nth_weekday((field.number(match["weekday"]) - field.first) % 7, int(match["nth"]) - 1)
    return _on_weekdays({(one - field.first) % 7 for one in field.numbers(part)})


def _on_weekdays(weekdays: set[int]) -> DayRule:
    return lambda year, month: frozenset(_days(year, month, weekdays))


def _nth_weekday(weekday: int, place: int) -> DayRule:
    """Return the rule for the weekday's occurrence at ``place`` in the month: 0 is the first, -1 the last."""
    return lambda year, month: frozenset(_days(year, month, {weekday})[place:][:1])


def _days(year: int, month: int, weekdays: set[int]) -> list[int]:
    """Return the days of a month that are of these weekdays."""
    return [day for day in range(1, _length(year, month) + 1) if _weekday(year, month, day) in weekdays]


def _length(year: int, month: int) -> int:
    return monthrange(year, month)[1]


def _weekday(year: int, month: int, day: int) -> int:
    """Return the weekday, counted from Sunday = 0."""
    return date(year, month, day).isoweekday() % 7
