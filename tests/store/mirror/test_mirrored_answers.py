"""Tests of the mirror with recorded answers: what OpenMetadata's own client of a version writes, paged and not.

``tests/acceptance/official_client/flows/flow_mirror_answers.py`` records them, and a test there compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.mirrored import Mirrored
from tests.openmetadata import FakeOpenMetadata, now_ms, running

from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.sources.openmetadata.kinds import KINDS
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.store.catalogue.lineage.reach import Lineage

RECORDED = Path(__file__).with_name("mirror_answers")
PLAIN_KEYS = ("id", "name", "fullyQualifiedName", "displayName", "description", "updatedAt", "updatedBy", "tableType")


@pytest.mark.parametrize("has_cursor", [True, False], ids=["pages", "one answer"])
@pytest.mark.parametrize("version", ["1.13", "2.0"])
@pytest.mark.soak_on_postgresql
def test_recorded_answers_stand_here_entity_by_entity(store_engine: Engine, version: str, *, has_cursor: bool) -> None:
    answers = json.loads((RECORDED / f"{version}.json").read_text(encoding="utf-8"))
    with running(FakeOpenMetadata(has_cursor=has_cursor, page=1)) as fake:
        for collection, documents in answers["lists"].items():
            for document in documents:
                fake.put(collection, document)
        fake.edges = {
            end: {edge["fromEntity"]: edge for edge in graph["upstreamEdges"]}
            for end, graph in answers["lineage"].items()
        }
        mirror = Mirrored(store_engine, fake)
        mapping = Mapping(("*",), has_people=True)
        assert mirror.run(mapping).errors == []
        for collection, documents in answers["lists"].items():
            for document in documents:
                assert facts_of(entity_of(mirror, collection, document["id"])) == facts_of(document)
        check_links(mirror, answers)
        later = [event | {"timestamp": now_ms() - 10 + number} for number, event in enumerate(answers["events"])]
        fake.events += later
        report = mirror.run(mapping)
        assert (report.errors, report.counts["changed"], report.counts["deleted"]) == ([], 1, 1)
        orders, old = (entity_of(mirror, "tables", event["entityId"]) for event in later)
        assert (orders["description"], orders["updatedBy"], old["deleted"]) == ("All orders.", "ana", True)
        assert [event.id for event in mirror.events()][-2:] == [event["id"] for event in later]
        assert list(mirror.events()[-2].change_description.paths()) == ["description"]


def check_links(mirror: Mirrored, answers: Document) -> None:
    """Compare edges and followers with those of the answers."""
    for end, graph in answers["lineage"].items():
        (edge,), (stored,) = graph["upstreamEdges"], Lineage(mirror.engine).edges_leading_to([end])
        details = edge["lineageDetails"]
        assert stored.from_["id"] == edge["fromEntity"]
        keys = ("sqlQuery", "columnsLineage", "description", "source")
        assert {key: stored.details[key] for key in keys} == {key: details[key] for key in keys}
        assert stored.details["pipeline"]["id"] == details["pipeline"]["id"]
    for table in answers["lists"]["tables"]:
        followers = [person["id"] for person in mirror.catalogue.followers(table["id"])]
        assert followers == [person["id"] for person in table.get("followers") or ()]


def entity_of(mirror: Mirrored, collection: str, entity_id: str) -> Document:
    """Return what stands here for an entity."""
    kind = next(kind.name for kind in KINDS if kind.collection == collection)
    return mirror.catalogue.get(kind, Key.by_id(entity_id), "all")


def facts_of(document: Document) -> Document:
    """Return what is mirrored of an entity: not what gives rights, is secret, counted or inherited."""
    references = {key: value["id"] for key, value in document.items() if isinstance(value, dict) and "id" in value}
    owners = [owner["id"] for owner in document.get("owners") or ()]
    labels = sorted(label["tagFQN"] for label in document.get("tags") or ())
    columns = [_column_of(column) for column in document.get("columns") or ()]
    plain = {key: document[key] for key in PLAIN_KEYS if document.get(key) is not None}
    return plain | {"references": references, "owners": owners, "labels": labels, "columns": columns}


def _column_of(column: Document) -> dict[str, Any]:
    keys = ("name", "dataType", "dataLength", "dataTypeDisplay", "description", "constraint")
    return {key: column[key] for key in keys if column.get(key) is not None}
