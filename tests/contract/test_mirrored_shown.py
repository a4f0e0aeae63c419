"""Tests of every route that can show an asset with what a mirror brought and nobody mapped: nothing of it is shown.

Next: ``test_canary.py``, which has the routes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.canary import CANARY, Canaries
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_canary import leaks_of
from tests.contract.test_search import index_all
from tests.mirrored import Mirrored
from tests.notifying import notify_all
from tests.openmetadata import Document, FakeOpenMetadata, a_label, a_warehouse, now_ms, reference, running, table_id
from tests.serving import Json, Served
from tests.soak import SOAK
from tests.startedserver import served, sqlite_url

from tocsin.sources.openmetadata.kinds import KINDS
from tocsin.sources.openmetadata.mapping import Mapping

__all__ = ["served", "sqlite_url"]

BACK = f"{CANARY}_back"
"""A service that is mapped at first."""

DEFINITION = "tableRowCountToEqual"
MAPPED = ("snow", "bi", "open", DEFINITION)
_LAST = {"bob": 8}
"""How many of each route the owner asks for; each of all is asked for in ``test_canary.py`` and in ``make soak``."""


class Source:
    """A server whose hidden part has the canary's name everywhere."""

    def __init__(self, fake: FakeOpenMetadata, owner: str) -> None:
        self.fake, self._number = fake, 500
        a_warehouse(fake)
        person = self.put("users", "bob", email=owner)
        self.owners = [reference("user", person)]
        self.tables = [self._a_table(CANARY), self._a_table(BACK)]
        self._governance()
        self._dashboards()
        self._tests()
        self._links(person)

    def put(self, collection: str, name: str, *, fqn: str = "", **fields: Any) -> Document:
        """Keep an entity, new or with the ``id`` among its fields."""
        self._number += 1
        document = {"id": table_id(self._number), "name": name, "fullyQualifiedName": fqn or name, "deleted": False}
        stamps = {"updatedAt": now_ms(), "updatedBy": "upstream.admin", "version": 0.1}
        return self.fake.put(collection, document | stamps | fields)

    def change(self, collection: str, kind: str, document: Document, **fields: Any) -> None:
        """Change an entity, with its event."""
        after = self.fake.put(collection, document | {"updatedAt": now_ms(), "version": 0.2} | fields)
        event_type = "entitySoftDeleted" if fields.get("deleted") else "entityUpdated"
        self.fake.tell(event_type, kind, after, after["updatedAt"])

    def _a_table(self, name: str) -> Document:
        service = self.put("services/databaseServices", name, serviceType="Snowflake", description=CANARY)
        above = reference("databaseService", service)
        database = self.put("databases", "db", fqn=f"{name}.db", service=above, description=CANARY)
        above = reference("database", database)
        schema = self.put("databaseSchemas", "s", fqn=f"{name}.db.s", database=above, description=CANARY)
        columns = [{"name": f"{CANARY}_id", "dataType": "INT", "description": CANARY}]
        fields = {"databaseSchema": reference("databaseSchema", schema), "columns": columns, "owners": self.owners}
        return self.put("tables", name, fqn=f"{name}.db.s.{name}", description=CANARY, **fields)

    def _governance(self) -> None:
        domain = self.put("domains", CANARY, domainType="Aggregate", description=CANARY)
        domains = [reference("domain", domain)]
        product = self.put("dataProducts", f"{CANARY}_product", description=CANARY, domains=domains)
        secret = self.put("glossaries", f"{CANARY}_words", description=CANARY)
        fqn, owner_fields = f"{CANARY}_words.{CANARY}", {"owners": self.owners, "description": CANARY}
        term = self.put("glossaryTerms", CANARY, fqn=fqn, glossary=reference("glossary", secret), **owner_fields)
        self.glossary = self.put("glossaries", "open", description="Open.")
        fields = {"glossary": reference("glossary", self.glossary), "description": CANARY}
        related_terms = [reference("glossaryTerm", term)]
        self.term = self.put("glossaryTerms", "word", fqn="open.word", relatedTerms=related_terms, **fields)
        self.open_table = self.fake.lists["tables"][table_id(0)]
        labels = [a_label(fqn) | {"source": "Glossary"}, a_label("Tier.Tier1")]
        self.open_table |= {"domains": domains, "dataProducts": [reference("dataProduct", product)], "tags": labels}

    def _dashboards(self) -> None:
        hidden = self.put("services/dashboardServices", f"{CANARY}_bi", serviceType="Superset")
        visible = self.put("services/dashboardServices", "bi", serviceType="Superset")
        fqn = f"{CANARY}_bi.{CANARY}"
        chart = self.put("charts", CANARY, fqn=fqn, service=reference("dashboardService", hidden), description=CANARY)
        fields = {"service": reference("dashboardService", visible), "charts": [reference("chart", chart)]}
        self.put("dashboards", "board", fqn="bi.board", **fields)

    def _tests(self) -> None:
        definition = self.put("dataQuality/testDefinitions", DEFINITION, entityType="TABLE", testPlatforms=["dbt"])
        fqn = self.tables[0]["fullyQualifiedName"]
        basic: Document = {"basic": True, "basicEntityReference": reference("table", self.tables[0])}
        suite = self.put("dataQuality/testSuites", f"{fqn}.testSuite", **basic)
        fields = {"testSuite": reference("testSuite", suite), "entityLink": f"<#E::table::{fqn}>"}
        fields["testDefinition"] = reference("testDefinition", definition)
        self.case = self.put("dataQuality/testCases", "rows", fqn=f"{fqn}.rows", description=CANARY, **fields)

    def _links(self, person: Document) -> None:
        """Let hidden assets be neighbours of open ones, in texts as well, and people follow them."""
        hidden, back = (table["id"] for table in self.tables)
        texts = {"sqlQuery": f"SELECT {CANARY}", "description": CANARY}
        for start, end in ((table_id(0), hidden), (hidden, table_id(1)), (back, table_id(1)), (table_id(2), back)):
            self.fake.connect(start, end, **texts)
        self.fake.connect(table_id(0), table_id(1), sqlQuery=f"SELECT {CANARY}")
        columns = [{"fromColumns": [f"{self.open_table['fullyQualifiedName']}.id", f"{CANARY}.x"], "toColumn": CANARY}]
        self.fake.connect(table_id(1), table_id(2), columnsLineage=columns)
        for table in (*self.tables, self.open_table):
            table["followers"] = [reference("user", person)]


