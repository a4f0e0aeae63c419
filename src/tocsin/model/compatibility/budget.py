"""Limit of a comparison of schemas, whose texts may be of any size."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

MOST_COMPARISONS = 20_000
"""Pairs of types that one comparison looks at; alternatives of alternatives multiply."""

DEEPEST = 100
"""Levels of a schema that a comparison goes down."""


class NotJudged(Exception):
    """A text is no schema, or the comparison takes too long."""


@dataclass
class ComparisonBudget:
    """What is left of a comparison."""

    remaining_count: int = MOST_COMPARISONS

    def take(self, depth: int) -> None:
        """Count one comparison at a depth.

        Raises
        ------
        NotJudged : there were too many, or it is too deep
        """
        self.remaining_count -= 1
        if self.remaining_count < 0 or depth > DEEPEST:
            raise NotJudged


def parse_json(text: str) -> object:
    """Return the JSON value in a text.

    Raises
    ------
    NotJudged : there is none
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotJudged from error
