"""How often a person is told of an event over a channel: by choices for follows, for roles, for kinds.

Written from ``docs/follows.md`` ("what beats what") and ``docs/schedules.md``; it shares no code with Tocsin. Next:
``truth/schedule.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from truth.history import Json, Key

OWNED, ABOVE_OWNED, FOLLOWED, ABOVE_FOLLOWED = "owned", "aboveOwned", "followed", "aboveFollowed"
ROLES = (OWNED, ABOVE_OWNED, FOLLOWED, ABOVE_FOLLOWED)
SOONEST = ("immediate", "hourly", "daily", "weekly", "never")

IMMEDIATE, NEVER = "immediate", "never"

_ITSELF, _COLUMN_OF_SUBJECT, _SUBJECT = 1, 2, 3
"""How near a follow is: of the column 0, of what changed, or of what that is about."""


class Followed(NamedTuple):
    """What a person follows: an entity, as often as it was made anew under its name, or a column of it; or nothing."""

    key: Key = ("", "")
    generation: int = 0
    column: str = ""


class Tie(NamedTuple):
    """What makes a person hear of an event by one alert: whether they own or follow it, or something below it.

    ``steps`` is how long the name of what is followed is, which contains or labels the asset; 0 for the asset itself.
    """

    role: str = ""
    alert: str = ""
    hops: int = 0
    nearness: int = _ITSELF
    steps: int = 0
    followed: Followed = Followed()


def follow_tie(alert: str, hops: int, followed: Followed, *, is_around: bool, is_of_subject: bool) -> Tie:
    """Return the tie of a follower; ``is_around``: what they follow contains, labels or owns the asset.

    ``is_of_subject``: they follow what the changed entity is about, or what that lies in.
    """
    nearness = (0 if followed.column else _ITSELF) + (_COLUMN_OF_SUBJECT if is_of_subject else 0)
    steps = len(followed.key[1].split(".")) if is_around else 0
    return Tie(ABOVE_FOLLOWED if hops else FOLLOWED, alert, hops, nearness, steps, followed)


ChoicesByFollow = Mapping[tuple[str, Followed], Json]
"""What people have chosen for follows: ``kinds`` by channel, and ``channels`` for everything else."""


@dataclass(frozen=True)
class Frequencies:
    """What decides how often people are told; ``ids`` are those of entities, which decide between what is as near."""

    preferences: Mapping[str, Json]
    ids: Mapping[Key, str] = field(default_factory=dict)

    def frequency(
        self,
        place: tuple[str, str],
        kinds: Collection[str],
        ties: Collection[Tie],
        choices: ChoicesByFollow,
    ) -> str:
        """Return how often an event of these kinds comes to a place: a person, over a channel."""
        ways = self._ways(place[0], ties, choices)
        return soonest(self._text(place, kind, *way) for way in ways for kind in kinds)

    def _ways(
        self, person: str, ties: Collection[Tie], choices: ChoicesByFollow
    ) -> Iterator[tuple[str, Sequence[Json]]]:
        """Yield in which roles a person is told, each with what they have chosen for its follows, the nearest first."""
        follows = sorted((one for one in ties if one.followed.key[0]), key=self._order)
        yield from ((role, ()) for role in {one.role for one in ties if not one.followed.key[0]})
        layers, first_role = list[Json](), ""
        for tie in follows:
            choice = choices.get((person, tie.followed))
            if choice is not None:
                first_role = first_role or tie.role
                layers.append(choice)
            elif not layers:
                yield tie.role, ()
        if layers:
            yield first_role, layers

    def _order(self, tie: Tie) -> tuple[int, int, tuple[int, int, str, str], str, str]:
        entity_type, own_id = tie.followed.key[0], self.ids.get(tie.followed.key, "")
        nearest_place = (1, -tie.steps, entity_type, own_id) if tie.steps else (0, 0, "", "")
        return tie.hops, tie.nearness, nearest_place, self.ids.get(("alert", tie.alert), ""), own_id

    def _text(self, place: tuple[str, str], kind: str, role: str, layers: Sequence[Json]) -> str:
        person, channel = place
        for layer in layers:
            if text := layer.get("kinds", {}).get(kind, {}).get(channel) or layer.get("channels", {}).get(channel):
                return str(text)
        document = self.preferences.get(person, {})
        for table in (document.get("roles", {}).get(role, {}), document.get("kinds", {})):
            if text := table.get(kind, {}).get(channel):
                return str(text)
        return str(document.get("frequency", IMMEDIATE)) if channel == "Email" else IMMEDIATE


def soonest(texts: Iterable[str]) -> str:
    """Return the soonest frequency; of several alike, one that names its time, the first in their order."""
    return min(texts, key=lambda text: (SOONEST.index(text.split(" ")[0]), " " not in text, text))
