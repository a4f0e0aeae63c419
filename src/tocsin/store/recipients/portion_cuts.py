"""Cuts of the followers of some nodes into portions that are worked out at once: ids of people.

A follow counts once for each of the nodes that it is of, such as those that a followed schema contains, and so does
each member of a team that follows. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, Select, func, literal, select, union_all

from tocsin.flow.resolve.directory import NO_END
from tocsin.store.catalogue.people.teams import teams_above
from tocsin.store.database.follow_tables import team_follow
from tocsin.store.database.keys import is_one_of, present_keys
from tocsin.store.database.tables import follow, membership

_TEAM, _MEMBER = team_follow.c, membership.c
_IS_PERSON = _MEMBER.member_type == "user"


def find_cuts(connection: Connection, node_counts: Mapping[str, int], size: int) -> list[str]:
    """Return the ids of people that cut the follows of these entities into parts of ``size``; none if one does.

    ``node_counts`` says how many nodes a follower has, for each entity that could be followed. A part has at most one
    person more.
    """
    is_node = is_one_of(connection, follow.c.entity_id, node_counts)
    first_follows = select(follow.c.entity_id).where(is_node).limit(size + 1).subquery()
    counts = select(first_follows.c.entity_id, func.count(), literal(None)).group_by(first_follows.c.entity_id)
    is_of_team = is_one_of(connection, _TEAM.entity_id, node_counts), _TEAM.until_offset == NO_END
    of_teams = select(_TEAM.entity_id, literal(0), _TEAM.team_id).where(*is_of_team)
    count, nodes_by_team = 0, Counter[str]()
    for entity_id, follow_count, team_id in connection.execute(union_all(counts, of_teams)):
        if team_id is None:
            count += follow_count * node_counts[entity_id]
        else:
            nodes_by_team[team_id] += node_counts[entity_id]
    nodes_by_team = _with_teams_below(connection, nodes_by_team) if nodes_by_team else nodes_by_team
    count += _member_count(connection, nodes_by_team, size) if nodes_by_team and count <= size else 0
    if count <= size:
        return []
    followed_ids = present_keys(connection, follow.c.entity_id, node_counts)
    if len(followed_ids) == 1 and not nodes_by_team:
        (followed_id,) = followed_ids
        followers = select(follow.c.user_id).where(follow.c.entity_id == followed_id)
        return list(_steps(connection, followers, max(1, size // node_counts[followed_id])))
    follows = _follows_of(connection, {one: node_counts[one] for one in followed_ids})
    return _cuts_between(connection, [*follows, *_members_of(connection, nodes_by_team)], size)


def _with_teams_below(connection: Connection, nodes_by_team: Mapping[str, int]) -> Counter[str]:
    """Return how many nodes a direct member has, of each of these teams and those below them."""
    above = teams_above(connection, nodes_by_team)
    return Counter({team_id: sum(nodes_by_team[one] for one in ids) for team_id, ids in above.items()})


def _member_count(connection: Connection, nodes_by_team: Mapping[str, int], size: int) -> int:
    """Return how many nodes the members of these teams have, as far as it matters whether that is beyond ``size``."""
    is_theirs = is_one_of(connection, _MEMBER.team_id, nodes_by_team), _IS_PERSON
    first_members = select(_MEMBER.team_id).where(*is_theirs).limit(size + 1).subquery()
    counts = select(first_members.c.team_id, func.count()).group_by(first_members.c.team_id)
    return sum(count * nodes_by_team[team_id] for team_id, count in connection.execute(counts))


def _follows_of(connection: Connection, node_counts: Mapping[str, int]) -> Iterator[Select[str, int]]:
    """Yield the queries for who follows these entities: person, and how many nodes."""
    for node_count, followed_ids in _by_count(node_counts):
        is_followed = is_one_of(connection, follow.c.entity_id, followed_ids)
        yield select(follow.c.user_id, literal(node_count).label("nodes")).where(is_followed)


def _members_of(connection: Connection, nodes_by_team: Mapping[str, int]) -> Iterator[Select[str, int]]:
    """Yield the queries for who is a direct member of these teams: person, and how many nodes."""
    for node_count, team_ids in _by_count(nodes_by_team):
        is_theirs = is_one_of(connection, _MEMBER.team_id, team_ids), _IS_PERSON
        yield select(_MEMBER.member_id.label("user_id"), literal(node_count).label("nodes")).where(*is_theirs)


def _by_count(node_counts: Mapping[str, int]) -> Iterator[tuple[int, list[str]]]:
    ids_by_count: dict[int, list[str]] = defaultdict(list)
    for entity_id, node_count in node_counts.items():
        ids_by_count[node_count].append(entity_id)
    yield from ids_by_count.items()


def _cuts_between(connection: Connection, queries: list[Select[str, int]], size: int) -> list[str]:
    """Return every person at whom these follows reach a further ``size``, each counted as given."""
    follows = union_all(*queries).subquery()
    own_count = func.sum(follows.c.nodes)
    count_so_far = func.sum(own_count).over(order_by=follows.c.user_id)
    by_person = select(follows.c.user_id, own_count.label("own"), count_so_far.label("so_far"))
    totals = by_person.group_by(follows.c.user_id).subquery()
    is_cut = totals.c.so_far % size < totals.c.own
    return list(connection.scalars(select(totals.c.user_id).where(is_cut).order_by(totals.c.user_id)))


def _steps(connection: Connection, followers: Select[str], size: int) -> Iterator[str]:
    """Yield every ``size``-th of one node's followers, in order: from each to the next through the index."""
    after = ""
    while (
        user_id := connection.scalar(
            followers.where(follow.c.user_id > after).order_by(follow.c.user_id).offset(size - 1).limit(1)
        )
    ) is not None:
        yield (after := user_id)
