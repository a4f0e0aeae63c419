"""Tests of who wrote which value last, against every value of both states."""

from __future__ import annotations

import random

import pytest
from tests.soak import SOAK

from tocsin.flow.capture.curation import curated_paths_after, values_of
from tocsin.model import fqn
from tocsin.model.entity import Document


def _by_all_values(curated: frozenset[str], before: Document, after: Document, *, is_bot: bool) -> frozenset[str]:
    """The same by looking at every value, changed or not."""
    old, new = ({fqn.join(path): value for path, value in values_of("table", one).items()} for one in (before, after))
    unchanged = {name for name in curated if name in new and new[name] == old.get(name)}
    return frozenset(
        unchanged if is_bot else unchanged | {name for name, value in new.items() if value != old.get(name)}
    )


def _column(chance: random.Random, name: str) -> Document:
    column: Document = {"name": name, "dataType": "INT"}
    if chance.random() < 0.5:
        column["description"] = chance.choice("ab")
    if chance.random() < 0.5:
        column["tags"] = [{"tagFQN": one, "source": "Classification"} for one in chance.sample(["T.a", "T.b"], 1)]
    if chance.random() < 0.3:
        column["children"] = [_column(chance, one) for one in chance.sample("xyz", 2)]
    return column


def _table(chance: random.Random) -> Document:
    names = [chance.choice("abcd") for _ in range(3)] if chance.random() < 0.1 else chance.sample("abcd", 3)
    table: Document = {"name": "t", "columns": [_column(chance, name) for name in names]}
    return table | ({"description": chance.choice("ab")} if chance.random() < 0.5 else {})


@pytest.mark.parametrize("seed", range(50 if SOAK else 8))
def test_a_history_has_the_authors_that_all_its_values_have(seed: int) -> None:
    chance = random.Random(seed)
    state, curated_paths = Document(), frozenset[str]()
    for _ in range(10):
        old_columns = state.get("columns") or ()
        after = _table(chance)
        after["columns"] = [
            chance.choice([column, *(old for old in old_columns if old["name"] == column["name"])])
            for column in after["columns"]
        ]
        is_bot = chance.random() < 0.5
        expected_paths = _by_all_values(curated_paths, state, after, is_bot=is_bot)
        curated_paths = curated_paths_after("table", curated_paths, (state, after), is_bot=is_bot) or frozenset()
        assert curated_paths == expected_paths
        state = after
