"""Tests of sheets with hidden references: these are not exported, and kept on import."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.serving import Json, Served

_NAME = "kanarienvogel"
_HIDDEN = [{"tagFQN": "PII.Sensitive"}]


@pytest.mark.parametrize("query", ["", "?recursive=true"])
def test_a_sheet_of_tables_shows_no_hidden_reference_and_keeps_it(
    served: Served, administrator: httpx.Client, orders: Json, query: str
) -> None:
    user_id, mallory = served.person("mallory")
    create_entity(administrator, "/domains", name=_NAME, description="x", domainType="Aggregate", tags=_HIDDEN)
    create_entity(administrator, "/domains", name="Open", description="x", domainType="Aggregate")
    path, sheet = f"/tables/{orders['id']}", "/databaseSchemas/name/warehouse.shop.public"
    values = {"domains": [_NAME], "owners": [{"id": user_id, "type": "user"}]}
    for key, value in values.items():
        assert send_patch(administrator, path, {"op": "add", "path": f"/{key}", "value": value}).is_success
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        text = mallory.get(f"{sheet}/export{query}").text
        assert _NAME not in text
        for domains, remaining_domains in (("", {_NAME}), ("Open", {_NAME, "Open"})):
            records = list(csv.DictReader(io.StringIO(text)))
            records = [one | {"description": f"Orders. {domains}", "domains": domains} for one in records[:1]]
            buffer = io.StringIO()
            writer = csv.DictWriter(buffer, records[0].keys())
            writer.writeheader()
            writer.writerows(records)
            answer = mallory.put(f"{sheet}/import{query}", content=buffer.getvalue())
            assert answer.json()["numberOfRowsPassed"] == 1, answer.text
            now = administrator.get(path, params={"fields": "domains"}).json()
            assert (now["description"], {one["name"] for one in now["domains"]}) == (
                f"Orders. {domains}",
                remaining_domains,
            )


def test_a_sheet_of_terms_shows_no_hidden_term_and_keeps_it(served: Served, administrator: httpx.Client) -> None:
    user_id, mallory = served.person("mallory")
    for glossary in ("Shop", _NAME):
        create_entity(administrator, "/glossaries", name=glossary, description="x")
    secret = create_entity(administrator, "/glossaryTerms", name=_NAME, description="x", glossary=_NAME, tags=_HIDDEN)
    owner = [{"id": user_id, "type": "user"}]
    term = create_entity(administrator, "/glossaryTerms", name="Client", description="x", glossary="Shop", owners=owner)
    relation_operation = {"op": "add", "path": "/relatedTerms", "value": [{"id": secret["id"], "type": "glossaryTerm"}]}
    assert send_patch(administrator, f"/glossaryTerms/{term['id']}", relation_operation).is_success
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        text = mallory.get("/glossaries/name/Shop/export").text
        assert _NAME not in text
        answer = mallory.put("/glossaries/name/Shop/import", content=text.replace(",x,", ",Who buys.,"))
        assert answer.json()["numberOfRowsFailed"] == 0, answer.text
    now = administrator.get(f"/glossaryTerms/{term['id']}", params={"fields": "relatedTerms"}).json()
    assert now["description"] == "Who buys."
    assert _NAME in str(now["relatedTerms"])
