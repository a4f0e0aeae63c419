"""What an event is about beside its changes: what is new, and of an alert whom it tells of what.

``tells: owners (Email), #data-alerts (Slack)``; ``matches: tables where fieldChanged == 'columns'``.
Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tocsin.delivery.lines import SHOWN_LIMIT, UTC, ChangeLine, clean_line
from tocsin.delivery.wording.assets import ALERT
from tocsin.delivery.wording.facts import object_in, objects_in
from tocsin.delivery.wording.values import value_text
from tocsin.model.address import masked_url
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import count_text, in_words, list_text
from tocsin.model.severity import severity_named
from tocsin.model.subscription import Category, ScheduleFrequency, TriggerType

SHOWN_OF_NEW = ("description", "columns", "tasks")
_SAID_OF_NEW = frozenset({*SHOWN_OF_NEW, "name", "displayName", "fullyQualifiedName"}) | {
    *("service", "database", "databaseSchema", "apiCollection", "glossary", "parent", "classification"),
    *("batchSize", "retries", "pollInterval", "enabled", "alertType", "provider", "destinations", "filteringRules"),
    *("trigger", "input", "resources", "config", "className", "timeout", "readTimeout", "observability"),
}
"""Fields of what is new that its name, its full name or other lines say, or of which hardly anything is meant."""
_WHOLE_ENTITY = "entity"
"""What the deletion for good of an entity names as its one change: all of the entity."""
_CHANGES_OF_ALERTS = frozenset(
    {
        *(EventType.ENTITY_CREATED, EventType.ENTITY_UPDATED, EventType.ENTITY_RESTORED),
        *(EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED),
    }
)
_RULES = "filteringRules"
_MOST_NAMED = 5
_EVERYTHING = "all"
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORT = {day[:3].upper(): number for number, day in enumerate(_WEEKDAYS)}
_ANY = ("*", "?")
_QUARTZ_FIELDS, _UNIX_FIELDS = 6, 5
_LAST_HOUR, _LAST_MINUTE, _LAST_DAY = 23, 59, 28
_SUNDAY_OF_UNIX = 7


def without_said_of_whole(event: ChangeEvent, description: ChangeDescription) -> ChangeDescription:
    """Return the changes without those that the headline or other lines say of what is new, or deleted for good."""
    if event.event_type is EventType.ENTITY_CREATED and event.entity:
        further_fields = tuple(one for one in description.fields_added if one.name not in _SAID_OF_NEW)
        return description.model_copy(update={"fields_added": further_fields})
    if event.event_type is EventType.ENTITY_DELETED:
        other_fields = tuple(one for one in description.fields_deleted if one.name != _WHOLE_ENTITY)
        return description.model_copy(update={"fields_deleted": other_fields})
    return description


def subject_lines(event: ChangeEvent) -> Iterator[ChangeLine]:
    """Yield what a new asset consists of; of an alert that was written whom it tells, and of what."""
    if event.event_type is EventType.ENTITY_CREATED and event.entity:
        for key in SHOWN_OF_NEW:
            if text := value_text(event.entity.get(key) or None):
                yield ChangeLine(text, label=in_words(key))
    if event.entity_type == ALERT and event.event_type in _CHANGES_OF_ALERTS and event.entity:
        texts = [_destination_text(one) for one in objects_in(event.entity.get("destinations"))]
        is_of_past = event.event_type in (EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED)
        recipients = list_text(texts, limit=_MOST_NAMED) or "nobody"
        yield ChangeLine(clean_line(recipients, limit=SHOWN_LIMIT), label="told" if is_of_past else "tells")
        rules_text = clean_line(_rules_text(object_in(event.entity.get(_RULES))), limit=SHOWN_LIMIT)
        if _is_new(event) or not (event.change_description and _RULES in event.change_description.paths()):
            yield ChangeLine(rules_text, label="matched" if is_of_past else "matches")
        if _is_new(event):
            yield ChangeLine(clean_line(_trigger_text(object_in(event.entity.get("trigger")))), label="sends")


def _is_new(event: ChangeEvent) -> bool:
    return event.event_type is EventType.ENTITY_CREATED


def _trigger_text(trigger: Document) -> str:
    """Return when an alert sends: ``at once``; ``daily (Europe/Berlin)``; with a cron expression that, too."""
    if trigger.get("triggerType") != TriggerType.SCHEDULED:
        return "at once"
    cron, frequency = trigger.get("cronExpression"), trigger.get("scheduleInfo") or ScheduleFrequency.WEEKLY
    zone = trigger.get("timezone") or UTC
    return cron_text(str(cron), zone) if cron else f"{in_words(str(frequency))} ({zone})"


def cron_text(expression: str, zone: str) -> str:
    """Return when an expression of Unix or Quartz is due: ``every weekday at 08:00 (UTC, cron 0 8 * * 1-5)``.

    Where no words fit, and people write few that have none, it is ``by cron 0 8,9 * * * (UTC)``.
    """
    words = _cron_words(expression.split())
    return f"{words} ({zone}, cron {expression})" if words else f"by cron {expression} ({zone})"


def _cron_words(fields: list[str]) -> str | None:
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


def _severity_text(severity: object) -> str:
    known_severity = severity_named(severity)
    return str(severity) if known_severity is None else known_severity.words.removeprefix("Severity ")


def alert_values(name: str, before: object, after: object) -> tuple[str, tuple[Any, Any]] | None:
    """Return what people call a field of an alert, and its values in words; None of a field that needs none."""
    is_known = name in _FIELDS_OF_ALERTS and not (name == "trigger" and any(map(_is_of_workflow, (before, after))))
    if not is_known:
        return None
    lead, text_of = _FIELDS_OF_ALERTS[name]
    old, new = (None if one is None else clean_line(text_of(one), limit=SHOWN_LIMIT) for one in (before, after))
    return lead, (old, new)


def _is_of_workflow(trigger: object) -> bool:
    return isinstance(trigger, dict) and "triggerType" not in trigger


def _destination_text(destination: Document) -> str:
    """Return whom a destination tells, by its name, a masked address, or what relates people to the asset."""
    category, config = str(destination.get("category") or ""), object_in(destination.get("config"))
    receivers, endpoint = config.get("receivers"), config.get("endpoint")
    who = in_words(category)
    if isinstance(receivers, list) and receivers:
        is_of_addresses = category == Category.EXTERNAL
        noun = ("address", "addresses") if is_of_addresses else (who.removesuffix("s"), who)
        who = count_text(len(receivers), *noun)
    elif isinstance(endpoint, str):
        who = masked_url(endpoint, with_path=True)
    off = ", off" if destination.get("enabled") is False else ""
    return f"{destination.get('name') or who} ({destination.get('type') or 'unknown'}{off})"


def _rules_text(rules: Document) -> str:
    """Return of what an alert tells: ``tables where fieldChanged == 'columns'``."""
    types = [str(one) for one in rules.get("resources") or ()]
    nouns = "everything" if not types or _EVERYTHING in types else list_text([_plural_of(one) for one in types])
    conditions = [str(one.get("condition") or one.get("name") or "") for one in objects_in(rules.get("rules"))]
    effects = [str(one.get("effect")) for one in objects_in(rules.get("rules"))]
    including = [text for text, effect in zip(conditions, effects, strict=True) if text and effect != "exclude"]
    excluding = [text for text, effect in zip(conditions, effects, strict=True) if text and effect == "exclude"]
    clauses = [f"where {' and '.join(including)}"] if including else []
    clauses += [f"but not where {' or '.join(excluding)}"] if excluding else []
    return " ".join((nouns, *clauses))


_FIELDS_OF_ALERTS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "trigger": ("sends", _trigger_text),
    _RULES: ("matches", _rules_text),
    "severity": ("severity", _severity_text),
}


def _plural_of(entity_type: str) -> str:
    row = ENTITY_TYPES.get(entity_type)
    return in_words(row.collection.rpartition("/")[2]) if row else in_words(entity_type)
