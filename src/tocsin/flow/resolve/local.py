"""Who must hear of one event? The Python engine: explains, previews, and is the oracle of ``spark/resolve.py``.

It never replaces Spark in the running product. Next: ``flow/schedule/due.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tocsin.flow.resolve.categories import BY_ASSET, Wanted
from tocsin.flow.resolve.directory import Audience, Principal
from tocsin.model.change import LoggedEvent
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.people import Person
from tocsin.model.subscription import Channel


@dataclass(frozen=True)
class Recipient:
    """Somebody to be told of the event over one channel, with every reason why.

    ``key`` is told once: a user's id in the inbox, a lower-case address for e-mail, subscription and
    endpoint for a webhook. ``target`` is where it goes.
    """

    channel: Channel
    key: str
    target: str
    user_id: str | None
    reasons: tuple[Reason, ...]


def recipients(logged: LoggedEvent, rows: Sequence[Wanted], audience: Audience) -> tuple[Recipient, ...]:
    """Return who must hear of ``logged`` given the ``rows`` of the alerts it matched, ordered by channel and key."""
    found: dict[tuple[Channel, str], _Found] = defaultdict(_Found)
    for row in rows:
        for key, target, user_id, reason in _told(logged, row, audience):
            found[row.channel, key].add(target, user_id, reason)
    return tuple(found[at].recipient(*at) for at in sorted(found))


class _Found:
    """What has been gathered so far for one (channel, key)."""

    def __init__(self) -> None:
        self.target = ""
        self.user_ids: set[str] = set()
        self.reasons: set[Reason] = set()

    def add(self, target: str, user_id: str | None, reason: Reason) -> None:
        self.target = target
        self.user_ids.update([user_id] if user_id else [])
        self.reasons.add(reason)

    def recipient(self, channel: Channel, key: str) -> Recipient:
        reasons = tuple(sorted(self.reasons, key=reason_order))
        return Recipient(channel, key, self.target, min(self.user_ids, default=None), reasons)


def reason_order(reason: Reason) -> tuple[str, ...]:
    """Return what reasons are ordered by; missing parts come first, as in Spark."""
    return (
        reason.kind,
        f"{reason.hops:010d}",
        reason.subscription_name,
        reason.subscription_id,
        reason.destination_id,
        reason.team or "",
        reason.via or "",
    )


def _told(logged: LoggedEvent, row: Wanted, audience: Audience) -> Iterator[tuple[str, str, str | None, Reason]]:
    if row.relation is ReasonKind.EXTERNAL:
        key = row.receiver if row.channel is Channel.EMAIL else f"{row.subscription_id}:{row.receiver}"
        yield key, row.receiver, None, _reason(row)
        return
    for person, reason in _people(logged, row, audience):
        if person.id == logged.event.user_id:
            continue  # nobody is told of what they did themselves
        if row.channel is Channel.ACTIVITY_FEED:
            yield person.id, person.id, person.id, reason
        elif row.channel is Channel.EMAIL and person.email:
            yield person.email, person.email, person.id, reason


def _people(logged: LoggedEvent, row: Wanted, audience: Audience) -> Iterator[tuple[Person, Reason]]:
    people = {person.id: person for person in audience.people}
    for principal, via, hops in _principals(logged, row, audience):
        if principal.principal_type == "user" and principal.principal_id in people:
            yield people[principal.principal_id], _reason(row, via=via, hops=hops)
        for member in audience.members:
            if member.team_id == principal.principal_id and member.user_id in people:
                yield people[member.user_id], _reason(row, team=member.team_name, via=via, hops=hops)


def _principals(logged: LoggedEvent, row: Wanted, audience: Audience) -> Iterator[tuple[Principal, str | None, int]]:
    if row.relation not in BY_ASSET:
        for principal in audience.principals:
            if principal.relation is row.relation and principal.receiver == row.receiver:
                yield principal, None, 0
        return
    for step in audience.reach:
        if step.root_id != logged.event.entity_id or step.hops > row.downstream_depth:
            continue
        for principal in audience.principals:
            stands = principal.relation is row.relation and principal.node_id == step.node_id
            if stands and principal.since_ms <= logged.event.timestamp:
                yield principal, step.node_fqn if step.hops else None, step.hops


def _reason(row: Wanted, *, team: str | None = None, via: str | None = None, hops: int = 0) -> Reason:
    return Reason(
        kind=row.relation,
        subscription_id=row.subscription_id,
        subscription_name=row.subscription_name,
        destination_id=row.destination_id,
        team=team,
        via=via,
        hops=hops,
    )
