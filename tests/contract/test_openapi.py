"""The OpenAPI document: valid, and whole: every operation says what it reads, answers and refuses."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from tests.contract.described import Described
from tests.serving import Json, running_server
from tests.soak import SOAK

from tocsin.model.entity_types import BY_COLLECTION, ENTITY_TYPES
from tocsin.store.database.engine import open_engine

pytestmark = pytest.mark.xdist_group("openapi")  # one worker makes the document

_WITHOUT_BODY = {
    "post /api/v1/addresses/{holder_id}/{channel}/code",
    "put /api/v1/system/settings/reset/{name}",
    "post /api/v1/acknowledge/{token}",
    "post /api/v1/follow/{token}",
    "post /api/v1/mute/{token}",
    "post /api/v1/users/logout",
    "post /api/v1/auth/session/pushBrowser/test",
    "post /api/v1/tasks/{task_id}/close",
    "put /api/v1/tasks/{task_id}/suggestion/apply",
    "put /api/v1/suggestions/accept-all",
    "put /api/v1/suggestions/reject-all",
    "put /api/v1/suggestions/{suggestion_id}/accept",
    "put /api/v1/suggestions/{suggestion_id}/reject",
    "put /api/v1/conversations/{conversation_id}/reaction/{reaction}",
    "put /api/v1/conversations/{conversation_id}/replies/{reply_id}/reaction/{reaction}",
    "put /api/v1/events/subscriptions/name/{name}/syncOffset",
    "put /api/v1/events/subscriptions/{subscription_id}/syncOffset",
    "put /api/v1/events/subscriptions/{subscription_id}/takeOver",
    "put /api/v1/users/{user_id}/notifications/read",
    "put /api/v1/embed/inbox/seen",
    "put /api/v1/embed/follows/{entity_type}/{fqn}",
    "put /api/v1/users/{user_id}/recommendations/{asset_id}/dismissal",
    "put /api/v1/users/{user_id}/standsInFor/{person_id}",
    "put /api/v1/users/{user_id}/notifications/seen",
    "put /api/v1/users/{user_id}/notifications/{notification_id}/read",
    "post /api/v1/usage/compute.percentile/{entity_type}/{date}",
    "put /api/v1/notificationTemplates/{template_id}/reset",
    "put /api/v1/notificationTemplates/name/{fqn}/reset",
    *(
        f"put /api/v1/{row.collection}/{{entity_id}}/followers/{{user_id}}"
        for row in ENTITY_TYPES.values()
        if row.is_followable
    ),
}
"""Operations that change something and read no body."""

_WITHOUT_CONTENT = {
    "get /api/v1/auth/login",
    "get /api/v1/auth/callback",
    "get /api/v1/events/subscriptions/validation/condition/{expression}",
}
"""Operations that answer with a redirection, or that a condition is valid."""


@pytest.fixture(scope="module")
def document(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The document, which takes longer to make than most tests to look at."""
    path = tmp_path_factory.mktemp("document") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    with running_server(engine) as served, served.administrator() as client:
        described = client.get("/openapi.json").json()
    engine.dispose()
    return described


@pytest.fixture(scope="module")
def api_description(document: Json) -> Described:
    return Described(document)


def test_the_document_is_valid(document: Json) -> None:
    """One collection stands for those whose paths are made by the same lines; ``make soak`` takes all."""
    left_out = () if SOAK else {*BY_COLLECTION} - {"tables", "users", "teams", "queries", "events/subscriptions"}
    paths = {path: item for path, item in document["paths"].items() if _first_collection(path) not in left_out}
    assert len(paths) > 100
    assert [str(error) for error in OpenAPIV31SpecValidator({**document, "paths": paths}).iter_errors()] == []


def _first_collection(path: str) -> str | None:
    """Return the collection that a path begins with, if any."""
    return next((name for name in BY_COLLECTION if f"{path}/".startswith(f"/api/v1/{name}/")), None)


def test_every_operation_has_a_name_of_its_own_and_a_summary(api_description: Described) -> None:
    operations = list(api_description.operations())
    assert len({operation["operationId"] for _, _, operation in operations}) == len(operations)
    assert [name for name, _, operation in operations if not operation["summary"].strip()] == []


def test_every_collection_has_its_own_paths(api_description: Described, document: Json) -> None:
    assert [path for path in document["paths"] if "{collection}" in path] == []
    assert {f"/api/v1/{collection}" for collection in BY_COLLECTION} <= document["paths"].keys()


