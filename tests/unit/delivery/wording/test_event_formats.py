"""Tests of webhook payloads."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7
from tests import seedschema
from tests.unit.delivery.events import addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.webhook.render import Body, bodies_of
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import event_in
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import BULK_IMPORT, ChangeEvent, EventType, ImportedCount

SOURCE = "https://tocsin.acme.example"
SCHEMAS = Path(__file__).parents[5] / "shared" / "standards" / "schemas"


def render_body(event: ChangeEvent, payload_format: str) -> Body:
    (body,) = bodies_of(dispatch(event), payload_format, source=SOURCE)
    return body


def rendered_body(payload_format: str = "default", **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(render_body(change_event(**fields), payload_format).payload)
    return body


def exactly(text: str | bytes) -> Any:
    """Read JSON with decimals: in floats 1.9 is no multiple of 0.1, which the schema asks for."""
    return json.loads(text, parse_float=Decimal)


@pytest.fixture(scope="module")
def upstream() -> Draft7Validator:
    if not SCHEMAS.is_dir():
        pytest.skip("OpenMetadata's schemas are not beside this repository (../shared/standards/schemas)")

    def retrieve(uri: str) -> Resource[Any]:
        path = SCHEMAS / uri.removeprefix("https://open-metadata.org/schema/")
        return Resource.from_contents(exactly(path.read_text()), default_specification=DRAFT7)

    schema = exactly((SCHEMAS / "type" / "changeEvent.json").read_text())
    return Draft7Validator(schema, registry=Registry(retrieve=retrieve))  # type: ignore[call-arg]  # attrs hides it


@pytest.mark.skipif(not seedschema.is_here(), reason=seedschema.MISSING)
@pytest.mark.parametrize("event_type", EventType)
def test_the_seeds_form_is_what_its_schema_has(event_type: EventType) -> None:
    validator = seedschema.seed_validator()
    by_a_person = rendered_body("seed", event_type=event_type)
    by_nobody = rendered_body("seed", event_type=event_type, user_id="system", previous_version=None, entity=None)
    for document in (by_a_person, by_nobody):
        validator.validate(document)
    assert (by_a_person["userId"], by_a_person["entity"]["name"]) == ("789e0123-e89b-12d3-a456-426614174222", "orders")
    assert by_a_person["changeDescription"]["fieldsDeleted"][0]["oldValue"][0]["name"] == "email"
    assert "userId" not in by_nobody
    with pytest.raises(ValidationError):
        validator.validate(rendered_body(event_type=event_type))


def test_our_own_form_says_what_each_change_means() -> None:
    tag_addition = addition_of("columns.email.tags", [{"tagFQN": "PII.Sensitive"}])
    body = rendered_body("tocsin", described=tag_addition)
    meanings = body.pop("semanticChanges")
    assert body.pop("title") == "orders: tag PII.Sensitive added to column email"
    assert body.pop("changes") == ["tag PII.Sensitive added to column email"]
    assert (body.pop("breaking"), body.pop("breakingReasons"), body.pop("recursive")) == (False, [], False)
    assert body == rendered_body(described=tag_addition)
    assert meanings == [
        {
            "category": "tag",
            "operation": "add",
            "target": "columns.email",
            "value": "PII.Sensitive",
            "text": "tag PII.Sensitive added to column email",
        }
    ]


@pytest.mark.parametrize("facts", [{"below_count": 5_000}, {"part_of": "an-event"}])
def test_only_our_own_form_and_an_attribute_say_what_an_event_includes(facts: dict[str, Any]) -> None:
    is_whole = "below_count" in facts
    own_body = rendered_body("tocsin", **facts)
    assert own_body["recursive"] is is_whole
    assert (own_body.get("belowCount"), own_body.get("partOf")) == (facts.get("below_count"), facts.get("part_of"))
    for payload_format in ("default", "seed", "openmetadata"):
        assert rendered_body(payload_format, **facts) == rendered_body(payload_format)
    assert rendered_body("cloudEvents", **facts).get("recursive") == ("true" if is_whole else None)


def test_who_reads_our_own_form_says_the_same_of_an_import() -> None:
    imported = (ImportedCount(entity_type="table", created=312, updated=14),)
    body = rendered_body("tocsin", described=update_of(BULK_IMPORT), imported=imported)
    assert event_text(event_in(body)).headline == body["title"] == "orders: 312 tables added, 14 changed"


BREAKING = (BreakingReason(kind=BreakingKind.TYPE_NARROWED, field="columns.a", before="TEXT", after="INT"),)


def test_only_our_own_form_and_attributes_say_that_a_change_breaks_readers() -> None:
    breaking = rendered_body("tocsin", breaking_reasons=BREAKING)
    assert (breaking["breaking"], breaking["breakingReasons"]) == (
        True,
        [
            {
                "kind": "typeNarrowed",
                "field": "columns.a",
                "before": "TEXT",
                "after": "INT",
                "text": "column a TEXT → INT",
            }
        ],
    )
    for payload_format in ("default", "seed", "openmetadata"):
        assert rendered_body(payload_format, breaking_reasons=BREAKING) == rendered_body(payload_format)
    cloud_event = rendered_body("cloudEvents", breaking_reasons=BREAKING)
    assert cloud_event.pop("breaking") == "true"
    assert cloud_event == rendered_body("cloudEvents")


def test_only_our_own_form_and_attributes_say_why_a_change_was_made() -> None:
    assert rendered_body("tocsin", reason="Grüße")["reason"] == "Grüße"
    assert "reason" not in rendered_body("tocsin")
    for payload_format in ("default", "seed", "openmetadata"):
        assert rendered_body(payload_format, reason="Grüße") == rendered_body(payload_format)
    cloud_event = rendered_body("cloudEvents", reason="Grüße")
    assert cloud_event.pop("reason") == "Grüße"
    assert cloud_event == rendered_body("cloudEvents")


def test_the_default_is_the_event_of_the_seed_with_its_id() -> None:
    event = rendered_body(domains=("8b4f0b8e-6a47-4c63-9d0e-111111111111",))
    assert list(event) == [
        "id",
        "eventType",
        "entityType",
        "entityId",
        "entityFullyQualifiedName",
        "previousVersion",
        "currentVersion",
        "userName",
        "userId",
        "timestamp",
        "changeDescription",
        "entity",
        "idempotencyKey",
    ]
    assert event["idempotencyKey"] == event["id"]
    assert event["previousVersion"] == 0.9
    assert event["entity"]["name"] == "orders"


def test_what_is_unknown_is_left_out() -> None:
    event = rendered_body(previous_version=None, entity=None)
    assert "previousVersion" not in event
    assert "entity" not in event


@pytest.mark.parametrize("event_type", list(EventType))
def test_the_upstream_format_holds_upstreams_schema(upstream: Draft7Validator, event_type: EventType) -> None:
    event = change_event(event_type=event_type, domains=("8b4f0b8e-6a47-4c63-9d0e-111111111111", "Finance"))
    sent = exactly(render_body(event, "openmetadata").payload)
    assert [error.message for error in upstream.iter_errors(sent)] == []


def test_upstreams_schema_would_refuse_the_default(upstream: Draft7Validator) -> None:
    sent = exactly(render_body(change_event(), "default").payload)
    assert [error.validator for error in upstream.iter_errors(sent)] == ["additionalProperties"]


def test_the_upstream_format_holds_the_entity_as_text_and_no_user_id() -> None:
    event = rendered_body("openmetadata", event_type=EventType.TEST_CASE_FAILURE)
    assert json.loads(event["entity"])["name"] == "orders"
    assert "userId" not in event
    assert event["eventType"] == "entityUpdated"


def test_the_upstream_format_holds_lists_and_objects_of_a_change_as_text() -> None:
    tags = [{"tagFQN": "PII.Sensitive"}]
    (text,) = rendered_body("openmetadata", described=addition_of("tags", tags))["changeDescription"]["fieldsAdded"]
    assert json.loads(text["newValue"]) == tags
    (same,) = rendered_body("openmetadata", described=addition_of("description", "All orders."))["changeDescription"][
        "fieldsAdded"
    ]
    assert same["newValue"] == "All orders."
    (field_change,) = rendered_body(described=addition_of("tags", tags))["changeDescription"]["fieldsAdded"]
    assert field_change["newValue"] == tags


def test_a_cloud_event_carries_the_default_form() -> None:
    body = render_body(change_event(), "cloudEvents")
    event = json.loads(body.payload)
    assert body.content_type == "application/cloudevents+json"
    assert event["specversion"] == "1.0"
    assert event["source"] == SOURCE
    assert event["type"] == "org.open-metadata.entityUpdated"
    assert event["time"] == "2025-10-09T08:53:20Z"
    assert event["data"] == rendered_body()
    assert event["id"] == event["data"]["id"]


def test_an_unknown_format_sends_the_default() -> None:
    assert rendered_body("morse") == rendered_body()
