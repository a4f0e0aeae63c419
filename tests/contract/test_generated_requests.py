"""Requests that schemathesis generates from the OpenAPI document: all are answered as it says, and none by a 500."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
import schemathesis.specs.openapi.checks as conformance
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from sqlalchemy import Engine
from tests.contract.every_type import make_one_of_each
from tests.serving import Json, running_server
from tests.soak import SOAK

from tocsin.model.entity_types import BY_COLLECTION
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

pytestmark = pytest.mark.slow

_CHECKS = [
    conformance.status_code_conformance,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
    conformance.response_headers_conformance,
]
_LEFT_OUT = {
    "POST /api/v1/users/logout",  # ends the token of all that follow
    "POST /api/v1/auth/session",  # 403 without the Origin of a page of this server
    "DELETE /api/v1/auth/session",  # ends the token of all that follow
    "GET /api/v1/auth/login",  # 503, for this server knows no OpenID provider
}
_IN_COLLECTION = re.compile(rf"/api/v1/(?P<collection>{'|'.join(sorted(BY_COLLECTION, key=len, reverse=True))})(?=/|$)")
_COLLECTIONS = len(BY_COLLECTION) if SOAK else 1
"""Collections, chosen at random for each operation that all have."""

_EXAMPLES = 10 if SOAK else 1
"""Requests for each operation."""

_OPERATIONS = None if SOAK else 40
"""Most operations, chosen at random: to generate a request takes longer than to answer it."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The administrator of a server with one entity of every type."""
    engine: Engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('generated')}/tocsin.db", synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served, served.administrator() as administrator:
        yield administrator
    engine.dispose()


@pytest.fixture(scope="module")
def entities(client: httpx.Client) -> dict[str, Json]:
    """One entity of every type, by type."""
    return make_one_of_each(client)


@pytest.mark.timeout(3_600 if SOAK else 300)
@pytest.mark.parametrize(
    "mode", [pytest.param(GenerationMode.POSITIVE, marks=pytest.mark.soak), GenerationMode.NEGATIVE]
)
def test_generated_requests_are_answered_as_described(
    client: httpx.Client, entities: dict[str, Json], mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = sample_of([one.ok() for one in schema.get_all_operations() if isinstance(one, Ok)])
    problems: list[str] = []
    statuses: Counter[int] = Counter()

    def check(case: Case[Any]) -> None:
        _aim(case, entities)
        case.headers["Authorization"] = client.headers["Authorization"]
        answer = case.call(base_url=str(client.base_url).removesuffix("/api/v1/"), timeout=60)
        statuses[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=_CHECKS if _is_monitored(case) else [not_a_server_error, *_CHECKS])
        except* Failure as failures:
            problems.append(f"{case.as_curl_command()[:500]}: {[str(one)[:300] for one in failures.exceptions]}")

    for operation in operations:
        bounded_settings = settings(
            max_examples=_EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        cases = operation.as_strategy(generation_mode=mode)
        try:
            bounded_settings(given(case=cases)(check))()
        except Unsatisfiable:  # an operation that reads nothing takes nothing wrong
            assert mode.is_negative
    assert problems == []
    assert len(operations) >= (_OPERATIONS or 160)
    assert statuses[200 if mode.is_positive else 400] > len(operations) / 3, statuses
    assert statuses[401] < (10 if mode.is_positive else len(operations)), statuses


def _is_monitored(case: Case[Any]) -> bool:
    """Return whether a request asks for 503 unless all is well: here no pipeline runs."""
    return case.operation.path.endswith("/healthcheck") and "strict" in (case.query or {})


def sample_of(operations: list[APIOperation[Any, Any, Any, Any]]) -> list[APIOperation[Any, Any, Any, Any]]:
    """Return what is tried: of each operation that all collections have a few, deletions last."""
    by_route: dict[str, list[APIOperation[Any, Any, Any, Any]]] = {}
    for operation in operations:
        if f"{operation.method.upper()} {operation.path}" not in _LEFT_OUT:
            by_route.setdefault(f"{operation.method} {_IN_COLLECTION.sub('/{collection}', operation.path)}", []).append(
                operation
            )
    chance = random.Random(1)
    sample = [one for same in by_route.values() for one in chance.sample(same, min(_COLLECTIONS, len(same)))]
    sample = chance.sample(sample, min(_OPERATIONS or len(sample), len(sample)))
    return sorted(sample, key=lambda one: one.method.upper() == "DELETE")


def _aim(case: Case[Any], entities: dict[str, Json]) -> None:
    """Let a request for an entity of a collection name the one that is there, if its id or name could be one."""
    in_collection = _IN_COLLECTION.match(case.operation.path)
    assert case.meta is not None
    if in_collection is None or case.meta.generation.mode.is_negative:
        return
    entity = entities[BY_COLLECTION[in_collection["collection"]].name]
    for name, key in (("entity_id", "id"), ("fqn", "fullyQualifiedName")):
        if name in case.path_parameters:
            case.path_parameters[name] = entity[key]
