"""Tests of near texts on both stores: every single edit is found, in a number of statements that does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.entries import entry_of
from tests.store.test_search import some
from tests.store.test_subscriptions import counted_statements

from tocsin.logic import ALWAYS
from tocsin.search.parse import Query
from tocsin.store.catalogue.search.results import Search, SearchIndex
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.database.engine import reading
from tocsin.store.database.near_texts import LONGEST_TEXT, near_texts
from tocsin.store.database.search_tables import search_entry

NAMES = ["warehouse.shop.public.orders", 'pg.shop."or.ders"', "bi.größe_100%", "bi.größen", "ab", "日本.売上表"]


@pytest.fixture
def names(store_engine: Engine) -> Engine:
    put(store_engine, NAMES)
    return store_engine


def put(engine: Engine, fqns: list[str], *, first: int = 0) -> None:
    SearchWrites(engine).put(
        [entry_of(*some("table", fqn, first + number), log_offset=1) for number, fqn in enumerate(fqns)]
    )


def near(engine: Engine, text: str, *conditions: Any) -> list[str]:
    with reading(engine) as connection:
        return near_texts(connection, search_entry.c.fqn, text, *conditions)


def edits_of(name: str) -> Iterator[str]:
    """Yield a name with one character left out, replaced, added or exchanged with the next, at each place."""
    for place in range(len(name)):
        yield name[:place] + name[place + 1 :]
        yield f"{name[:place]}~{name[place + 1 :]}"
        yield name[:place] + name[place + 1 : place + 2] + name[place] + name[place + 2 :]
    for place in range(len(name) + 1):
        yield f"{name[:place]}~{name[place:]}"


@pytest.mark.parametrize("name", [one for one in NAMES if len(one) > 3])
def test_every_single_edit_at_every_place_is_found(names: Engine, name: str) -> None:
    missed = [text for text in edits_of(name) if text != name and name not in near(names, text)]
    assert missed == []


def test_what_is_far_too_short_or_too_long_is_not_looked_for(names: Engine) -> None:
    assert NAMES[0] not in near(names, "warehouse.shop.public.xxders")
    for text in ("", "ac", "x" * (LONGEST_TEXT + 1), "or\0ders"):
        assert near(names, text) == []
    assert "bi.größen" not in near(names, "bi.größ_n", search_entry.c.entity_type == "topic")


def test_the_cost_does_not_grow_with_the_catalogue(names: Engine) -> None:
    def cost(text: str) -> tuple[int, int]:
        with counted_statements(names) as statements:
            texts = near(names, text)
        return len(statements), len(texts)

    few = cost("warehouse.shop.public.table_0x01")
    put(names, [f"warehouse.shop.public.table_{number:04}" for number in range(3_000)], first=100)
    many = cost("warehouse.shop.public.table_0x01")
    assert few[0] == many[0] == 1
    assert many[1] < 300, "what is tried depends on the characters that follow, not on how many names there are"
    search = Search(Query(ALWAYS), ("table",), size=3)
    (hit,) = SearchIndex(names).near_hits(search, "xrders")
    assert hit.sort[2] == NAMES[0]
