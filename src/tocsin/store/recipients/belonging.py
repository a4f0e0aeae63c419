"""What assets belong to over the log: the schema, database and service above a table, the glossary above a term.

Who follows one of these follows what belongs to it. The cost depends on the assets of some events, never on how
many assets there are in what they belong to. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.notification import Followed
from tocsin.store.catalogue.relations.ancestry import Ancestor
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity
from tocsin.store.recipients.relations_over_time import AncestorChain, Span, chains_of, join_spans

_TOLD_AS_ITSELF = "table"
"""The ancestor whose followers are told of what it contains, its tests, as of itself (``subject_assets.py``)."""


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
    """Return what each of these belongs to, or did at this offset or later, the nearest first."""
    # What ended just before this offset was ended by the event there, which is the last that is told.
    chains = chains_of(connection, asset_ids, max(0, from_offset - 1))
    containers = _containers(connection, chains.values())
    return {asset: list(_belongings(chain, containers)) for asset, chain in chains.items()}


def _containers(connection: Connection, chains: Collection[AncestorChain]) -> dict[str, Followed]:
    """Return everything above these by id, with its name of now; of what is gone, with its last one."""
    ancestors = {one.id: one for chain in chains for one in reversed([*chain.everybody()])}
    ids_now = {one.id for chain in chains for one in chain.now}
    names = select(entity.c.id, entity.c.fqn)
    earlier_ids = ancestors.keys() - ids_now
    names_now = dict(map(tuple, rows_by_key(connection, names, entity.c.id, earlier_ids))) if earlier_ids else {}
    return {one.id: _container_of(one, names_now.get(one.id, one.fqn)) for one in ancestors.values()}


def _container_of(ancestor: Ancestor, fqn: str | None) -> Followed:
    return Followed(type=ancestor.entity_type, id=ancestor.id, fully_qualified_name=fqn)


def _belongings(chain: AncestorChain, containers: Mapping[str, Followed]) -> list[Belonging]:
    spans: dict[str, list[Span]] = defaultdict(list)
    for since, end in pairwise(sorted({0, NO_END + 1, *chain.turns()})):
        for ancestor in chain.at(since):
            if ancestor.entity_type != _TOLD_AS_ITSELF:
                spans[ancestor.id].append((since, min(end, NO_END)))  # the event at ``end`` ends it, and is told
    return [
        Belonging(containers[container_id], *span)
        for container_id, container_spans in spans.items()
        for span in join_spans(container_spans)
    ]
