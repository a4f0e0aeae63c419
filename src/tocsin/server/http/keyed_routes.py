"""Routes that are there twice: for an entity by its id, and by its name. Next: ``server/routes``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import unquote
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator

from tocsin.model.stored import Key

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])  # Any: an endpoint takes what its route declares
_ID = re.compile(r"\{(\w+_id)\}")


def by_id_and_name(
    add_route: Callable[..., Callable[[Endpoint], Endpoint]],
    path: str,
    *,
    by_name: str | None = None,
    name_parameter: str = "fqn",
    **options: Any,  # Any: whatever FastAPI takes for a route
) -> Callable[[Endpoint], Endpoint]:
    """Add a route for the id in ``path``, and the same at ``…/name/{fqn}``, under the name ``…_by_name``.

    The endpoint has the parameter ``key``, which is either. ``by_name`` is another name of the second route,
    ``name_parameter`` another one of its path parameter.
    """
    id_name = _ID.findall(path)[0]
    name_path = path.replace(f"{{{id_name}}}", f"name/{{{name_parameter}}}")
    name_key = Annotated[
        str, Path(alias=name_parameter, max_length=10_000), AfterValidator(lambda fqn: Key.by_name(unquote(fqn)))
    ]

    def add(endpoint: Endpoint) -> Endpoint:
        name = by_name or f"{endpoint.__name__}_by_name"
        add_route(name_path, name=name, **options)(with_key(endpoint, name_key))
        add_route(path, **options)(with_key(endpoint, id_key(id_name)))
        return endpoint

    return add


def id_key(name: str) -> object:
    """Return the annotation of a ``key`` that is the id in the path of this name."""
    return Annotated[UUID, Path(alias=name), AfterValidator(lambda entity_id: Key.by_id(str(entity_id)))]


def with_key(endpoint: Endpoint, key: object) -> Endpoint:
    """Return an endpoint whose parameter ``key`` FastAPI reads as this annotation says."""

    @wraps(endpoint)
    def call(*arguments: Any, **keywords: Any) -> Any:  # Any: as above
        return endpoint(*arguments, **keywords)

    signature = inspect.signature(endpoint, eval_str=True)
    parameters = [one.replace(annotation=key) if one.name == "key" else one for one in signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    return cast("Endpoint", call)
