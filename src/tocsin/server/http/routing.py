"""Routes as their modules declare them, and a router with an index of them by first path segment and length.

FastAPI tries every route in turn, and those of an included router again for every level of inclusion: with a hundred
routes that costs more than most responses do. To make one takes FastAPI a millisecond, most of a server's start. So
routes are flattened, ``IndexedRouter`` tries only candidates, and makes each of them when a request first needs it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from http import HTTPStatus
from typing import Any, TypedDict, TypeVar, Unpack

from fastapi import APIRouter, Response
from fastapi.params import Depends
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
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

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])  # Any: what its route takes and returns


class RouteOptions(TypedDict, total=False):
    """What FastAPI is told of a route."""

    name: str
    status_code: int
    response_class: type[Response]
    include_in_schema: bool
    openapi_extra: dict[str, Any]  # Any: JSON


@dataclass(frozen=True)
class DeclaredRoute:
    """One route as its module declares it."""

    path: str
    method: str
    endpoint: Callable[..., Any]  # Any: as above
    options: RouteOptions


class DeclaredRoutes:
    """Routes of one subject, declared by decorators like FastAPI's; each is made later (``LaidOutRoute.route``)."""

    def __init__(self, *, prefix: str = "", tags: Sequence[str] = (), include_in_schema: bool = True) -> None:
        self.prefix, self._include_in_schema = prefix, include_in_schema
        self.tags = tuple(tags)
        self.declared: list[DeclaredRoute] = []

    def get(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Endpoint], Endpoint]:
        """Declare a GET."""
        return self._declare("GET", path, options)

    def put(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Endpoint], Endpoint]:
        """Declare a PUT."""
        return self._declare("PUT", path, options)

    def post(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Endpoint], Endpoint]:
        """Declare a POST."""
        return self._declare("POST", path, options)

    def patch(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Endpoint], Endpoint]:
        """Declare a PATCH."""
        return self._declare("PATCH", path, options)

    def delete(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[Endpoint], Endpoint]:
        """Declare a DELETE."""
        return self._declare("DELETE", path, options)

    def _declare(self, method: str, path: str, options: RouteOptions) -> Callable[[Endpoint], Endpoint]:
        all_options: RouteOptions = {"include_in_schema": self._include_in_schema, **options}

        def declare(endpoint: Endpoint) -> Endpoint:
            self.declared.append(DeclaredRoute(self.prefix + path, method, endpoint, all_options))
            return endpoint

        return declare


@dataclass(frozen=True)
class LaidOutRoute:
    """A declared route at its place, with all that it depends on."""

    path: str
    declared: DeclaredRoute
    tags: tuple[str, ...]
    dependencies: tuple[Depends, ...]

    @property
    def is_made(self) -> bool:
        """Whether some request has needed the route by now."""
        return "route" in vars(self)

    @cached_property
    def route(self) -> BaseRoute:
        """The route, made when it is first asked for."""
        router = APIRouter()
        router.add_api_route(
            self.path,
            self.declared.endpoint,
            methods=[self.declared.method],
            tags=[*self.tags],
            dependencies=[*self.dependencies],
            route_class_override=PlannedRoute,
            **self.declared.options,
        )
        (route,) = router.routes
        return route


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
    """Replaces a plain router: tries, in order, the routes that a path could match, then those without a place.

    Besides the plain router's own routes it has those of ``laid_out``.
    """

    def __init__(self, plain: APIRouter, laid_out: Sequence[LaidOutRoute]) -> None:
        self._own, self._laid_out = [*plain.routes], laid_out
        super().__init__(redirect_slashes=False)
        self.lifespan_context = plain.lifespan_context
        self._index: dict[RouteKey, list[BaseRoute | LaidOutRoute]] = defaultdict(list)
        self._without_place: list[BaseRoute | LaidOutRoute] = []
        candidates: list[BaseRoute | LaidOutRoute] = [*self._own, *laid_out]
        for route in candidates:
            places = _places_of(route.path if isinstance(route, LaidOutRoute) else getattr(route, "path", ""))
            for place in places:
                self._index[place].append(route)
            if not places:
                self._without_place.append(route)

    @property
    def routes(self) -> list[BaseRoute]:
        """All routes; to ask for them makes them all."""
        return [*self._own, *(one.route for one in self._laid_out)]

    @routes.setter
    def routes(self, routes: list[BaseRoute]) -> None:
        """Take no notice of the empty list that a new router begins with."""

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the first route that fits it.

        Raises
        ------
        HTTPException : the routes of the path serve other methods (405), which ``Allow`` names
        """
        if scope["type"] != "http":
            await super().app(scope, receive, send)
            return
        candidates = (*self._index.get(_place(scope.get("path", "")), ()), *self._without_place)
        serving = [one for one in candidates if _may_serve(one, scope["method"])]
        fitting = _first_match(serving, scope)
        if fitting is None:
            methods = _methods_served(candidates, scope)
            if methods:
                raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(methods)})
            await self.default(scope, receive, send)
            return
        route, child_scope = fitting
        scope.update(child_scope)
        await route.handle(scope, receive, send)


def lay_out(routes: DeclaredRoutes, prefix: str, dependencies: Sequence[Depends] = ()) -> list[LaidOutRoute]:
    """Return the routes of a subject under a prefix and with these dependencies."""
    register_url_convertor("collection", CollectionConvertor())
    return [LaidOutRoute(prefix + one.path, one, routes.tags, tuple(dependencies)) for one in routes.declared]


def _may_serve(candidate: BaseRoute | LaidOutRoute, method: str) -> bool:
    """Return whether a route may serve requests of a method; it is not made for that."""
    if isinstance(candidate, LaidOutRoute):
        return candidate.declared.method == method
    methods = getattr(candidate, "methods", None)
    return not methods or method in methods


def _first_match(candidates: Sequence[BaseRoute | LaidOutRoute], scope: Scope) -> tuple[BaseRoute, Scope] | None:
    """Return the first route that fits a request, and what it adds to the scope; None if none does.

    A route is made here, when the first request needs it.
    """
    for candidate in candidates:
        route = _route_of(candidate)
        match, child_scope = route.matches(scope)
        if match is Match.FULL:
            return route, child_scope
    return None


def _methods_served(candidates: Sequence[BaseRoute | LaidOutRoute], scope: Scope) -> list[str]:
    """Return the methods of all routes that fit a request but for its method (RFC 9110, section 10.2.1)."""
    fitting = [route for route in map(_route_of, candidates) if route.matches(scope)[0] is Match.PARTIAL]
    return sorted({method for route in fitting for method in getattr(route, "methods", None) or ()})


def _route_of(candidate: BaseRoute | LaidOutRoute) -> BaseRoute:
    return candidate.route if isinstance(candidate, LaidOutRoute) else candidate


@cache
def _places_of(path: str) -> tuple[RouteKey, ...]:
    """Return the index keys of paths that fit a route's; none for one that cannot be indexed."""
    if ":path}" in path or not path.startswith(f"{API}/"):
        return ()
    collections = BY_COLLECTION if COLLECTION in path else ("",)
    return tuple(_place(path.replace(COLLECTION, collection)) for collection in collections)


def _place(path: str) -> RouteKey:
    steps = path.split("/", 12)
    return steps[_FIRST_WORD] if len(steps) > _FIRST_WORD else "", len(steps)
