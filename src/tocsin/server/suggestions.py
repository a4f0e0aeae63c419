"""Suggestions for unknown names: the most similar sibling that the requester may see.

Names are compared in alphabetical order, so a name with another first letter is found only among few siblings.
Next: ``store/catalogue/entities.py``.
"""

from __future__ import annotations

from fastapi import Request

from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Key
from tocsin.model import fqn as names
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.wording import nearest
from tocsin.server.permissions import seen
from tocsin.server.request import Caller
from tocsin.store.catalogue.write import lookups


def did_you_mean(request: Request, entity_type: str, fqn: str) -> str:
    """Return ``; did you mean …?`` with the name nearest to ``fqn``; nothing for unauthenticated requesters."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None or entity_type not in ENTITY_TYPES:
        return ""
    typed = lookups(entity_type, Key.by_name(fqn))[1][-1]
    beside = seen(caller, caller.parts.catalogue.neighbours(entity_type, typed))
    near = nearest(typed, [name for one in beside if _is_near(name := one["fullyQualifiedName"], typed)])
    if near is None:
        return ""
    return f"; did you mean {near if ENTITY_TYPES[entity_type].places else names.split(near)[0]}?"


def _is_near(fqn: str, typed: str) -> bool:
    """Say whether every name in one FQN is like that in the other: what they share must not make up for the rest."""
    try:
        parts, others = names.split(fqn), names.split(typed)
    except InvalidInput:
        return False
    return len(parts) == len(others) and all(nearest(other, [part]) for part, other in zip(parts, others, strict=True))
