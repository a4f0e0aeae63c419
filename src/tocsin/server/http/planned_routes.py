"""Routes whose arguments are resolved by a plan that is made once, with the route.

For every request FastAPI works out again how each dependency is called, opens two exit stacks, and passes the endpoint
through a limiter to its thread; that takes longer than most endpoints. A route that asks for what the plan does not
know (a body model, a form, a cookie, an answer made of anything but a ``Response``) is answered by FastAPI.
Source: FastAPI, ``solve_dependencies``. Next: ``server/http/routing.py``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import copy_context
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType
from typing import Any, Self, TypeVar

from fastapi import Request, Response
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

Values = dict[str, Any]  # Any: arguments of an endpoint or a dependency
Function = Callable[..., Any]  # Any: as above
T = TypeVar("T")

_THREADS = 40
"""Endpoints that one process works on at once."""

_SOURCES: dict[str, Callable[[Request], Any]] = {  # Any: FastAPI's kinds of mapping
    "path_params": lambda request: request.path_params,
    "query_params": lambda request: request.query_params,
    "header_params": lambda request: request.headers,
}
_CONSTANTS = (NoneType, bool, int, float, str)

_UNPLANNED = (
    "body_params",
    "cookie_params",
    "websocket_param_name",
    "http_connection_param_name",
    "response_param_name",
    "background_tasks_param_name",
    "security_scopes_param_name",
    "own_oauth_scopes",
    "parent_oauth_scopes",
    "concurrency",
)
"""What FastAPI may find in a signature, or be told of a dependency, that the plan does not know."""


class _CallStyle(Enum):
    """How a function is called: awaited, in a thread, or begun, to be ended after the answer."""

    AWAITED = "awaited"
    IN_THREAD = "in a thread"
    GENERATOR = "generator"


@dataclass(frozen=True)
class _Parameters:
    """Parameters that are read from one place of a request.

    Attributes
    ----------
    source : the key of ``_SOURCES``
    fields : FastAPI's
    defaults : their values where a request names none of them; None if that is refused, or makes something new
    names : all that a request may call them
    """

    source: str
    fields: Sequence[Any]  # Any: FastAPI's own
    defaults: Values | None
    names: frozenset[str]

    @classmethod
    def of(cls, source: str, fields: Sequence[Any]) -> Self:  # Any: as above
        """Return the parameters of these fields."""
        is_optional = all(_has_plain_default(one) for one in fields)
        aliases = {one.alias for one in fields} | {one.name for one in fields}
        return cls(
            source,
            fields,
            {one.name: one.default for one in fields} if is_optional else None,
            frozenset(aliases | {alias.replace("_", "-") for alias in aliases}),
        )

    def read(self, request: Request) -> tuple[Values, list[Any]]:  # Any: FastAPI's own
        """Return values by parameter, and what is wrong with others.

        FastAPI looks at every annotation anew for each request, even if it names none of the parameters.
        """
        given_values = _SOURCES[self.source](request)
        if self.defaults is not None and not any(name in given_values for name in self.names):
            return self.defaults, []
        return request_params_to_args(self.fields, given_values)


def _has_plain_default(field: Any) -> bool:  # Any: FastAPI's own
    """Return whether a parameter that is not there is a constant."""
    described = field.field_info
    has_one_name = described.validation_alias in (None, field.alias)
    is_constant = not described.is_required() and isinstance(field.default, _CONSTANTS)
    return has_one_name and is_constant and not described.validate_default


@dataclass(frozen=True)
class _PlannedCall:
    """How an endpoint or a dependency is called.

    Attributes
    ----------
    function : it
    style : how it is called
    needs : the dependencies that come before it, each with the parameter for its result, if any
    parameters : those that are read from path, query and headers, by where they are
    request : the name of the parameter for the request
    """

    function: Function
    style: _CallStyle
    needs: tuple[tuple[str | None, _PlannedCall], ...]
    parameters: tuple[_Parameters, ...]
    request: str | None

    async def arguments(self, request: Request, resolved: dict[Function, Any], ends: AsyncExitStack) -> Values:
        """Return the arguments; ``resolved`` are results of dependencies, which are called once a request.

        Raises
        ------
        RequestValidationError : path, query or headers hold something invalid; it says so of every parameter
        """
        values: Values = {}
        refusals: list[Any] = []  # Any: FastAPI's own
        for name, step in self.needs:
            try:
                result = await step.result(request, resolved, ends)
            except RequestValidationError as refusal:
                refusals += refusal.errors()
                continue
            if name is not None:
                values[name] = result
        for parameters in self.parameters:
            valid, invalid = parameters.read(request)
            values |= valid
            refusals += invalid
        if refusals:
            raise RequestValidationError(refusals)
        if self.request is not None:
            values[self.request] = request
        return values

    async def result(self, request: Request, resolved: dict[Function, Any], ends: AsyncExitStack) -> Any:
        """Return what the dependency returns or yields. Raises as ``arguments`` and the dependency."""
        function = self.function
        if function not in resolved:
            values = await self.arguments(request, resolved, ends)
            resolved[function] = await self.call(values, ends)
        return resolved[function]

    async def call(self, values: Values, ends: AsyncExitStack) -> Any:
        """Return what the function returns or yields. Raises as it does."""
        match self.style:
            case _CallStyle.AWAITED:
                return await self.function(**values)
            case _CallStyle.IN_THREAD:
                return await in_thread(partial(self.function, **values))
            case _CallStyle.GENERATOR:
                return await ends.enter_async_context(asynccontextmanager(self.function)(**values))


class PlannedRoute(APIRoute):
    """A route that FastAPI describes and that is answered by its plan, if there can be one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # Any: FastAPI's own
        super().__init__(*arguments, **options)
        is_plain = _returns_response(self.endpoint) and not self.body_field
        self.plan = _plan_of(self.dependant) if is_plain else None
        if self.plan is not None:
            self.app = partial(_answer, self.plan)


