"""Route of an entity's context: what a reader, or a language model, should know of it, as one markdown document.

Source: OpenMetadata 2.0's client, ``get_context``. Next: ``server/entities/serialize.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import Query, Response

from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, Kind, PathText

router = DeclaredRoutes(tags=["entities"])
"""Included under every collection (``server/app.py``)."""

_LISTS = {"owners": "Owners", "domains": "Domains", "dataProducts": "Data products", "reviewers": "Reviewers"}


@router.get("/name/{fqn}/context", openapi_extra=answers("Markdown", media="text/markdown"))
def read_context(
    kind: Kind, fqn: PathText, caller: Asked, *, query: Annotated[str | None, Query(max_length=5000)] = None
) -> Response:
    """Return an entity as markdown: description, people, tags, columns and lineage; `query` is not used."""
    del query  # upstream shortens long texts to what concerns a question; here nothing is shortened
    document = visible_document(kind, Key.by_name(fqn), caller)
    (view,) = views_of(kind, [document], caller, fields=kind.keys & {*_LISTS, "tags"})
    lines = [
        *_head(kind, view),
        *_people(view),
        *_labels(view),
        *_members(kind, view),
        *_lineage(kind, document, caller),
    ]
    return Response("\n".join(lines) + "\n", media_type="text/markdown; charset=utf-8")


def _head(kind: EntityType, view: Document) -> Iterator[str]:
    yield f"# {_on_a_line(view.get('displayName') or view['name'])}"
    yield ""
    yield f"{kind.name} `{view['fullyQualifiedName']}`"
    if view.get("description"):
        yield ""
        yield str(view["description"])


def _people(view: Document) -> Iterator[str]:
    for key, title in _LISTS.items():
        if view.get(key):
            yield from _section(title, [_on_a_line(one.get("displayName") or one.get("name")) for one in view[key]])


def _labels(view: Document) -> Iterator[str]:
    if view.get("tags"):
        yield from _section(
            "Tags", [_line_with_description(label["tagFQN"], label.get("description")) for label in view["tags"]]
        )


def _members(kind: EntityType, view: Document) -> Iterator[str]:
    lines = [line for members in kind.member_lists(view) for line in _member_lines(members, "")]
    if lines:
        yield from _section("Columns", lines)


def _member_lines(members: Sequence[Document], prefix: str) -> Iterator[str]:
    for member in members:
        name = f"{prefix}{member['name']}"
        kind = member.get("dataTypeDisplay") or member.get("dataType")
        yield _line_with_description(f"`{name}`" + (f" {kind}" if kind else ""), member.get("description"))
        yield from _member_lines(member.get("children") or (), f"{name}.")


def _lineage(kind: EntityType, document: Document, caller: Caller) -> Iterator[str]:
    graph = caller.parts.graph.lineage.around(kind.name, Key.by_id(document["id"]))
    nodes = {node["id"]: node for node in visible_references(caller, graph["nodes"])}
    for title, side, end in (
        ("Upstream", "upstreamEdges", "fromEntity"),
        ("Downstream", "downstreamEdges", "toEntity"),
    ):
        ends = [nodes[edge[end]] for edge in graph[side] if edge[end] in nodes]
        if ends:
            yield from _section(title, [f"{node['type']} `{node['fullyQualifiedName']}`" for node in ends])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    for line in lines:
        yield f"- {line}"


def _line_with_description(name: str, description: object) -> str:
    return f"{name}: {_on_a_line(description)}" if description else name


def _on_a_line(text: object) -> str:
    return " ".join(str(text).split())
