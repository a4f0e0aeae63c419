"""Plans of alerts: what applying files would create, update and delete, field by field, asked of the server.

Next: ``cli/alerts.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.text import Text

from tocsin.cli.alertfiles import FILED_FIELDS, FiledAlert, exported_alert
from tocsin.cli.condition_errors import error_in_file, line_of
from tocsin.client import Client
from tocsin.client.answers import Applied
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.phrases import value_in_words
from tocsin.model.validation_errors import WARNING

_LONGEST = 50
"""Characters of a value that fits beside another one on a line."""


class PlanStep(StrEnum):
    """What happens to an alert."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNCHANGED = "unchanged"

    @property
    def past_tense(self) -> str:
        """The word for it when it has happened."""
        return self.value if self is PlanStep.UNCHANGED else f"{self.value}d"


_SIGNS = {PlanStep.CREATE: ("+", "green"), PlanStep.UPDATE: ("~", "yellow"), PlanStep.DELETE: ("-", "red")}


@dataclass(frozen=True)
class FieldDifference:
    """A field that changes: None is nothing, and a secret that changes is a mask on both sides."""

    field: str
    old: object = None
    new: object = None
    is_secret: bool = False

    def to_wire(self) -> Document:
        """Return it as JSON."""
        document = {"field": self.field, "old": self.old, "new": self.new}
        return document | ({"secret": True} if self.is_secret else {})


@dataclass(frozen=True)
class PlannedAlert:
    """One alert and what happens to it; without ``filed`` it is deleted."""

    step: PlanStep
    name: str
    id: str
    differences: tuple[FieldDifference, ...] = ()
    remarks: tuple[Document, ...] = ()
    filed: FiledAlert | None = None

    def to_wire(self, *, is_done: bool) -> Document:
        """Return it as JSON."""
        document: Document = {"name": self.name, "outcome": self.step.past_tense if is_done else self.step.value}
        has_id = self.step is not PlanStep.CREATE or is_done
        document |= {"id": self.id} if has_id else {}
        document |= {"file": self.filed.where} if self.filed else {}
        return document | {"changes": [one.to_wire() for one in self.differences], "remarks": [*self.remarks]}


def plan_alerts(client: Client, filed: Sequence[FiledAlert], *, prune: bool) -> list[PlannedAlert]:
    """Return what applying ``filed`` would do; with ``prune`` alerts of the server that are not among them go.

    Raises
    ------
    InvalidInput, NotFound : the server refuses alerts; the message says where and why, of all of them, and warnings of
        the others
    """
    plans: list[PlannedAlert] = []
    errors: list[InvalidInput | NotFound] = []
    lines: list[str] = []
    for alert in filed:
        try:
            plans.append(_plan_alert(client, alert))
            lines += warning_lines(plans[-1])
        except (InvalidInput, NotFound) as error:
            errors.append(error_with_place(error, alert))
            lines += _lines_of(errors[-1])
    if errors:
        raise _as_one(errors, lines)
    return plans + ([*_plan_deletions(client, {alert.name for alert in filed})] if prune else [])


def error_with_place(error: InvalidInput | NotFound, alert: FiledAlert) -> InvalidInput | NotFound:
    """Return what was refused of an alert with its place in the file."""
    if isinstance(error, NotFound):
        return NotFound(f"{alert.where}: {alert.name}: {error.message}")
    return error_in_file(error, alert)


def differences(before: Document, after: Document, place: str = "") -> Iterator[FieldDifference]:
    """Yield the fields that differ between two states; members of lists are paired by their identity, else by place."""
    for key in dict.fromkeys((*before, *after)):
        path = f"{place}.{key}" if place else key
        yield from _differences(before.get(key), after.get(key), path)


def secret_differences(applied: Applied) -> Iterator[FieldDifference]:
    """Yield the secrets that change, which look the same before and after."""
    yield from (FieldDifference(field, MASK, MASK, is_secret=True) for field in applied.changed_secrets)


def plan_lines(planned: PlannedAlert) -> Iterator[Text]:
    """Yield the lines that people read of it; none if nothing changes."""
    if planned.step is PlanStep.UNCHANGED:
        return
    sign, style = _SIGNS[planned.step]
    where = f"  ({planned.filed.where})" if planned.filed else ""
    yield Text(f"{sign} {planned.step} {planned.name}", style=f"bold {style}").append(where, style="dim")
    for difference in planned.differences:
        yield from (Text(f"    {line}") for line in _lines(difference))


def warning_lines(planned: PlannedAlert) -> Iterator[str]:
    """Yield a line for each remark on an alert."""
    if planned.filed is not None:
        for remark in planned.remarks:
            yield line_of(f"{remark['field']}: {WARNING}{remark['message']}", planned.filed)


