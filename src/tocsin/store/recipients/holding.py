"""Look-up of the incidents that hold alerts back, and of the event that each lets pass.

``flow/resolve/holding.py`` has the rules. The first event of each alert that is held back is stored once, so that a
repeated micro-batch lets the same event pass. Next: ``store/recipients/roots.py``, which asks for the same incidents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Connection, Engine, func, or_, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting, nothing_hidden
from tocsin.flow.resolve.withholding import AlertAssets
from tocsin.model.alert_incident import PREFIX, IncidentStatus
from tocsin.model.match_result import Pair
from tocsin.store.catalogue.alerts.incidents import ended_offset
from tocsin.store.database.alert_tables import alert_held_back, alert_incident, incident_watcher
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.recipients import relations_over_time
from tocsin.store.recipients.subject_assets import SubjectAssets, find_subject_assets

MOST_HOPS = 20
"""How far an incident reaches downstream."""

Reached = Mapping[str, Mapping[str, Sequence[tuple[int, int]]]]
"""By asset, from which incidents' assets it is made, and between which offsets."""

_ROW, _HELD, _WATCHER = alert_incident.c, alert_held_back.c, incident_watcher.c


class Incident(NamedTuple):
    """An incident with its asset and an alert that watches it, and between which offsets it holds back for that one."""

    id: str
    number: int
    subscription_id: str
    entity_id: str
    since: int
    until: int


class Holding:
    """What holds alerts back in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find_held_back(
        self, waiting: Sequence[Waiting], *, may_claim: bool, hidden: Hidden = nothing_hidden
    ) -> dict[Pair, HeldBack]:
        """Return which matches incidents hold back.

        With ``may_claim``, the first match of each alert and incident is stored as the one that passes; without it,
        the stored ones are only read.
        Incidents of assets that are ``hidden`` from an alert do not hold it back.
        """
        with reading(self._engine) as connection:
            roots = incidents_of(connection, waiting)
            roots_by_pair = (
                _incidents_by_pair(connection, waiting, roots, _hidden_assets(waiting, roots, hidden)) if roots else {}
            )
        if not roots_by_pair:
            return {}
        if may_claim:
            with writing(self._engine) as connection:
                first = _claim_first(connection, roots_by_pair)
        else:
            with reading(self._engine) as connection:
                first = _first_behind(connection, {root.id for root in roots_by_pair.values()})
        return {
            pair: HeldBack(f"{PREFIX}{root.number}", first.get((root.id, pair[1])) == pair[0])
            for pair, root in roots_by_pair.items()
        }


def incidents_of(connection: Connection, waiting: Sequence[Waiting]) -> list[Incident]:
    """Return the incidents of the alerts that these depend on, if they may hold at any of them; the oldest first."""
    upstream = {one for each in waiting for one in each.depends_on}
    offsets = [one.log_offset for one in waiting]
    first, last = min(offsets, default=0), max(offsets, default=0)
    since, ended = _WATCHER.opened_offset, ended_offset()
    until = func.coalesce(ended, NO_END)
    query = select(_ROW.id, _ROW.number, _WATCHER.subscription_id, _ROW.entity_id, since, until)
    query = query.join(incident_watcher, _WATCHER.incident_id == _ROW.id)
    query = query.where(since < last, or_(_ROW.status != IncidentStatus.RESOLVED.value, ended > first))
    incidents = (Incident(*row) for row in rows_by_key(connection, query, _WATCHER.subscription_id, upstream))
    return sorted(incidents, key=attrgetter("since", "number"))


def _hidden_assets(waiting: Sequence[Waiting], roots: Sequence[Incident], hidden: Hidden) -> AlertAssets:
    """Return the alerts with assets of incidents, of those on which they depend, that are hidden from them."""
    upstream = {one.subscription_id: one.depends_on for one in waiting}
    return hidden(
        {(alert, one.entity_id) for alert, many in upstream.items() for one in roots if one.subscription_id in many}
    )


def _incidents_by_pair(
    connection: Connection, waiting: Sequence[Waiting], roots: Sequence[Incident], hidden: AlertAssets
) -> dict[Pair, Incident]:
    """Return which of these are behind an incident: the oldest of those whose asset they are made from."""
    root_assets = {root.entity_id for root in roots}
    assets = find_subject_assets(connection, root_assets | {candidate.entity_id for candidate in waiting})
    reached_assets = reach_by_asset(connection, root_assets, assets, min(candidate.log_offset for candidate in waiting))
    roots_by_pair: dict[Pair, Incident] = {}
    for candidate in waiting:
        at = reached_assets.get(assets.of(candidate.entity_id), {})
        for root in roots:
            is_upstream = (
                root.subscription_id in candidate.depends_on and root.since < candidate.log_offset <= root.until
            )
            is_known = is_upstream and (candidate.subscription_id, root.entity_id) not in hidden
            if is_known and any(a <= candidate.log_offset <= b for a, b in at.get(root.entity_id, ())):
                roots_by_pair[candidate.log_offset, candidate.subscription_id] = root
                break
    return roots_by_pair


def reach_by_asset(connection: Connection, begun: Collection[str], assets: SubjectAssets, from_offset: int) -> Reached:
    """Return, by asset, from which of these it is made, and between which offsets."""
    starts = {one: assets.of(one) for one in begun}
    spans: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for root, node, _, span, _ in relations_over_time.reach(connection, starts, MOST_HOPS, from_offset):
        spans[node][root].append(span)
    return spans


def _claim_first(connection: Connection, roots_by_pair: Mapping[Pair, Incident]) -> dict[tuple[str, str], int]:
    """Write down which event of each alert is the first behind each incident, unless one is known; return that."""
    first: dict[tuple[str, str], int] = {}
    for (offset, alert), root in sorted(roots_by_pair.items()):
        first.setdefault((root.id, alert), offset)
    claims = [
        {"incident_id": incident, "subscription_id": alert, "log_offset": offset}
        for (incident, alert), offset in sorted(first.items())
    ]
    connection.execute(insert_into(connection, alert_held_back).on_conflict_do_nothing(), claims)
    return _first_behind(connection, {root.id for root in roots_by_pair.values()})


def _first_behind(connection: Connection, incident_ids: Collection[str]) -> dict[tuple[str, str], int]:
    first_matches = rows_by_key(connection, select(alert_held_back), _HELD.incident_id, incident_ids)
    return {(row.incident_id, row.subscription_id): row.log_offset for row in first_matches}