def test_every_operation_that_reads_a_body_describes_it(api_description: Described) -> None:
    changing = {name for name, method, _ in api_description.operations() if method in ("put", "post", "patch")}
    bodies = {name: operation for name, _, operation in api_description.operations() if "requestBody" in operation}
    assert changing - bodies.keys() == _WITHOUT_BODY
    for name, operation in bodies.items():
        for media in operation["requestBody"]["content"].values():
            assert _is_said(media["schema"], api_description.document), name


def test_every_operation_describes_its_answer(api_description: Described) -> None:
    for name, _, operation in api_description.operations():
        answers = {status: one for status, one in operation["responses"].items() if status < "400"}
        assert answers, name
        media = [media for one in answers.values() for media in one.get("content", {}).values()]
        assert bool(media) == (name not in _WITHOUT_CONTENT), name
        assert all(_is_said(one["schema"], api_description.document) for one in media), name


def test_no_page_is_one_of_pages(document: Json) -> None:
    """A page of pages would be what generated clients take each entry of a list for."""
    schemas = document["components"]["schemas"]
    items = {name.removesuffix("Page"): name for name in schemas if name.endswith("Page")}
    assert len(items) > 20
    assert [name for name in items if {"data", "paging"} <= set(schemas.get(name, {}).get("properties", ()))] == []


def test_every_parameter_has_a_type_and_a_description(api_description: Described) -> None:
    for name, _, operation in api_description.operations():
        for parameter in operation["parameters"]:
            assert parameter["description"].strip(), (name, parameter)
            assert parameter["schema"].keys() & {"type", "anyOf", "enum", "const"}, (name, parameter)
            assert "null" not in str(parameter["schema"].get("anyOf")), (name, parameter)


def test_paths_differ_in_more_than_names(document: Json) -> None:
    plain = ["/".join("{}" if step[:1] == "{" else step for step in path.split("/")) for path in document["paths"]]
    assert len(set(plain)) == len(plain)


def test_every_example_is_valid(api_description: Described, document: Json) -> None:
    for name, schema in document["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            errors = [error.message for error in api_description.validator(schema).iter_errors(example)]
            assert errors == [], name


def test_errors_are_those_that_are_sent(api_description: Described, administrator: httpx.Client) -> None:
    for name, _, operation in api_description.operations():
        assert "422" not in operation["responses"], name
        assert operation["responses"]["400"] == {"$ref": "#/components/responses/Error400"}, name
    shape = api_description.document["components"]["responses"]["Error400"]["content"]["application/json"]["schema"]
    assert shape == {"$ref": "#/components/schemas/Error"}
    refused = administrator.get("/tables", params={"limit": "many"})
    assert (refused.status_code, set(refused.json())) == (400, {"code", "message"})


def test_a_token_is_required_where_the_document_says_so(
    api_description: Described, administrator: httpx.Client
) -> None:
    assert api_description.document["security"] == [{"token": []}]
    is_open = {name for name, _, operation in api_description.operations() if operation.get("security") == []}
    assert {"get /api/v1/system/version", "post /api/v1/users/login"} <= is_open
    with httpx.Client(base_url=administrator.base_url) as stranger:
        for name in sorted(is_open):
            method, path = name.split(" ")
            if "{" not in path and "/auth/" not in path:
                assert stranger.request(method, path.removeprefix("/api/v1")).status_code != 401 or "login" in path
        assert stranger.get("/tables").status_code == 401


def test_reads_that_name_something_in_their_query_say_404(
    api_description: Described, administrator: httpx.Client
) -> None:
    nowhere = "00000000-0000-0000-0000-000000000007"
    other_collections = tuple(f"get /api/v1/{collection}" for collection in BY_COLLECTION if collection != "tables")
    reads = [one for one in api_description.operations() if one[1] == "get" and "{" not in one[0]]
    naming_reads = [one for one in reads if not one[0].startswith(other_collections)]
    assert {"get /api/v1/tables", "get /api/v1/permissions", "get /api/v1/events"} <= {
        name for name, *_ in naming_reads
    }
    for name, _, operation in naming_reads:
        texts = [one for one in operation["parameters"] if one["schema"].get("type") == "string"]
        required_values = {one["name"]: "nothing" for one in texts if one.get("required")}
        for parameter in (one["name"] for one in texts):
            for value in ("nothing", nowhere):
                answer = administrator.get(
                    name.removeprefix("get /api/v1"), params={**required_values, parameter: value}
                )
                assert api_description.problem(answer) is None


def _is_said(schema: Json, document: Json) -> bool:
    """Return whether a schema says more than that there is a value."""
    if "$ref" in schema:
        return _is_said(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    if schema.get("type") == "object":
        return bool(schema.keys() & {"properties", "additionalProperties"})
    return bool(schema.keys() & {"type", "anyOf", "allOf", "enum", "const"})
