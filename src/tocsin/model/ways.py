"""Ways in which a person is told of an event, each with the choices that hold for it: what beats what, in one function.

A choice for a follow beats one for a role and a kind, that beats one for a kind, for a category, for everything, then
the defaults of teams and of the server; of several ways the soonest counts; mandatory kinds are never off. The table is
in docs/follows.md. Next: ``flow/schedule/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tocsin.model.change_kinds import EventKind
from tocsin.model.follow_choices import FollowChoices, FollowLayer
from tocsin.model.notification import Reason, ReasonKind, follow_order, followed_mark
from tocsin.model.preferences import ChoosingLayers, FrequencyChoice, Layer, choose, soonest_first
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel

FOLLOW_ROLES = frozenset({AssetRole.FOLLOWED, AssetRole.ABOVE_FOLLOWED})


class Way(NamedTuple):
    """A role in which a person is told of an event, and the choices for the follows by which they are.

    ``follows`` come nearest first: each counts where those before it say nothing. ``follow_roles`` are the roles of all
    follows by which they are told, also of those that have no way of their own.
    """

    role: AssetRole | None = None
    follows: tuple[FollowLayer, ...] = ()
    follow_roles: tuple[AssetRole | None, ...] = ()


class ToldBecause(NamedTuple):
    """What preferences ask of the reasons of a notification."""

    reasons: tuple[Reason, ...]
    roles: frozenset[AssetRole | None]
    is_mentioned: bool


def told_because(reasons: Iterable[Reason]) -> ToldBecause:
    """Return what preferences ask of these reasons."""
    personal_reasons = tuple(reasons)
    is_mentioned = any(one.kind is ReasonKind.MENTION for one in personal_reasons)
    return ToldBecause(personal_reasons, frozenset(one.role for one in personal_reasons), is_mentioned)


def ways_of(because: ToldBecause, entity_id: str, choices: Mapping[str, FollowChoices]) -> list[Way]:
    """Return the ways in which a person is told of an event of an entity; ``choices`` are theirs, by ``follow_key``.

    Follows with choices are one way. One without is a way of its own only if it is nearer: who follows a table quietly
    is not told of it because they follow its schema as well.
    """
    roles: list[AssetRole | None] = [one for one in AssetRole if one in because.roles - FOLLOW_ROLES]
    roles += [None] if None in because.roles else []
    follows = sorted((one for one in because.reasons if one.role in FOLLOW_ROLES), key=follow_order)
    chosen_roles: list[AssetRole | None] = []
    layers: list[FollowLayer] = []
    for reason in follows:
        key = reason.follow_of(entity_id)
        follow_choices = None if key is None else choices.get(key)
        if key is not None and follow_choices is not None:
            chosen_roles.append(reason.role)
            layers.append(FollowLayer(followed_mark(key), follow_choices))
        elif not layers:
            roles.append(reason.role)
    follow_roles = tuple(dict.fromkeys(one.role for one in follows))
    by_choice = [Way(chosen_roles[0], tuple(layers), follow_roles)] if layers else []
    return [*by_choice, *(Way(role) for role in dict.fromkeys(roles))] or [Way()]


def choose_among(
    ways: Collection[Way], layers: ChoosingLayers, kinds: Sequence[EventKind], channel: Channel
) -> FrequencyChoice:
    """Return how often an event of these kinds comes over a channel: the soonest of the ways in which it is told.

    ``layers`` are the preferences that hold for the person. Of ways alike, the first counts.
    """
    choices = (
        choose(
            [*((Layer.FOLLOW, one) for one in way.follows), *layers],
            kinds,
            channel,
            way.role,
            further_roles=way.follow_roles,
        )
        for way in ways or (Way(),)
    )
    return min(choices, key=soonest_first)
