"""Names in an alert that nothing has: in conditions, where something is called similarly, and of owners and domains.

Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from tocsin.catalogue.naming.alert_names import placed_rules
from tocsin.conditions.entity_names import Comparing, EntityName, Types, entity_names
from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import keys_of
from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import REFERENCE_LISTS
from tocsin.model.stored import Key
from tocsin.model.validation_errors import MOST_TOLD
from tocsin.server.access.permissions import visible_references
from tocsin.server.access.similar_names import similar_name, similar_names
from tocsin.server.request import Caller
from tocsin.store.catalogue.entities.write import lookups

_MOST_LOOKED_UP = 10
"""Names of an alert for which similar ones are looked up."""

_Lookup = tuple[str, str, str]
"""By what an entity is looked up: its type, a column, and the value there."""


class _Reference(NamedTuple):
    """A reference in a list of a request, and the keys by which it is looked up."""

    list_key: str
    position: int
    kind: str
    keys: tuple[Key, ...]

    def lookups(self) -> Iterator[_Lookup]:
        """Yield everything by which the entity may be found."""
        for key in self.keys:
            column, values = lookups(self.kind, key)
            yield from ((self.kind, column, value) for value in values)


def misspelt_names(alert: Document, caller: Caller) -> Iterator[Remark]:
    """Yield a remark for each name that nothing has, with the similar one that there is.

    What the caller may not see does not exist. What is named may be created later: without a similar name, no remark.
    Malformed parts of an alert have none.
    """
    placed_names = [
        (place, name)
        for place, rule in placed_rules(alert)
        for name in entity_names(rule["condition"])
        if name.comparing is Comparing.EXACT and not name.is_recipient  # without the team, an alert is refused
    ]
    if not placed_names:
        return
    seen_names = _seen_names((name for _, name in placed_names), caller)
    all_resources = alert["filteringRules"].get("resources")
    names_of_resources = all_resources if isinstance(all_resources, list) else ()
    resources = tuple(one for one in names_of_resources if isinstance(one, str) and one in ENTITY_TYPES)
    unseen = ((place, name) for place, name in placed_names if (name.types, name.text) not in seen_names)
    for place, name in islice(unseen, _MOST_LOOKED_UP):
        types = name.types if len(name.types) < len(ENTITY_TYPES) else resources
        if similar := _similar_of(name.text, types, caller):
            message = f"Nothing that you may see is called {name.text!r}{similar}"
            yield Remark(RemarkKind.UNKNOWN_WORD, message, place)


def _similar_of(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return the suggestion of a similar name of these types; without types, of any, tables first."""
    if not types:
        return similar_names(name, tuple(dict.fromkeys(("table", *ENTITY_TYPES))), caller)
    return next(filter(None, (similar_name(kind, name, caller) for kind in types)), "")


def missing_references(alert: Document, caller: Caller) -> Iterator[InvalidInput]:
    """Yield the owners and domains of a request that there are not, or that the caller may not see, with their places.

    Of more than ``MOST_TOLD`` in a list, the others are counted. Malformed ones are left out.
    """
    references = [one for key in ("owners", "domains") for one in _references_in(alert, key)]
    visible_lookups = _visible_lookups(references, caller) if references else frozenset[_Lookup]()
    missing: dict[str, list[_Reference]] = defaultdict(list)
    for reference in references:
        if visible_lookups.isdisjoint(reference.lookups()):
            missing[reference.list_key].append(reference)
    for list_key, missing_here in missing.items():
        for reference in missing_here[:MOST_TOLD]:
            name = reference.keys[0]
            similar = similar_name(reference.kind, name.fqn, caller) if name.fqn else ""
            yield InvalidInput(f"{reference.kind} {name} not found{similar}", field=f"{list_key}[{reference.position}]")
        if len(missing_here) > MOST_TOLD:
            yield InvalidInput(f"{len(missing_here) - MOST_TOLD:,} more not found", field=list_key)


def _references_in(alert: Document, list_key: str) -> Iterator[_Reference]:
    references = alert.get(list_key)
    for position, reference in enumerate(references if isinstance(references, list) else ()):
        kind = reference.get("type") if isinstance(reference, dict) else REFERENCE_LISTS[list_key][0]
        if kind in REFERENCE_LISTS[list_key]:
            with suppress(InvalidInput):
                yield _Reference(list_key, position, kind, keys_of(reference))


def _visible_lookups(references: Sequence[_Reference], caller: Caller) -> frozenset[_Lookup]:
    """Return by what everything live among these that the caller may see is looked up."""
    values: dict[str, set[str]] = defaultdict(set)
    for reference in references:
        for _, column, value in reference.lookups():
            values[column].add(value)
    bearers = caller.parts.access.standing.references_named(values["fqn"])
    ids = values["id"].union(one["id"] for many in bearers.values() for one in many)
    live_references = [one for one in caller.parts.catalogue.references(ids).values() if not one.get("deleted")]
    return frozenset(
        (visible["type"], column, visible[key])
        for visible in visible_references(caller, live_references)
        for column, key in (("id", "id"), ("fqn", "fullyQualifiedName"))
    )


def _seen_names(names: Iterable[EntityName], caller: Caller) -> set[tuple[Types, str]]:
    """Return which of these are the names of what the caller may see."""
    texts: dict[Types, set[str]] = defaultdict(set)
    for name in names:
        texts[name.types].add(name.text)
    existing = {
        (types, text): reference
        for types, wording in texts.items()
        for text, reference in caller.parts.alert_stores.names.references_of(types, wording).items()
    }
    visible_ids = caller.visibility.sees(existing.values()) if existing else ()
    return {key for key, reference in existing.items() if reference["id"] in visible_ids}
