"""What people follow beside whole assets of their own, columns and what their teams follow, and what they chose for it.

Written from ``docs/follows.md`` and ``docs/alerts.md``; it shares no code with Tocsin. Next: ``truth/expected.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from truth.frequencies import ChoicesByFollow, Followed
from truth.history import Key
from truth.steps import Choose, Follow, TeamFollow


class Following:
    """Follows of columns, follows of teams, and what members of these have refused."""

    def __init__(self) -> None:
        self.teams: dict[Key, set[str]] = defaultdict(set)
        """The teams whose members follow an asset by default."""
        self.refusals: set[tuple[Key, str]] = set()
        self.columns: dict[Key, set[tuple[str, str]]] = defaultdict(set)
        """Who follows which column of an asset."""
        self.choices: ChoicesByFollow = {}
        """What people have chosen for follows; replaced whole, so that events keep those of their moment."""
        self._generations: dict[Key, int] = defaultdict(int)

    def follow_of(self, key: Key, column: str = "") -> Followed:
        """Return what is followed by following an entity that is there now, or a column of it."""
        return Followed(key, self._generations[key], column)

    def choose(self, step: Choose) -> None:
        """Let a person choose what a follow tells of."""
        self.choices = {**self.choices, (step.user, self.follow_of(step.key, step.column)): step.choices}

    def has_choices(self, step: Follow) -> bool:
        """Say whether a person has chosen something for a follow that begins or ends."""
        return (step.user, self.follow_of(step.key, step.column)) in self.choices

    def end_choices(self, step: Follow) -> None:
        """Forget what a person chose for a follow that ends, or that is left of an earlier one as it begins."""
        ended_follow = (step.user, self.follow_of(step.key, step.column))
        self.choices = {follow: one for follow, one in self.choices.items() if follow != ended_follow}

    def follow_column(self, step: Follow) -> None:
        """Let a person follow a column, or no longer."""
        follows = self.columns[step.key]
        follow = (step.user, step.column)
        follows.add(follow) if step.begins else follows.discard(follow)

    def follow_by_team(self, step: TeamFollow) -> None:
        """Let the members of a team follow an asset by default, or no longer."""
        teams = self.teams[step.key]
        teams.add(step.team) if step.begins else teams.discard(step.team)

    def refuse(self, key: Key, user: str) -> None:
        """Let a person not follow an asset by default any more."""
        self.refusals.add((key, user))

    def keep_columns(self, key: Key, names: Collection[str]) -> None:
        """End the follows of columns that an asset has no more."""
        self.columns[key] = {one for one in self.columns[key] if one[1] in names}

    def forget(self, key: Key) -> None:
        """Forget an asset that is gone for good."""
        self.teams.pop(key, None)
        self.columns.pop(key, None)
        self._generations[key] += 1

    def forget_person(self, user: str) -> None:
        """Forget a person who is gone for good."""
        for key, follows in self.columns.items():
            self.columns[key] = {one for one in follows if one[0] != user}

    def followers_of_columns(self, key: Key, columns: Collection[str] | None) -> Iterator[tuple[str, str]]:
        """Yield who follows one of these columns of an asset, and which; of any column, if that is None."""
        for user, column in sorted(self.columns.get(key, ())):
            if columns is None or column in columns:
                yield user, column
