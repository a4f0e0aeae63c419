"""Tests of labels: which may be set where, and which are derived from them."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, Company, add_tags, company

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.listing import Listing

REVENUE = {"tagFQN": "Business.Revenue", "source": "Glossary"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    add_tags(sample_company.writes, "PII.Sensitive", "PII.None", "Tier.Tier1", "Tier.Tier2", "Certification.Gold")
    _set(sample_company, "classification", "Tier", "mutuallyExclusive", True)
    sample_company.writes.create("glossary", {"name": "Business", "description": "x"}, actor=SYSTEM)
    term = {"name": "Revenue", "description": "x", "glossary": "Business", "tags": [{"tagFQN": "PII.Sensitive"}]}
    sample_company.writes.create("glossaryTerm", term, actor=SYSTEM)
    return sample_company


def _set(shop: Company, entity_type: str, fqn: str, key: str, value: object) -> None:
    shop.patch(("add", f"/{key}", value), fqn=fqn, entity_type=entity_type)


def _labels(document: Document) -> list[tuple[str, str]]:
    return [(label["tagFQN"], label["labelType"]) for label in document["tags"]]


@pytest.mark.parametrize(
    "label",
    [{"tagFQN": "No.Such"}, {"tagFQN": "PII.Sensitive", "source": "Glossary"}, {"tagFQN": "Business"}],
)
@pytest.mark.parametrize("path", ["/tags/0", "/columns/1/tags/0"])
@pytest.mark.soak_on_postgresql
def test_a_label_that_names_nothing_is_refused(shop: Company, label: Document, path: str) -> None:
    with pytest.raises(NotFound, match=str(label["tagFQN"])):
        shop.patch(("add", path, label))
    with pytest.raises(InvalidInput, match="source"):
        shop.patch(("add", path, {"tagFQN": "PII.None", "source": "Nowhere"}))


def test_a_label_that_stood_there_before_stays_whatever_became_of_its_tag(shop: Company) -> None:
    shop.patch(("add", "/tags/0", {"tagFQN": "PII.Sensitive"}))
    shop.writes.delete("tag", Key.by_name("PII.Sensitive"), actor=JANE)
    assert shop.patch(("add", "/description", "x")).document["tags"][0]["tagFQN"] == "PII.Sensitive"
    with pytest.raises(NotFound, match=r"PII\.Sensitive"):
        shop.patch(("add", "/tags/0", {"tagFQN": "PII.Sensitive"}), fqn="bi.revenue", entity_type="dashboard")


def test_a_glossary_term_brings_its_own_tags(shop: Company) -> None:
    written = shop.patch(("add", "/tags/0", REVENUE))
    assert _labels(written.document) == [("Business.Revenue", "Manual"), ("PII.Sensitive", "Derived")]
    page = shop.catalogue.list_entities("table", Listing(tags=("PII.Sensitive",)))
    assert [one["name"] for one in page.documents] == ["orders"]
    removal = shop.patch(("remove", "/tags/0", None))
    assert removal.document.get("tags", []) == []


def test_a_tag_given_by_hand_is_not_derived_as_well(shop: Company) -> None:
    written = shop.patch(("add", "/tags", [{"tagFQN": "PII.Sensitive"}, REVENUE]))
    assert _labels(written.document) == [("PII.Sensitive", "Manual"), ("Business.Revenue", "Manual")]


def test_of_tags_that_exclude_each_other_one_may_be_given(shop: Company) -> None:
    both = [{"tagFQN": "Tier.Tier1"}, {"tagFQN": "Tier.Tier2"}]
    with pytest.raises(InvalidInput, match=r"Tier\.Tier1 and Tier\.Tier2 are mutually exclusive"):
        shop.patch(("add", "/tags", both))
    shop.patch(("add", "/tags", both[:1]))
    with pytest.raises(InvalidInput, match="mutually exclusive"):
        shop.patch(("add", "/tags/1", both[1]))
    assert _labels(shop.patch(("replace", "/tags/0", both[1])).document) == [("Tier.Tier2", "Manual")]
    shop.patch(("add", "/tags", [{"tagFQN": "PII.Sensitive"}, {"tagFQN": "PII.None"}]))


@pytest.mark.parametrize(("entity_type", "fqn"), [("tag", "PII.None"), ("classification", "PII")])
def test_what_is_disabled_cannot_be_given(shop: Company, entity_type: str, fqn: str) -> None:
    _set(shop, entity_type, fqn, "disabled", True)
    with pytest.raises(InvalidInput, match="disabled"):
        shop.patch(("add", "/tags/0", {"tagFQN": "PII.None"}))


def test_a_certificate_is_a_label_with_dates(shop: Company) -> None:
    written = shop.patch(("add", "/certification", {"tagLabel": {"tagFQN": "Certification.Gold"}}))
    certificate = written.document["certification"]
    assert certificate["appliedDate"] == written.document["updatedAt"] < certificate["expiryDate"]
    assert certificate["tagLabel"]["labelType"] == "Manual"
    with pytest.raises(NotFound):
        shop.patch(("add", "/certification", {"tagLabel": {"tagFQN": "Certification.Wood"}}))
    shop.patch(("add", "/tags/0", {"tagFQN": "PII.None"}))
    for label in ({"tagFQN": "PII.None"}, {"tagFQN": "CertificationOfOurs.Gold"}):
        with pytest.raises(InvalidInput, match="must be a tag of the classification Certification"):
            shop.patch(("add", "/certification", {"tagLabel": label}))
    shop.writes.delete("tag", Key.by_name("Certification.Gold"), actor=JANE, hard=True)
    assert "certification" not in shop.get("table", "pg.shop.public.orders")


def test_what_a_label_says_of_its_tag_is_not_kept(shop: Company) -> None:
    written = shop.patch(("add", "/tags/0", {"tagFQN": "PII.None", "name": "None", "description": "Old words."}))
    assert written.document["tags"][0].keys() == {"tagFQN", "source", "labelType", "state"}
