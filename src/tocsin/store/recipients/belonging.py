"""What assets belong to over the log: what they lie in, such as a schema, their domains and their data products.

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
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import Followed, ReasonKind
from tocsin.store.catalogue.relations.ancestry import Ancestor
from tocsin.store.database.keys import present_keys, rows_by_key
from tocsin.store.database.tables import entity, follow, past_relation
from tocsin.store.recipients.relations_over_time import (
    AncestorChain,
    Governance,
    KnownChains,
    Span,
    join_spans,
    overlap_of,
)

_PAST = past_relation.c
_TOLD_AS_ITSELF = "table"
"""The ancestor whose followers are told of what it contains, its tests, as of itself (``subject_assets.py``)."""

_Spans = dict[tuple[str, str], list[Span]]
"""When an asset belongs to something, by their ids."""


class Belonging(NamedTuple):
    """That an asset belongs to something that people may follow, for these events: the last one ends it."""

    container: Followed
    since_offset: int
    until_offset: int


class KnownBelongings:
    """What has been found of what the assets of some events belong to; it lives as long as the work on these events.

    ``chains`` hold their ancestors, at the first of these events or later.
    """

    def __init__(self, chains: KnownChains) -> None:
        self._chains = chains
        self._belongings: dict[str, Sequence[Belonging]] = {}

    def of(self, connection: Connection, asset_ids: Collection[str]) -> Mapping[str, Sequence[Belonging]]:
        """Return what each of these belongs to that is followed; the others have an empty list."""
        unknown_ids = [one for one in asset_ids if one not in self._belongings]
        if unknown_ids:
            self._belongings.update(_find_belongings(connection, unknown_ids, self._chains))
        return {one: self._belongings[one] for one in asset_ids}


def _find_belongings(
    connection: Connection, asset_ids: Collection[str], known_chains: KnownChains
) -> dict[str, list[Belonging]]:
    """Return what each of these belongs to, or did, and people follow or did; most follow assets only."""
    chains = known_chains.of(connection, asset_ids)
    governance = Governance(connection, [one for one in asset_ids if _is_asset(chains[one])], known_chains)
    types = governance.targets()
    chains_of_named = known_chains.of(connection, types.keys())
    every_chain = [*chains.values(), *chains_of_named.values()]
    container_ids = {*types, *(ancestor.id for some in every_chain for ancestor in some.everybody())}
    followed_ids = _find_followed(connection, container_ids, known_chains.from_offset)
    belongings: dict[str, list[Belonging]] = {one: [] for one in asset_ids}
    if not followed_ids:
        return belongings
    spans: _Spans = defaultdict(list)
    for asset_chain in chains.values():
        for ancestor_id, span in _spans_above(asset_chain, followed_ids):
            spans[asset_chain.entity_id, ancestor_id].append(span)
    is_governance_followed = any(followed_ids.intersection(_with_ancestors(chains_of_named[one])) for one in types)
    for asset_id, (target_id, _), named_span in governance.spans() if is_governance_followed else ():
        if target_id in followed_ids:
            spans[asset_id, target_id].append(named_span)
        for ancestor_id, span in _spans_above(chains_of_named[target_id], followed_ids):
            spans[asset_id, ancestor_id].append(overlap_of(named_span, span))
    containers = _containers(connection, followed_ids, types, every_chain)
    for (asset_id, container_id), container_spans in spans.items():
        container = containers[container_id]
        belongings[asset_id] += [Belonging(container, *span) for span in _with_last_events(container_spans)]
    return belongings


def _find_followed(connection: Connection, ids: Collection[str], from_offset: int) -> set[str]:
    """Return which of these people follow now, or did at this offset or later."""
    past = select(_PAST.entity_id).where(_PAST.relation == ReasonKind.FOLLOWER.value, _PAST.until_offset >= from_offset)
    past_rows = rows_by_key(connection, past.distinct(), _PAST.entity_id, ids)
    return {*present_keys(connection, follow.c.entity_id, ids), *(row.entity_id for row in past_rows)}


def _is_asset(asset_chain: AncestorChain) -> bool:
    """Return whether people may follow an entity; what is gone has domains here only if they could."""
    kind = ENTITY_TYPES.get(asset_chain.entity_type or "")
    return asset_chain.entity_type is None or (kind is not None and kind.is_followable)


def _with_ancestors(chain: AncestorChain) -> Iterator[str]:
    """Yield the ids of an entity and of everything that is or was above it."""
    yield chain.entity_id
    yield from (ancestor.id for ancestor in chain.everybody())


def _spans_above(asset_chain: AncestorChain, followed_ids: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the ancestors of an entity that it belongs to and that are followed, and when."""
    for since, end in pairwise(sorted({0, NO_END + 1, *asset_chain.turns()})):
        for ancestor in asset_chain.at(since):
            if ancestor.id in followed_ids and ancestor.entity_type != _TOLD_AS_ITSELF:
                yield ancestor.id, (since, end - 1)


def _with_last_events(spans: Sequence[Span]) -> list[Span]:
    """Return spans with the event that ends each, which is the last that is told."""
    return join_spans((since, min(until + 1, NO_END)) for since, until in spans if since <= until)


def _containers(
    connection: Connection, ids: Collection[str], types: Mapping[str, str], chains: Collection[AncestorChain]
) -> dict[str, Followed]:
    """Return what is named, given by its type, and what is above others, with its name of now, or else its last one."""
    targets = {target_id: Ancestor(target_id, kind, None) for target_id, kind in types.items() if target_id in ids}
    ancestors = {one.id: one for some in chains for one in some.everybody() if one.id in ids}
    now = {one.id: one for some in chains for one in some.now if one.id in ids}
    query = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
    missing_ids = {*targets, *ancestors} - now.keys()
    present = {row.id: Ancestor(*row) for row in rows_by_key(connection, query, entity.c.id, missing_ids)}
    containers = (targets | ancestors | present | now).values()
    return {one.id: Followed(type=one.entity_type, id=one.id, fully_qualified_name=one.fqn) for one in containers}
