"""Suggestions of similar names, among those that the caller may see, for a name that is not found.

Next: ``server/http/errors.py``, which adds them to the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import product

from fastapi import Request

from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow.capture.references import is_uuid, keys_of
from tocsin.logic import ALWAYS
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import beginning_of, nearest, nearest_by_word, similar
from tocsin.model.stored import Key
from tocsin.search.fields import NAMES
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import Words
from tocsin.search.parse import Query
from tocsin.search.tokens import words_of
from tocsin.server.access.permissions import ids_to_filter_by, visible_document, visible_references
from tocsin.server.access.searches import narrowed_search
from tocsin.server.request import Caller
from tocsin.store.catalogue.entities.write import lookups
from tocsin.store.catalogue.search.results import Hit, Search

_SPOKEN = {"eventsubscription": "alert", "testCase": "test case", "ingestionPipeline": "ingestion pipeline"}
_MOST_SPOKEN = 4
_MOST_OFFERED = 3
_MOST_COMPARED = 50


def did_you_mean(request: Request, entity_type: str, fqn: str) -> str:
    """Return ``; did you mean …?`` with the name nearest to ``fqn``; nothing for unauthenticated requesters."""
    caller: Caller | None = getattr(request.state, "caller", None)
    return "" if caller is None or entity_type not in ENTITY_TYPES else similar_name(entity_type, fqn, caller)


def named_id(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return the id of what a filter names, of the first of these types that has it; an id as it is, if nothing has.

    An id may be that of something that is gone.

    Raises
    ------
    NotFound : there is no such name that the caller may see; with a similar one if there is
    """
    for kind, key in product(types, keys_of(name)):
        with suppress(NotFound, Forbidden):
            return str(visible_document(ENTITY_TYPES[kind], key, caller, include="all")["id"])
    if is_uuid(name):
        return name.lower()
    suggestion = similar_names(name, types, caller)
    noun = " or ".join(_SPOKEN.get(kind, kind) for kind in types) if len(types) <= _MOST_SPOKEN else "asset"
    raise NotFound(f"{noun} {name} not found{suggestion}")


