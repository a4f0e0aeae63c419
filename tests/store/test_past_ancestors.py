"""Tests of what was above an entity before it was moved or deleted, on both stores."""

from __future__ import annotations

from sqlalchemy import Engine, insert

from tocsin.store.catalogue.relations.past import ABOVE
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import past_relation
from tocsin.store.recipients.relations_over_time import KnownRelations


def test_the_nearest_of_more_than_ten_past_ancestors_comes_first(store_engine: Engine) -> None:
    ids = [f"ancestor{distance}" for distance in range(1, 13)]
    ended = {"entity_id": "x", "other_type": "domain", "since_offset": 0, "until_offset": 5}
    relations = [{**ended, "relation": f"{ABOVE}{at}", "other_id": other_id} for at, other_id in enumerate(ids, 1)]
    with writing(store_engine) as connection:
        connection.execute(insert(past_relation), relations)
    with reading(store_engine) as connection:
        ancestor_chain = KnownRelations(0).chains_of(connection, ["x"])["x"]
    assert [one.id for one in ancestor_chain.at(3)] == ids
