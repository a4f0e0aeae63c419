"""Tests of texts of others in CSV and linked data of events: no formula, no row of their own, no syntax, no loss."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import quote

import httpx
import pytest
from rdflib import RDFS, Literal, URIRef
from tests.contract.test_access import send_patch
from tests.contract.test_changes import announce
from tests.contract.test_events import PATCH
from tests.contract.test_explain import alert
from tests.rdfprocessors import assert_same, by_oxigraph, read_n_triples, read_turtle
from tests.serving import Json, table

pytestmark = pytest.mark.xdist_group("rdf")

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1:A9)", "'=1+1", "\uff1dcmd", '=HYPERLINK("http://x";"y")']
SYNTAX = ['he said "no"', "a,b;c", "<urn:x> .", "\\u0041 \\", "_:b0 @prefix x: <y> .", "''' \"\"\"", "%0a%22"]
_RUNS = re.compile("'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet takes for a formula, whatever apostrophes stand before it."""


def test_what_people_write_stays_text(administrator: httpx.Client, orders: Json) -> None:
    texts = FORMULAS + SYNTAX
    for number, text in enumerate(texts):
        write_everywhere(administrator, orders, text, number)
    events = administrator.get("/events", params={"limit": 1_000, "format": "tocsin"}).json()["data"]
    csv_rows = list(csv.DictReader(io.StringIO(administrator.get("/events?format=csv&limit=1000").text, newline="")))
    assert [row["id"] for row in csv_rows] == [one["id"] for one in events]
    assert [
        (row["id"], key) for row in csv_rows for key, cell in row.items() if _RUNS.match(cell) and cell[0] != "'"
    ] == []
    reason_pairs = [(row, one) for row, one in zip(csv_rows, events, strict=True) if one.get("reason")]
    assert [event["reason"] for _, event in reason_pairs] == texts
    assert [row["reason"] for row, _ in reason_pairs] == [f"'{text}" if _RUNS.match(text) else text for text in texts]
    assert [row["summary"] for row, event in reason_pairs if event["reason"] not in row["summary"]] == []

    query = f"/events?entityId={orders['id']}&limit=1000&format="
    answers = {one: administrator.get(f"{query}{one}") for one in ("jsonld", "turtle", "ntriples")}
    graph = by_oxigraph(answers["jsonld"].content)
    assert_same(graph, read_turtle(answers["turtle"].content))
    assert_same(graph, read_n_triples(answers["ntriples"].content))
    for _, event in reason_pairs:
        assert (URIRef(f"urn:uuid:{event['id']}"), RDFS.comment, Literal(event["reason"])) in graph
    assert len(set(answers["ntriples"].content.splitlines())) == len(graph), "a triple a line"


def write_everywhere(client: httpx.Client, orders: Json, text: str, number: int) -> None:
    """Name a column by a text and remove it again; write the text into a reason, an alert, a request and the table."""
    column, path = {"name": text, "dataType": "INT"}, f"/tables/{orders['id']}"
    headers = {**PATCH, "X-Tocsin-Why": f"UTF-8''{quote(text, safe='')}"}
    added = client.patch(path, json=[{"op": "add", "path": "/columns/-", "value": column}], headers=headers)
    assert added.is_success, added.text
    assert send_patch(client, path, {"op": "remove", "path": "/columns/2"}).is_success
    alert(client, f"Watch{number}", runbook=text, description=text)
    name = announce(client, orders, why=text, replacement=text)["name"]
    assert client.put(f"/changes/{name}/withdraw", json={"comment": text}).is_success
    assert send_patch(client, path, {"op": "add", "path": "/displayName", "value": text}).is_success


def test_control_characters_of_descriptions_and_names_make_no_rows(administrator: httpx.Client, orders: Json) -> None:
    del orders
    text = "\r\n=1+1,\x1b[2J\x07\u2028\u202e\ttab"
    table(administrator, "noisy", description=text, displayName=text)
    events = administrator.get("/events", params={"limit": 1_000}).json()["data"]
    answer = administrator.get("/events?format=csv&limit=1000")
    csv_rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["id"] for row in csv_rows] == [one["id"] for one in events]
    assert {len(row) for row in csv.reader(io.StringIO(answer.text, newline=""))} == {13}
