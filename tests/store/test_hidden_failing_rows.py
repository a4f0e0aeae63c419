"""Tests of failing rows in mails when columns, owners, domains and rights change between the failure and the mail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_failing_rows import (
    PII_TAG,
    WITHHELD,
    attachment_of,
    fail,
    failing_company,
    mails_of,
    permit,
    samples_of,
)

from tocsin.access.sample_masks import MASK
from tocsin.catalogue.observations.failed_rows import FAILED_ROWS
from tocsin.delivery.dispatch import Dispatch, FailingRows
from tocsin.model.entity import Document

_ID: Document = {"name": "id", "dataType": "INT"}
_EMAIL: Document = {"name": "email", "dataType": "VARCHAR", "dataLength": 80}
_TAGGED: Document = _EMAIL | {"tags": [{"tagFQN": PII_TAG}]}
_MASKED = (("7", MASK), ("8", MASK))
_WHOLE = (("7", "ann@example.org"), ("8", "null"))


def masking_company(engine: Engine) -> tuple[SmallCompany, dict[str, Dispatch]]:
    """Return a company whose test of ``orders`` failed with rows of a masked column, and the mails about that."""
    company = failing_company(engine)
    company.table("orders", columns=[_ID, _TAGGED])
    fail(company)
    return company, mails_of(engine)


@pytest.mark.parametrize(
    "columns",
    [[_ID], [_ID, _EMAIL], [_ID, _EMAIL, _TAGGED | {"name": "mail"}], [_EMAIL | {"name": "id"}, _EMAIL]],
    ids=["dropped", "added again without the tag", "renamed, and another one of its name", "all anew"],
)
def test_what_was_masked_when_the_rows_came_stays_masked(store_engine: Engine, columns: list[Document]) -> None:
    company, mails = masking_company(store_engine)
    company.table("orders", columns=[_ID])
    company.table("orders", columns=columns)
    samples = samples_of(store_engine)
    assert cells(samples.of(mails["cem"])) == _MASKED
    assert cells(samples.of(mails["ana"])) == _WHOLE, "owners see the values"


def test_who_owns_the_table_no_more_sees_masks(store_engine: Engine) -> None:
    company, mails = masking_company(store_engine)
    company.table("orders", columns=[_ID, _TAGGED], owners=[{"type": "user", "name": "cem"}])
    samples = samples_of(store_engine)
    assert (cells(samples.of(mails["ana"])), cells(samples.of(mails["cem"]))) == (_MASKED, _WHOLE)


def test_owners_of_the_schema_see_values_of_a_table_that_has_no_owners(store_engine: Engine) -> None:
    company, mails = masking_company(store_engine)
    owners = [{"type": "user", "name": "cem"}]
    company.put("databaseSchema", {"name": "public", "database": "pg.store", "owners": owners})
    company.table("orders", columns=[_ID, _TAGGED], owners=[])
    samples = samples_of(store_engine)
    assert (cells(samples.of(mails["ana"])), cells(samples.of(mails["cem"]))) == (_MASKED, _WHOLE)


def move_to_hidden_domain(company: SmallCompany) -> None:
    company.put("domain", {"name": "secret", "description": "", "domainType": "Aggregate"})
    company.table("orders", columns=[_ID, _TAGGED], domains=["secret"])


def move_its_schema_to_hidden_domain(company: SmallCompany) -> None:
    company.put("domain", {"name": "secret", "description": "", "domainType": "Aggregate"})
    company.put("databaseSchema", {"name": "public", "database": "pg.store", "domains": ["secret"]})


@pytest.mark.parametrize("move", [move_to_hidden_domain, move_its_schema_to_hidden_domain])
def test_a_table_that_was_moved_to_a_hidden_domain_shows_no_rows(
    store_engine: Engine, move: Callable[[SmallCompany], None]
) -> None:
    company, mails = masking_company(store_engine)
    by_domain: Document = {"operations": ["All"], "resources": ["table"], "condition": "!hasDomain()"}
    permit(company, "cem", {"name": "Hide", "effect": "deny", **by_domain})
    samples = samples_of(store_engine)
    assert cells(samples.of(mails["cem"])) == _MASKED
    move(company)
    assert samples.of(mails["cem"]) == WITHHELD


def test_a_test_that_is_deleted_shows_no_rows_until_it_is_restored(store_engine: Engine) -> None:
    company, mails = masking_company(store_engine)
    samples = samples_of(store_engine)
    company.writes.delete("testCase", company.key("has_rows"), actor=company.actor("ana"))
    assert samples.of(mails["cem"]) is None
    company.writes.restore("testCase", company.ids["has_rows"], actor=company.actor("ana"))
    assert cells(samples.of(mails["cem"])) == _MASKED
    company.writes.delete("testCase", company.key("has_rows"), actor=company.actor("ana"), hard=True)
    assert samples.of(mails["cem"]) is None
    assert attachment_of(company, FAILED_ROWS) is None


def cells(failing: FailingRows | None) -> tuple[tuple[str, ...], ...] | None:
    """Return the cells that are shown."""
    return failing and failing.cells