@pytest.fixture
def people(served: Served) -> Iterator[dict[str, tuple[str, httpx.Client]]]:
    """The owner and follower ``bob``, a steward and a bot."""
    with ExitStack() as stack, served.administrator() as client:
        role = client.get("/roles/name/DataSteward").json()["id"]
        everybody = {"bob": served.person("bob"), "steward": served.person("steward", roles=[role])}
        bot = create_entity(client, "/users", name="other-bot", email="other-bot@example.org", isBot=True)
        token = client.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
        everybody["bot"] = bot["id"], served.client(token)
        for _, person in everybody.values():
            stack.enter_context(person)
        yield everybody


def test_nobody_is_shown_what_is_not_mapped(
    served: Served, sqlite_engine: Engine, people: dict[str, tuple[str, httpx.Client]]
) -> None:
    with running(FakeOpenMetadata()) as fake, served.administrator() as administrator:
        source, mirror = Source(fake, "bob@example.org"), Mirrored(sqlite_engine, fake)
        assert mirror.run(Mapping((*MAPPED, BACK))).errors == []
        _watch(people, administrator, source)
        notify_all(sqlite_engine)
        assert mirror.run(Mapping(MAPPED)).errors == []
        _change(source)
        report = mirror.run(Mapping(MAPPED))
        assert (report.errors, report.counts["changed"], report.counts["deleted"]) == ([], 5, 1)
        notify_all(sqlite_engine)
        index_all(sqlite_engine)
        aviary = _catalogue(administrator)
        assert (len(aviary.hidden["tables"]), len(aviary.steps)) == (2, 1)
        for name, (person_id, person) in people.items():
            aviary.mallory_id, aviary.zoe_id = person_id, people["bob"][0]
            assert leaks_of(person, aviary, last=None if SOAK else _LAST.get(name, 2)) == ""
            hidden_ids = {one["id"] for many in aviary.hidden.values() for one in many}
            events = person.get("/events?limit=10000&format=tocsin").json()["data"]
            assert not hidden_ids & {event["entityId"] for event in events}


def _watch(people: dict[str, tuple[str, httpx.Client]], administrator: httpx.Client, source: Source) -> None:
    bob_id, bob = people["bob"]
    assert bob.put(f"/tables/{source.tables[1]['id']}/followers/{bob_id}").is_success
    administrator.put(f"/tables/{source.tables[0]['id']}/followers/{bob_id}")
    everything = {"alertType": "Notification", "filteringRules": {"resources": ["all"], "rules": []}}
    categories = [{"category": one, "type": "ActivityFeed"} for one in ("Owners", "Followers")]
    create_entity(administrator, "/events/subscriptions", name="Everything", destinations=categories, **everything)
    failures = {**everything, "alertType": "Observability", "filteringRules": {"resources": ["testCase"], "rules": []}}
    create_entity(administrator, "/events/subscriptions", name="Failures", destinations=categories, **failures)
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example.org/hook"}}
    create_entity(bob, "/events/subscriptions", name="Bobs", destinations=[hook], **everything)


