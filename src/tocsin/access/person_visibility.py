"""Visibility of many entities to one person, decided on their current or last state.

Everything that shows history or references to other entities is filtered here: events, versions, edges, references.
Next: ``store/catalogue/access/entity_states.py``, which looks up the entities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from tocsin.access.decide import Permissions
from tocsin.access.visibility import TypedDocument, subjects_of
from tocsin.conditions.references import CHANGED
from tocsin.logic import ALWAYS
from tocsin.model.access import Operation
from tocsin.model.change import ChangeDescription, ChangeEvent, FieldChange
from tocsin.model.entity import Document
from tocsin.model.notification import Followed, Reason, ReasonKind
from tocsin.model.pointers import (
    LABEL_TYPES,
    LabelName,
    hidden_label,
    is_hidden,
    labels_in,
    names_in,
    references_in,
    without_hidden,
)

Json = Any  # Any: a JSON value


class EntityStates(Protocol):
    """Looks up what entities are now, or were last."""

    def of(self, entity_ids: Collection[str]) -> Mapping[str, TypedDocument]:
        """Return the type and document of each entity, as policies are asked about it; what never was has no entry."""

    def references_named(self, fqns: Collection[str]) -> Mapping[str, Sequence[Document]]:
        """Return references to all that have each of these full names."""

    def labels_named(self, fqns: Collection[str]) -> Mapping[LabelName, str]:
        """Return the ids of the tags and terms that have, or had, each of these full names, by type and name."""

    def of_incidents(self, names: Collection[str]) -> Mapping[str, Sequence[Document]]:
        """Return a reference to the asset of each of these incidents; an unknown one has no entry."""


_NAMELESS_TEAMS: Mapping[ReasonKind, str | None] = {ReasonKind.FOLLOWER: "", ReasonKind.OWNER: None}
"""What reasons have in place of a team that may not be seen: a follow is said to be that of a team still."""


class Visibility:
    """What one person may see at one moment; what was asked once is remembered."""

    def __init__(self, permissions: Permissions, standing: EntityStates) -> None:
        self._permissions, self._standing = permissions, standing
        self._known: dict[str, bool] = {}
        self._names: dict[str, bool] = {}
        self._labels: dict[LabelName, bool] = {}
        self.is_whole = permissions.views_everything

    def sees(self, references: Iterable[Document]) -> set[str]:
        """Return the ids of those of these references whose entities may be seen."""
        typed_ids = [(str(one.get("type")), str(one.get("id"))) for one in references]
        if self.is_whole:
            return {entity_id for _, entity_id in typed_ids}
        unknown_ids = {
            entity_id for kind, entity_id in typed_ids if entity_id not in self._known and not self._sees_all(kind)
        }
        if unknown_ids:
            states_by_id = self._standing.of(unknown_ids)
            self._known |= {one: one in states_by_id and self._may_view(states_by_id[one]) for one in unknown_ids}
        return {entity_id for kind, entity_id in typed_ids if self._sees_all(kind) or self._known[entity_id]}

    def sees_named(self, fqns: Collection[str]) -> set[str]:
        """Return those of these full names whose every bearer may be seen; a name that nothing has is not."""
        if self.is_whole:
            return set(fqns)
        unknown_names = [name for name in fqns if name not in self._names]
        if unknown_names:
            references_by_name = self._standing.references_named(unknown_names)
            visible_ids = self.sees(name for many in references_by_name.values() for name in many)
            self._names |= {
                name: name in references_by_name and all(each["id"] in visible_ids for each in references_by_name[name])
                for name in unknown_names
            }
        return {name for name in fqns if self._names[name]}

    def sees_incidents(self, names: Collection[str]) -> set[str]:
        """Return those of these incidents, by their names, whose asset may be seen."""
        if self.is_whole or not names:
            return set(names)
        about = self._standing.of_incidents(names)
        visible_ids = self.sees(one for many in about.values() for one in many)
        return {name for name, many in about.items() if all(str(one["id"]) in visible_ids for one in many)}

    def reasons(self, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
        """Return reasons without what is hidden: assets downstream, what is followed, roots, incidents, teams."""
        visible_names = self.sees_named({name for one in reasons for name in (one.via, one.downstream_of) if name})
        visible_names |= self.sees_incidents({one.held_by for one in reasons if one.held_by})
        visible_ids = self.sees_followed([one.through for one in reasons if one.through])
        visible_reasons = self._without_hidden_teams(reasons)
        return tuple(dict.fromkeys(_without_hidden(one, visible_names, visible_ids) for one in visible_reasons))

    def _without_hidden_teams(self, reasons: Sequence[Reason]) -> Sequence[Reason]:
        """Return reasons that do not name a team that may not be seen: whose follow or ownership concerns a member."""
        names = {one.team for one in reasons if one.team and one.kind in _NAMELESS_TEAMS}
        if not names or self._sees_all("team"):
            return reasons
        hidden_names = names - self.sees_named(names)
        return [_without_team(reason) if reason.team in hidden_names else reason for reason in reasons]

    def sees_followed(self, followed: Iterable[Followed]) -> set[str]:
        """Return the ids of those of these that may be seen."""
        return self.sees([{"type": one.type, "id": one.id} for one in followed if one.id is not None])

    def visible_events(self, events: Sequence[ChangeEvent]) -> list[ChangeEvent | None]:
        """Return each event without what may not be seen of it; None where none of it may.

        How many entities lay below a deleted one is for those who may see everything: others may not see each of them.
        """
        if self.is_whole:
            return list(events)
        is_visible = self.sees_events(events)
        visible_events = [event for event, is_seen in zip(events, is_visible, strict=True) if is_seen]
        hidden_names = iter(self.hidden_names_in_each([_parts(event) for event in visible_events]))
        return [
            event_without(event, next(hidden_names)).by_itself() if is_seen else None
            for event, is_seen in zip(events, is_visible, strict=True)
        ]

    def sees_event(self, event: ChangeEvent) -> bool:
        """Return whether everything that the event is about may be seen."""
        return self.sees_events([event])[0]

    def sees_events(self, events: Sequence[ChangeEvent]) -> list[bool]:
        """Return of each event whether everything that it is about may be seen."""
        if self.is_whole:
            return [True for _ in events]
        about = [subjects_of(event) for event in events]
        visible_ids = self.sees(one for many in about for one in many)
        return [all(str(one.get("id")) in visible_ids for one in many) for many in about]

    def hidden_names_of(self, event: ChangeEvent) -> set[str]:
        """Return the ids and full names of what the event names and may not be seen."""
        return self.hidden_names_in(_parts(event))

    def parts_hidden(self, event: ChangeEvent, about: Document | None = None) -> frozenset[str]:
        """Return the keys of an event's document, and ``CHANGED``, of which a part may not be seen.

        Of an event of a thread, fields are those of the asset that it is ``about``.
        """
        hidden_names = self.hidden_names_in([*_parts(event), about])
        if hidden_names:
            visible_event = event_without(event, hidden_names)
            pairs = (
                (event.entity or {}, visible_event.entity or {}),
                (about or {}, without_hidden(about or {}, hidden_names, about or {})),
            )
            keys = {key for whole, left in pairs for key in whole if left.get(key) != whole[key]}
            change_parts = {CHANGED} if visible_event.change_description != event.change_description else set()
            return frozenset(keys | change_parts)
        return frozenset()

    def visible_documents(self, documents: Sequence[Document]) -> list[Document]:
        """Return documents without the references in them to what may not be seen."""
        if self.is_whole:
            return list(documents)
        hidden = self.hidden_names_in(documents)
        return [without_hidden(one, hidden, one) for one in documents] if hidden else list(documents)

    def hidden_names_in(self, value: Json) -> set[str]:
        """Return the ids and full names of all that is named somewhere in a JSON value and may not be seen."""
        return self.hidden_names_in_each([value])[0]

    def hidden_names_in_each(self, values: Sequence[Json]) -> list[set[str]]:
        """Return what ``hidden_names_in`` does of each value; what they name is looked up together."""
        if self.is_whole:
            return [set() for _ in values]
        references, names = [list(references_in(value)) for value in values], [set(names_in(value)) for value in values]
        visible_ids = self.sees(one for many in references for one in many)
        visible_names = self.sees_named(set().union(*names))
        labels = self._hidden_labels_of(values)
        return [
            ({str(one["id"]) for one in many} - visible_ids) | (names_of_value - visible_names) | labels_of_value
            for many, names_of_value, labels_of_value in zip(references, names, labels, strict=True)
        ]

    def _hidden_labels_of(self, values: Sequence[Json]) -> list[set[str]]:
        """Return of each value the labels whose tag or term may not be seen, as ``hidden_label`` writes them.

        A label of a tag that was renamed or deleted since is as visible as that tag; one that nothing ever was called
        is hidden from those who may not see every tag.
        """
        if all(self._sees_all(kind) for kind in LABEL_TYPES):
            return [set() for _ in values]
        labels = [{name for name in labels_in(value) if not self._sees_all(name[0])} for value in values]
        visible_labels = self._sees_labels(set().union(*labels))
        return [{hidden_label(name) for name in many - visible_labels} for many in labels]

    def _sees_labels(self, names: Collection[LabelName]) -> set[LabelName]:
        unknown_names = [name for name in names if name not in self._labels]
        if unknown_names:
            ids = self._standing.labels_named({fqn for _, fqn in unknown_names})
            visible_ids = self.sees({"type": kind, "id": label_id} for (kind, _), label_id in ids.items())
            self._labels |= {name: ids.get(name) in visible_ids for name in unknown_names}
        return {name for name in names if self._labels[name]}

    def _sees_all(self, kind: str) -> bool:
        return self._permissions.scope(kind, Operation.VIEW_BASIC) is ALWAYS

    def _may_view(self, subject: TypedDocument) -> bool:
        return self._permissions.may(Operation.VIEW_BASIC, *subject)


def event_without(event: ChangeEvent, hidden_names: AbstractSet[str]) -> ChangeEvent:
    """Return an event without what is hidden of all that it names."""
    if not hidden_names:
        return event
    entity = event.entity or {}
    change = event.change_description
    return event.model_copy(
        update={
            "entity": without_hidden(entity, hidden_names, entity) if event.entity is not None else None,
            "change_description": None if change is None else _change_without(change, hidden_names, entity),
        }
    )


def parts_of(event: Document) -> list[Json]:
    """Return the parts of an event as JSON that may name something that may not be seen."""
    change = event.get("changeDescription") or {}
    fields = (one for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") for one in change.get(key) or ())
    return [event.get("entity"), *(one.get(key) for one in fields for key in ("oldValue", "newValue"))]


def _without_hidden(reason: Reason, visible_names: Collection[str], visible_ids: Collection[str]) -> Reason:
    hidden: dict[str, str | Followed | None] = {}
    if reason.via is not None and reason.via not in visible_names:
        hidden |= {"via": None, "follow": None}
    if reason.through is not None and reason.through.id not in visible_ids:
        hidden |= {"through": Followed(type=reason.through.type, relation=reason.through.relation), "follow": None}
    if reason.downstream_of and reason.downstream_of not in visible_names:
        hidden |= {"downstream_of": ""}
    if reason.held_by and reason.held_by not in visible_names:
        hidden |= {"held_by": None}
    return reason.model_copy(update=hidden) if hidden else reason


def _without_team(reason: Reason) -> Reason:
    return reason.model_copy(update={"team": _NAMELESS_TEAMS.get(reason.kind, reason.team)})


def _parts(event: ChangeEvent) -> list[Json]:
    change = event.change_description or ChangeDescription()
    fields = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    return [event.entity, *(value for one in fields for value in (one.old_value, one.new_value))]


def _change_without(change: ChangeDescription, hidden: AbstractSet[str], document: Document) -> ChangeDescription:
    return change.model_copy(
        update={
            name: tuple(_fields_without(getattr(change, name), hidden, document))
            for name in ("fields_added", "fields_updated", "fields_deleted")
        }
    )


def _fields_without(
    fields: Iterable[FieldChange], hidden: AbstractSet[str], document: Document
) -> Iterator[FieldChange]:
    """Yield the changes without what is hidden; one that says nothing else is left out."""
    for field_change in fields:
        before = [field_change.old_value, field_change.new_value]
        after = [None if is_hidden(value, hidden) else without_hidden(value, hidden, document) for value in before]
        if after == before or any(after):
            yield field_change.model_copy(update={"old_value": after[0], "new_value": after[1]})
