"""Assets that a request selects for following, or a column of each: by ids, by full names, or by a search query.

What the caller may not view is not found, as if it were not there. Next: ``server/routes/people/follows.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from tocsin.catalogue.observations.field_checks import (
    Check,
    Shape,
    accept_anything,
    checked_document,
    flag,
    name,
    one_of,
    shape,
    text,
)
from tocsin.catalogue.people.followers import cannot_follow
from tocsin.chunks import chunks_of
from tocsin.errors import InvalidInput, NotFound, TocsinError
from tocsin.logic import conjunction_of, disjunction_of
from tocsin.model import fqn
from tocsin.model.columns import missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.entity_type import OWNING
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.follow_review import MOST_SELECTED, AssetFollow, Review
from tocsin.model.phrases import count_text, suggestion_for, with_article
from tocsin.search.fields import equals
from tocsin.search.filters import MOST_CLAUSES
from tocsin.search.indexes import SEARCHED
from tocsin.server.access.permissions import visible_references
from tocsin.server.access.searches import narrowed_search
from tocsin.server.entities.followed_assets import FollowQuestion, selected_follows
from tocsin.server.http.body_values import list_in, parse_id
from tocsin.server.http.errors import parse_as
from tocsin.server.request import Caller
from tocsin.server.routes.search import Asking
from tocsin.store.catalogue.search.results import Search

WAYS = ("ids", "names", "query")
"""Keys of a request, one of which says how it selects."""

_KEYS: Mapping[str, Check] = {
    "ids": accept_anything,  # checked where it is read, as are names
    "names": accept_anything,
    "query": name,
    "type": text,
    "index": text,
    "queryFilter": text,
    "column": name,
    "dryRun": flag,
}
FORM = shape({}, {**_KEYS, "preferences": accept_anything})
"""The form of a request that selects assets to follow."""

FORM_AMONG = shape({}, {**_KEYS, "review": one_of(*Review), "q": text})
"""The form of a request that selects among what is followed."""

_OF_ASSET = {key: check for key, check in _KEYS.items() if key != "column"}
FORM_OF_TEAM = shape({}, _OF_ASSET)
"""The form of a request that selects assets for the members of a team to follow."""

FORM_AMONG_TEAM = shape({}, {**_OF_ASSET, "q": text})
"""The form of a request that selects among what the members of a team follow."""

AS_LISTED = ("review", "q")
"""Keys of a request that filter what is followed as the list of it does: one of them, or both."""

_BESIDE = {
    "type": ("names", *AS_LISTED),
    "index": ("query",),
    "queryFilter": ("query",),
    "column": WAYS,
}
"""Keys that have a meaning only beside one of others."""

_KEY_OF = {"q": "query", "query_filter": "queryFilter"}
"""Keys of a request, by the parameters of a search that they are."""


class SelectedAsset(NamedTuple):
    """An asset that a request selects: how the request calls it, and its reference, or why there is none.

    ``column`` is the path of a column where it is that which is selected.
    """

    request: object
    asset: Document | TocsinError
    column: str | None = None


class _Candidates(NamedTuple):
    """What a request may mean by one of its ids or names."""

    request: object
    references: Sequence[Document]
    refusal: TocsinError | None = None

    def live(self) -> _Candidates:
        """Return those that are not deleted."""
        return self._replace(references=[one for one in self.references if not one.get("deleted")])

    def among(self, ids: Collection[str]) -> _Candidates:
        """Return those that have one of these ids."""
        return self._replace(references=[one for one in self.references if one["id"] in ids])

    def has(self, ids: Collection[str]) -> bool:
        """Return whether one of them has one of these ids."""
        return any(one["id"] in ids for one in self.references)


def parse_selection(body: Document, form: Shape = FORM, ways: Sequence[str] = WAYS) -> Document:
    """Return a request of this form, which selects assets in one of these ways.

    Raises
    ------
    InvalidInput : the request has another form, or selects in no way or in several
    """
    request = checked_document(form, body)
    chosen_ways = [way for way in ways if way in request]
    if len(chosen_ways) != 1 and not (chosen_ways and set(chosen_ways) <= set(AS_LISTED)):
        raise InvalidInput(f"Send one of {', '.join(ways)}, and only one.")
    for key, all_ways in _BESIDE.items():
        possible_ways = [way for way in all_ways if way in ways]
        if key in request and chosen_ways[0] not in possible_ways:
            raise InvalidInput(f"has a meaning only beside {' or '.join(possible_ways)}", field=key)
    if "type" in request:
        check_type(request["type"])
    return request


def check_type(entity_type: str) -> None:
    """Refuse a type of a request that there is not.

    Raises
    ------
    InvalidInput : there is no such type
    """
    if entity_type not in ENTITY_TYPES:
        problem = f"unknown entity type {entity_type[:100]!r}; {suggestion_for(entity_type, ENTITY_TYPES)}"
        raise InvalidInput(problem, field="type")


def select_assets(request: Document, caller: Caller) -> list[SelectedAsset]:
    """Return the live assets that a request selects, or its column of each, each once; hits as search orders them.

    Raises
    ------
    InvalidInput : the request selects too much, or holds what is no query, list or type
    """
    if "query" in request:
        assets = [SelectedAsset(one, one) for one in _hits(_search(request), caller) if not one.get("deleted")]
    else:
        assets = [_select(one.live(), request) for one in _candidates(request, caller)]
    return _columns_of(assets, request, caller)


def _columns_of(assets: list[SelectedAsset], request: Document, caller: Caller) -> list[SelectedAsset]:
    """Return the column of each of these assets that a request names, or why there is none; else the assets."""
    if "column" not in request:
        return assets
    ids = [one.asset["id"] for one in assets if isinstance(one.asset, dict)]
    documents = caller.parts.entities.search.documents(ids)

    def column_of(asset: SelectedAsset) -> SelectedAsset:
        if not isinstance(asset.asset, dict):
            return asset
        fqn, document = asset.asset["fullyQualifiedName"], documents.get(asset.asset["id"], {})
        paths = relative_fqns_by_spelling(asset.asset["type"], fqn, document)
        if request["column"] in paths:
            return asset._replace(column=paths[request["column"]])
        return asset._replace(asset=missing_column(fqn, request["column"], paths, field="column"))

    return [column_of(one) for one in assets]


def select_among(request: Document, followed: Sequence[AssetFollow], caller: Caller) -> list[SelectedAsset]:
    """Return what a request selects, deleted assets included; what is no list finds only what is followed.

    Raises as ``select_assets``.
    """
    if not request.keys().isdisjoint(AS_LISTED):
        types = (request["type"],) if "type" in request else ()
        review = Review(request["review"]) if "review" in request else None
        question = FollowQuestion(types, text=request.get("q", ""), review=review)
        answering = selected_follows(followed, question, caller.parts.clock.now_ms())
        check_count(len(answering))
        return [SelectedAsset(one.reference, one.reference, one.column) for one in answering]
    is_of_column = "column" in request
    followed_ids = {one.reference["id"] for one in followed if (one.column is not None) is is_of_column}
    if "query" in request:
        return _columns_of(_hits_among(request, followed_ids, caller), request, caller)
    candidates = _candidates(request, caller)
    assets = [_select(one.among(followed_ids) if one.has(followed_ids) else one, request) for one in candidates]
    return _columns_of(assets, request, caller)


def _hits_among(request: Document, followed_ids: Collection[str], caller: Caller) -> list[SelectedAsset]:
    """Return those of these assets that the query of a request finds, deleted ones included."""
    search = replace(_search(request), deleted=None)
    hits: list[SelectedAsset] = []
    for ids in chunks_of(sorted(followed_ids), MOST_CLAUSES):
        narrowed_node = conjunction_of(search.query.node, disjunction_of(*(equals("id", one) for one in ids)))
        chunk_search = replace(search, query=replace(search.query, node=narrowed_node))
        hits += [SelectedAsset(one, one) for one in _hits(chunk_search, caller)]
    check_count(len(hits))
    return hits


def check_count(count: int, *, is_exact: bool = True) -> None:
    """Refuse to change more follows than one request may.

    Raises
    ------
    InvalidInput : it is more than ``MOST_SELECTED``
    """
    if count > MOST_SELECTED:
        amount = count_text(count, "asset") if is_exact else f"more than {count_text(count, 'asset')}"
        raise InvalidInput(f"This selects {amount}; one request may select {MOST_SELECTED:,}. Select fewer.")


def _candidates(request: Document, caller: Caller) -> list[_Candidates]:
    way = "ids" if "ids" in request else "names"
    message = f"must be a list of 1 to {MOST_SELECTED} texts"
    texts = list_in(request, way, message, min_count=1, max_count=MOST_SELECTED)
    if not all(isinstance(one, str) for one in texts):
        raise InvalidInput(message, field=way)
    candidates = (_of_ids if way == "ids" else _of_names)(list(dict.fromkeys(texts)), caller)
    references = [reference for one in candidates for reference in one.references]
    visible_ids = {one["id"] for one in visible_references(caller, references)}
    return [one.among(visible_ids) for one in candidates]


def _of_ids(texts: Sequence[str], caller: Caller) -> list[_Candidates]:
    """Return what each of these ids means; one that is written in several ways counts once."""
    refusals: dict[str, InvalidInput] = {}  # by what is no id, or by the id where it is one
    texts_by_id: dict[str, str] = {}
    for id_text in texts:
        try:
            texts_by_id.setdefault(parse_id(id_text, f"{id_text[:100]!r} is not an id."), id_text)
        except InvalidInput as refusal:
            texts_by_id[id_text] = id_text
            refusals[id_text] = refusal
    references = caller.parts.catalogue.references(texts_by_id.keys() - refusals.keys())
    return [
        _Candidates(id_text, [references[entity_id]] if entity_id in references else [], refusals.get(entity_id))
        for entity_id, id_text in texts_by_id.items()
    ]


def _of_names(texts: Sequence[str], caller: Caller) -> list[_Candidates]:
    """Return what each of these full names means; those of people and teams need no quotes."""
    quoted_names = {text: fqn.quote(text) for text in texts}
    bearers = caller.parts.access.standing.references_named({*texts, *quoted_names.values()})
    references = caller.parts.catalogue.references({one["id"] for many in bearers.values() for one in many})

    def references_of(full_name: str) -> list[Document]:
        return [references[one["id"]] for one in bearers.get(full_name, ()) if one["id"] in references]

    return [
        _Candidates(text, references_of(text) or _owners_among(references_of(quoted_names[text]))) for text in texts
    ]


def _owners_among(references: Sequence[Document]) -> list[Document]:
    return [one for one in references if one["type"] in OWNING]


def _select(candidates: _Candidates, request: Document) -> SelectedAsset:
    """Return what a request means by one of its ids or names."""
    references = [one for one in candidates.references if request.get("type") in (None, one["type"])]
    followable = [one for one in references if ENTITY_TYPES[one["type"]].is_followable]
    if len(followable) == 1:
        return SelectedAsset(followable[0], followable[0])
    if followable:
        types = " and ".join(sorted(with_article(one["type"]) for one in followable))
        refusal: TocsinError = InvalidInput(f"{types} have this name; send type, or ids")
    elif references:
        refusal = cannot_follow(references[0]["type"])
    else:
        refusal = candidates.refusal or NotFound(f"{str(candidates.request)[:200]} not found")
    return SelectedAsset(candidates.request, refusal)


def _search(request: Document) -> Search:
    """Return the search of a request, for types that people can follow; people and teams only if it names them."""
    parameters = {"q": request["query"], "index": request.get("index", "all"), "size": MOST_SELECTED}
    asking = parse_as(Asking, {**parameters, "query_filter": request.get("queryFilter", "")})
    try:
        search = asking.search_by_query()
    except InvalidInput as error:
        raise InvalidInput(error.message, field=_KEY_OF.get(error.field or "", error.field)) from error
    is_wanted = attrgetter("is_asset" if search.types is None else "is_followable")
    types = tuple(one for one in (SEARCHED if search.types is None else search.types) if is_wanted(ENTITY_TYPES[one]))
    if not types:
        raise InvalidInput("names no type that can be followed", field="index")
    return replace(search, types=types)


def _hits(search: Search, caller: Caller) -> Iterator[Document]:
    """Yield references to what a search finds and the caller may view, in its order."""
    hits, total = caller.parts.entities.search.page(narrowed_search(caller, search))
    check_count(total.value, is_exact=total.is_exact)
    references = caller.parts.catalogue.references([hit.entity_id for hit in hits])
    present = [references[hit.entity_id] for hit in hits if hit.entity_id in references]
    yield from visible_references(caller, present)
