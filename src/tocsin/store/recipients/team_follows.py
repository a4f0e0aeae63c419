"""Assets that the members of a team follow by default, those of the teams below it included, and who of them does not.

A follow is not multiplied: it is one row, and members are looked up at an event's place. Next:
``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, select, update

from tocsin.errors import InvalidInput
from tocsin.flow.resolve.directory import NO_END
from tocsin.model.entity import version_from_tenths
from tocsin.model.follow_review import MOST_OF_TEAM, AssetFollow
from tocsin.store.catalogue.people.teams import memberships_in
from tocsin.store.catalogue.relations.follow_choices import forget_choices
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.follow_tables import follow_refusal, team_follow
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity, follow
from tocsin.store.eventlog.log import announce_write
from tocsin.store.recipients.relations_over_time import Span, members_over_time, overlap_of, spans_without

_TEAM, _REFUSAL, _ENTITY = team_follow.c, follow_refusal.c, entity.c
_IS_CURRENT = _TEAM.until_offset == NO_END


class TeamFollow(NamedTuple):
    """That the members of a team follow an asset for the events between two offsets."""

    entity_id: str
    team_id: str
    span: Span


class MemberFollow(NamedTuple):
    """That a person follows an asset for the events between two offsets, by themselves or as a member of a team."""

    entity_id: str
    user_id: str
    span: Span
    team: str | None = None


class TeamFollows:
    """What the members of the teams of one store follow by default."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, team_id: str) -> list[AssetFollow]:
        """Return what the members of a team follow by default, deleted assets included, in no order."""
        with reading(self._engine) as connection:
            return [follow for _, follow in _asset_follows(connection, _TEAM.team_id == team_id)]

    def of_member(self, user_id: str) -> list[AssetFollow]:
        """Return what a person follows by default of their teams and does not follow directly, each asset once."""
        with reading(self._engine) as connection:
            direct_follows = select(follow.c.entity_id).where(follow.c.user_id == user_id)
            refusals = select(_REFUSAL.entity_id).where(_REFUSAL.user_id == user_id)
            following_ids = set(connection.scalars(select(_TEAM.team_id).where(_IS_CURRENT).distinct()))
            team_ids = memberships_in(connection, [user_id], following_ids).get(user_id, frozenset())
            teams = {
                row[0]: reference_of(*row)
                for row in rows_by_key(connection, select(*REFERENCE).where(~_ENTITY.deleted), _ENTITY.id, team_ids)
            }
            is_theirs = (
                _TEAM.team_id.in_(teams),
                _TEAM.entity_id.not_in(direct_follows),
                _TEAM.entity_id.not_in(refusals),
            )
            follows = list(_asset_follows(connection, *is_theirs)) if teams else []
        follows.sort(key=lambda row: str(teams[row[0]]["fullyQualifiedName"]), reverse=True)
        by_asset = {asset_follow.reference["id"]: (team_id, asset_follow) for team_id, asset_follow in follows}
        return [asset_follow.by_team(teams[team_id]) for team_id, asset_follow in by_asset.values()]

    def add(self, team_id: str, entity_type: str, entity_id: str, *, now_ms: int) -> bool:
        """Let the members of a team follow an asset from the next event on; False if they do.

        Raises
        ------
        InvalidInput : they follow as much as a team may give
        """
        with writing(self._engine) as connection:
            connection.execute(select(_ENTITY.id).where(_ENTITY.id == team_id).with_for_update())  # one at a time
            since = announce_write(connection) + 1
            of_team = select(_TEAM.entity_id).join(entity, _ENTITY.id == _TEAM.entity_id)  # what is gone does not count
            current = set(connection.scalars(of_team.where(_TEAM.team_id == team_id, _IS_CURRENT)))
            if entity_id in current:
                return False
            if len(current) >= MOST_OF_TEAM:
                raise InvalidInput(f"A team may let its members follow {MOST_OF_TEAM:,} assets at most.")
            row = {"entity_id": entity_id, "team_id": team_id, "since_offset": since, "until_offset": NO_END}
            reopen = insert_into(connection, team_follow).values(row | {"entity_type": entity_type, "since_ms": now_ms})
            keys = ["entity_id", "team_id", "since_offset"]  # it may have ended since the same offset
            connection.execute(reopen.on_conflict_do_update(index_elements=keys, set_={"until_offset": NO_END}))
        return True

    def remove(self, team_id: str, entity_id: str) -> bool:
        """Let the members of a team follow an asset by default no longer; False if they do not."""
        with writing(self._engine) as connection:
            until = announce_write(connection)
            is_it = _TEAM.team_id == team_id, _TEAM.entity_id == entity_id, _IS_CURRENT
            return connection.execute(update(team_follow).where(*is_it).values(until_offset=until)).rowcount > 0

    def refuse(self, user_id: str, entity_id: str) -> bool:
        """Let a person not follow an asset by default from the next event on; False if they do not."""
        if entity_id not in {one.reference["id"] for one in self.of_member(user_id)}:
            return False
        with writing(self._engine) as connection:
            row = {"entity_id": entity_id, "user_id": user_id, "since_offset": announce_write(connection) + 1}
            forget_choices(connection, user_id, entity_id)
            refusal = insert_into(connection, follow_refusal).values(row)
            written = refusal.on_conflict_do_nothing().returning(_REFUSAL.user_id)
            return connection.execute(written).first() is not None


def _asset_follows(connection: Connection, *conditions: ColumnElement[bool]) -> Iterator[tuple[str, AssetFollow]]:
    """Yield what the members of teams follow by default now, each with the id of the team."""
    columns = (_TEAM.team_id, _TEAM.since_ms, _ENTITY.updated_at_ms, _ENTITY.version_tenths, *REFERENCE)
    query = select(*columns).join_from(team_follow, entity, _ENTITY.id == _TEAM.entity_id)
    for team_id, since_ms, changed_ms, tenths, *reference in connection.execute(query.where(_IS_CURRENT, *conditions)):
        yield team_id, AssetFollow(reference_of(*reference), since_ms, changed_ms, version_from_tenths(tenths))


def expand_team_follows(
    connection: Connection, follows: Sequence[TeamFollow], from_offset: int, is_wanted: Callable[[str], bool]
) -> Iterator[MemberFollow]:
    """Yield which people follow these assets as members of these teams, or of teams below them, and when.

    A team counts while it is not soft-deleted, so do the members of one below; a person until they refuse.
    """
    team_ids = {one.team_id for one in follows}
    names = dict(map(tuple, rows_by_key(connection, select(_ENTITY.id, _ENTITY.fqn), _ENTITY.id, team_ids)))
    members_by_team: dict[str, list[tuple[str, Span]]] = defaultdict(list)
    for team_id, user_id, span in members_over_time(connection, team_ids, from_offset, is_wanted, only_live=True):
        members_by_team[team_id].append((user_id, span))
    refusal_rows = rows_by_key(
        connection, select(follow_refusal), _REFUSAL.entity_id, {one.entity_id for one in follows}
    )
    refusals = {(row.entity_id, row.user_id): (row.since_offset, NO_END) for row in refusal_rows}
    for entity_id, team_id, team_span in follows:
        for user_id, member_span in members_by_team[team_id]:
            refusal = refusals.get((entity_id, user_id))
            for span in spans_without(overlap_of(team_span, member_span), () if refusal is None else (refusal,)):
                yield MemberFollow(entity_id, user_id, span, names.get(team_id, team_id))
