"""Router with an index of routes by first path segment and length.

FastAPI tries every route in turn, and those of an included router again for every level of inclusion: with a hundred
routes that costs more than most responses do. So routes are flattened, and ``IndexedRouter`` tries only candidates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fastapi import APIRouter
from fastapi.params import Depends
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.http.paths import API
from tocsin.server.http.planned_routes import PlannedRoute

COLLECTION = "{collection:collection}"
"""How a route's path names any collection of the catalogue, those of two words included."""

RouteKey = tuple[str, int]
"""The word after ``/api/v1/``, and how many steps the path has."""

_FIRST_WORD = len(API.split("/"))
_KEPT = ("methods", "name", "status_code", "tags", "response_class", "include_in_schema", "openapi_extra")


class CollectionConvertor(Convertor[str]):
    """Lets a path name any collection of the catalogue."""

    regex = "|".join(sorted(map(re.escape, BY_COLLECTION), key=len, reverse=True))

    def convert(self, value: str) -> str:
        """Return the collection in the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the collection as a path."""
        return value


class IndexedRouter(APIRouter):
    """Replaces a plain router: tries, in order, the routes that a path could match, then all others.

    Besides the plain router's own routes it has those of ``laid_out``.
    """

    def __init__(self, plain: APIRouter, laid_out: APIRouter) -> None:
        super().__init__(routes=[*plain.routes, *laid_out.routes], redirect_slashes=False)
        self.lifespan_context = plain.lifespan_context
        self._index: dict[RouteKey, list[BaseRoute]] = defaultdict(list)
        for route in self.routes:
            for place in _places_of(route):
                self._index[place].append(route)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the first route that fits it."""
        for route in self._index.get(_place(scope.get("path", "")), ()):
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                await route.handle(scope, receive, send)
                return
        await super().app(scope, receive, send)


def lay_out(into: APIRouter, routes: APIRouter, prefix: str, dependencies: Sequence[Depends] = ()) -> None:
    """Add the routes of one router to another, under a prefix and with further dependencies, each as its own.

    Raises
    ------
    TypeError : the router holds something other than plain routes
    """
    register_url_convertor("collection", CollectionConvertor())
    for route in routes.routes:
        if not isinstance(route, APIRoute):
            raise TypeError(f"{prefix}: only plain routes can be laid out, not {route!r}")
        options = {name: getattr(route, name) for name in _KEPT}
        into.add_api_route(
            prefix + route.path,
            route.endpoint,
            dependencies=[*dependencies, *route.dependencies],
            route_class_override=PlannedRoute,
            **options,
        )


def _places_of(route: BaseRoute) -> Iterator[RouteKey]:
    """Yield the index keys of paths that fit the route; nothing for a route that cannot be indexed."""
    path = str(getattr(route, "path", ""))
    if ":path}" in path or not path.startswith(f"{API}/"):
        return
    for collection in BY_COLLECTION if COLLECTION in path else ("",):
        yield _place(path.replace(COLLECTION, collection))


def _place(path: str) -> RouteKey:
    steps = path.split("/", 12)
    return steps[_FIRST_WORD] if len(steps) > _FIRST_WORD else "", len(steps)
