"""Tests of sheets with hidden references: these are not exported, and kept on import."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from tests.contract.test_access import made, patched, restrict
from tests.serving import Json, Served

_NAME = "kanarienvogel"
_HIDDEN = [{"tagFQN": "PII.Sensitive"}]


@pytest.mark.parametrize("query", ["", "?recursive=true"])
def test_a_sheet_of_tables_shows_no_hidden_reference_and_keeps_it(
    served: Served, administrator: httpx.Client, orders: Json, query: str
) -> None:
    user_id, mallory = served.person("mallory")
    made(administrator, "/domains", name=_NAME, description="x", domainType="Aggregate", tags=_HIDDEN)
    made(administrator, "/domains", name="Open", description="x", domainType="Aggregate")
    path, sheet = f"/tables/{orders['id']}", "/databaseSchemas/name/warehouse.shop.public"
    values = {"domains": [_NAME], "owners": [{"id": user_id, "type": "user"}]}
    for key, value in values.items():
        assert patched(administrator, path, {"op": "add", "path": f"/{key}", "value": value}).is_success
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        text = mallory.get(f"{sheet}/export{query}").text
        assert _NAME not in text
        for domains, left in (("", {_NAME}), ("Open", {_NAME, "Open"})):
            rows = list(csv.DictReader(io.StringIO(text)))
            rows = [one | {"description": f"Orders. {domains}", "domains": domains} for one in rows[:1]]
            written = io.StringIO()
            writer = csv.DictWriter(written, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
            answer = mallory.put(f"{sheet}/import{query}", content=written.getvalue())
            assert answer.json()["numberOfRowsPassed"] == 1, answer.text
            now = administrator.get(path, params={"fields": "domains"}).json()
            assert (now["description"], {one["name"] for one in now["domains"]}) == (f"Orders. {domains}", left)


def test_a_sheet_of_terms_shows_no_hidden_term_and_keeps_it(served: Served, administrator: httpx.Client) -> None:
    user_id, mallory = served.person("mallory")
    for glossary in ("Shop", _NAME):
        made(administrator, "/glossaries", name=glossary, description="x")
    secret = made(administrator, "/glossaryTerms", name=_NAME, description="x", glossary=_NAME, tags=_HIDDEN)
    owner = [{"id": user_id, "type": "user"}]
    term = made(administrator, "/glossaryTerms", name="Client", description="x", glossary="Shop", owners=owner)
    related = {"op": "add", "path": "/relatedTerms", "value": [{"id": secret["id"], "type": "glossaryTerm"}]}
    assert patched(administrator, f"/glossaryTerms/{term['id']}", related).is_success
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        text = mallory.get("/glossaries/name/Shop/export").text
        assert _NAME not in text
        answer = mallory.put("/glossaries/name/Shop/import", content=text.replace(",x,", ",Who buys.,"))
        assert answer.json()["numberOfRowsFailed"] == 0, answer.text
    now = administrator.get(f"/glossaryTerms/{term['id']}", params={"fields": "relatedTerms"}).json()
    assert now["description"] == "Who buys."
    assert _NAME in str(now["relatedTerms"])