def summary(planned: Sequence[PlannedAlert], *, is_done: bool) -> str:
    """Return how many alerts there are of each kind."""
    counts = {step: sum(one.step is step for one in planned) for step in PlanStep}
    words = {step: step.past_tense if is_done or step is PlanStep.UNCHANGED else f"to {step}" for step in PlanStep}
    return ", ".join(f"{count} {words[step]}" for step, count in counts.items()) + "."


def _plan_alert(client: Client, alert: FiledAlert) -> PlannedAlert:
    try:
        before: Document | None = client.get_subscription(alert.name, fields=FILED_FIELDS).document
    except NotFound:
        before = None
    answer = client.apply_subscription(alert.document, dry_run=True)
    after, remarks = answer.alert.document, answer.remarks
    if before is None:
        changes = tuple(differences({}, _without_ids(exported_alert(after))))
        return PlannedAlert(PlanStep.CREATE, alert.name, "", changes, remarks, alert)
    changes = (*differences(exported_alert(before), exported_alert(after)), *secret_differences(answer))
    is_changed = before["version"] != after["version"] or bool(answer.changed_secrets)
    step = PlanStep.UPDATE if is_changed else PlanStep.UNCHANGED
    return PlannedAlert(step, alert.name, before["id"], changes if is_changed else (), remarks, alert)


def _plan_deletions(client: Client, filed_names: set[str]) -> Iterator[PlannedAlert]:
    for alert in client.list_subscriptions():
        if alert.name not in filed_names and alert.document.get("provider") != "system":
            yield PlannedAlert(PlanStep.DELETE, str(alert.name), alert.id)


def _as_one(errors: Sequence[InvalidInput | NotFound], lines: Sequence[str]) -> InvalidInput | NotFound:
    """Return one error for all that is refused; ``lines`` say that and the warnings, in the order of the files."""
    if len(errors) == 1 and [*lines] == _lines_of(errors[0]):
        return errors[0]
    count = "1 alert is" if len(errors) == 1 else f"{len(errors)} alerts are"
    error_of_all = InvalidInput(f"{count} refused, so nothing was written:")
    error_of_all.add_note("\n".join(lines))
    return error_of_all


def _lines_of(error: InvalidInput | NotFound) -> list[str]:
    return [error.message, *getattr(error, "__notes__", ())]


def _without_ids(alert: Document) -> Document:
    """Return a new alert without the ids that its destinations would get."""
    plain = [{key: value for key, value in one.items() if key != "id"} for one in alert.get("destinations", ())]
    return alert | {"destinations": plain}


def _differences(old: Any, new: Any, place: str) -> Iterator[FieldDifference]:  # Any: JSON values
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from differences(old, new, place)
    elif _are_members(old) and _are_members(new) and (old or new):
        yield from _between_members(old, new, place)
    elif new is not None and isinstance(new, dict) and old is None:
        yield from differences({}, new, place)
    else:
        yield FieldDifference(place, old, new)


def _are_members(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, dict) for one in value))


def _between_members(old: list[Document] | None, new: list[Document] | None, place: str) -> Iterator[FieldDifference]:
    old_members = {_identity(member, index): (index, member) for index, member in enumerate(old or ())}
    for index, member in enumerate(new or ()):
        yield from _differences(old_members.pop(_identity(member, index), (0, None))[1], member, f"{place}[{index}]")
    for index, member in old_members.values():
        yield FieldDifference(f"{place}[{index}]", member, None)


def _identity(member: Document, index: int) -> object:
    """Return what makes a member itself: a destination's id, a tag, a person's or domain's name; else its place."""
    if "id" in member:
        return member["id"]
    name_parts = (member.get("tagFQN"), member.get("type"), member.get("fullyQualifiedName") or member.get("name"))
    return index if "condition" in member or name_parts == (None, None, None) else name_parts


def _lines(difference: FieldDifference) -> Iterator[str]:
    old, new = ("" if value is None else value_in_words(value) for value in (difference.old, difference.new))
    if difference.is_secret:
        yield f"{difference.field}: {old} → {new} (another secret)"
    elif difference.old is None:
        yield from _field_lines(difference.field, new)
    elif max(len(old), len(new)) <= _LONGEST and "\n" not in old + new:
        yield f"{difference.field}: {old} → {new or 'nothing'}"
    else:
        yield f"{difference.field}:"
        yield from (f"  - {line}" for line in old.splitlines())
        yield from (f"  + {line}" for line in new.splitlines())


def _field_lines(field: str, value: str) -> Iterator[str]:
    if "\n" not in value.strip():
        yield f"{field}: {value}"
        return
    yield f"{field}:"
    yield from (f"  {line}" for line in value.splitlines())