def id_to_filter_by(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return the id of what a filter names, as ``named_id`` does; empty for what the caller may not see.

    Its id alone would else tell what concerns it.

    Raises
    ------
    NotFound : as ``named_id``
    """
    entity_id = named_id(name, types, caller)
    entity_type, _ = caller.parts.access.standing.of([entity_id]).get(entity_id, ("", {}))
    return next(iter(ids_to_filter_by([{"type": entity_type, "id": entity_id}], caller)), "")


def similar_names(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return ``; did you mean …?`` with the nearest name of these types, else with those that search finds for it.

    Nothing without any that the caller may see. Types without an index, such as alerts, are only compared. Each edit of
    a single character is found, at a cost that does not grow with the catalogue.
    """
    compared_types = types if len(types) <= _MOST_SPOKEN else types[:1]  # of any type, search knows better
    near = next(filter(None, (similar_name(kind, name, caller) for kind in compared_types)), "")
    return near or _searched_names(name, types, caller) or _names_of_tests(name, types, caller)


def similar_name(entity_type: str, fqn: str, caller: Caller) -> str:
    """Return ``; did you mean …?`` with the name nearest to ``fqn`` that the caller may see; nothing without any."""
    typed = lookups(entity_type, Key.by_name(fqn))[1][-1]
    places = (typed,) if '"' in typed or "." in typed else (typed, f'"{typed}')  # names with dots are quoted
    catalogue = caller.parts.catalogue
    near_references = [
        reference for place in (typed, *_names_with_quotes(typed)) for reference in catalogue.near(entity_type, place)
    ]
    if near_fqns := _fqns_of(visible_references(caller, near_references)):
        return _offer_of([nearest(typed, near_fqns) or near_fqns[0]])
    neighbours = [reference for place in places for reference in catalogue.neighbours(entity_type, place)]
    similar_fqns = [fqn for fqn in _fqns_of(visible_references(caller, neighbours)) if _is_similar(fqn, typed)]
    near = nearest(typed, similar_fqns) or min(similar_fqns, key=lambda fqn: (len(fqn), fqn), default=None)
    return "" if near is None else _offer_of([near])


def _names_with_quotes(typed: str) -> tuple[str, ...]:
    """Return a name as it is stored if it should have a dot: with quotation marks."""
    return () if '"' in typed or "." in typed else (f'"{typed}"',)


def _fqns_of(references: Sequence[Document]) -> list[str]:
    return [one["fullyQualifiedName"] for one in references]


def _is_similar(fqn: str, typed: str) -> bool:
    """Return whether every name in one FQN is like that in the other: what they share must not make up for the rest."""
    try:
        parts, typed_parts = names.split(fqn), names.split(typed)
    except InvalidInput:
        return False
    return len(parts) == len(typed_parts) and all(
        similar(typed_part, [part]) for part, typed_part in zip(parts, typed_parts, strict=True)
    )


def _searched_names(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return ``; did you mean …?`` with what search finds for a name, else for the last part of an FQN.

    What is not found may be misspelt: names that differ in a character, or the nearest of those that begin as it does.
    """
    last_name = name.rpartition(".")[2]
    for text in dict.fromkeys((name, last_name)):
        if fqns := _visible_fqns(_hits_of(text, types, caller, _MOST_OFFERED), caller):
            return _offer_of(fqns)
    for text in dict.fromkeys((name, last_name)):
        if fqns := _visible_fqns(_near_hits(text, types, caller), caller):
            return _offer_of(fqns)
    fqns = _visible_fqns(_hits_of(beginning_of(last_name), types, caller, _MOST_COMPARED), caller)
    near_fqns = nearest_by_word(last_name, [(names.split(fqn)[-1], fqn) for fqn in fqns])
    return _offer_of(near_fqns[:_MOST_OFFERED]) if near_fqns else ""


def _names_of_tests(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return ``; did you mean …?`` with the tests of the table that a name means, where tests are among the types."""
    if "testCase" not in types:
        return ""
    table_fqns = _visible_fqns(_near_hits(name, ("table",), caller), caller)
    test_fqns = next(filter(None, (_test_fqns(one, caller) for one in (name, *table_fqns))), [])
    return _offer_of(test_fqns) if test_fqns else ""


def _test_fqns(table: str, caller: Caller) -> list[str]:
    """Return the FQNs of tests, a few, whose own FQNs have the words of a table's name."""
    words = words_of(table)
    search = narrowed_search(caller, Search(Query(Words(("path",), words)), ("testCase",), size=_MOST_OFFERED))
    return _visible_fqns(caller.parts.entities.search.hits(search), caller) if words else []


def _visible_fqns(hits: Sequence[Hit], caller: Caller) -> list[str]:
    documents = caller.parts.entities.search.documents([one.entity_id for one in hits])
    references = [{"type": one.entity_type, "id": one.entity_id} for one in hits if one.entity_id in documents]
    return [documents[one["id"]]["fullyQualifiedName"] for one in visible_references(caller, references)]


def _hits_of(name: str, types: Sequence[str], caller: Caller, limit: int) -> list[Hit]:
    """Return what search finds of these types whose name has these words, the last of which may go on."""
    words = words_of(name)
    query = Query(Words(NAMES, words, is_prefix=True), free=(name,))
    searched_types = tuple(one for one in types if one in SEARCHED)
    search = narrowed_search(caller, Search(query, searched_types, size=limit))
    return caller.parts.entities.search.hits(search) if words and search.types else []


def _near_hits(name: str, types: Sequence[str], caller: Caller) -> list[Hit]:
    """Return what is called by a name of these types that differs by a single edit."""
    searched_types = tuple(one for one in types if one in SEARCHED)
    search = narrowed_search(caller, Search(Query(ALWAYS), searched_types, size=_MOST_OFFERED))
    return caller.parts.entities.search.near_hits(search, name) if search.types else []


def _offer_of(fqns: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(map(_typed_name, fqns))}?"


def _typed_name(fqn: str) -> str:
    """Return an FQN as people type it: one of a single name without its quotation marks."""
    parts = names.split(fqn)
    return parts[0] if len(parts) == 1 else fqn