def _change(source: Source) -> None:
    """Change, rename and delete what is hidden, and let a test of it fail."""
    for table in source.tables:
        source.change("tables", "table", table, description=f"{CANARY} again")
    source.change("tables", "table", source.open_table, description="Open again.")
    names = {"name": f"{CANARY}_renamed", "fullyQualifiedName": f"{CANARY}_renamed"}
    source.change("glossaries", "glossary", source.glossary, **names)
    source.fake.lists["glossaryTerms"][source.term["id"]] |= {"fullyQualifiedName": f"{CANARY}_renamed.word"}
    result: Document = {"timestamp": now_ms(), "testCaseStatus": "Failed", "result": CANARY}
    change = {"fieldsUpdated": [{"name": "testCaseResult", "newValue": result}]}
    source.fake.tell("entityUpdated", "testCase", source.case, result["timestamp"], changeDescription=change)
    source.change("tables", "table", source.tables[1], deleted=True)


def _catalogue(administrator: httpx.Client) -> Canaries:
    """Return what the mirror brought, the hidden part by its names."""
    aviary = Canaries()
    for kind in KINDS:
        page: Json = administrator.get(f"/{kind.collection}?fields=*&include=all&limit=1000").json()
        for entity in page["data"]:
            if CANARY in entity["fullyQualifiedName"]:
                aviary.hidden[kind.collection].append(entity)
            elif entity.get("updatedBy") == "upstream.admin":
                aviary.open[kind.collection].append(entity)
    aviary.events = administrator.get("/events?limit=10000&format=tocsin").json()["data"]
    aviary.events = [event for event in aviary.events if event["userName"] == "upstream.admin"]
    aviary.incidents = administrator.get("/incidents").json()["data"]
    aviary.steps = administrator.get("/dataQuality/testCases/testCaseIncidentStatus").json()["data"]
    aviary.open["events/subscriptions"] += administrator.get("/events/subscriptions?limit=100").json()["data"]
    return aviary


def test_nobody_but_an_administrator_takes_the_denial_away(
    served: Served, sqlite_engine: Engine, people: dict[str, tuple[str, httpx.Client]]
) -> None:
    with running(FakeOpenMetadata()) as fake, served.administrator() as administrator:
        source, mirror = Source(fake, "bob@example.org"), Mirrored(sqlite_engine, fake)
        assert mirror.run(Mapping(MAPPED)).errors == []
        role = administrator.get("/roles/name/MirrorBotRole").json()["id"]
        mirror_bot = administrator.get("/users/name/openmetadata-bot").json()["id"]
        bob_id = people["bob"][0]
        team = create_entity(administrator, "/teams", name="Bobs", teamType="Group", users=[bob_id])
        owners = {"op": "add", "path": "/owners", "value": [{"id": bob_id, "type": "user"}]}
        assert send_patch(administrator, f"/teams/{team['id']}", owners).is_success
        tag = administrator.get("/tags/name/Mirrored.Unmapped").json()["id"]
        policy = administrator.get("/policies/name/UnmappedPolicy").json()["id"]
        organization = administrator.get("/teams/name/Organization?fields=policies").json()
        rename = {"op": "replace", "path": "/name", "value": "Open"}
        disable = {"op": "add", "path": "/enabled", "value": False}
        hidden_id = source.tables[0]["id"]
        roles = [{"id": role, "type": "role"}]
        for _person_id, person in people.values():
            answers = [
                send_patch(person, f"/tables/{hidden_id}", {"op": "replace", "path": "/tags", "value": []}),
                send_patch(person, f"/tags/{tag}", rename),
                send_patch(person, "/classifications/name/Mirrored", rename),
                person.delete(f"/tags/{tag}?hardDelete=true"),
                person.delete("/classifications/name/Mirrored?hardDelete=true&recursive=true"),
                send_patch(person, f"/policies/{policy}", disable),
                send_patch(person, f"/roles/{role}", rename),
                send_patch(person, f"/users/{_person_id}", {"op": "add", "path": "/roles", "value": roles}),
                send_patch(person, f"/teams/{team['id']}", {"op": "add", "path": "/defaultRoles", "value": roles}),
                send_patch(person, f"/teams/{organization['id']}", {"op": "replace", "path": "/policies", "value": []}),
                person.put(f"/users/generateToken/{mirror_bot}"),
                person.put(f"/tables/{hidden_id}/followers/{bob_id}"),
                person.delete(f"/tables/{hidden_id}"),
            ]
            assert [answer.request.url.path for answer in answers if answer.is_success] == []
            assert person.get(f"/tables/{hidden_id}").status_code in (403, 404)
