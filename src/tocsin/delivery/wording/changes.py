"""Text of change events for recipients: a headline and lines, shared by all channels.

Field names are paths (``columns.email.description``); readers see "description of column email changed".
Next: ``delivery/channels/email/render.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tocsin.conditions.changes import ASSET, TAG, TERM, TIER, ChangeOperation, EventChange, changes_of, kind_of
from tocsin.conditions.documents import TIER_PREFIX
from tocsin.delivery.dispatch import FailureContext
from tocsin.delivery.lines import ARROW, HEADLINE_LIMIT, SHOWN_LIMIT, UTC, ChangeLine, Rank, clean_line
from tocsin.delivery.wording.assets import ChangedAsset, asset_of
from tocsin.delivery.wording.change_requests import request_commands
from tocsin.delivery.wording.code import CODE_KEYS, excerpts_of
from tocsin.delivery.wording.incidents import INCIDENT, STEPS, tells_of_incident, with_incident
from tocsin.delivery.wording.marks import marked_lines, marks_of_whole
from tocsin.delivery.wording.members import MemberIndex
from tocsin.delivery.wording.parameters import PARAMETERS, parameter_lines
from tocsin.delivery.wording.paths import (
    EXTENSION,
    MEMBERS,
    TYPED_MEMBERS,
    column_in,
    member_noun,
    place_of_list,
    words_of_path,
)
from tocsin.delivery.wording.readers import with_reader
from tocsin.delivery.wording.reasons import why_text
from tocsin.delivery.wording.renames import lines_with_renames
from tocsin.delivery.wording.repeats import UndoneChange, counted_line
from tocsin.delivery.wording.reports import (
    REPORT_LINES,
    is_failure_report,
    is_report,
    report_text,
    status_text,
)
from tocsin.delivery.wording.subjects import alert_values, subject_lines, without_said_of_whole
from tocsin.delivery.wording.surroundings import advice_lines, surrounding_lines
from tocsin.delivery.wording.threads import thread_text
from tocsin.delivery.wording.values import (
    TYPE_KEYS,
    are_short,
    change_texts,
    lineage_text,
    name_of,
    parse_json,
    type_of,
    types_of,
    value_text,
)
from tocsin.delivery.wording.wholes import below_text, import_lines
from tocsin.model import fqn
from tocsin.model.announcement import Announcement
from tocsin.model.breaking import BreakingReason, constraint_phrase
from tocsin.model.change import (
    ALERT_INCIDENT,
    EXPIRY,
    LINEAGE,
    OF_CHANGE_REQUESTS,
    STILL_FAILING,
    STILL_STALE,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.entity import Document
from tocsin.model.notification import Reason
from tocsin.model.phrases import in_words
from tocsin.model.secret import PARTS_WITH_SECRETS
from tocsin.model.status import INGESTION_STATES, RESULT_STATUSES, RUN_STATUSES, STANDINGS, says_deprecated
from tocsin.model.thread import THREAD

_MEMBER_RANKS = {
    "tags": Rank.LABEL,
    "domains": Rank.LABEL,
    "dataProducts": Rank.LABEL,
    "owners": Rank.OWNER,
    "reviewers": Rank.OWNER,
    "experts": Rank.OWNER,
    **dict.fromkeys(("followers", "members", "teams", "users", "parents", "roles", "defaultRoles"), Rank.OTHER),
    **dict.fromkeys(("policies", "queryUsedIn", "testSuites", "tests"), Rank.OTHER),
}
"""Ranks of members that come or go; of all others, such as columns, that of what came or went."""

_CONSTRAINT = "constraint"
_FIELD_RANKS = {
    "deleted": Rank.DELETED,
    "entityStatus": Rank.REMOVED,
    "deprecated": Rank.REMOVED,
    **dict.fromkeys((*TYPE_KEYS, _CONSTRAINT), Rank.RETYPED),
    **dict.fromkeys(("name", "displayName", "fullyQualifiedName"), Rank.RENAMED),
    "owner": Rank.OWNER,
    **dict.fromkeys(("tags", "tier", "domain", "certification"), Rank.LABEL),
    "description": Rank.DESCRIPTION,
}
_ENTITY_STATUS = "entityStatus"
_WHOLE = {
    EventType.ENTITY_CREATED: "created",
    EventType.ENTITY_SOFT_DELETED: "deleted",
    EventType.ENTITY_DELETED: "permanently deleted",
    EventType.ENTITY_RESTORED: "restored",
    EventType.USER_LOGIN: "logged in",
    EventType.USER_LOGOUT: "logged out",
}
_TELLERS = {
    INCIDENT: ALERT_INCIDENT,  # one act, which the incident that alerts watch tells with its number
    STILL_STALE: STILL_FAILING,  # since when nothing succeeded is said beside how often it failed
    "fullyQualifiedName": "name",
    "enabled": EXPIRY,  # that an alert has expired says it
    "input": "filteringRules",  # the page's form of it
}
"""Fields whose changes are not told beside that of another field, which tells them."""

_EDGE_RANKS = {"added": Rank.ADDED, "removed": Rank.REMOVED}
_DONE = {ChangeOperation.ADD: "added", ChangeOperation.REMOVE: "removed", ChangeOperation.MODIFY: "changed"}
_TOWARDS = {"added": "to", "removed": "from"}
_FATES = {"created": "created", "softDeleted": "deleted", "deleted": "permanently deleted", "restored": "restored"}
_LABELS = frozenset({TAG, TIER, TERM})
_EVENT_TYPES = frozenset(one.value for one in EventType)
_REPORTS = {"quality": "test", "run": "run"}
_STATUSES = frozenset({*RESULT_STATUSES, *RUN_STATUSES, *INGESTION_STATES})
_BECOMES = frozenset({TIER, "certification", "quality"})
"""Categories of which an asset has one value at a time; where it changes, that is the new one."""
_LABEL = re.compile(r"tagFQN|\btags\b")
"""What is found in a change of labels, or of members that bring some."""
_GONE_TIER = re.compile(r"tier \S+ removed")
Value = Any  # Any: a JSON value of whatever field changed


class EventText(NamedTuple):
    """What messages say of an event: its asset, one line that says what changed, a line for each change, and why.

    ``report`` is the line that the headline says, of a report or a message: it is not among the lines.
    """

    asset: ChangedAsset
    headline: str
    lines: list[ChangeLine]
    why: str
    report: ChangeLine | None = None

    @property
    def all_lines(self) -> list[ChangeLine]:
        """Return the lines for who does not see the headline."""
        return [*filter(None, (self.report,)), *self.lines]


def event_text(
    event: ChangeEvent,
    reasons: Sequence[Reason] = (),
    failure: FailureContext | None = None,
    *,
    zone: str = UTC,
    reader_id: str | None = None,
) -> EventText:
    """Return an event in words, with times in an IANA ``zone``; to the person ``reader_id``, if they are known.

    The headline is such as ``orders: column email VARCHAR removed … and 2 more``: it names the change that matters most
    (``Rank``) and counts the others. It addresses the recipient by their ``reasons``: ``ann mentioned you in a
    conversation about orders``. The lines are in the order of their ranks, labels that columns bring among them, last
    what surrounds the ``failure`` that the event reports, or the change that breaks readers.
    """
    asset, description = asset_of(event), with_reader(event.change_description, reader_id)
    if failure and failure.incident:
        is_said = is_failure_report(event) or failure.incident.is_resolved
        description = with_incident(description, failure.incident.name, is_said=is_said)
    headline, lines, advice = "", list[ChangeLine](), list[ChangeLine]()
    if event.entity_type == THREAD:
        kinds = {reason.kind for reason in reasons}
        headline, lines, advice = thread_text(event, kinds, asset.name, zone, reader_id)
    lines = lines or import_lines(event)
    description = description and without_said_of_whole(event, description)
    if not lines and description is not None:
        lines = _lines_with_labels(event, description, zone)
    headline = headline or f"{_headline(event, asset, lines)}{below_text(event)}"
    said_ms = {at_ms for line in lines for _, at_ms in line.moments}
    surroundings = [*subject_lines(event), *surrounding_lines(event, failure, zone, said_ms=said_ms)]
    report = lines[0] if lines and _is_said_by_headline(event, headline, lines) else None
    lines = sorted((*(lines[1:] if report else lines), *surroundings), key=_rank_of)
    lines = _with_reason(event, [*lines, *(advice or advice_lines(event, description, failure))])
    if event.event_type in OF_CHANGE_REQUESTS:
        is_author = reader_id is not None and reader_id == event.user_id
        lines += request_commands(event, {reason.kind for reason in reasons}, is_author=is_author)
    return EventText(asset, headline, lines, why_text(event, reasons), report)


def _is_said_by_headline(event: ChangeEvent, headline: str, lines: Sequence[ChangeLine]) -> bool:
    """Return whether the headline says the first line whole.

    It does so of a report, incident, deletion, import or change request, and of a message that it quotes to its end.
    """
    first, *following = lines
    if event.entity_type == THREAD:
        return headline.endswith(f": {first.text}")
    is_within = len(first.text) <= HEADLINE_LIMIT
    if event.is_import or event.event_type in OF_CHANGE_REQUESTS or tells_of_incident(event):
        return is_within
    return first.rank in (Rank.REPORTED, Rank.DELETED) and (is_within or any(line.label for line in following))


def _headline(event: ChangeEvent, asset: ChangedAsset, lines: Sequence[ChangeLine]) -> str:
    """Return what happened to an asset in one line."""
    if fate := _WHOLE.get(event.event_type):
        return f"{asset.title}: {fate}{marks_of_whole(event)}"
    if not lines:
        return f"{asset.title}: {in_words(event.event_type)}"
    summary, is_report_line = lines[0].brief, lines[0].rank is Rank.REPORTED
    counted = [line for line in lines if not line.label and (not is_report_line or line.rank is Rank.REPORTED)]
    more_text = f" … and {len(counted) - 1:,} more" if len(counted) > 1 else ""
    return report_text(asset, f"{summary}{more_text}") if is_report_line else f"{asset.title}: {summary}{more_text}"


def _with_reason(event: ChangeEvent, lines: list[ChangeLine]) -> list[ChangeLine]:
    """Return lines with why the change was made, as its author says: first, but last of what a report says."""
    if event.reason is None:
        return lines
    line = ChangeLine(clean_line(event.reason, limit=SHOWN_LIMIT), label="reason")
    return [*lines, line] if is_report(event) else [line, *lines]


def _rank_of(line: ChangeLine) -> Rank:
    return line.rank


def _concerns_labels(described: ChangeDescription) -> bool:
    """Return whether labels, or members that bring some, may be among the changes."""
    changes = (*described.fields_added, *described.fields_updated, *described.fields_deleted)
    return any(_LABEL.search(f"{change.name} {change.old_value!r} {change.new_value!r}") for change in changes)


def version_lines(
    entity_type: str,
    version: Document,
    reasons: Sequence[BreakingReason] = (),
    announcements: Sequence[Announcement] | None = None,
    zone: str = UTC,
) -> list[str]:
    """Return the changes of a stored version, in the words of messages: those that break readers say so.

    ``announcements`` is None where nobody knows what was announced. Times are in an IANA ``zone``. The first version
    says ``created``.
    """
    description = ChangeDescription.model_validate(version.get("changeDescription") or {})
    is_deletion = description.paths() == ("deleted",) and version.get("deleted") is True
    event = ChangeEvent(
        id="",
        event_type=EventType.ENTITY_SOFT_DELETED if is_deletion else EventType.ENTITY_UPDATED,
        entity_type=entity_type,
        entity_id=str(version.get("id")),
        timestamp=0,
        change_description=description,
        entity=version,
        breaking_reasons=tuple(reasons),
        announcements=None if announcements is None else tuple(announcements),
    )
    sentences = [line.sentence for line in _lines_with_labels(event, description, zone)] or ["created"]
    return [f"{one}{marks_of_whole(event)}" for one in sentences] if is_deletion else sentences


def _lines_with_labels(event: ChangeEvent, described: ChangeDescription, zone: str) -> list[ChangeLine]:
    """Return the lines of the changes of an event, in the order of their ranks, with those of labels."""
    lines = _change_lines(described, event.entity or {}, zone, event)
    return sorted(_with_labels(event, lines), key=_rank_of) if _concerns_labels(described) else lines


def _with_labels(event: ChangeEvent, lines: Sequence[ChangeLine]) -> list[ChangeLine]:
    """Return ``lines`` with the labels of members, and a tier that was replaced as one change."""
    moved = list(_tiers_moved(event, lines))
    texts = {line.text for line in moved}
    return moved + [ChangeLine(text, rank=Rank.LABEL) for text in dict.fromkeys(_labels(event)) if text not in texts]


def _tiers_moved(event: ChangeEvent, lines: Sequence[ChangeLine]) -> Iterator[ChangeLine]:
    """Yield ``lines`` with the tier that went and the one that came as one change, as ``changes_of`` sees them."""
    came = {
        f"tier {_label_name(TIER, change.value or '')} added": change
        for change in changes_of(event)
        if change[:3] == (TIER, ChangeOperation.MODIFY, ASSET)
    }
    went = [line.text.split(" ")[1] for line in lines if came and _GONE_TIER.fullmatch(line.text)]
    for line in lines:
        if line.text in came:
            old, new = ", ".join(went), _label_name(TIER, came[line.text].value or "")
            text = f"tier {old}{ARROW}{new}" if went else description_of(came[line.text])
            yield ChangeLine(text, old or None, new, Rank.LABEL, lead="tier" if went else "")
        elif not (came and _GONE_TIER.fullmatch(line.text)):
            yield line


def description_of(change: EventChange) -> str:
    """Return a change in words: ``tag PII.Sensitive added to column email``."""
    value, verb = change.value or "", _DONE[change.operation]
    where = "" if change.target == ASSET else words_of_path(fqn.steps_of(change.target))
    if change.category == "schema":
        return f"{where or clean_line(f'schema {value}'.rstrip())} {verb}"
    if where:
        subject = clean_line(f"{in_words(change.category)} {_label_name(change.category, value)}")
        return f"{subject} {verb} {_TOWARDS[verb]} {where}" if verb in _TOWARDS else f"{subject} of {where} {verb}"
    if (asset_text := _described_asset(change, value)) is not None:
        return clean_line(asset_text)
    return f"{clean_line(f'{in_words(change.category)} {_label_name(change.category, value)}')} {verb}"


def _label_name(category: str, name: str) -> str:
    """Return the name of a label beside its category: ``Tier1``, not ``Tier.Tier1``, of a tier."""
    return name.removeprefix(TIER_PREFIX) if category == TIER else name


def _described_asset(change: EventChange, value: str) -> str | None:
    """Return how people say this change of the asset itself; None when they say it as they say others."""
    match change.category:
        case "lifecycle" if value in _FATES:
            return _FATES[value]
        case "quality" | "run" if value in _STATUSES:
            return f"{_REPORTS[change.category]} {status_text(value)}"
        case "quality" if value in STEPS:
            return f"incident {STEPS[value]}"
        case "quality" | "usage" if value in _EVENT_TYPES:
            return in_words(value)
        case "other" if value:
            return f"{in_words(value)} {_DONE[change.operation]}"
        case category if category in _BECOMES and value and change.operation is ChangeOperation.MODIFY:
            return f"{in_words(category)} changed to {_label_name(category, value)}"
        case _:
            return None


def _change_lines(
    described: ChangeDescription, entity: Document, zone: str = UTC, event: ChangeEvent | None = None
) -> list[ChangeLine]:
    """Return the lines of every field change of an entity, those that matter most first (``Rank``).

    A line that tells a reason why the ``event`` breaks readers says so, and how that was announced; a reason that no
    line tells has one of its own.
    """
    located = _located_lines(described, entity, zone)
    located = lines_with_renames(located, event.announcements or ()) if event else located
    is_marked = event is not None and (event.breaking_reasons or event.announcements)
    lines = list(marked_lines(located, event)) if event and is_marked else [line for _, line in located]
    return sorted(lines, key=_rank_of)


def _located_lines(
    described: ChangeDescription, entity: Document, zone: str
) -> Iterator[tuple[Sequence[str], ChangeLine]]:
    """Yield the lines of every field change of an entity, each with the path of what changed."""
    changes = [
        *((change, "added") for change in described.fields_added),
        *((change, "changed") for change in described.fields_updated),
        *((change, "removed") for change in described.fields_deleted),
    ]
    type_changes_by_path: dict[tuple[str, ...], list[FieldChange]] = {}
    members = MemberIndex(entity)
    names = {change.name for change, _ in changes}
    for change, verb in changes:
        if _TELLERS.get(change.name) in names:
            continue
        path = fqn.steps_of(change.name)
        old, new = parse_json(change.old_value), parse_json(change.new_value)
        if isinstance(change, UndoneChange):
            verb, new = change.first_verb, old
        report_lines = REPORT_LINES.get(path[-1]) if isinstance(new, dict) else None
        if report_lines and (reports := list(report_lines(old if isinstance(old, dict) else {}, new, entity, zone))):
            yield from ((path, line) for line in reports)
        elif path[-1] in TYPE_KEYS and len(path) > 1:
            type_changes_by_path.setdefault(tuple(path[:-1]), []).append(change)
        else:
            yield from ((path, counted_line(line, change)) for line in _field_lines(path, verb, old, new, zone))
    for member, type_changes in type_changes_by_path.items():
        line = _retyped_line(member, type_changes, members.at(member))
        yield member, counted_line(line, *type_changes)


def _retyped_line(path: Sequence[str], changes: Sequence[FieldChange], member: Document) -> ChangeLine:
    """Return what became of the type of a member: ``column status VARCHAR(16) → INT``."""
    before, after = dict(member), dict(member)
    for change in changes:
        key = change.name.rpartition(".")[2]
        before[key], after[key] = change.old_value, change.new_value
    old, new = types_of(before, after)
    lead, name = words_of_path([*path]), column_in(path)
    return ChangeLine(f"{lead} {old or '?'}{ARROW}{new or '?'}", old or None, new or None, Rank.RETYPED, lead, name)


def _labels(event: ChangeEvent) -> Iterator[str]:
    """Yield in words the labels added to members or removed from them."""
    for change in changes_of(event):
        if (
            change.category in _LABELS
            and change.target != ASSET
            and change.value
            and change.operation is not ChangeOperation.MODIFY
        ):
            yield description_of(change)


def _field_lines(path: list[str], verb: str, old: Value, new: Value, zone: str) -> Iterator[ChangeLine]:
    """Yield the lines of one field change; members added to or removed from a list get one line each."""
    key, value = path[-1], old if verb == "removed" else new
    members = value if isinstance(value, list) else [value]
    rank = Rank.OTHER if path[0] == EXTENSION else _FIELD_RANKS.get(key, Rank.OTHER)
    if path == [EXTENSION] and isinstance(value, dict):
        for name in value:
            yield from _field_lines([EXTENSION, name], verb, _part(old, name), _part(new, name), zone)
    elif path[0] in PARTS_WITH_SECRETS:
        yield ChangeLine(f"{words_of_path(path)} {verb}", rank=rank)
    elif path == ["deleted"]:
        yield ChangeLine("deleted" if value is True else "restored", rank=Rank.DELETED)
    elif path == [PARAMETERS] and (lines := list(parameter_lines(old, new))):
        yield from lines
    elif path == [LINEAGE] and isinstance(value, dict):
        yield ChangeLine(lineage_text(value, verb), rank=_EDGE_RANKS.get(verb, Rank.OTHER))
    elif key in STANDINGS:
        yield _standing_line(key, old, new)
    elif verb != "changed" and key in MEMBERS and all(isinstance(member, dict | str) for member in members):
        place = place_of_list(path)
        where = f" {_TOWARDS[verb]} {place}" if place else ""
        yield from (_member_line(path, member, verb, where) for member in members)
    elif verb == "changed" and isinstance(old, list) and _is_same_set(old, new):
        yield ChangeLine(f"{words_of_path(path)} reordered", value_text(old), value_text(new))
    else:
        yield _value_line(path, verb, rank, (old, new), zone)


def _part(structure: Value, name: str) -> Value:
    return structure.get(name) if isinstance(structure, dict) else None


def _value_line(path: list[str], verb: str, rank: Rank, values: tuple[Value, Value], zone: str) -> ChangeLine:
    """Return the line of a field that holds a value; short values before and after stand in the sentence."""
    if path[-1] == _CONSTRAINT and len(path) > 1:
        old, new = (None if one is None else str(one) for one in values)
        return ChangeLine(constraint_phrase(words_of_path(path[:-1]), old, new), rank=rank, name=column_in(path))
    if path == ["enabled"] and verb == "changed" and isinstance(values[1], bool):
        return ChangeLine("switched on" if values[1] else "switched off", rank=rank)
    is_renamed = path == ["name"] and verb == "changed"
    lead, name = "renamed" if is_renamed else words_of_path(path), column_in(path)
    if len(path) == 1 and (alert_texts := alert_values(path[0], *values)) is not None:
        lead, values = alert_texts
    if path[-1] in CODE_KEYS and (excerpts := excerpts_of(*values)) is not None:
        return ChangeLine(f"{lead} {verb}", *excerpts, rank, name=name)
    old_text, new_text = change_texts(*values, zone, path[-1])
    if verb == "changed" and rank is not Rank.DESCRIPTION and are_short(*values):
        text = f"{lead} {old_text}{ARROW}{new_text}"
        return ChangeLine(text, old_text, new_text, rank, lead, name)
    return ChangeLine(lead if is_renamed else f"{lead} {verb}", old_text, new_text, rank, name=name)


def _standing_line(key: str, old: Value, new: Value) -> ChangeLine:
    """Return what a change of an asset's standing says: ``deprecated``; ``status Draft → Approved``."""
    was, is_now = map(says_deprecated, (old, new))
    if is_now:
        return ChangeLine("deprecated", rank=Rank.REMOVED)
    if was:
        return ChangeLine("no longer deprecated", rank=Rank.REMOVED)
    old_text, new_text = value_text(old), value_text(new)
    lead = "status" if key == _ENTITY_STATUS else in_words(key)
    if old_text and new_text:
        return ChangeLine(f"{lead} {old_text}{ARROW}{new_text}", old_text, new_text, lead=lead)
    return ChangeLine(f"{lead} {new_text}" if new_text else f"{lead} {old_text} removed")


