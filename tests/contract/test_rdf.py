"""Linked data: events, alerts, entities and lineage as one graph in every format, with the rights of JSON."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from pyshacl import validate
from rdflib import RDF, Graph, Literal, URIRef
from tests.contract.every_type import ORDER, make_one_of_each, path_of
from tests.contract.test_access import restrict
from tests.rdfprocessors import PROCESSORS, assert_same, read_n_triples, read_turtle
from tests.serving import Json, Served, running_server, table
from typer.testing import CliRunner

from tocsin.cli.events import app
from tocsin.client import AsyncClient, Client
from tocsin.server.http.media_types import LINKED_DATA
from tocsin.server.rdf.vocabulary import OM, OM_EVENT, OM_EVENTS, OMO, PROV
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

_CHANGE_EVENT = URIRef(OM_EVENT + "ChangeEvent")
pytestmark = pytest.mark.xdist_group("rdf")
_HOSTILE = 'He said "no"\n> \\ <b>\u202e \u2019 \U0001f600 @prefix x: <y> .'


@pytest.fixture(scope="module")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('linked')}/tocsin.db", synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served:
        yield served
    engine.dispose()


@pytest.fixture(scope="module")
def client(local_server: Served) -> Iterator[httpx.Client]:
    with local_server.administrator() as administrator:
        yield administrator


@pytest.fixture(scope="module")
def entities(client: httpx.Client) -> dict[str, Json]:
    """One entity of every type; each has a description that no format may take for its own syntax."""
    entities_by_type = make_one_of_each(client)
    for name, entity in entities_by_type.items():
        patch = [{"op": "add", "path": "/description", "value": _HOSTILE}]
        assert client.patch(f"{path_of(name)}/{entity['id']}", json=patch).is_success
    return entities_by_type


@pytest.fixture(scope="module")
def shapes(client: httpx.Client) -> Graph:
    return read_turtle(client.get("/rdf/shapes").content)


def graph_of(client: httpx.Client, path: str, processor: str = "pyoxigraph", **params: str) -> Graph:
    answer = client.get(path, params={**params, "format": "jsonld"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/ld+json"), answer.text
    return PROCESSORS[processor](answer.content)


def derive(client: httpx.Client, to: Json, source: Json) -> None:
    """Say that one table was derived from another."""
    ends = {"fromEntity": {"id": source["id"], "type": "table"}, "toEntity": {"id": to["id"], "type": "table"}}
    assert client.put("/lineage", json={"edge": ends}).is_success


def assert_valid(graph: Graph, shapes: Graph) -> None:
    conforms, _, report = validate(graph, shacl_graph=shapes, inference="none")
    assert conforms, report


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("path", ["/events", "/events/subscriptions", "/tables", "/users"])
def test_every_processor_reads_the_graph_that_turtle_has(
    client: httpx.Client, entities: dict[str, Json], path: str, processor: str
) -> None:
    del entities
    params = {"limit": "200" if processor == "pyoxigraph" else "40"} | ({} if path == "/events" else {"fields": "*"})
    turtle = client.get(path, params={"format": "turtle", **params})
    assert_same(read_turtle(turtle.content), graph_of(client, path, processor, **params))


@pytest.mark.parametrize("name", ORDER)
def test_every_type_has_the_same_graph_in_every_format(
    client: httpx.Client, entities: dict[str, Json], shapes: Graph, name: str
) -> None:
    path = f"{path_of(name)}/{entities[name]['id']}"
    answers = [client.get(path, headers={"Accept": media}, params={"fields": "*"}) for media in LINKED_DATA]
    assert [one.headers["content-type"].partition(";")[0] for one in answers] == list(LINKED_DATA)
    assert {one.headers["vary"] for one in answers} == {"Accept"}
    by_media = [PROCESSORS["pyoxigraph"](answers[0].content), read_turtle(answers[1].content)]
    assert_same(by_media[0], by_media[1])
    assert_same(by_media[0], read_n_triples(answers[2].content))
    assert_valid(by_media[0], shapes)
    subject = URIRef(f"urn:uuid:{entities[name]['id']}")
    assert Literal(_HOSTILE) in set(by_media[0].objects(subject, URIRef("http://purl.org/dc/terms/description")))
    by_name = client.get(f"{path_of(name)}/name/{entities[name]['fullyQualifiedName']}", params={"format": "turtle"})
    if by_name.status_code == 200:  # names with a slash are another test's
        assert (subject, RDF.type, None) in read_turtle(by_name.content)
    upstream = client.get(f"/rdf/entity/{name}/{entities[name]['id']}", params={"fields": "*", "format": "jsonld"})
    assert_same(by_media[0], PROCESSORS["pyoxigraph"](upstream.content))


def test_events_conform_to_the_shapes(client: httpx.Client, entities: dict[str, Json], shapes: Graph) -> None:
    del entities
    assert_valid(graph_of(client, "/events", limit="60"), shapes)


def test_an_event_is_an_activity_under_both_names(client: httpx.Client, entities: dict[str, Json]) -> None:
    entity_id = entities["table"]["id"]
    events = client.get("/events", params={"entityId": entity_id, "format": "default"}).json()["data"]
    event = next(one for one in events if one["eventType"] == "entityUpdated")
    graph = graph_of(client, f"/events/{event['id']}")
    subject, entity = URIRef(f"urn:uuid:{event['id']}"), URIRef(f"urn:uuid:{entity_id}")
    assert {URIRef(OM_EVENT + "ChangeEvent"), URIRef(PROV + "Activity")} == set(graph.objects(subject, RDF.type))
    for namespace in (OM, OM_EVENT):
        (current,) = graph.objects(subject, URIRef(f"{namespace}currentVersion"))
        assert str(current) == f"{event['currentVersion']:.1f}"
        assert (subject, URIRef(f"{namespace}affectsEntity"), entity) in graph
        assert (subject, URIRef(f"{namespace}eventType"), URIRef(OM_EVENT + "EntityUpdated")) in graph
    (new,) = graph.subjects(URIRef(PROV + "wasGeneratedBy"), subject)
    (old,) = graph.objects(new, URIRef(PROV + "wasRevisionOf"))
    assert set(graph.objects(subject, URIRef(PROV + "used"))) == {old}
    assert set(graph.objects(new, URIRef(PROV + "specializationOf"))) == {entity}


def test_an_alert_has_the_names_of_context_and_ontology(client: httpx.Client, entities: dict[str, Json]) -> None:
    alert = entities["eventsubscription"]
    graph = graph_of(client, f"/events/subscriptions/{alert['id']}")
    subject = URIRef(f"urn:uuid:{alert['id']}")
    for namespace in (OM, OM_EVENTS):
        kinds = set(graph.objects(subject, URIRef(f"{namespace}alertType")))
        assert kinds == {URIRef(OM_EVENTS + alert["alertType"])}
        assert (subject, RDF.type, URIRef(f"{namespace}EventSubscription")) in graph


def test_a_bot_is_a_software_agent(local_server: Served, client: httpx.Client, entities: dict[str, Json]) -> None:
    bot_id, bot = local_server.person("crawler", isBot=True)
    restrict(client, bot_id, {"effect": "allow", "operations": ["All"]})
    with bot:
        patch = [{"op": "add", "path": "/displayName", "value": "Crawled"}]
        assert bot.patch(f"/topics/{entities['topic']['id']}", json=patch).is_success
    graph = graph_of(client, "/events", entityId=entities["topic"]["id"])
    assert (URIRef(f"urn:uuid:{bot_id}"), RDF.type, URIRef(PROV + "SoftwareAgent")) in graph


def test_a_page_links_to_the_next(client: httpx.Client, entities: dict[str, Json]) -> None:
    del entities
    for path, limit in (("/events", "1000"), ("/users", "1000")):
        first = client.get(path, params={"limit": "100" if path == "/events" else "2", "format": "ntriples"})
        graph = read_n_triples(first.content)
        while "next" in first.links:
            first = client.get(client.base_url.join(first.links["next"]["url"]))
            assert first.headers["content-type"].startswith("application/n-triples")
            graph += read_n_triples(first.content)
        assert_same(graph, read_n_triples(client.get(path, params={"limit": limit, "format": "ntriples"}).content))


def test_a_page_is_rendered_in_portions(
    client: httpx.Client, entities: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    del entities
    params = {"limit": "50", "format": "turtle"}
    as_one = read_turtle(client.get("/events", params=params).content)
    monkeypatch.setattr("tocsin.server.rdf.answers._PORTION", 7)
    assert_same(as_one, read_turtle(client.get("/events", params=params).content))
    monkeypatch.setattr("tocsin.server.routes.events.MOST_NODES", 5)
    first = client.get("/events", params=params)
    assert first.headers["X-Tocsin-Log-Offset"] == "5"
    assert "next" in first.links


def test_what_may_not_be_seen_is_not_in_the_graph(served: Served, administrator: httpx.Client, orders: Json) -> None:
    secret = table(administrator, "payroll_2026", tags=[{"tagFQN": "PII.Sensitive"}])
    user_id, alice = served.person("alice")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    derive(administrator, orders, secret)
    with alice:
        for path in ("/events", "/tables", f"/lineage/table/{orders['id']}", f"/tables/{orders['id']}"):
            for name in ("jsonld", "turtle", "ntriples"):
                shown_answer = alice.get(path, params={"format": name})
                assert shown_answer.status_code == 200
                assert secret["id"] not in shown_answer.text, (path, name)
                assert "payroll_2026" not in shown_answer.text, (path, name)
        for path in (f"/tables/{secret['id']}", f"/rdf/entity/table/{secret['id']}"):
            refusal = alice.get(path, headers={"Accept": "text/turtle"})
            assert (refusal.status_code, refusal.headers["content-type"]) == (403, "application/json")
    with served.client() as nobody:
        assert nobody.get("/tables", params={"format": "turtle"}).status_code == 401
        assert nobody.get("/rdf/ontology").status_code == 200


async def test_both_clients_read_all_pages(
    local_server: Served, client: httpx.Client, entities: dict[str, Json]
) -> None:
    del entities
    token = client.headers["Authorization"].removeprefix("Bearer ")
    all_events = read_n_triples(client.get("/events", params={"limit": "1000", "format": "ntriples"}).content)
    with Client(local_server.url, token) as sync_client:
        texts = list(sync_client.read_rdf("events", format="ntriples", limit=50))
        log_text = sync_client.read_log_as_rdf(0, format="ntriples", limit=1000)
    assert len(texts) > 1
    assert_same(all_events, read_n_triples("".join(texts).encode()))
    assert_same(all_events, read_n_triples(log_text.text.encode()))
    assert log_text.end == len(set(all_events.subjects(RDF.type, _CHANGE_EVENT)))
    async with AsyncClient(local_server.url, token) as async_client:
        assert [text async for text in async_client.read_rdf("events", format="ntriples", limit=50)] == texts


def test_the_command_line_prints_the_log(local_server: Served, client: httpx.Client, entities: dict[str, Json]) -> None:
    del entities
    token = client.headers["Authorization"].removeprefix("Bearer ")
    all_events = graph_of(client, "/events", limit="1000")
    environment = {"TOCSIN_SERVER": local_server.url, "TOCSIN_TOKEN": token}
    for name, read in (("turtle", read_turtle), ("ntriples", read_n_triples)):
        ended = CliRunner().invoke(app, ["tail", "--since", "start", "--once", "--format", name], env=environment)
        assert ended.exit_code == 0, ended.output
        assert_same(read(ended.output.encode()), all_events)


def test_lineage_says_what_was_derived_from_what(administrator: httpx.Client, orders: Json) -> None:
    mart = table(administrator, "mart")
    derive(administrator, mart, orders)
    graph = graph_of(administrator, f"/lineage/table/name/{mart['fullyQualifiedName']}")
    derived = (URIRef(f"urn:uuid:{mart['id']}"), URIRef(PROV + "wasDerivedFrom"), URIRef(f"urn:uuid:{orders['id']}"))
    assert derived in graph
    assert (derived[0], URIRef(OMO + "upstream"), derived[2]) in graph
