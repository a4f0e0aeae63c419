"""Check of query parameters: unknown ones are refused, and the error suggests the nearest known name.

If they were ignored, a misspelt ``dryRun`` would write, and a misspelt filter would return everything.
Next: ``server/request.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Cookie, Header, Path
from fastapi.routing import APIRoute

from tocsin.errors import InvalidInput
from tocsin.model.entity_types import BY_COLLECTION
from tocsin.model.phrases import suggestion_for
from tocsin.server.http.paths import API
from tocsin.server.http.routing import COLLECTION
from tocsin.store.catalogue.entities.filters import filters_of

WITHOUT_EFFECT = frozenset({"async", "overrideMetadata", "category"})
"""Parameters of OpenMetadata that its clients send and that change nothing here.

Every request is answered when it is done; a type has its category by name. ``overrideMetadata`` has an effect on the
PUT and bulk PUT of bots, whose routes declare it; all other writes set their values, from any sender.
"""

_NAMES: dict[Callable[..., Any], frozenset[str]] = {}  # Any: an endpoint takes and returns what its route does
_ELSEWHERE = (Path, Header, Cookie)
_LIST = f"{API}/{COLLECTION}"


async def check_query_names(request: Request) -> None:
    """Refuse a request with a query parameter that its route does not know.

    Raises
    ------
    InvalidInput : there is such a parameter
    """
    if not request.scope["query_string"]:
        return
    route: APIRoute = request.scope["route"]
    known_names = query_names(route)
    if route.path == _LIST and request.method == "GET":
        known_names |= frozenset(filters_of(BY_COLLECTION[request.path_params["collection"]].name))
    for name in request.query_params:
        if name not in known_names and name not in WITHOUT_EFFECT:
            hint = suggestion_for(name, sorted(known_names)) if known_names else "this route takes none"
            raise InvalidInput(f"unknown query parameter; {hint}", field=name)


def query_names(route: APIRoute) -> frozenset[str]:
    """Return the names of the query parameters that a route declares; worked out once for each endpoint."""
    names = _NAMES.get(route.endpoint)
    if names is None:
        declared = get_flat_params(route.dependant)
        names = frozenset(field.alias for field in declared if not isinstance(field.field_info, _ELSEWHERE))
        _NAMES[route.endpoint] = names
    return names
