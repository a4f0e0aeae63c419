"""Tests of the columns that statements carry over."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tocsin.sources.dbt.statements import ColumnOf, StatementReader, TablePath

ORDERS, PEOPLE = ("shop", "main", "orders"), ("shop", "main", "people")
COLUMNS: Mapping[TablePath, Mapping[str, str]] = {
    ORDERS: {"id": "INT", "total": "DOUBLE", "person": "INT"},
    PEOPLE: {"id": "INT", "name": "VARCHAR"},
}


def origins(statement: str, adapter: str = "postgres") -> dict[str, set[ColumnOf]]:
    return {name: set(columns) for name, columns in StatementReader(adapter, COLUMNS).origins_of(statement).items()}


def test_columns_are_followed_through_stars_joins_unions_and_names_of_queries() -> None:
    statement = """
        with o as (select * from "shop"."main"."orders"), p as (select id, upper(name) as name from shop.main.people)
        select o.id, o.total * 2 as double_total, p.name, 1 as one from o join p on p.id = o.person
        union all select id, total, null, 2 from shop.main.orders
    """
    expected = {"id": {ColumnOf(ORDERS, "id")}, "double_total": {ColumnOf(ORDERS, "total")}}
    assert origins(statement) == expected | {"name": {ColumnOf(PEOPLE, "name")}}


def test_a_column_of_several_columns_names_them_all() -> None:
    statement = "select coalesce(o.total, p.id) as v from shop.main.orders o, shop.main.people p"
    assert origins(statement) == {"v": {ColumnOf(ORDERS, "total"), ColumnOf(PEOPLE, "id")}}


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "select",
        "select id from",
        "'; drop table orders; --",
        "import pandas as pd\ndef model(dbt, session): return dbt.ref('orders')",
        "insert into t values (1)",
        "select * from read_csv('x')",
        "(" * 3_000 + "select 1" + ")" * 3_000,
    ],
)
def test_what_cannot_be_read_has_no_columns(statement: str) -> None:
    assert origins(statement) == {}


def test_an_adapter_that_is_not_known_has_no_columns() -> None:
    assert origins("select id from shop.main.orders", "teradata_of_ours") == {}
