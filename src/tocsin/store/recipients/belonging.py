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
from tocsin.model.notification import Followed
from tocsin.store.catalogue.relations.ancestry import Ancestor
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity
from tocsin.store.recipients.relations_over_time import (
    AncestorChain,
    Span,
    chains_of,
    domains_and_products,
    join_spans,
    overlap_of,
)

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

    All are at ``from_offset`` or later.
    """

    def __init__(self, from_offset: int) -> None:
        self._from = from_offset
        self._belongings: dict[str, Sequence[Belonging]] = {}

    def of(self, connection: Connection, asset_ids: Collection[str]) -> Mapping[str, Sequence[Belonging]]:
        """Return what each of these belongs to; an entity that belongs to nothing has an empty list."""
        unknown_ids = [one for one in asset_ids if one not in self._belongings]
        if unknown_ids:
            self._belongings.update(find_belongings(connection, unknown_ids, self._from))
        return {one: self._belongings[one] for one in asset_ids}


def find_belongings(
    connection: Connection, asset_ids: Collection[str], from_offset: int = 0
) -> dict[str, list[Belonging]]:
    """Return what each of these belongs to, or did at this offset or later."""
    # What ended just before this offset was ended by the event there, which is the last that is told.
    since = max(0, from_offset - 1)
    chains = chains_of(connection, asset_ids, since)
    assets = {one: asset_chain for one, asset_chain in chains.items() if _is_asset(asset_chain)}
    named_targets = list(domains_and_products(connection, assets, since))
    types = {target_id: entity_type for _, (target_id, entity_type), _ in named_targets}
    chains_of_named = chains_of(connection, types.keys(), since)
    spans: _Spans = defaultdict(list)
    for asset_chain in chains.values():
        for ancestor_id, span in _spans_above(asset_chain):
            spans[asset_chain.entity_id, ancestor_id].append(span)
    for asset_id, (target_id, _), named_span in named_targets:
        spans[asset_id, target_id].append(named_span)
        for ancestor_id, span in _spans_above(chains_of_named[target_id]):
            spans[asset_id, ancestor_id].append(overlap_of(named_span, span))
    containers = _containers(connection, types, [*chains.values(), *chains_of_named.values()])
    belongings: dict[str, list[Belonging]] = {one: [] for one in asset_ids}
    for (asset_id, container_id), container_spans in spans.items():
        container = containers[container_id]
        belongings[asset_id] += [Belonging(container, *span) for span in _with_last_events(container_spans)]
    return belongings


def _is_asset(asset_chain: AncestorChain) -> bool:
    """Return whether people may follow an entity; what is gone has domains here only if they could."""
    kind = ENTITY_TYPES.get(asset_chain.entity_type or "")
    return asset_chain.entity_type is None or (kind is not None and kind.is_followable)


def _spans_above(asset_chain: AncestorChain) -> Iterator[tuple[str, Span]]:
    """Yield the ancestors of an entity that it belongs to, and when."""
    for since, end in pairwise(sorted({0, NO_END + 1, *asset_chain.turns()})):
        for ancestor in asset_chain.at(since):
            if ancestor.entity_type != _TOLD_AS_ITSELF:
                yield ancestor.id, (since, end - 1)


def _with_last_events(spans: Sequence[Span]) -> list[Span]:
    """Return spans with the event that ends each, which is the last that is told."""
    return join_spans((since, min(until + 1, NO_END)) for since, until in spans if since <= until)


def _containers(
    connection: Connection, types: Mapping[str, str], chains: Collection[AncestorChain]
) -> dict[str, Followed]:
    """Return what is named, given by its type, and what is above others, with its name of now, or else its last one."""
    ancestors = {target_id: Ancestor(target_id, entity_type, None) for target_id, entity_type in types.items()}
    ancestors |= {one.id: one for some in chains for one in some.everybody()}
    now = {one.id: one for some in chains for one in some.now}
    query = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
    missing_ids = ancestors.keys() - now.keys()
    present = {row.id: Ancestor(*row) for row in rows_by_key(connection, query, entity.c.id, missing_ids)}
    containers = (ancestors | present | now).values()
    return {one.id: Followed(type=one.entity_type, id=one.id, fully_qualified_name=one.fqn) for one in containers}
