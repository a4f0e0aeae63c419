"""Every route of the OpenAPI document says what it reads and answers, and the table has no row without a route."""

from __future__ import annotations

from fastapi.routing import APIRoute

from tocsin.server.app import _routes
from tocsin.server.openapi.operations import OPERATIONS, name_of, operation_of


def test_every_route_says_what_it_reads_and_answers() -> None:
    routes = [one for one in _routes().routes if isinstance(one, APIRoute) and one.include_in_schema]
    assert all(operation_of(one) for one in routes)
    assert OPERATIONS.keys() <= {name_of(one) for one in routes}
