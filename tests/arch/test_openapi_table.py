"""The table of the OpenAPI document has a row for every route, and no row without a route."""

from __future__ import annotations

from fastapi.routing import APIRoute

from tocsin.server.app import _routes
from tocsin.server.openapi.document import name_of
from tocsin.server.openapi.operations import OPERATIONS


def test_every_route_says_what_it_reads_and_answers() -> None:
    routes = [one for one in _routes().routes if isinstance(one, APIRoute) and one.include_in_schema]
    assert {name_of(one) for one in routes} == OPERATIONS.keys()
