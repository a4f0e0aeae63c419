"""Routes of search: results, suggestions and counts, in the form OpenMetadata's client reads.

A hit's ``_source`` is the current entity; the index only determines which entities, in which order. Next:
``store/catalogue/search/results.py``, ``docs/search.md``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, conjunction_of
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import lacks, place_of, with_inherited
from tocsin.model.secret import without_secrets
from tocsin.search import parse
from tocsin.search.fields import COUNTED_BY, NAMES, SORTED_BY, resembles
from tocsin.search.filters import filter_of
from tocsin.search.indexes import entity_types_of, index_of
from tocsin.search.nodes import Words
from tocsin.search.tokens import words_of
from tocsin.server.access.permissions import visible_references
from tocsin.server.access.searches import narrowed_search
from tocsin.server.entities.response import view_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, answer
from tocsin.store.catalogue.search.results import Hit, Search, Total, page_end_of

router = DeclaredRoutes(prefix="/search", tags=["search"])

DEEPEST_PAGE = 10_000
"""Hits that ``from`` and ``size`` reach; ``search_after`` goes on from there."""

LARGEST_PAGE = 1_000
_MOST_BUCKETS = 50
_UPSTREAM = "upstreamLineage"
"""What ``_source`` holds of lineage, if ``include_source_fields`` names it."""

_UNSHOWN = frozenset({"connection", "changeDescription", "incrementalChangeDescription", "sampleData"})
"""Keys that a search never shows."""


class SearchPage(BaseModel):
    """Which hits are wanted, of which indexes; unknown parameters are ignored, as upstream does."""

    model_config = ConfigDict(populate_by_name=True, frozen=True)

    index: str = Field(default="all", max_length=2000)
    start: int = Field(default=0, ge=0, le=DEEPEST_PAGE, alias="from", description="Number of the first hit.")
    size: int = Field(default=10, ge=0, le=LARGEST_PAGE, description="Most hits on one page.")
    deleted: bool = Field(default=False, description="Whether deleted entities are searched, too.")
    track_total_hits: bool = Field(default=False, description="Whether hits are counted exactly.")

    def search(self, query: parse.Query) -> Search:
        """Return the search for the index."""
        if self.start + self.size > DEEPEST_PAGE:
            raise InvalidInput(
                f"from and size reach at most {DEEPEST_PAGE} hits; continue with search_after", field="from"
            )
        return Search(query, entity_types_of(self.index), deleted=self.deleted, offset=self.start, size=self.size)


class Asking(SearchPage):
    """What may be asked of a search by query."""

    q: str = Field(default="", max_length=parse.LONGEST_QUERY, description="What to search for; see docs/search.md.")
    query_filter: str = Field(default="", max_length=20_000, description="Further conditions, as JSON.")
    sort_field: str = Field(default="_score", max_length=200, description="The field to sort by.")
    sort_order: Literal["asc", "desc"] = Field(default="desc", description="The direction to sort in.")
    search_after: list[str] = Field(default_factory=list, max_length=8)
    include_source_fields: list[str] = Field(default_factory=list, max_length=100)
    fetch_source: bool = Field(default=True, description="Without effect: hits always have their entity.")
    include_aggregations: bool = Field(default=False, description="Whether the hits are counted by every field, too.")

    def search_by_query(self) -> Search:
        """Return the search for the index."""
        query = parse.parse(self.q)
        narrowed = filter_of(self.query_filter) if self.query_filter.strip() else ALWAYS
        search = self.search(replace(query, node=conjunction_of(query.node, narrowed)))
        ordered = replace(search, sort_column=self._sort_column(), is_descending=self.sort_order == "desc")
        after = replace(ordered, after=tuple(self.search_after))
        page_end_of(after)
        return after

    def _sort_column(self) -> str | None:
        if self.sort_field in ("_score", ""):
            return None
        if self.sort_field not in SORTED_BY:
            valid_fields = ", ".join(["_score", *SORTED_BY])
            raise InvalidInput(f"cannot sort by {self.sort_field!r}; valid fields: {valid_fields}", field="sort_field")
        return SORTED_BY[self.sort_field]


class ByField(SearchPage):
    """What may be asked of a search by one field."""

    field_name: str = Field(alias="fieldName", min_length=1, max_length=200, description="The field to search.")
    field_value: str = Field(alias="fieldValue", max_length=5000)


@router.get("/query", openapi_extra=answers("SearchAnswer", never="403"))
def search_by_query(caller: Asked, parameters: Annotated[Asking, Query()]) -> Response:
    """Search entities, best match first: ``q``, ``query_filter``, ``index``, sorting, paging."""
    started_s = time.perf_counter()
    fields = frozenset(parameters.include_source_fields) if parameters.include_source_fields else None
    search = narrowed_search(caller, parameters.search_by_query())
    results = _hits_json(caller, search, started_s, fields=fields, is_exact=parameters.track_total_hits)
    return answer(
        results | {"aggregations": _aggregations(caller, search)} if parameters.include_aggregations else results
    )


@router.get("/fieldQuery", openapi_extra=answers("SearchAnswer", never="403"))
def search_by_field(caller: Asked, parameters: Annotated[ByField, Query()]) -> Response:
    """Search by one field; ``*`` matches any text, ``?`` one character."""
    started_s = time.perf_counter()
    if "\0" in parameters.field_value:
        raise InvalidInput("a value cannot contain a NUL character", field="fieldValue")
    try:
        node = resembles(parameters.field_name, parameters.field_value)
    except InvalidInput as error:
        raise InvalidInput(error.message, field="fieldName") from error
    search = narrowed_search(caller, parameters.search(parse.Query(node)))
    return answer(_hits_json(caller, search, started_s, fields=None, is_exact=parameters.track_total_hits))


@router.get("/suggest", openapi_extra=answers("Suggestions", never="403"))
def suggest(caller: Asked, parameters: Annotated[Asking, Query()]) -> Response:
    """Return completions of names for a prefix; without any, names that differ from it in one character."""
    words = words_of(parameters.q)
    if not words:
        raise InvalidInput("enter at least one letter or digit", field="q")
    query = parse.Query(Words(NAMES, words, is_prefix=True), free=(parameters.q,))
    index, search = caller.parts.entities.search, narrowed_search(caller, parameters.search(query))
    found_hits = index.hits(search) or index.near_hits(search, parameters.q)
    hits = [
        {"text": hit["_source"].get("displayName") or hit["_source"]["name"], **hit}
        for hit in _visible(caller, found_hits, fields=None)
    ]
    suggestion = {"text": parameters.q, "offset": 0, "length": len(parameters.q), "options": hits}
    return answer({"suggest": {"metadata-suggest": [suggestion]}})


@router.get("/aggregate", openapi_extra=answers("SearchCounts", never="403"))
def count_by_field(
    caller: Asked,
    parameters: Annotated[Asking, Query()],
    field: Annotated[str, Query(max_length=200, description="The field whose values are counted.")] = "entityType",
) -> Response:
    """Count the entities of a query by the values of ``field``: a type, service, tier."""
    return _aggregation_response(caller, parameters, field)


@router.post("/aggregate", openapi_extra=answers("SearchCounts", reads="CountRequest", never="403 409"))
def count_by_body(caller: Asked, body: DocumentBody) -> Response:
    """Count as above for ``{"query": …, "index": …, "fieldName": …}`` in the body."""
    parameters = {"q": body.get("query") or "", "index": body.get("index") or "all", "size": body.get("size") or 10}
    texts = {key: value for key, value in parameters.items() if not isinstance(value, str) and key != "size"}
    if texts or not isinstance(parameters["size"], int) or not 0 <= parameters["size"] <= LARGEST_PAGE:
        raise InvalidInput(f"query and index must be strings, size an integer up to {LARGEST_PAGE}")
    return _aggregation_response(caller, Asking(**parameters), str(body.get("fieldName") or "entityType"))


def _aggregation_response(caller: Caller, query: Asking, field: str) -> Response:
    name = field.removesuffix(".keyword")
    if name not in COUNTED_BY:
        valid_fields = ", ".join(COUNTED_BY)
        raise InvalidInput(f"cannot aggregate by {field!r}; valid fields: {valid_fields}", field="field")
    started_s = time.perf_counter()
    search = narrowed_search(caller, query.search_by_query())
    total = caller.parts.entities.search.total(search, is_exact=query.track_total_hits)
    return answer(
        {
            "took": _ms_since(started_s),
            "timed_out": False,
            "hits": {"total": _total_json(total), "hits": []},
            "aggregations": {f"sterms#{field}": _buckets(caller, search, name, limit=query.size)},
        }
    )


def _aggregations(caller: Caller, search: Search) -> Document:
    """Return the counts of a narrowed query by every field that it can be counted by."""
    return {f"sterms#{name}": _buckets(caller, search, name, limit=_MOST_BUCKETS) for name in COUNTED_BY}


def _buckets(caller: Caller, search: Search, name: str, *, limit: int) -> Document:
    counts = caller.parts.entities.search.counts(search, COUNTED_BY[name], limit=limit)
    if name.endswith(".tagFQN"):
        (visible,) = caller.visibility.visible_documents([{"tags": [{"tagFQN": value} for value, _ in counts]}])
        visible_names = {label["tagFQN"] for label in visible["tags"]}
        counts = [(value, count) for value, count in counts if value in visible_names]
    return {"buckets": [{"key": value, "doc_count": count} for value, count in counts], "sum_other_doc_count": 0}


def _hits_json(
    caller: Caller, search: Search, started_s: float, *, fields: frozenset[str] | None, is_exact: bool
) -> Document:
    """Return the hits of a narrowed search, as upstream writes them."""
    hits, total = caller.parts.entities.search.page(search, is_exact=is_exact)
    visible = _visible(caller, hits, fields=fields)
    return {
        "took": _ms_since(started_s),
        "timed_out": False,
        "hits": {
            "total": _total_json(total),
            "max_score": max((hit.score for hit in hits), default=None),
            "hits": visible,
        },
    }


def _visible(caller: Caller, hits: Sequence[Hit], *, fields: frozenset[str] | None) -> list[Document]:
    """Return the hits that are still there and that the caller may see."""
    stored = caller.parts.entities.search.documents([hit.entity_id for hit in hits])
    visible_ids = caller.visibility.sees({"type": hit.entity_type, "id": hit.entity_id} for hit in hits)
    visible_hits = [hit for hit in hits if hit.entity_id in stored and hit.entity_id in visible_ids]
    complete = _with_inherited(caller, visible_hits, stored)
    documents = caller.visibility.visible_documents([complete[hit.entity_id] for hit in visible_hits])
    results = [_hit(hit, document, caller.root, fields) for hit, document in zip(visible_hits, documents, strict=True)]
    if any(name.split(".")[0] == _UPSTREAM for name in fields or ()):
        _add_upstream(results, caller)
    return results


def _add_upstream(hits: Sequence[Document], caller: Caller) -> None:
    """Add to the source of each hit the edges that lead to it from what the caller may see."""
    edges = caller.parts.graph.lineage.edges_leading_to([hit["_id"] for hit in hits])
    visible = {end["id"] for end in visible_references(caller, [edge.from_ for edge in edges])}
    visible_edges = [edge for edge in edges if edge.from_["id"] in visible]
    for hit in hits:
        hit["_source"][_UPSTREAM] = [
            {"fromEntity": edge.from_, "toEntity": edge.to} for edge in visible_edges if edge.to["id"] == hit["_id"]
        ]


def _with_inherited(caller: Caller, hits: Sequence[Hit], stored: Mapping[str, Document]) -> dict[str, Document]:
    """Return the documents with the owners and domains that they inherit."""
    lacking = {
        hit.entity_id: (ENTITY_TYPES[hit.entity_type], place_of(hit.entity_type, stored[hit.entity_id]))
        for hit in hits
        if hit.entity_id in stored and lacks(ENTITY_TYPES[hit.entity_type], stored[hit.entity_id])
    }
    heritage = caller.parts.catalogue.heritage([place for _, place in lacking.values()]) if lacking else {}
    completed = {
        entity_id: with_inherited(kind, stored[entity_id], heritage.get(place, {}))
        for entity_id, (kind, place) in lacking.items()
    }
    return {**stored, **completed}


def _hit(hit: Hit, document: Document, root: str, fields: frozenset[str] | None) -> Document:
    row = ENTITY_TYPES[hit.entity_type]
    source = {key: value for key, value in without_secrets(view_of(row, document, root)).items() if key not in _UNSHOWN}
    source["entityType"] = row.name
    tiers = [tag for tag in document.get("tags") or () if tag["tagFQN"].startswith("Tier.")]
    if tiers:
        source["tier"] = tiers[0]
    if fields is not None:
        keys = {name.split(".")[0] for name in fields}
        source = {key: value for key, value in source.items() if key in keys}
    return {
        "_index": index_of(row.name),
        "_id": hit.entity_id,
        "_score": hit.score,
        "_source": source,
        "sort": list(hit.sort),
    }


def _total_json(total: Total) -> Document:
    return {"value": total.value, "relation": "eq" if total.is_exact else "gte"}


def _ms_since(started_s: float) -> int:
    return round((time.perf_counter() - started_s) * 1000)
