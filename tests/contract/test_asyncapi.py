"""The AsyncAPI document: valid, and what is really sent is as it says, no more and no less."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import httpx
import pytest
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT7
from sqlalchemy import Engine
from tests.contract.test_inbox import CatalogueWriter, Listener
from tests.nodepackages import node_modules_of
from tests.serving import Json, Served
from tests.soak import SOAK
from tests.unit.delivery.events import NOW_MS, change_event, dispatch

from tocsin.delivery.channels.endpoints import OWN_HEADERS
from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.dispatch import Advice, Dispatch, Guidance
from tocsin.delivery.transport.request import Recorder, Request
from tocsin.delivery.wording.broker_headers import RELAY_HEADER
from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import InvalidInput
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.flow.eventlog.topic_names import topic_names
from tocsin.ingest.records import RefusedRecord, TopicRecord
from tocsin.model.announcement import Announcement, ChangeOutcome
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeEvent, EventType, ImportedCount, LoggedDocument, LoggedEvent
from tocsin.model.message import CarriedEvent, Delivered, Entry, Outcome
from tocsin.model.severity import Severity
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig
from tocsin.relay.records import RecordForm, records_of
from tocsin.server.asyncapi.document import asyncapi_document
from tocsin.server.asyncapi.event_schemas import EVENT_SCHEMAS
from tocsin.server.asyncapi.messages import DEAD_LETTER_PREFIX, SIGNATURES, WEBHOOK_HEADERS
from tocsin.settings import Settings

SOURCE = "https://tocsin.example.org"
PARSER = "@asyncapi/parser@3.6.3"
PROGRAM = """
  const {Parser} = require(process.argv[1] + '/@asyncapi/parser');
  const read = async document => {
    const parsed = await new Parser().parse(JSON.stringify(document));
    const problems = parsed.diagnostics.map(one => one.path.join('/') + ': ' + one.message);
    return {isRead: parsed.document !== undefined, problems};
  };
  const inTurn = async documents => {
    const answers = [];
    for (const document of documents) answers.push(await read(document));
    process.stdout.write(JSON.stringify(answers));
  };
  inTurn(JSON.parse(require('fs').readFileSync(0, 'utf8')));
