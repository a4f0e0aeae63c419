"""All mistakes of an alert request that is refused, in one error: also those that only the store knows.

Next: ``alerts/mistakes.py``.
"""

from __future__ import annotations

from tocsin.alerts.former_names import NamedEntities
from tocsin.alerts.mistakes import mistakes_beside
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.server.access.misspelt_names import misspelt_names
from tocsin.server.http.errors import explain
from tocsin.server.request import Caller


def with_other_mistakes(
    error: InvalidInput, request: Document, entities: NamedEntities, caller: Caller
) -> InvalidInput:
    """Return the error of a request with its other mistakes and the misspelt names in it, each with its field."""
    known_names = entities.existing.keys() | entities.former.keys()
    other_texts = [explain(one) for one in mistakes_beside(error, request, known_names)]
    other_texts += [f"{one.field}: {one.message}" for one in misspelt_names(request, caller)]
    return InvalidInput("; ".join((explain(error), *other_texts))) if other_texts else error
