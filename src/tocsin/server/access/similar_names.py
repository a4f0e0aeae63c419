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
from tocsin.model import fqn as names
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import nearest
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.request import Caller
from tocsin.store.catalogue.entities.write import lookups

_SPOKEN = {"eventsubscription": "alert", "testCase": "test case", "ingestionPipeline": "ingestion pipeline"}


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
    suggestion = next(filter(None, (similar_name(kind, name, caller) for kind in types)), "")
    raise NotFound(f"{' or '.join(_SPOKEN.get(kind, kind) for kind in types)} {name} not found{suggestion}")


def similar_name(entity_type: str, fqn: str, caller: Caller) -> str:
    """Return ``; did you mean …?`` with the name nearest to ``fqn`` that the caller may see; nothing without any."""
    typed = lookups(entity_type, Key.by_name(fqn))[1][-1]
    neighbours = visible_references(caller, caller.parts.catalogue.neighbours(entity_type, typed))
    near = nearest(typed, [name for one in neighbours if _is_similar(name := one["fullyQualifiedName"], typed)])
    if near is None:
        return ""
    return f"; did you mean {near if ENTITY_TYPES[entity_type].places else names.split(near)[0]}?"


def _is_similar(fqn: str, typed: str) -> bool:
    """Return whether every name in one FQN is like that in the other: what they share must not make up for the rest."""
    try:
        parts, typed_parts = names.split(fqn), names.split(typed)
    except InvalidInput:
        return False
    return len(parts) == len(typed_parts) and all(
        nearest(typed_part, [part]) for part, typed_part in zip(parts, typed_parts, strict=True)
    )