"""


class Messages:
    """The messages of a document, and validators of what they hold."""

    def __init__(self, document: Json) -> None:
        self.document = document
        resource = DRAFT7.create_resource(document)
        self._registry: Registry[Json] = Registry().with_resource("urn:document", resource).crawl()
        self._validators: dict[str, Draft7Validator] = {}

    def check(self, name: str, payload: Json, headers: Json = None) -> None:
        """Fail unless a message has this payload and these headers."""
        message = self.document["components"]["messages"][name]
        self._check(message["payload"], payload)
        if headers is not None:
            assert message["contentType"] == headers.get(
                "content-type", headers.get("Content-Type", "application/json")
            )
            self._check(message["headers"], headers)

    def schema(self, name: str) -> Json:
        """Return the schema of the events in a format."""
        return self.document["components"]["schemas"][f"ChangeEvent.{name}"]

    def _check(self, schema: Json, value: Json) -> None:
        text = json.dumps(schema)
        if text not in self._validators:
            anchored = json.loads(text.replace('"#/', '"urn:document#/'))
            self._validators[text] = Draft7Validator(anchored, registry=self._registry, format_checker=FormatChecker())
        self._validators[text].validate(value)


@pytest.fixture
def messages(served: Served) -> Messages:
    with served.client() as client:
        return _messages_in(client.get("/asyncapi.json").raise_for_status().text)


@cache
def _messages_in(document: str) -> Messages:
    """Return the messages of a document, one for all tests whose server has the same: to read it takes the longest."""
    return Messages(json.loads(document))


def test_its_parser_finds_nothing_wrong_with_the_document() -> None:
    """The one with topics of entity types and of others; in ``make soak`` the plain one as well."""
    modules = node_modules_of(".asyncapi-parser", PARSER)
    if modules is None:
        pytest.skip("Node is missing, or npm could not install AsyncAPI's parser")
    with_topics = Settings(
        kafka_topic_per_entity_type=True,
        kafka_partitions=3,
        pulsar_topic_per_entity_type=True,
        relay_format="cloudEvents",
        ingest_topic="others",
        public_url="https://tocsin.example.org",
    )
    documented_settings = (with_topics, Settings()) if SOAK else (with_topics,)
    documents = json.dumps([asyncapi_document(settings) for settings in documented_settings]).encode()
    words = ["node", "-e", PROGRAM, str(modules)]
    ran = subprocess.run(words, input=documents, capture_output=True, timeout=60, check=True)
    assert json.loads(ran.stdout) == [{"isRead": True, "problems": []}] * len(documented_settings)


def test_the_document_is_that_of_the_settings_without_addresses_or_secrets() -> None:
    settings = Settings(
        kafka_servers="inside.example.org:9092",
        kafka_topic="changes",
        kafka_topic_per_entity_type=True,
        pulsar_namespace="data/catalogue",
        relay_format="openmetadata",
    )
    document = asyncapi_document(settings)
    assert "inside.example.org" not in json.dumps(document)
    kafka = document["channels"]["kafkaEvents"]
    names = {kafka["address"].format(entityType=kind) for kind in kafka["parameters"]["entityType"]["enum"]}
    assert names == set(topic_names("changes", per_entity_type=True))
    address = "persistent://data/catalogue/metadata-change-events"
    assert document["channels"]["pulsarEvents"]["address"] == address
    assert document["components"]["messages"]["event"]["payload"]["$ref"].endswith("ChangeEvent.openmetadata")


def test_each_format_has_a_schema_and_each_schema_a_message(messages: Messages) -> None:
    assert EVENT_SCHEMAS.keys() == EVENT_FORMATS.keys()
    described = json.dumps(messages.document["components"]["messages"])
    assert all(f"ChangeEvent.{name}" in described for name in EVENT_FORMATS)


def test_the_example_of_each_message_is_one(messages: Messages) -> None:
    for name, message in messages.document["components"]["messages"].items():
        for example in message.get("examples", ()):
            messages.check(name, example["payload"])


@pytest.fixture
def logged_events(served: Served, administrator: httpx.Client, orders: Json) -> list[LoggedEvent]:
    """The events of a first start, a table, a change of it and its deletion, one of every type and others besides."""
    patch = [{"op": "add", "path": "/description", "value": "Text"}]
    patch_type = {"Content-Type": "application/json-patch+json"}
    administrator.patch(f"/tables/{orders['id']}", json=patch, headers=patch_type).raise_for_status()
    administrator.put(f"/tables/{orders['id']}/followers", json=None)
    administrator.delete(f"/tables/{orders['id']}").raise_for_status()
    events = list(served.app.state.parts.log.list_events(EventSelection(), limit=9_999))
    of_types = [LoggedEvent(9_000 + number, change_event(event_type=kind), {}) for number, kind in enumerate(EventType)]
    wide_event = change_event(entity={"name": "wide", "description": "x" * 300_000}, domains=("a", change_event().id))
    nobody_event = change_event(None, user_id="system", user_name=None, entity_fully_qualified_name=None, entity=None)
    reasons = (BreakingReason(kind=BreakingKind.FIELD_REMOVED, field="columns.email"),)
    announcements = (Announcement(request="CR-1", outcome=ChangeOutcome.EARLY, field="columns.email"),)
    breaking_event = change_event(breaking_reasons=reasons, announcements=announcements)
    further = [wide_event, nobody_event, breaking_event, change_event(reason="für Zoë")]
    imported_counts = (ImportedCount(entity_type="table", created=312, updated=14),)
    further += [
        change_event(below_count=2),
        change_event(imported=imported_counts),
        change_event(part_of=wide_event.id),
    ]
    return [*events, *of_types, *(LoggedEvent(9_900 + at, event, {}) for at, event in enumerate(further))]


@pytest.mark.parametrize("payload_format", list(EVENT_FORMATS))
def test_records_of_the_relay_are_as_the_document_says(logged_events: list[LoggedEvent], payload_format: str) -> None:
    messages = Messages(asyncapi_document(Settings(relay_format=payload_format)))
    form = RecordForm(topic="t", payload_format=payload_format, source=SOURCE, limit_bytes=200_000)
    names: set[str] = set()
    documents = [LoggedDocument(one.offset, one.event.as_wire()) for one in logged_events]
    for record in records_of(documents, form):
        headers = {**{name: value.decode() for name, value in record.headers}, RELAY_HEADER: "a-relay"}
        messages.check("event", json.loads(record.value), headers)
        names |= headers.keys()
    assert names == messages.document["components"]["messages"]["event"]["headers"]["properties"].keys()


class _Receiver(Recorder):
    """Takes requests, and answers challenges."""

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        await super().exchange(request, now_ms=now_ms)
        answer = json.dumps({"response": json.loads(request.payload).get("challenge", "")})
        return Delivered(200, answer), answer.encode()


def _message_of(events: list[ChangeEvent], *, is_array: bool) -> Dispatch:
    entries = tuple(Entry(f"n{number}", number, CarriedEvent.of(event)) for number, event in enumerate(events))
    guidance = Guidance(Severity.SEVERITY_2, (Advice("https://wiki.example.com/\u00e4", "Quality"),))
    return replace(
        dispatch(),
        entries=entries,
        batch_size=1_000,
        sends_arrays=is_array,
        guidance={entry.notification_id: guidance for entry in entries},
    )


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize("payload_format", list(EVENT_FORMATS))
async def test_requests_of_webhooks_are_as_the_document_says(
    messages: Messages, logged_events: list[LoggedEvent], payload_format: str, is_array: bool
) -> None:
    name = f"webhook.{payload_format}.array" if is_array else f"webhook.{payload_format}"
    config = {"endpoint": "https://example.org/hook", "payloadFormat": payload_format, "compression": "gzip"}
    keys: set[str] = set()
    header_names: set[str] = set()
    for secret in (None, "whsec_TWZLUTlyOEc= second"):
        destination = Destination(
            id="d",
            category=Category.EXTERNAL,
            type=Channel.WEBHOOK,
            config=DestinationConfig.model_validate({**config, "secretKey": secret}),
        )
        receiver = Recorder()
        events = [logged.event for logged in logged_events]
        sent_message = _message_of(events, is_array=is_array)
        await WebhookSender(receiver, source=SOURCE).send(sent_message, destination, now_ms=NOW_MS)
        for request in _requests_of(receiver):
            payload = _payload_of(request)
            messages.check(name, payload, request.headers)
            header_names |= request.headers.keys()
            assert (SIGNATURES.keys() <= request.headers.keys()) is (secret is not None)
            for event in payload if is_array else [payload]:
                keys |= event.keys()
    assert keys == messages.schema(payload_format)["properties"].keys()
    properties = messages.document["components"]["messages"][name]["headers"]["properties"]
    of_one_reason = {"X-Tocsin-Why"} if is_array else set()
    assert header_names == properties.keys() - {"Authorization"} - of_one_reason


_OF_SOME = frozenset(
    {"x-tocsin-breaking", "x-tocsin-recursive", "x-tocsin-runbook", "x-tocsin-severity", "x-tocsin-why"}
)


def test_headers_that_no_destination_can_set_are_in_the_document() -> None:
    of_http = {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"}
    described = {name.lower() for name in (*WEBHOOK_HEADERS, *SIGNATURES)}
    assert OWN_HEADERS - of_http == described | {"link", "content-encoding", *_OF_SOME}


async def test_challenges_are_as_the_document_says(messages: Messages) -> None:
    config = {"endpoint": "https://example.org/hook", "verification": "challenge"}
    destination = Destination(
        id="d",
        category=Category.EXTERNAL,
        type=Channel.WEBHOOK,
        config=DestinationConfig.model_validate(config),
    )
    receiver = _Receiver()
    await WebhookSender(receiver, source=SOURCE).send(dispatch(), destination, now_ms=NOW_MS)
    challenge, _ = _requests_of(receiver)
    messages.check("challenge", _payload_of(challenge), challenge.headers)


def test_dead_letters_are_as_the_document_says() -> None:
    document = asyncapi_document(Settings(ingest_topic="others"))
    assert document["channels"]["deadLetters"]["address"] == "others-dead-letters"
    record = TopicRecord("others", 1, 2, NOW_MS, None, b"no JSON", [("ce_id", b"7")])
    refused = RefusedRecord(record, InvalidInput("no JSON", field="value"))
    headers = {name: (value or b"").decode() for name, value in refused.headers("a-group")}
    message = document["components"]["messages"]["deadLetter"]
    Draft7Validator(message["headers"]).validate(headers)
    ours = {name for name in headers if name.startswith(DEAD_LETTER_PREFIX)}
    assert ours == message["headers"]["properties"].keys() - {f"{DEAD_LETTER_PREFIX}value"}


def test_a_stream_is_as_the_document_says(
    served: Served, messages: Messages, sqlite_engine: Engine, administrator: httpx.Client, orders: Json
) -> None:
    user_id, alice = served.person("alice")
    with alice:
        start = alice.get(f"/users/{user_id}/notifications").json()["streamFrom"]
    listener = Listener(served, user_id, start)
    CatalogueWriter(served, sqlite_engine, administrator).tell(user_id, "fresh")
    (data,) = listener.wait_for(1)
    messages.check("notification", data)
    fields = {name: value for name, value in listener.events[0].items() if name != "data"}
    messages._check(messages.document["components"]["messages"]["notification"]["headers"], fields)
    with served.client(served.tokens["alice@example.org"]) as alice:
        alice.put(f"/users/{user_id}/notifications/read")
    messages.check("states", listener.wait_for(2)[1])
    fields = {name: value for name, value in listener.events[1].items() if name != "data"}
    messages._check(messages.document["components"]["messages"]["states"]["headers"], fields)
    elsewhere = Listener(served, user_id, "7:another-event")
    data = elsewhere.wait_for(1)[0]  # what was told a moment ago may follow: it might have come late
    assert elsewhere.events[0]["event"] == "reset"
    messages.check("reset", data)


def test_its_routes_are_those_of_the_openapi_document(messages: Messages, administrator: httpx.Client) -> None:
    paths = administrator.get("/openapi.json").json()["paths"]
    templates = {_without_names(path) for path in paths}
    for name, channel in messages.document["channels"].items():
        if (channel["address"] or "").startswith("/"):
            assert _without_names(channel["address"]) in templates, name


def _without_names(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def _requests_of(receiver: Recorder) -> Iterator[Request]:
    return (one for one in receiver.sent if isinstance(one, Request))


def _payload_of(request: Request) -> Json:
    is_packed = request.headers.get("Content-Encoding") == "gzip"
    return json.loads(gzip.decompress(request.payload) if is_packed else request.payload)