def _member_line(path: list[str], member: Value, verb: str, where: str) -> ChangeLine:
    """Return the line of a member that came or went: ``column gift_note TEXT added``."""
    key, noun = path[-1], member_noun(path)
    rank = _MEMBER_RANKS.get(key, Rank.REMOVED if verb == "removed" else Rank.ADDED)
    if not isinstance(member, dict):
        return ChangeLine(f"{noun} {clean_line(str(member))} {verb}{where}", rank=rank)
    if key == "tags" and isinstance(member.get("tagFQN"), str):
        label = clean_line(_label_name(kind_of(member), member["tagFQN"]))
        return ChangeLine(f"{in_words(kind_of(member))} {label} {verb}{where}", rank=rank)
    is_typed = key in TYPED_MEMBERS
    name = clean_line(str((member.get("name") if is_typed else None) or name_of(member) or "?"))
    kind = f" {type_of(member)}" if is_typed and type_of(member) else ""
    return ChangeLine(f"{noun} {name}{kind} {verb}{where}", rank=rank, name=name if is_typed else "")


def _is_same_set(old: list[Value], new: Value) -> bool:
    """Return whether these are lists of the same names in another order."""
    if not (isinstance(new, list) and old):
        return False
    return all(isinstance(name, str) for name in (*old, *new)) and sorted(old) == sorted(new)
