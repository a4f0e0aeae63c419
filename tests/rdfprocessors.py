"""Four processors of linked data: each reads a document as the set of its triples, and none may fetch anything."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyoxigraph
import pytest
import rdflib
from pyld import jsonld
from rdflib import XSD, BNode, Graph, Literal, URIRef
from tests.nodepackages import node_modules_of


@contextmanager
def _as_written() -> Iterator[None]:
    """Let rdflib keep numbers and times as they are written; pyshacl sets this, too."""
    before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        yield
    finally:
        rdflib.NORMALIZE_LITERALS = before


def refuse(url: str, *_options: Any) -> Any:
    raise AssertionError(f"{url} would be fetched")


def by_pyld(document: bytes) -> Graph:
    quads = jsonld.to_rdf(
        json.loads(document), {"format": "application/n-quads", "documentLoader": refuse, "useNativeTypes": False}
    )
    return _read(quads)


def by_rdflib(document: bytes) -> Graph:
    with warnings.catch_warnings(), _as_written():
        warnings.simplefilter("ignore", DeprecationWarning)  # its JSON-LD parser uses a class that it calls deprecated
        return _with_plain_strings(Graph().parse(data=document, format="json-ld"))


def by_oxigraph(document: bytes) -> Graph:
    quads = pyoxigraph.parse(document, pyoxigraph.RdfFormat.JSON_LD)
    return _graph_of(quad.triple for quad in quads)


def by_jsonld_js(document: bytes) -> Graph:
    """Read with jsonld.js; a test is skipped where Node is missing, or npm cannot install the package."""
    modules = node_modules_of(".jsonld-js", "jsonld@9.0.0")
    if modules is None:
        pytest.skip("Node is missing, or npm could not install jsonld.js")
    program = """
      const jsonld = require(process.argv[1] + '/jsonld');
      const refuse = async url => { throw new Error(url + ' would be fetched'); };
      const text = require('fs').readFileSync(0, 'utf8');
      jsonld.toRDF(JSON.parse(text), {format: 'application/n-quads', documentLoader: refuse})
        .then(quads => process.stdout.write(quads));
    """
    ran = subprocess.run(["node", "-e", program, str(modules)], input=document, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr.decode()
    return _read(ran.stdout)


PROCESSORS: dict[str, Callable[[bytes], Graph]] = {
    "PyLD": by_pyld,
    "rdflib": by_rdflib,
    "pyoxigraph": by_oxigraph,
    "jsonld.js": by_jsonld_js,
}


def read_turtle(text: bytes) -> Graph:
    with _as_written():
        return _with_plain_strings(Graph().parse(data=text, format="turtle"))


def read_n_triples(text: bytes) -> Graph:
    return _read(text)


def assert_same(first: Graph, second: Graph) -> None:
    """Check that two graphs are one; say what only one of them has. Without blank nodes, their triples say it all."""
    assert not any(isinstance(term, BNode) for graph in (first, second) for triple in graph for term in triple)
    if set(first) == set(second):
        return
    only_first, only_second = (set(one) - set(other) for one, other in ((first, second), (second, first)))
    raise AssertionError(f"only in the first: {only_first}; only in the second: {only_second}")


def _with_plain_strings(graph: Graph) -> Graph:
    """Make a graph as RDF 1.1 has it: a plain literal is an ``xsd:string``, which rdflib keeps apart."""
    for subject, predicate, value in list(graph):
        if isinstance(value, Literal) and value.datatype == XSD.string:
            graph.remove((subject, predicate, value))
            graph.add((subject, predicate, Literal(str(value))))
    return graph


def _read(quads: bytes | str) -> Graph:
    text = quads.encode() if isinstance(quads, str) else quads
    return _graph_of(quad.triple for quad in pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_QUADS))


def _graph_of(triples: Iterable[pyoxigraph.Triple]) -> Graph:
    """Return what Oxigraph read as rdflib has it: its own parser of N-Triples takes ten times as long."""
    graph = Graph()
    with _as_written():
        for triple in triples:
            graph.add((_term(triple.subject), _term(triple.predicate), _term(triple.object)))
    return graph


def _term(term: Any) -> URIRef | BNode | Literal:  # Any: each of Oxigraph's kinds of terms
    if isinstance(term, pyoxigraph.NamedNode):
        return URIRef(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return BNode(term.value)
    is_plain = term.language is not None or term.datatype.value == str(XSD.string)
    return Literal(term.value, lang=term.language, datatype=None if is_plain else URIRef(term.datatype.value))
