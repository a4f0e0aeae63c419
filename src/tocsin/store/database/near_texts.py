"""Texts of an indexed column that differ from one by a single edit, at a cost that does not grow with the table.

An edit at some place leaves what is before it as it is, so only characters that follow there in some text can be meant.
These are found by walking the index, one seek for each; which of the texts that they make are there is one query more.
Next: ``store/catalogue/entities/catalogue.py``, ``store/catalogue/search/results.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, Text, and_, func, literal, select

LONGEST_TEXT = 256
"""Characters of a text beyond which nothing is looked for."""

SHORTEST_TEXT = 3
"""Characters below which every text would be near."""

_MOST_STEPS = 5_000
"""Characters that are looked at for all places of a text together."""

_LAST = "\U0010ffff"
Sql = Any  # Any: SQLAlchemy's conditions and columns


def near_texts(connection: Connection, texts: Sql, text: str, *conditions: ColumnElement[bool]) -> list[str]:
    """Return the texts that one could mean who wrote ``text``, whether the column has them or not, each once.

    ``texts`` is a column with an index, which may begin with the columns that ``conditions`` compare with one value.
    One character was replaced, added or left out, or two were exchanged.
    """
    if not SHORTEST_TEXT <= len(text) <= LONGEST_TEXT or "\0" in text:
        return []
    near = dict.fromkeys(_shorter_and_exchanged(text))
    for place, following in connection.execute(_steps(texts, text, conditions)):
        near |= dict.fromkeys((text[:place] + following + text[place:], text[:place] + following + text[place + 1 :]))
    return [one for one in near if one != text]


def _shorter_and_exchanged(text: str) -> Iterator[str]:
    for place in range(len(text)):
        yield text[:place] + text[place + 1 :]
        yield text[:place] + text[place + 1 : place + 2] + text[place] + text[place + 2 :]


def _steps(texts: Sql, text: str, conditions: tuple[ColumnElement[bool], ...]) -> Select[Any]:
    """Return the query for each place in a text and each character that follows there in some text of the column."""
    full_text = literal(text, Text)
    first_place = select(literal(0, Integer).label("place")).cte("places", recursive=True)
    places = first_place.union_all(select(first_place.c.place + 1).where(first_place.c.place < func.length(full_text)))

    def first_beyond(beginning: Sql, bound: Sql) -> Sql:
        is_next = and_(*conditions, texts > bound, texts < beginning.concat(_LAST))
        return select(texts).where(is_next).order_by(texts).limit(1).scalar_subquery()

    beginning = func.substr(full_text, 1, places.c.place, type_=Text)
    seed = select(places.c.place, first_beyond(beginning, beginning).label("near"))
    walk = seed.cte("walk", recursive=True)
    end_of_last = func.substr(walk.c.near, 1, walk.c.place + 1, type_=Text).concat(_LAST)
    beginning = func.substr(full_text, 1, walk.c.place, type_=Text)
    further = select(walk.c.place, first_beyond(beginning, end_of_last).label("near")).where(walk.c.near.is_not(None))
    walk = walk.union_all(further)
    following = func.substr(walk.c.near, walk.c.place + 1, 1, type_=Text)
    return select(walk.c.place, following).where(walk.c.near.is_not(None)).limit(_MOST_STEPS)