async def _answer(plan: _PlannedCall, scope: Scope, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as ends:
        values = await plan.arguments(Request(scope, receive, send), {}, ends)
        response: Response = await plan.call(values, ends)
        await response(scope, receive, send)


async def in_thread(work: Callable[[], T]) -> T:
    """Return what ``work`` returns, done in a thread; a caller that is cancelled meanwhile waits for it."""
    running = asyncio.get_running_loop().run_in_executor(_threads(), copy_context().run, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads of this process, which are started as they are needed: after it has forked."""
    return ThreadPoolExecutor(_THREADS, "endpoint")


def _returns_response(endpoint: Function) -> bool:
    returned = inspect.signature(endpoint, eval_str=True).return_annotation
    return isinstance(returned, type) and issubclass(returned, Response)


def _plan_of(dependant: Any, *, is_endpoint: bool = True) -> _PlannedCall | None:  # Any: FastAPI's own
    """Return the plan of an endpoint or a dependency; None if it needs what no plan knows."""
    style = _style_of(dependant.call)
    is_plain = is_endpoint or (dependant.use_cache and dependant.scope is None)
    if style is None or not is_plain or any(getattr(dependant, name, None) for name in _UNPLANNED):
        return None
    needs: list[tuple[str | None, _PlannedCall]] = []
    for dependency in dependant.dependencies:
        step = _plan_of(dependency, is_endpoint=False)
        if step is None:
            return None
        needs.append((dependency.name, step))
    parameters = tuple(_Parameters.of(one, getattr(dependant, one)) for one in _SOURCES if getattr(dependant, one))
    return _PlannedCall(dependant.call, style, tuple(needs), parameters, dependant.request_param_name)


def _style_of(function: Function) -> _CallStyle | None:
    """Return how a function is called; None for a generator in a thread or an object, which no plan knows."""
    plain = inspect.unwrap(function)
    if not inspect.isfunction(plain) or inspect.isgeneratorfunction(plain):
        return None
    if inspect.isasyncgenfunction(plain):
        return _CallStyle.GENERATOR
    return _CallStyle.AWAITED if inspect.iscoroutinefunction(plain) else _CallStyle.IN_THREAD
