"""Linked data of lineage: what an asset was derived from, as PROV and upstream's ontology say it.

Next: ``answers.py``.
"""

from __future__ import annotations

from collections import defaultdict

from tocsin.model.entity import Document
from tocsin.server.rdf.entities import reference_node
from tocsin.server.rdf.nodes import Node, iri_of


def lineage_nodes(graph: Document) -> list[Node]:
    """Return a node for each asset of a lineage graph as it is answered."""
    sources: dict[str, set[str]] = defaultdict(set)
    for edge in (*graph["upstreamEdges"], *graph["downstreamEdges"]):
        sources[edge["toEntity"]].add(iri_of(edge["fromEntity"]))
    return [_node(one, sorted(sources[one["id"]])) for one in (graph["entity"], *graph["nodes"])]


def _node(reference: Document, sources: list[str]) -> Node:
    node = reference_node(reference)
    return node | ({"wasDerivedFrom": sources, "upstream": sources} if sources else {})
