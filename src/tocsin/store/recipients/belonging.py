"""What assets belong to over the log: what they lie in, their domains, data products, owners, labels, dashboards.

Who follows one of these follows what belongs to it. The cost depends on the assets of some events, never on how
many assets there are in what they belong to. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.change import EventType
from tocsin.model.entity_type import OWNING
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.labels import SOURCES
from tocsin.model.notification import Followed, ReasonKind
from tocsin.store.catalogue.relations.ancestry import Ancestor
from tocsin.store.catalogue.relations.past import LABEL
from tocsin.store.database.follow_tables import team_follow
from tocsin.store.database.keys import present_keys, rows_by_key, rows_of_all
from tocsin.store.database.tables import change_event, entity, follow, past_relation
from tocsin.store.recipients.dashboard_parts import find_dashboards
from tocsin.store.recipients.followed_types import AROUND, GATHERING, SHOWING, TOLD_AS_ITSELF
from tocsin.store.recipients.relations_over_time import (
    AncestorChain,
    Governance,
    KnownRelations,
    Span,
    deleted_spans,
    join_spans,
    overlap_of,
    spans_without,
)

_PAST, _EVENT, _TEAM = past_relation.c, change_event.c, team_follow.c

_Spans = dict[tuple[str, str, str | None], list[Span]]
"""When an asset belongs to something, by their ids and ``Followed.relation``."""


class Belonging(NamedTuple):
    """That an asset belongs to something that people may follow, for these events: the last one ends it."""

    container: Followed
    since_offset: int
    until_offset: int


class KnownBelongings:
    """What has been found of what the assets of some events belong to; it lives as long as the work on these events.

    ``memory`` holds what assets have at the first of these events or later.
    """

    def __init__(self, memory: KnownRelations) -> None:
        self._memory = memory
        self._belongings: dict[str, list[Belonging]] = {}

    def of(self, connection: Connection, asset_ids: Collection[str]) -> Mapping[str, Sequence[Belonging]]:
        """Return what each of these belongs to that is followed; the others have an empty list."""
        unknown_ids = [one for one in asset_ids if one not in self._belongings]
        if unknown_ids:
            self._belongings.update(_find_belongings(connection, unknown_ids, self._memory))
            for asset_id, belonging in _find_shown(connection, unknown_ids, self._memory):
                self._belongings[asset_id].append(belonging)
        return {one: self._belongings[one] for one in asset_ids}


def _find_belongings(
    connection: Connection, asset_ids: Collection[str], memory: KnownRelations
) -> dict[str, list[Belonging]]:
    """Return what each of these belongs to, or did, and people follow or did; most follow assets only."""
    belongings: dict[str, list[Belonging]] = {one: [] for one in asset_ids}
    if memory.followed_types(connection).isdisjoint(GATHERING):
        return belongings
    chains, governance, chains_of_named = _surroundings(connection, asset_ids, memory)
    types = governance.targets()
    every_chain = [*chains.values(), *chains_of_named.values()]
    container_ids = {*types, *(ancestor.id for some in every_chain for ancestor in some.past_and_present())}
    followed_ids = _find_followed(connection, container_ids, memory.from_offset)
    if not followed_ids:
        return belongings
    spans = _spans_inside(governance, chains, chains_of_named, followed_ids)
    spans |= _owner_spans(connection, governance, chains, followed_ids.intersection(governance.targets(OWNING)))
    spans |= _label_spans(governance, followed_ids.intersection(governance.targets(SOURCES)))
    containers = _containers(connection, followed_ids, types, every_chain)
    for asset_id, belonging in _belongings_in(connection, spans, containers):
        belongings[asset_id].append(belonging)
    return belongings


def find_container_ids(connection: Connection, asset_ids: Collection[str], memory: KnownRelations) -> set[str]:
    """Return the ids of what these assets are or were below or in, as ``find_spans_inside`` takes them."""
    chains, _, chains_of_named = _surroundings(connection, asset_ids, memory)
    every_chain = (*chains.values(), *chains_of_named.values())
    return {*chains_of_named, *(ancestor.id for some in every_chain for ancestor in some.past_and_present())}


def find_spans_inside(
    connection: Connection, asset_ids: Collection[str], container_ids: Collection[str], memory: KnownRelations
) -> Iterator[tuple[str, str, Span]]:
    """Yield when assets were in these: below them, in their domains or data products (asset, container, offsets).

    The event by which an asset leaves is the last.
    """
    chains, governance, chains_of_named = _surroundings(connection, asset_ids, memory)
    spans = _spans_inside(governance, chains, chains_of_named, container_ids)
    for (asset_id, container_id, _), container_spans in spans.items():
        for span in _with_last_events(container_spans, 0):
            yield asset_id, container_id, span


def _surroundings(
    connection: Connection, asset_ids: Collection[str], memory: KnownRelations
) -> tuple[Mapping[str, AncestorChain], Governance, Mapping[str, AncestorChain]]:
    """Return what is above assets, what they name, and what is above the domains and data products among that."""
    chains = memory.chains_of(connection, asset_ids)
    governance = Governance(connection, [one for one in asset_ids if _is_asset(chains[one])], memory)
    return chains, governance, memory.chains_of(connection, governance.targets(AROUND).keys())


def _spans_inside(
    governance: Governance,
    chains: Mapping[str, AncestorChain],
    chains_of_named: Mapping[str, AncestorChain],
    container_ids: Collection[str],
) -> _Spans:
    """Return when each of these assets was below one of these containers, or in it as in a domain."""
    spans: _Spans = defaultdict(list)
    for asset_chain in chains.values():
        for ancestor_id, span in _spans_above(asset_chain, container_ids):
            spans[asset_chain.entity_id, ancestor_id, None].append(span)
    is_named = any(not one.isdisjoint(container_ids) for one in map(_with_ancestors, chains_of_named.values()))
    for asset_id, (target_id, _), named_span in governance.domain_and_product_spans() if is_named else ():
        if target_id in container_ids:
            spans[asset_id, target_id, None].append(named_span)
        for ancestor_id, span in _spans_above(chains_of_named[target_id], container_ids):
            spans[asset_id, ancestor_id, None].append(overlap_of(named_span, span))
    return spans


def _find_shown(
    connection: Connection, asset_ids: Collection[str], memory: KnownRelations
) -> Iterator[tuple[str, Belonging]]:
    """Yield when each of these was shown or used by a dashboard that people follow or did; a deleted one shows none."""
    if SHOWING not in memory.followed_types(connection):
        return
    types = {asset_id: chain.entity_type for asset_id, chain in memory.chains_of(connection, asset_ids).items()}
    displays = list(find_dashboards(connection, types, memory.from_offset))
    followed_ids = _find_followed(connection, {one[1] for one in displays}, memory.from_offset)
    deletions = deleted_spans(connection, followed_ids)
    spans: _Spans = defaultdict(list)
    for asset_id, dashboard_id, relation, span in displays:
        if dashboard_id in followed_ids:
            absences = [(since - 1, until) for since, until in deletions.get(dashboard_id, ())]  # with the deletion
            spans[asset_id, dashboard_id, relation] += spans_without(span, absences)
    containers = _containers(connection, followed_ids, dict.fromkeys(followed_ids, SHOWING), ())
    yield from _belongings_in(connection, spans, containers)


def _belongings_in(
    connection: Connection, spans: _Spans, containers: Mapping[str, Followed]
) -> Iterator[tuple[str, Belonging]]:
    """Yield each asset with what it belongs to, as long as these spans and the event that ends each."""
    creations = _creations(connection, {asset_id for (asset_id, *_), ended in spans.items() if _has_ended(ended)})
    for (asset_id, container_id, relation), container_spans in spans.items():
        container = containers[container_id].model_copy(update={"relation": relation})
        for span in _with_last_events(container_spans, creations.get(asset_id, 0)):
            yield asset_id, Belonging(container, *span)


def _owner_spans(
    connection: Connection, governance: Governance, chains: Mapping[str, AncestorChain], owner_ids: Collection[str]
) -> _Spans:
    """Return when assets were owned by these; past owners are kept of what was no asset as well, such as a team."""
    owner_spans = [one for one in governance.owner_spans() if one[1][0] in owner_ids] if owner_ids else []
    gone_ids = {entity_id for entity_id, *_ in owner_spans if chains[entity_id].entity_type is None}
    deletions = select(_EVENT.entity_id, _EVENT.entity_type).where(_EVENT.event_type == EventType.ENTITY_DELETED.value)
    other_ids = {
        entity_id
        for entity_id, entity_type in rows_by_key(connection, deletions, _EVENT.entity_id, gone_ids)
        if entity_type not in ENTITY_TYPES or not ENTITY_TYPES[entity_type].is_asset
    }
    spans: _Spans = defaultdict(list)
    for asset_id, (owner_id, _), span in owner_spans:
        if asset_id not in other_ids:
            spans[asset_id, owner_id, ReasonKind.OWNER.value].append(span)
    return spans


def _label_spans(governance: Governance, label_ids: Collection[str]) -> _Spans:
    """Return when assets, or members of them, carried these."""
    spans: _Spans = defaultdict(list)
    for asset_id, (label_id, _), span in governance.label_spans() if label_ids else ():
        if label_id in label_ids:
            spans[asset_id, label_id, LABEL].append(span)
    return spans


def _find_followed(connection: Connection, ids: Collection[str], from_offset: int) -> set[str]:
    """Return which of these people or teams follow now, or did at this offset or later."""
    past = select(_PAST.entity_id).where(_PAST.relation == ReasonKind.FOLLOWER.value, _PAST.until_offset >= from_offset)
    of_teams = select(_TEAM.entity_id).where(_TEAM.until_offset >= from_offset)
    kinds = ((past.distinct(), _PAST.entity_id), (of_teams.distinct(), _TEAM.entity_id))
    other_rows = rows_of_all(connection, kinds, ids)
    return {*present_keys(connection, follow.c.entity_id, ids), *(row.entity_id for row in other_rows)}


def _is_asset(asset_chain: AncestorChain) -> bool:
    """Return whether people may follow an entity; what is gone has domains here only if they could."""
    kind = ENTITY_TYPES.get(asset_chain.entity_type or "")
    return asset_chain.entity_type is None or (kind is not None and kind.is_asset)


def _with_ancestors(chain: AncestorChain) -> set[str]:
    """Return the ids of an entity and of everything that is or was above it."""
    return {chain.entity_id, *(ancestor.id for ancestor in chain.past_and_present())}


def _spans_above(asset_chain: AncestorChain, followed_ids: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the ancestors of an entity that it belongs to and that are followed, and when."""
    for since, end in pairwise(sorted({0, NO_END + 1, *asset_chain.turns()})):
        for ancestor in asset_chain.at(since):
            if ancestor.id in followed_ids and ancestor.entity_type != TOLD_AS_ITSELF:
                yield ancestor.id, (since, end - 1)


