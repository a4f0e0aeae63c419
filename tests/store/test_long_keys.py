"""Tests of long keys in documents: none is stored that Spark cannot read, and stored ones stop no other change."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany

from tocsin.errors import InvalidInput
from tocsin.flow.capture.bounds import LONGEST_KEY
from tocsin.model.entity import Document
from tocsin.store.database.tables import entity

_LONGER = "k" * (LONGEST_KEY + 1)


@pytest.fixture
def company(sqlite_engine: Engine) -> SmallCompany:
    return SmallCompany(sqlite_engine)


def _with_key(key: str) -> list[Document]:
    return [{"name": "id", "dataType": "INT", "extension": {"list": [{key: 1}]}}]


def _patch_columns(company: SmallCompany, columns: list[Document]) -> None:
    patch = [{"op": "add", "path": "/columns", "value": columns}]
    company.writes.patch("table", company.key("orders"), patch, actor=company.actor("dia"))


def test_a_key_that_is_too_long_is_refused_by_every_writer(company: SmallCompany) -> None:
    _patch_columns(company, _with_key("k" * LONGEST_KEY))
    with pytest.raises(InvalidInput, match="a key of 10001 characters; the limit is 10000"):
        _patch_columns(company, _with_key(_LONGER))
    with pytest.raises(InvalidInput, match="a key of 10001 characters"):
        company.table("customers", columns=_with_key(_LONGER))


def test_a_document_that_has_such_a_key_already_can_be_changed(company: SmallCompany, sqlite_engine: Engine) -> None:
    _patch_columns(company, _with_key("key"))
    is_orders = entity.c.id == company.ids["orders"]
    with sqlite_engine.begin() as connection:
        text = connection.execute(select(entity.c.document).where(is_orders)).scalar_one()
        connection.execute(update(entity).where(is_orders).values(document=text.replace('"key"', f'"{_LONGER}"')))
    company.describe("orders", "changed")
    with pytest.raises(InvalidInput, match="a key of 10002 characters"):
        _patch_columns(company, _with_key(f"{_LONGER}k"))
    _patch_columns(company, _with_key("key"))
