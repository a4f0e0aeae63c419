"""Followers of columns, and the events that concern their columns: of the asset, of tests and threads about one.

Of some events those are read whose asset has a column that people follow. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.flow.resolve.directory import Principal
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.columns import changed_columns, relative_fqns_by_spelling
from tocsin.model.entity_link import steps_of
from tocsin.model.notification import Followed, ReasonKind, follow_key
from tocsin.store.database.documents import STORED, entity_of
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity
from tocsin.store.eventlog.log import events_at
from tocsin.store.recipients.subject_assets import SubjectAssets

COLUMN = "column"
"""``Followed.relation`` of a follow of a column."""

_LIFE = (EventType.ENTITY_DELETED, EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_RESTORED)
"""Events of an asset that concern each of its columns."""


class ColumnFollow(NamedTuple):
    """That a person follows a column, by its path in the asset, for the events between two offsets."""

    entity_id: str
    user_id: str
    since_offset: int
    until_offset: int
    path: str

    def covers(self, paths: Collection[str]) -> bool:
        """Return whether one of these columns is it, or lies in it."""
        return any(one == self.path or one.startswith(f"{self.path}.") for one in paths)


class EventColumns:
    """The columns that each of some events is about, read once; it lives as long as the work on these events.

    ``events`` are given by their offsets, each with the entity that it is of.
    """

    def __init__(self, events: Mapping[int, str]) -> None:
        self._offsets: dict[str, list[int]] = defaultdict(list)
        for offset, entity_id in events.items():
            self._offsets[entity_id].append(offset)
        self._columns: dict[int, set[str] | None] = {}

    def names_of(self, connection: Connection, entity_ids: Collection[str]) -> dict[str, tuple[str, str]]:
        """Return the type and FQN that the events say of each of these entities, such as of one that is gone."""
        offsets = [offset for entity_id in entity_ids for offset in self._offsets.get(entity_id, ())[-1:]]
        events = events_at(connection, offsets) if offsets else {}
        return {one.entity_id: (one.entity_type, one.entity_fully_qualified_name or "") for one in events.values()}

    def of(self, connection: Connection, asset_ids: Collection[str]) -> dict[str, dict[int, set[str] | None]]:
        """Return, by asset and offset, the columns that its events are about; None for all of them."""
        offsets_by_asset = {one: self._offsets[one] for one in asset_ids if one in self._offsets}
        unread_offsets = set().union(*offsets_by_asset.values()) - self._columns.keys()
        if unread_offsets:
            events = events_at(connection, sorted(unread_offsets))
            self._columns |= {offset: _columns_of(event) for offset, event in events.items()}
        return {
            asset_id: {offset: self._columns[offset] for offset in offsets if offset in self._columns}
            for asset_id, offsets in offsets_by_asset.items()
        }


def column_followers(
    connection: Connection,
    follows: Sequence[ColumnFollow],
    places: Mapping[str, Sequence[str]],
    subjects: SubjectAssets,
    event_columns: EventColumns,
) -> Iterator[Principal]:
    """Yield who follows a column that an event, a test or a thread is about; of events one row for each.

    ``places`` are, by asset, the nodes that have its followers: itself, its tests and threads.
    """
    asset_ids = {one.entity_id for one in follows}
    followed_names = _names_of(connection, asset_ids, event_columns)
    columns_by_asset = event_columns.of(connection, [one for one in asset_ids if one in places.get(one, ())])
    nodes = {node for asset_id in asset_ids for node in places.get(asset_id, ())}
    columns_by_node = _columns_of_tests(connection, nodes.intersection(subjects.of_tests), event_columns)
    about = {one: asset_id for one, asset_id in subjects.of_threads.items() if one in nodes}
    columns_by_node |= _columns_of_threads(connection, about)
    for followed_column in follows:
        asset_id, user_id, since, until, path = followed_column
        entity_type, name = followed_names.get(asset_id, ("table", ""))
        column_name = f"{name}.{path}" if name else None
        through = Followed(type=entity_type, id=asset_id, fully_qualified_name=column_name, relation=COLUMN)
        principal = Principal(ReasonKind.FOLLOWER, user_id, "user", asset_id, "", since, until, through=through)
        principal = principal._replace(follow=follow_key(asset_id, path))
        for node in places.get(asset_id, ()):
            if node != asset_id and followed_column.covers(columns_by_node.get(node, ())):
                yield principal._replace(node_id=node, is_of_subject=True)
        for offset, paths in columns_by_asset.get(asset_id, {}).items():
            if since <= offset <= until and (paths is None or followed_column.covers(paths)):
                yield principal._replace(since_offset=offset, until_offset=offset)


def _names_of(connection: Connection, ids: Collection[str], event_columns: EventColumns) -> dict[str, tuple[str, str]]:
    """Return the type and FQN of each of these entities; of one that is gone they are in its last event."""
    query = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
    names = {row.id: (row.entity_type, row.fqn) for row in rows_by_key(connection, query, entity.c.id, ids)}
    return names | event_columns.names_of(connection, set(ids) - names.keys())


def _columns_of(event: ChangeEvent) -> set[str] | None:
    if event.event_type in _LIFE:
        return None
    change, name = event.change_description, event.entity_fully_qualified_name or ""
    if change is None:
        return set()
    fields = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    values = [(one.name, value) for one in fields for value in (one.old_value, one.new_value)]
    return {one.removeprefix(f"{name}.") for one in changed_columns(event.entity_type, name, values)}


def _columns_of_tests(
    connection: Connection, test_ids: Collection[str], event_columns: EventColumns
) -> dict[str, set[str]]:
    """Return the column that each of these tests checks, by the test's name; those of a whole table have none."""
    columns: dict[str, set[str]] = defaultdict(set)
    for test_id, (_, name) in _names_of(connection, test_ids, event_columns).items():
        *place, _ = fqn.split(name)
        if path := place[_TABLE_PARTS:]:
            columns[test_id].add(fqn.join(path))
    return columns


def _columns_of_threads(connection: Connection, about: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the column that each of these threads is about, by its asset; those about anything else have none.

    A thread may write a column by its names with dots between; the asset says which column that is.
    """
    spellings: dict[str, str] = {}
    for thread_id, steps_text in rows_by_key(connection, select(thread.c.id, thread.c.steps), thread.c.id, about):
        steps = steps_of(steps_text)
        if len(steps) > 1 and steps[0] == "columns":
            spellings[thread_id] = steps[1]
    dotted_ids = {about[one] for one, spelling in spellings.items() if "." in spelling}
    assets = [entity_of(*row) for row in rows_by_key(connection, select(*STORED), entity.c.id, dotted_ids)]
    paths = {one.id: relative_fqns_by_spelling(one.entity_type, one.fqn, one.document) for one in assets}
    return {one: {paths.get(about[one], {}).get(spelling, spelling)} for one, spelling in spellings.items()}


_TABLE_PARTS = 4
"""Names in the FQN of a table; those behind them in that of a test lead to its column."""
