"""The ontology that is served: the seeds' own, and bridges by which either name of a property finds the other."""

from __future__ import annotations

import httpx
import pytest
from owlrl import DeductiveClosure, OWLRL_Semantics
from rdflib import OWL, RDF, Graph, Literal, URIRef
from tests.rdfprocessors import PROCESSORS, assert_same, read_n_triples, read_turtle
from tests.seedschema import MISSING, SEED, is_here
from tests.serving import Served

from tocsin.model.change import EventType
from tocsin.server.rdf.vocabulary import BRIDGES, OM, OM_EVENT, OM_EVENTS, individual

_NAMESPACES = {"changeEvent": OM_EVENT, "eventSubscription": OM_EVENTS}


@pytest.fixture
def nobody(served: Served) -> httpx.Client:
    return served.client()


@pytest.mark.parametrize("path", ["/rdf/ontology", "/rdf/shapes"])
def test_it_is_the_same_in_every_format(nobody: httpx.Client, path: str) -> None:
    with nobody:
        plain = nobody.get(path)
        assert plain.headers["content-type"].startswith("text/turtle")
        lines, document = (nobody.get(path, params={"format": name}) for name in ("ntriples", "jsonld"))
        by_accept = nobody.get(path, headers={"Accept": "application/ld+json"})
        assert nobody.get(path, params={"format": "rdfxml"}).status_code == 400
    assert by_accept.content == document.content
    if path == "/rdf/ontology":  # shapes have blank nodes, which every reading names anew
        assert_same(read_turtle(plain.content), read_n_triples(lines.content))
        assert_same(read_turtle(plain.content), PROCESSORS["rdflib"](document.content))


def test_it_holds_the_seeds_ontologies(nobody: httpx.Client) -> None:
    if not is_here():
        pytest.skip(MISSING)
    with nobody:
        served_graph = read_turtle(nobody.get("/rdf/ontology").content)
        contexts = {name: nobody.get("/rdf/context", params={"name": name}).json()["@context"] for name in _NAMESPACES}
    for seed in (SEED, next(SEED.parent.glob("001_*"))):
        text = seed.read_text()
        begin = text.index("@prefix om:")
        printed = read_turtle(text[begin : text.index("{\n", begin)].encode())
        assert len(printed) > 50
        assert set(printed) <= set(served_graph)
        assert any(context[0]["om"] and str(context[0]).count("om:") > 10 for context in contexts.values())


def test_every_name_of_a_context_has_a_bridge(nobody: httpx.Client) -> None:
    with nobody:
        graph = read_turtle(nobody.get("/rdf/ontology").content)
    for seed, names in BRIDGES.items():
        for name in names:
            assert (URIRef(OM + name), OWL.equivalentProperty, URIRef(_NAMESPACES[seed] + name)) in graph
    for event_type in EventType:
        assert (URIRef(OM_EVENT + individual(event_type)), RDF.type, URIRef(OM_EVENT + "EventType")) in graph


def test_a_reasoner_finds_one_name_by_the_other(nobody: httpx.Client) -> None:
    with nobody:
        graph = Graph()
        for triple in read_turtle(nobody.get("/rdf/ontology").content):
            graph.add(triple)
    event = URIRef("urn:uuid:00000000-0000-0000-0000-000000000001")
    graph.add((event, URIRef(OM_EVENT + "entityType"), Literal("table")))
    DeductiveClosure(OWLRL_Semantics).expand(graph)
    assert (event, URIRef(OM + "entityType"), Literal("table")) in graph
    assert (event, RDF.type, URIRef("http://www.w3.org/ns/prov#Activity")) in graph
