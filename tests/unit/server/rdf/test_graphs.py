"""Whatever users write, every format of linked data is valid, and all are one graph."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.rdfprocessors import assert_same, by_oxigraph, by_pyld, by_rdflib, read_n_triples, read_turtle
from tests.soak import SOAK

from tocsin.model.change import EventType
from tocsin.server.rdf.alerts import alert_node
from tocsin.server.rdf.answers import render_graph
from tocsin.server.rdf.entities import entity_node
from tocsin.server.rdf.events import event_node
from tocsin.server.rdf.formats import Format
from tocsin.server.rdf.nodes import Node, literal_of, time_text, version_text
from tocsin.server.rdf.vocabulary import ENTITY_CONTEXT, alert_context, event_context

FEW = settings(max_examples=25 if SOAK else 8, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
"""Without shrinking, which takes minutes where every step asks four processors."""
_PIECES = [
    '"',
    "\n",
    "\r",
    "\\",
    ">",
    "<",
    "'",
    '"""',
    "\0",
    "\ud800",
    "\udfff",
    "\u202e",
    "\u2028",
    " ",
    "%",
    "#",
    "@",
    "{",
    "}",
]
_PIECES += [
    "\U0001f600",
    "\U0010ffff",
    "\ufffe",
    "\x7f",
    "\x1b",
    "_:b0",
    "urn:x",
    "@context",
    "é",
    "\t",
    ". <x> <y> <z>",
]
TEXTS = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=6).map("".join)
IDS = st.uuids().map(str)
KEYS = st.one_of(st.sampled_from(["@id", "@type", "@context", "name", "a b", "", "om:x", "http://x/y"]), TEXTS)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
CHANGES = st.fixed_dictionaries({"name": TEXTS}, optional={"oldValue": VALUES, "newValue": VALUES})
DESCRIPTIONS = st.fixed_dictionaries(
    {key: st.lists(CHANGES, max_size=2) for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")}
)
REFERENCES = st.fixed_dictionaries({"id": IDS, "type": st.sampled_from(["user", "team", "table"]), "name": TEXTS})
VERSIONS = st.integers(1, 9999).map(lambda tenths: tenths / 10)
TIMES = st.integers(0, 4_102_444_800_000)
LABELS = st.fixed_dictionaries({"tagFQN": TEXTS}, optional={"source": TEXTS, "style": VALUES})
COLUMNS = st.fixed_dictionaries({"name": TEXTS}, optional={"description": TEXTS, "tags": st.lists(LABELS, max_size=2)})
ENTITIES = st.fixed_dictionaries(
    {"id": IDS, "name": TEXTS},
    optional={
        "fullyQualifiedName": TEXTS,
        "description": TEXTS,
        "version": VERSIONS,
        "updatedAt": TIMES,
        "updatedBy": TEXTS,
        "href": TEXTS,
        "sourceUrl": TEXTS,
        "columns": st.lists(COLUMNS, max_size=3),
        "tags": st.lists(LABELS, max_size=2),
        "owners": st.lists(REFERENCES, max_size=2),
        "service": REFERENCES,
        "extension": st.dictionaries(KEYS, VALUES, max_size=3),
        "connection": VALUES,
        "tasks": st.lists(VALUES, max_size=2),
        "changeDescription": DESCRIPTIONS,
        "deleted": st.booleans(),
        "retentionPeriod": VALUES,
    },
)
EVENTS = st.fixed_dictionaries(
    {
        "id": IDS,
        "eventType": st.sampled_from([str(one) for one in EventType]),
        "entityType": st.one_of(st.sampled_from(["table", "user", "eventsubscription", "THREAD"]), TEXTS),
        "entityId": st.one_of(IDS, TEXTS),
        "timestamp": TIMES,
    },
    optional={
        "entityFullyQualifiedName": TEXTS,
        "previousVersion": VERSIONS,
        "currentVersion": VERSIONS,
        "userName": TEXTS,
        "userId": st.one_of(IDS, TEXTS),
        "changeDescription": DESCRIPTIONS,
        "entity": ENTITIES,
    },
)
ALERTS = st.fixed_dictionaries(
    {"id": IDS, "name": TEXTS, "alertType": st.one_of(st.just("Notification"), TEXTS)},
    optional={
        "description": TEXTS,
        "enabled": st.booleans(),
        "version": VERSIONS,
        "updatedAt": TIMES,
        "updatedBy": TEXTS,
        "owners": st.lists(REFERENCES, max_size=2),
        "trigger": st.fixed_dictionaries({"triggerType": TEXTS}, optional={"cronExpression": TEXTS}),
        "filteringRules": st.fixed_dictionaries({"resources": st.lists(TEXTS, max_size=2), "rules": VALUES}),
        "destinations": st.lists(
            st.fixed_dictionaries({"id": TEXTS, "category": TEXTS, "type": TEXTS, "config": VALUES}), max_size=2
        ),
        "changeDescription": DESCRIPTIONS,
        "input": VALUES,
    },
)


def assert_one_graph(context: Any, nodes: list[Node]) -> None:
    document = render_graph(context, nodes, Format.JSON_LD)
    graph = by_oxigraph(document)
    assert_same(graph, read_turtle(render_graph(context, nodes, Format.TURTLE)))
    assert_same(graph, read_n_triples(render_graph(context, nodes, Format.N_TRIPLES)))
    assert_same(graph, by_pyld(document))
    assert_same(graph, by_rdflib(document))


@given(st.lists(EVENTS, min_size=1, max_size=2), st.booleans(), st.none() | TEXTS)
@FEW
def test_events(events: list[dict[str, Any]], by_bot: bool, reason: str | None) -> None:
    assert_one_graph(event_context(), [event_node(one, by_bot=by_bot, reason=reason) for one in events])


@given(ENTITIES, st.sampled_from(["table", "user", "team", "pipeline"]))
@FEW
def test_entities(entity: dict[str, Any], entity_type: str) -> None:
    assert_one_graph(ENTITY_CONTEXT, [entity_node(entity_type, entity)])


@given(ALERTS)
@FEW
def test_alerts(alert: dict[str, Any]) -> None:
    assert_one_graph(alert_context(), [alert_node(alert)])


@pytest.mark.parametrize(
    ("version", "text"), [(0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3"), (1, "1.0"), (12345.6, "12345.6")]
)
def test_versions_are_decimals(version: float, text: str) -> None:
    assert version_text(version) == text


def test_times_keep_their_milliseconds() -> None:
    assert time_text(1_705_320_000_123) == "2024-01-15T12:00:00.123Z"
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
    assert time_text(253_402_300_799_999) == "9999-12-31T23:59:59.999Z"


@given(VALUES.filter(lambda value: value is None or isinstance(value, dict | list)))
@FEW
def test_what_is_no_scalar_is_a_json_literal(value: Any) -> None:
    literal = literal_of(value)
    assert literal["@type"] == "rdf:JSON"
    written = json.dumps(value)
    if not any(word in written for word in ("NaN", "Infinity", "\\ud")):
        assert json.loads(literal["@value"]) == value
