"""Tests of CSV export and import with OpenMetadata's routes, headers and results."""

from __future__ import annotations

import csv
import io
from urllib.parse import quote

import httpx
import pytest
from tests.contract import standards
from tests.serving import Json

from tocsin.settings import Settings

TABLE = "/tables/name/warehouse.shop.public.orders"
TEXT = {"Content-Type": "text/plain"}


def import_sheet(client: httpx.Client, path: str, text: str | bytes, **query: str) -> Json:
    answer = client.put(f"{path}/import", params=query, content=text, headers=TEXT)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.fixture
def glossary(administrator: httpx.Client) -> str:
    assert administrator.post("/glossaries", json={"name": "Shop. 1", "description": "Words."}).status_code == 201
    return "/glossaries/name/" + quote('"Shop. 1"', safe="")


def test_a_table_goes_out_and_comes_back(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.get(f"{TABLE}/export")
    assert answer.headers["content-type"].startswith("text/plain")
    header, *columns = rows(answer.text)
    assert [name.removesuffix("*") for name in header] == [
        "column.fullyQualifiedName",
        "column.displayName",
        "column.description",
        "column.dataTypeDisplay",
        "column.dataType",
        "column.arrayDataType",
        "column.dataLength",
        "column.tags",
        "column.glossaryTerms",
    ]
    assert [column[0] for column in columns] == ["id", "email"]
    changed_sheet = answer.text.replace("email,,,", "email,,=1+1,")
    assert import_sheet(administrator, TABLE, changed_sheet, dryRun="true")["dryRun"] is True
    assert administrator.get(TABLE).json()["version"] == 0.1
    result = import_sheet(administrator, TABLE, changed_sheet)
    assert (result["status"], result["numberOfRowsProcessed"]) == ("success", 2)
    assert [row[:2] for row in rows(result["importResultsCsv"])] == [
        ["status", "details"],
        ["success", "Column unchanged"],
        ["success", "Column updated"],
    ]
    assert administrator.get(TABLE).json()["columns"][1]["description"] == "=1+1"
    assert "'=1+1" in administrator.get(f"{TABLE}/export").text


def test_a_glossary_goes_out_and_comes_back(administrator: httpx.Client, glossary: str) -> None:
    header = administrator.get(f"{glossary}/export").text
    assert header == (
        "parent,name*,displayName,description,synonyms,relatedTerms,references,tags,reviewers,owner,glossaryStatus,"
        "color,iconURL,extension\r\n"
    )
    text = 'parent,name*,description\r\n,Client,Who buys.\r\n"""Shop. 1"".Client",Best,Who buys most.\r\n'
    result = import_sheet(administrator, glossary, text.encode("utf-8-sig"))
    assert (result["status"], result["numberOfRowsPassed"]) == ("success", 2)
    exported_sheet = administrator.get(f"{glossary}/export").text
    assert [row[1] for row in rows(exported_sheet)[1:]] == ["Client", "Best"]
    before = administrator.get("/events", params={"offset": "latest"}).json()["paging"]["offset"]
    again = import_sheet(administrator, glossary, exported_sheet)
    assert (again["status"], again["numberOfRowsFailed"]) == ("success", 0)
    assert administrator.get("/events", params={"offset": "latest"}).json()["paging"]["offset"] == before


def test_what_is_no_sheet_is_answered_with_the_reason(administrator: httpx.Client, orders: Json) -> None:
    for text, reason in (("", "empty"), ("colour\nx", "colour"), ('column.fullyQualifiedName\n"a"b', "line 2")):
        result = import_sheet(administrator, TABLE, text)
        assert (result["status"], reason in result["abortReason"]) == ("aborted", True)
    assert administrator.put(f"{TABLE}/import", content=b"\xff\xfe", headers=TEXT).status_code == 400
    large = b" " * (Settings().body_bytes_bulk + 1)
    assert administrator.put(f"{TABLE}/import", content=large, headers=TEXT).status_code == 413
    assert administrator.put("/tables/name/nowhere/import", content="x", headers=TEXT).status_code == 404
    assert administrator.put(f"{TABLE}/import?dryRun=perhaps", content="x", headers=TEXT).status_code == 400
    for misspelt in ("dryrun", "dry_run", "DryRun"):
        refused = administrator.put(f"{TABLE}/import?{misspelt}=true", content="x", headers=TEXT)
        assert (refused.status_code, "did you mean dryRun?" in refused.text) == (400, True)


def test_the_documentation_says_what_stands_where(administrator: httpx.Client) -> None:
    for collection in ("tables", "glossaries"):
        answered = administrator.get(f"/{collection}/documentation/csv").json()
        assert answered["summary"]
        assert all(header.keys() == {"name", "required", "description", "examples"} for header in answered["headers"])
    answer = administrator.get("/users/documentation/csv")
    assert (answer.status_code, "glossaries" in answer.json()["message"]) == (404, True)


@standards.needs_standards
def test_results_and_documentation_are_what_the_schemas_say(administrator: httpx.Client, orders: Json) -> None:
    for text in ("", "column.fullyQualifiedName\nid\nnothing\n"):
        assert standards.problems("type/csvImportResult.json", import_sheet(administrator, TABLE, text)) == []
    for collection in ("tables", "glossaries"):
        answered = administrator.get(f"/{collection}/documentation/csv").json()
        assert standards.problems("type/csvDocumentation.json", answered) == []
