"""Tests of what migrations change: statements add up, and what is not understood is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.check.proposals import FiledProposal
from tocsin.check.sql_files import MigrationReader, SqlPlaces
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

PLACES = SqlPlaces("pg", "shop", "public", "postgres")
NAMES = ("a", "b", "c")


def read(folder: Path, *texts: str, places: SqlPlaces = PLACES) -> tuple[list[FiledProposal], list[str]]:
    remarks: list[str] = []
    paths = [folder / f"{number}.sql" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return MigrationReader(places, remarks.append).read(paths), remarks


def documents(folder: Path, *texts: str) -> dict[str, Document]:
    proposals, remarks = read(folder, *texts)
    assert remarks == []
    return {one.asset: {key: one.document[key] for key in one.document.keys() - _NAMING} for one in proposals}


_NAMING = {"entityType", "fullyQualifiedName"}
ORDERS = "pg.shop.public.orders"


def test_statements_become_changes_of_tables_at_their_places(tmp_path: Path) -> None:
    text = """-- 0042
ALTER TABLE orders DROP COLUMN email, DROP COLUMN IF EXISTS fax;
ALTER TABLE orders ALTER COLUMN total TYPE numeric(8, 2) USING total::numeric;
ALTER TABLE orders ALTER COLUMN total SET NOT NULL;
ALTER TABLE "Order.Lines" RENAME COLUMN a TO b;
ALTER TABLE billing.invoices ADD COLUMN note varchar(20) NOT NULL;
DROP TABLE IF EXISTS archive.old.t, u;
DROP VIEW v;
CREATE TABLE fresh (id int);
CREATE INDEX i ON orders (total);
INSERT INTO orders VALUES (1);
"""
    proposals, remarks = read(tmp_path, text)
    assert remarks == []
    assert {one.asset: one.line for one in proposals} == {
        ORDERS: 2,
        'pg.shop.public."Order.Lines"': 5,
        "pg.shop.billing.invoices": 6,
        "pg.archive.old.t": 7,
        "pg.shop.public.u": 7,
        "pg.shop.public.v": 8,
    }
    by_asset = {one.asset: one.document for one in proposals}
    orders = by_asset[ORDERS]
    assert orders["removedColumns"] == ["email", "fax"]
    (total,) = orders["columns"]
    assert (total["name"], total["dataType"], total["precision"], total["scale"], total["constraint"]) == (
        *("total", "DECIMAL", 8, 2, "NOT_NULL"),
    )
    lines = by_asset['pg.shop.public."Order.Lines"']
    assert (lines["removedColumns"], lines["columns"][0]["name"]) == (["a"], "b")
    note = by_asset["pg.shop.billing.invoices"]["columns"][0]
    assert (note["dataType"], note["dataLength"], note["constraint"]) == ("VARCHAR", 20, "NOT_NULL")
    assert by_asset["pg.archive.old.t"]["deleted"] and by_asset["pg.shop.public.v"]["deleted"]


def test_files_add_up(tmp_path: Path) -> None:
    add, drop = "ALTER TABLE orders ADD COLUMN x int;", "ALTER TABLE orders DROP COLUMN x;"
    assert documents(tmp_path, add, drop) == {}
    (again,) = documents(tmp_path, drop, add).values()
    assert "removedColumns" not in again and again["columns"][0]["name"] == "x"
    assert documents(tmp_path, "ALTER TABLE orders RENAME TO old;") == {ORDERS: {"deleted": True}}


def test_what_is_not_understood_is_said(tmp_path: Path) -> None:
    text = "DROP SCHEMA shop CASCADE; ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1); VACUUM t; DO $$ BEGIN END $$;"
    proposals, remarks = read(tmp_path, text)
    assert proposals == [] and len(remarks) >= 2 and all("0.sql: not understood" in one for one in remarks)
    _, remarks = read(tmp_path, "DROP TABLE t; CREATE TABLE t (a int);")
    assert remarks == [f"{tmp_path / '0.sql'}: replaces pg.shop.public.t: its columns were not compared"]


def test_wrong_files_are_refused_by_name(tmp_path: Path) -> None:
    for text, words in (("ALTER TABLE (", "no SQL of postgres"), ("SELECT 'x", "no SQL of postgres")):
        with pytest.raises(InvalidInput, match=words):
            read(tmp_path, text)
    (tmp_path / "0.sql").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not UTF-8, at byte 0"):
        MigrationReader(PLACES, lambda remark: None).read([tmp_path / "0.sql"])
    with pytest.raises(InvalidInput, match="is no file"):
        MigrationReader(PLACES, lambda remark: None).read([tmp_path / "absent.sql"])
    with pytest.raises(InvalidInput, match="unknown dialect mysq; did you mean mysql"):
        read(tmp_path, "SELECT 1", places=SqlPlaces("pg", "shop", "public", "mysq"))


@given(steps=st.lists(st.tuples(st.sampled_from(("ADD", "DROP")), st.sampled_from(NAMES)), max_size=8))
def test_columns_after_all_steps_are_those_of_a_database(
    steps: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A table that begins with ``a`` and ``b``: steps that a database would refuse are left out."""
    columns, texts = {"a", "b"}, []
    for verb, name in steps:
        if (verb == "ADD") is (name in columns):
            continue
        columns = columns | {name} if verb == "ADD" else columns - {name}
        texts.append(f"ALTER TABLE orders {verb} COLUMN {name}{' int' if verb == 'ADD' else ''};")
    change = documents(tmp_path_factory.mktemp("sql"), *texts).get(ORDERS, {})
    added = {one["name"] for one in change.get("columns", ())}
    assert ({"a", "b"} - set(change.get("removedColumns", ()))) | added == columns
