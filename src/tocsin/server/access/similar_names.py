"""Suggestions of similar names, among those that the caller may see, for a name that is not found.

Next: ``server/http/errors.py``, which adds them to the message.
"""

from __future__ import annotations

from fastapi import Request

from tocsin.errors import InvalidInput
from tocsin.model import fqn as names
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import nearest
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_references
from tocsin.server.request import Caller
from tocsin.store.catalogue.entities.write import lookups


def did_you_mean(request: Request, entity_type: str, fqn: str) -> str:
    """Return ``; did you mean …?`` with the name nearest to ``fqn``; nothing for unauthenticated requesters."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None or entity_type not in ENTITY_TYPES:
        return ""
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
