"""Answers in a format of linked data, made from the answer that JSON would give.

The JSON-LD document is made here; Turtle and N-Triples are what a JSON-LD processor reads from it, so that all formats
are one graph. Next: ``events.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from fastapi import Request, Response
from pyoxigraph import RdfFormat, Triple, parse, serialize

from tocsin.model.entity import Document
from tocsin.server.rdf.alerts import alert_node
from tocsin.server.rdf.entities import ALERT, entity_node
from tocsin.server.rdf.formats import MEDIA_TYPES, Format
from tocsin.server.rdf.nodes import Node
from tocsin.server.rdf.vocabulary import ENTITY_CONTEXT, PREFIXES, alert_context

MOST_NODES = 1_000
"""Events or entities on one page of linked data: its text is several times as long as that of JSON."""
_PORTION = 100
"""Nodes whose triples are in memory together."""
VARY = {"Vary": "Accept"}
_WRITERS = {Format.TURTLE: RdfFormat.TURTLE, Format.N_TRIPLES: RdfFormat.N_TRIPLES}


def graph_answer(
    context: Any, nodes: Sequence[Node], answer_format: Format, headers: Mapping[str, str] | None = None
) -> Response:
    """Return nodes under a JSON-LD context as an answer; a list of one is a document of its own."""
    return Response(
        render_graph(context, nodes, answer_format),
        media_type=MEDIA_TYPES[answer_format],
        headers={**VARY, **(headers or {})},
    )


def next_page(request: Request, **position: str) -> dict[str, str]:
    """Return the header that says where the next page of a list is: at the same address, with these parameters."""
    query = request.url.remove_query_params(("before", "offset")).include_query_params(**position).query
    return {"Link": f'<{request.scope["path"]}?{query}>; rel="next"'}


def render_graph(context: Any, nodes: Sequence[Node], answer_format: Format) -> bytes:
    """Return nodes in a format of linked data."""
    if answer_format is Format.JSON_LD:
        return _document(context, nodes)
    portions = [nodes[start : start + _PORTION] for start in range(0, len(nodes), _PORTION)] or [nodes]
    return b"".join(convert(_document(context, one), RdfFormat.JSON_LD, answer_format) for one in portions)


def _document(context: Any, nodes: Sequence[Node]) -> bytes:
    document = {"@context": context, **nodes[0]} if len(nodes) == 1 else {"@context": context, "@graph": nodes}
    return orjson.dumps(document)


def convert(text: bytes, source: RdfFormat, answer_format: Format) -> bytes:
    """Return a document in Turtle or N-Triples; it may name no context that would have to be fetched."""
    by_subject: dict[object, dict[Triple, None]] = defaultdict(dict)  # each triple once, those of a subject together
    for quad in parse(text, source):
        by_subject[quad.subject][quad.triple] = None
    triples = chain.from_iterable(by_subject.values())
    return serialize(triples, format=_WRITERS[answer_format], prefixes=PREFIXES) or b""


def entity_answer(entity_type: str, view: Document, answer_format: Format, tag: str | None = None) -> Response:
    """Return an entity as it is answered, in JSON with its ``ETag``, or in a format of linked data without."""
    if answer_format is Format.JSON:
        return json_answer(view, {} if tag is None else {"ETag": tag})
    return graph_answer(_context_of(entity_type), [_node_of(entity_type, view)], answer_format)


def json_answer(document: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return the JSON of an answer that there is in other formats, too."""
    return Response(orjson.dumps(document), media_type=MEDIA_TYPES[Format.JSON], headers={**VARY, **(headers or {})})


def entities_answer(
    entity_type: str, views: Sequence[Document], answer_format: Format, headers: Mapping[str, str]
) -> Response:
    """Return a page of entities in a format of linked data."""
    return graph_answer(
        _context_of(entity_type), [_node_of(entity_type, view) for view in views], answer_format, headers
    )


def _context_of(entity_type: str) -> Any:
    return alert_context() if entity_type == ALERT else ENTITY_CONTEXT


def _node_of(entity_type: str, view: Document) -> Node:
    return alert_node(view) if entity_type == ALERT else entity_node(entity_type, view)
