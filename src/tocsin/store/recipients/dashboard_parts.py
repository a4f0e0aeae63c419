"""What dashboards show and use over the log: their charts and data models, and the metrics that lineage leads to them.

Next: ``store/recipients/belonging.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sqlalchemy import Connection, literal, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.relations import SHOWN_FIELDS
from tocsin.store.catalogue.relations.past import DOWNSTREAM, SHOWN
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.recipients.followed_types import SHOWING
from tocsin.store.recipients.relations_over_time import EDGES, Span, relations_held

USED = "used"
"""``Followed.relation`` of a dashboard that uses a metric."""

_SHOWN_TYPES = frozenset(("chart", "dashboardDataModel"))
_REFERS = entity_reference.c
_NAMED = select(
    _REFERS.target_id, _REFERS.entity_id, literal(SHOWING), _REFERS.since_offset, literal(NO_END), literal(None)
).where(_REFERS.field.in_(SHOWN_FIELDS))


def find_dashboards(
    connection: Connection, types: Mapping[str, str | None], from_offset: int
) -> Iterator[tuple[str, str, str, Span]]:
    """Yield the dashboards that show or use these assets: (asset, dashboard, ``Followed.relation``, span of offsets).

    ``types`` are those of the assets, None for what is gone.
    """
    part_ids = _ids_of_types(types, _SHOWN_TYPES)
    naming = relations_held(connection, ((_NAMED, _REFERS.target_id),), (SHOWN,), part_ids, from_offset)
    metric_ids = _ids_of_types(types, ("metric",))
    edges = relations_held(connection, EDGES, (DOWNSTREAM,), metric_ids, from_offset)
    for relation, relations in ((SHOWN, naming), (USED, edges)):
        for asset_id, many in relations.items():
            yield from ((asset_id, held.target[0], relation, held.span) for held in many if held.target[1] == SHOWING)


def _ids_of_types(types: Mapping[str, str | None], kinds: Collection[str]) -> list[str]:
    """Return the ids of the assets of these types, and of what is gone."""
    return [asset_id for asset_id, entity_type in types.items() if entity_type is None or entity_type in kinds]
