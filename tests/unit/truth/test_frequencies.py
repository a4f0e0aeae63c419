"""Tests of the second model of how often people are told: by hand, from the table in ``docs/follows.md``."""

from __future__ import annotations

import pytest
from truth.frequencies import FOLLOWED, OWNED, Followed, Frequencies, Tie, follow_tie
from truth.history import Json

ORDERS, SCHEMA, TAG = ("table", "s.d.p.orders"), ("databaseSchema", "s.d.p"), ("tag", "PII.None")
ITSELF = follow_tie("A", 0, Followed(ORDERS), is_around=False, is_of_subject=False)
COLUMN = follow_tie("A", 0, Followed(ORDERS, column="id"), is_around=False, is_of_subject=False)
IN_SCHEMA = follow_tie("A", 0, Followed(SCHEMA), is_around=True, is_of_subject=False)
LABELLED = follow_tie("A", 0, Followed(TAG), is_around=True, is_of_subject=False)
BELOW = follow_tie("A", 1, Followed(ORDERS), is_around=False, is_of_subject=False)
NEVER: Json = {"channels": {"Email": "never"}}
DAILY: Json = {"channels": {"Email": "daily"}}
OWNERS_WEEKLY: Json = {"kinds": {"owner": {"Email": "weekly"}}}


@pytest.mark.parametrize(
    ("ties", "choices", "preferences", "expected"),
    [
        ([ITSELF], {}, {}, "immediate"),
        ([ITSELF], {ORDERS: NEVER}, {}, "never"),
        ([ITSELF, Tie(OWNED)], {ORDERS: NEVER}, {}, "immediate"),
        ([ITSELF, IN_SCHEMA], {ORDERS: NEVER}, {}, "never"),
        ([ITSELF, IN_SCHEMA], {SCHEMA: NEVER}, {}, "immediate"),
        ([ITSELF, IN_SCHEMA], {ORDERS: OWNERS_WEEKLY, SCHEMA: DAILY}, {}, "weekly"),
        ([IN_SCHEMA, LABELLED], {SCHEMA: NEVER, TAG: DAILY}, {}, "never"),
        ([COLUMN, ITSELF], {ORDERS: DAILY}, {}, "immediate"),
        ([BELOW], {ORDERS: DAILY}, {"roles": {FOLLOWED: {"owner": {"Email": "never"}}}}, "daily"),
        ([BELOW], {}, {"roles": {"aboveFollowed": {"owner": {"Email": "hourly"}}}}, "hourly"),
        ([ITSELF], {}, {"roles": {FOLLOWED: {"owner": {"Email": "hourly"}}}, **OWNERS_WEEKLY}, "hourly"),
        ([ITSELF, Tie(OWNED)], {}, {"roles": {FOLLOWED: {"owner": {"Email": "hourly"}}}, **OWNERS_WEEKLY}, "hourly"),
        ([Tie()], {ORDERS: NEVER}, {**OWNERS_WEEKLY, "frequency": "never"}, "weekly"),
        ([Tie()], {}, {"kinds": {"tag": {"Email": "daily"}}, "frequency": "never"}, "never"),
    ],
)
def test_the_nearest_follow_decides_and_of_several_ways_the_soonest(
    ties: list[Tie], choices: dict[tuple[str, str], Json], preferences: Json, expected: str
) -> None:
    choices_by_follow = {("ann", Followed(key)): one for key, one in choices.items()}
    frequencies = Frequencies({"ann": preferences})
    assert frequencies.frequency(("ann", "Email"), {"owner"}, ties, choices_by_follow) == expected
