"""Members of lists and edges of lineage across several events: what came, what went, and what is as before.

Next: ``delivery/wording/repeats.py`` words the last.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from tocsin.delivery.wording.repeats import UndoneChange
from tocsin.delivery.wording.values import parse_json
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.list_identity import MEMBER_LISTS, MemberList, tag_of

Value = Any  # Any: a JSON value


class _MemberStep(NamedTuple):
    """A member that came or went; ``is_in_list``: its change holds a list."""

    name: str
    is_arrival: bool
    member: Value
    is_in_list: bool

    @property
    def change(self) -> FieldChange:
        """Return it as a change."""
        values = {"new_value" if self.is_arrival else "old_value": self.value}
        return FieldChange(name=self.name, **values)

    @property
    def value(self) -> Value:
        """Return the member as its change holds it."""
        return [self.member] if self.is_in_list else self.member


def net_members(descriptions: Sequence[ChangeDescription]) -> ChangeDescription:
    """Return the arrivals and departures of several events, given in their order, as what became of each member.

    One that is as before is an ``UndoneChange``; one that went and came otherwise has gone and come.
    """
    steps_by_member: dict[Hashable, list[_MemberStep]] = {}
    for description in descriptions:
        for step in _steps_of(description):
            steps_by_member.setdefault((step.name, _identity_of(step)), []).append(step)
    arrivals, departures, undone_changes = list[FieldChange](), list[FieldChange](), list[FieldChange]()
    for first, *_, last in ([steps[0], *steps] for steps in steps_by_member.values()):
        if first.is_arrival != last.is_arrival and (first.is_arrival or _is_same(first, last)):
            undone_changes.append(UndoneChange(name=last.name, old_value=last.value, is_there=last.is_arrival))
            continue
        departures += [] if first.is_arrival else [first.change]
        arrivals += [last.change] if last.is_arrival else []
    return ChangeDescription(
        fields_added=tuple(arrivals), fields_updated=tuple(undone_changes), fields_deleted=tuple(departures)
    )


def _steps_of(description: ChangeDescription) -> Iterator[_MemberStep]:
    """Yield what went in an event, then what came."""
    for changes, is_arrival in ((description.fields_deleted, False), (description.fields_added, True)):
        for change in changes:
            value = parse_json(change.new_value if is_arrival else change.old_value)
            is_list = isinstance(value, list | tuple)
            for member in value if is_list else [value]:
                yield _MemberStep(change.name, is_arrival, member, is_list)


def _identity_of(step: _MemberStep) -> str:
    """Return what a member is known by, as the differences of versions know it."""
    members = _list_of(step)
    if members is not None and step.is_in_list and isinstance(step.member, dict):
        return members.identity(step.member)
    return json.dumps(step.member, sort_keys=True, default=str)


def _is_same(first: _MemberStep, last: _MemberStep) -> bool:
    """Return whether the member that came back is the one that went: a label or reference is, whatever it carries."""
    members = _list_of(last)
    is_named_alone = members is not None and (members.reference or members.identity is tag_of)
    return is_named_alone or first.member == last.member


def _list_of(step: _MemberStep) -> MemberList | None:
    return MEMBER_LISTS.get(fqn.steps_of(step.name)[-1])
