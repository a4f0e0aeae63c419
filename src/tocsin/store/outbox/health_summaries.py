"""Numbers of health summaries: incidents, failing tests and changes of what a person owns and follows.

All is read when it is composed, by the ids of the assets, and judged by the rights of that moment: a person's week is
some thousand rows, found by indexes. Next: ``delivery/wording/health.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, func, or_, select

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.flow.resolve.directory import NO_END
from tocsin.model.alert_incident import name_of
from tocsin.model.entity import Document, EntityReference
from tocsin.model.health_summary import MOST_NAMED, HealthSummary, SummaryEntry, SummaryPart
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import reading
from tocsin.store.database.follow_tables import column_follow
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, entity, entity_version, follow, notification, ownership
from tocsin.store.eventlog.activity import holders_above, with_parts
from tocsin.store.outbox.open_needs import failing_among
from tocsin.store.recipients.team_follows import TeamFollows

_TESTS = ("testCase", "testSuite")
_INCIDENT, _VERSION, _TOLD = alert_incident.c, entity_version.c, notification.c
_MOST_TOLD = 10_000
"""Notifications of a person, the newest, by which assets in what they follow are found."""


class _Counted(NamedTuple):
    """An asset of a part, by its id, with what is said of it."""

    entity_id: str
    incident: str | None = None
    version_count: int | None = None


class HealthSummaries:
    """The summaries of one store's people."""

    def __init__(self, engine: Engine, permission_cache: PermissionCache) -> None:
        self._engine, self._permission_cache = engine, permission_cache
        self._standing, self._team_follows = SqlEntityStates(engine), TeamFollows(engine)

    def of(self, user_id: str, since_ms: int, until_ms: int) -> HealthSummary:
        """Return what became of what a person owns and follows, as they may view it now."""
        by_team = {str(one.reference["id"]) for one in self._team_follows.of_member(user_id)}
        window = since_ms, until_ms
        with reading(self._engine) as connection:
            ids = {*_direct_ids(connection, user_id), *by_team, *_told_ids(connection, user_id, since_ms)}
            opened_incidents, ended_incidents = _incidents(connection, ids, window)
            changes = list(_changes(connection, ids, window))
            failing_ids = failing_among(connection, ids)
            named_ids = {one.entity_id for one in (*opened_incidents, *ended_incidents, *changes)} | failing_ids
            reference_rows = rows_by_key(connection, select(*REFERENCE), entity.c.id, named_ids)
            references = {row[0]: reference_of(*row) for row in reference_rows}
        permissions = self._permission_cache.current_policies().of(user_id)
        visible_ids = Visibility(permissions, self._standing).sees(references.values())
        visible = {one: reference for one, reference in references.items() if one in visible_ids}
        tests = [_Counted(one) for one in failing_ids if one in visible and _is_live_test(visible[one])]
        assets = [one for one in changes if one.entity_id in visible and visible[one.entity_id]["type"] not in _TESTS]
        return HealthSummary(
            since=since_ms,
            until=until_ms,
            opened_incidents=_part(opened_incidents, visible),
            resolved_incidents=_part(ended_incidents, visible),
            failing_tests=_part(tests, visible),
            changed_assets=_part(assets, visible),
            version_count=sum(one.version_count or 0 for one in assets),
        )


def _direct_ids(connection: Connection, user_id: str) -> Iterator[str]:
    """Yield what a person follows and what they or their teams own, with the tests of it."""
    following = select(follow.c.entity_id).where(follow.c.user_id == user_id)
    is_current = (column_follow.c.user_id == user_id) & (column_follow.c.until_offset == NO_END)
    columns = select(column_follow.c.entity_id).where(is_current)
    owned = select(ownership.c.entity_id).where(ownership.c.owner_id.in_(holders_above(user_id)))
    for row in connection.execute(with_parts([following, columns, owned])):
        yield str(row[0])


def _told_ids(connection: Connection, user_id: str, since_ms: int) -> Iterator[str]:
    """Yield of what a person was told in the app because they follow or own what it belongs to."""
    kinds = (ReasonKind.FOLLOWER, ReasonKind.OWNER)
    is_related = or_(*(_TOLD.reasons.contains(f'"kind":"{kind.value}"', autoescape=True) for kind in kinds))
    query = select(_TOLD.log_offset).where(_TOLD.recipient_id == user_id, is_related)
    query = query.where(_TOLD.channel == Channel.ACTIVITY_FEED.value, _TOLD.created_at_ms >= since_ms)
    newest = query.order_by(_TOLD.log_offset.desc()).limit(_MOST_TOLD).subquery()
    events = select(change_event.c.entity_id).join(newest, newest.c.log_offset == change_event.c.log_offset)
    yield from connection.scalars(events.distinct())


def _incidents(
    connection: Connection, ids: Collection[str], window: tuple[int, int]
) -> tuple[list[_Counted], list[_Counted]]:
    """Return which incidents of these assets were opened in a time, and which were resolved in it, the newest first."""
    since_ms, until_ms = window
    is_opened = (since_ms <= _INCIDENT.opened_at_ms) & (_INCIDENT.opened_at_ms < until_ms)
    is_resolved = (since_ms <= _INCIDENT.resolved_at_ms) & (_INCIDENT.resolved_at_ms < until_ms)
    columns = (_INCIDENT.number, _INCIDENT.entity_id, is_opened.label("is_opened"), is_resolved.label("is_resolved"))
    query = select(*columns).where(_INCIDENT.merged_into.is_(None), or_(is_opened, is_resolved))
    incident_rows = sorted(rows_by_key(connection, query, _INCIDENT.entity_id, ids), key=lambda row: -row.number)
    opened_incidents = [_Counted(row.entity_id, name_of(row.number)) for row in incident_rows if row.is_opened]
    return opened_incidents, [_Counted(row.entity_id, name_of(row.number)) for row in incident_rows if row.is_resolved]


def _changes(connection: Connection, ids: Collection[str], window: tuple[int, int]) -> Iterator[_Counted]:
    """Yield which of these assets got versions in a time, and how many."""
    since_ms, until_ms = window
    is_in = (since_ms <= _VERSION.updated_at_ms) & (_VERSION.updated_at_ms < until_ms)
    query = select(_VERSION.entity_id, func.count()).where(is_in).group_by(_VERSION.entity_id)
    for entity_id, count in rows_by_key(connection, query, _VERSION.entity_id, ids):
        yield _Counted(entity_id, version_count=int(count))


def _is_live_test(reference: Document) -> bool:
    return reference["type"] == "testCase" and not reference.get("deleted")


def _part(counted: Sequence[_Counted], references: dict[str, Document]) -> SummaryPart:
    """Return those that may be viewed, the most changed and else the first by name before the others."""
    visible = [one for one in counted if one.entity_id in references]
    if any(one.incident is None for one in visible):
        visible.sort(key=lambda one: (-(one.version_count or 0), references[one.entity_id]["fullyQualifiedName"]))
    entries = (_entry(one, references[one.entity_id]) for one in visible[:MOST_NAMED])
    return SummaryPart(count=len(visible), first=tuple(entries))


def _entry(counted: _Counted, reference: Document) -> SummaryEntry:
    asset = EntityReference.model_validate(reference)
    return SummaryEntry(asset=asset, incident=counted.incident, version_count=counted.version_count)
