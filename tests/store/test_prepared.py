"""Tests of precompiled statements on both stores: same results and errors as with SQLAlchemy."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, bindparam, insert, literal, select
from sqlalchemy.exc import IntegrityError

from tocsin.store.database.engine import writing
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import server_secret

ADD = Prepared(insert(server_secret), ("name", "value"))
FIND = Prepared(
    select(literal("found"), server_secret.c.value)
    .where(server_secret.c.name == bindparam("wanted"))
    .order_by(server_secret.c.name)
)


def test_values_and_constants_reach_the_driver(store_engine: Engine) -> None:
    with writing(store_engine) as connection:
        ADD.run(connection, {"value": "x", "name": "w1"})
        assert FIND.run(connection, {"wanted": "w1"}).fetchall() == [("found", "x")]
        assert FIND.run(connection, {"wanted": "w2"}).fetchone() is None


@pytest.mark.parametrize("count", [1, 3])
def test_it_is_run_for_every_row(store_engine: Engine, count: int) -> None:
    with writing(store_engine) as connection:
        ADD.run_for(connection, [{"name": f"w{at}", "value": str(at)} for at in range(count)])
        values = [FIND.run(connection, {"wanted": f"w{at}"}).fetchone()[1] for at in range(count)]
    assert values == [str(at) for at in range(count)]


def test_what_the_driver_refuses_is_sqlalchemys_error_without_its_values(store_engine: Engine) -> None:
    with pytest.raises(IntegrityError) as refused, writing(store_engine) as connection:
        ADD.run(connection, {"name": "w1", "value": "a secret"})
        ADD.run(connection, {"name": "w1", "value": "a secret"})
    assert "a secret" not in str(refused.value)