def _has_ended(spans: Sequence[Span]) -> bool:
    return any(until < NO_END for _, until in spans)


def _creations(connection: Connection, asset_ids: Collection[str]) -> dict[str, int]:
    """Return the offset of the event that created each of these assets, as far as the log has it."""
    query = select(_EVENT.entity_id, _EVENT.log_offset).where(_EVENT.event_type == EventType.ENTITY_CREATED.value)
    return {row.entity_id: row.log_offset for row in rows_by_key(connection, query, _EVENT.entity_id, asset_ids)}


def _with_last_events(spans: Sequence[Span], created_at: int) -> list[Span]:
    """Return spans with the event that ends each, which is the last that is told.

    A span that ends before the asset was there is none: what it would have inherited it never had.
    """
    return join_spans(
        (since, min(until + 1, NO_END)) for since, until in spans if since <= until and until >= created_at
    )


def _containers(
    connection: Connection, ids: Collection[str], types: Mapping[str, str], chains: Collection[AncestorChain]
) -> dict[str, Followed]:
    """Return what is named, given by its type, and what is above others, with its name of now, or else its last one."""
    targets = {target_id: Ancestor(target_id, kind, None) for target_id, kind in types.items() if target_id in ids}
    ancestors = {one.id: one for some in chains for one in some.past_and_present() if one.id in ids}
    now = {one.id: one for some in chains for one in some.now if one.id in ids}
    query = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
    missing_ids = {*targets, *ancestors} - now.keys()
    present = {row.id: Ancestor(*row) for row in rows_by_key(connection, query, entity.c.id, missing_ids)}
    containers = (targets | ancestors | present | now).values()
    return {one.id: Followed(type=one.entity_type, id=one.id, fully_qualified_name=one.fqn) for one in containers}
