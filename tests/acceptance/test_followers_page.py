"""Walk through the followers page of the seeds, section by section: server, worker and receivers are real.

Everything that the sections are about happens once; each test then looks at what arrived. Recommendations, which a
job on Spark works out, are in ``tests/spark/test_recommendations.py`` and ``tests/contract/test_recommendations.py``;
the page's two programs run as printed in ``test_printed_programs.py``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from tests.acceptance.office import Office, post_room, working
from tests.notifying import notify_all
from tests.serving import Json, running_server, server_settings
from tests.startedstore import StartedStore
from tests.verified import verify_addresses
from tests.waiting import until

from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.delivery.worker.dev_receiver import Receiver
from tocsin.model.preferences import DefaultPreferences
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import message
from tocsin.store.outbox.preferences import SqlPreferences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SCHEMA = "postgres_prod.ecommerce.public"
PATCH = {"Content-Type": "application/json-patch+json"}
SENSITIVE = {"tagFQN": "PII.Sensitive", "source": "Classification"}
TIER = {"tagFQN": "Tier.Tier1", "source": "Classification"}
WEBHOOK = {
    "name": "Follower Notifications",
    "eventFilters": ["entityUpdated", "entityDeleted"],
    "batchSize": 10,
    "endpoint": "https://your-system.com/notifications",
    "condition": "user.follows(entity)",
}
"""As the page prints it."""


@dataclass
class PageOffice:
    """The office, people with their clients, and the ids of the events that have happened, by the page's words."""

    office: Office
    ids: dict[str, str] = field(default_factory=dict)
    clients: dict[str, httpx.Client] = field(default_factory=dict)
    assets: dict[str, Json] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)

    def person(self, name: str) -> None:
        self.ids[name], self.clients[name] = self.office.served.person(name)

    def path(self, name: str) -> str:
        """Return the path of an asset."""
        kind = {"sales_dashboard": "dashboards", "customer_etl": "pipelines", "turnover": "metrics"}
        return f"/{kind.get(name, 'tables')}/{self.assets[name]['id']}"

    def happen(self, words: str, asset: str, *operations: Json) -> None:
        """Change an asset as an administrator does."""
        self.office.patch(self.path(asset), *operations)
        self.note(words)

    def note(self, words: str, event_type: str = "") -> None:
        """Note that the newest event, of a type if one is given, is what some words of the page are about."""
        log = self.office.served.app.state.parts.log
        newest = log.read(log.readable_end() - 5, 5)
        events = [logged.event for logged in newest if event_type in ("", logged.event.event_type)]
        self.events[words] = str(events[-1].id)

    def words_told_to(self, person: str) -> set[str]:
        """Return the words of what a person sees in the app."""
        answer = self.clients[person].get(f"/users/{self.ids[person]}/notifications", params={"limit": 1000})
        told_ids = {str(one["eventId"]) for one in answer.json()["data"]}
        return {words for words, event_id in self.events.items() if event_id in told_ids}


@pytest.fixture(scope="module")
def place(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageOffice]:
    """The place after everything has happened and all that is due was sent."""
    folder = tmp_path_factory.mktemp("followers")
    shutil.copy(started_store.path, folder / "tocsin.db")
    receiver = Receiver(lambda _line: None)
    with post_room(receiver) as (http, smtp):
        settings = server_settings(data_dir=folder, smtp_host="127.0.0.1", smtp_port=smtp, smtp_tls="none")
        engine = open_engine(settings.store_url(), synchronous="OFF")
        with (
            running_server(engine, settings, password=started_store.password, token=started_store.token) as server,
            server.administrator() as client,
        ):
            place = PageOffice(Office(server, client, engine, settings, receiver, f"http://127.0.0.1:{http}"))
            SqlPreferences(engine).put_defaults(DefaultPreferences(), now_ms=0)
            furnish(place)
            follow(place)
            subscribe(place)
            notify_all(engine)
            happen(place)
            notify_all(engine, now_ms=SystemClock().now_ms())
            with working(settings):
                until(lambda: not _waits(place), within_s=60)
            with ExitStack() as stack:
                for person in place.clients.values():
                    stack.callback(person.close)
                yield place
        engine.dispose()


def _waits(place: PageOffice) -> bool:
    """Return whether anything is due that was not sent."""
    with place.office.engine.connect() as connection:
        return bool(connection.scalar(select(func.count()).where(message.c.status.in_(("pending", "awaitingRetry")))))


def furnish(place: PageOffice) -> None:
    """Make the people and assets that the page names."""
    office = place.office
    for name in ("alice", "bob", "carol", "owner"):
        place.person(name)
    office.post("/domains", name="Sales", domainType="Aggregate", description="x")
    for path, request in (
        ("/services/databaseServices", {"name": "postgres_prod", "serviceType": "Postgres"}),
        ("/databases", {"name": "ecommerce", "service": "postgres_prod"}),
        ("/databaseSchemas", {"name": "public", "database": "postgres_prod.ecommerce"}),
        ("/services/dashboardServices", {"name": "superset", "serviceType": "Superset"}),
        ("/services/pipelineServices", {"name": "airflow", "serviceType": "Airflow"}),
    ):
        office.post(path, **request)
    owners = {"owners": [{"id": place.ids["owner"], "type": "user"}]}
    columns = [{"name": name, "dataType": "INT"} for name in ("id", "age")]
    for name in ("customers", "orders", "daily_revenue", "old"):
        tags = {"tags": [SENSITIVE]} if name == "customers" else {}
        place.assets[name] = office.post("/tables", name=name, databaseSchema=SCHEMA, columns=columns, **owners, **tags)
    place.assets["turnover"] = office.post("/metrics", name="turnover")
    place.assets["sales_dashboard"] = office.post("/dashboards", name="sales_dashboard", service="superset")
    place.assets["customer_etl"] = office.post("/pipelines", name="customer_etl", service="airflow")
    metric = {"id": place.assets["turnover"]["id"], "type": "metric"}
    edge = {"fromEntity": metric, "toEntity": {"id": place.assets["sales_dashboard"]["id"], "type": "dashboard"}}
    assert office.client.put("/lineage", json={"edge": edge}).status_code == 200
    link = f"<#E::table::{SCHEMA}.customers>"
    office.post("/dataQuality/testCases", name="not_stale", entityLink=link, testDefinition="tableRowCountToBeBetween")


def follow(place: PageOffice) -> None:
    """Follow as the page shows: by a path, for another person, and many at once."""
    ids, clients = place.ids, place.clients
    for name in ("alice", "bob", "carol"):
        assert clients[name].put(f"{place.path('customers')}/followers/{ids[name]}").status_code == 200
    place.note("followed by carol")
    bulk = [("orders", "table"), ("sales_dashboard", "dashboard"), ("customer_etl", "pipeline"), ("old", "table")]
    entities = [{"id": place.assets[name]["id"], "type": kind} for name, kind in bulk]
    answer = clients["alice"].put(f"/users/{ids['alice']}/follows/bulk", json={"entities": entities})
    assert answer.json()["numberOfRowsPassed"] == len(bulk), answer.text


def subscribe(place: PageOffice) -> None:
    """Make the alert of the page, and one that mails followers and tells them at their own addresses."""
    condition = f"({WEBHOOK['condition']}) && matchAnyEventType({{'entityUpdated', 'entityDeleted'}})"
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{place.office.url}/notifications"}}
    rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
    place.office.alert(
        {
            "name": "FollowerNotifications",
            "displayName": WEBHOOK["name"],
            "alertType": "Notification",
            "filteringRules": rules,
            "destinations": [hook],
            "batchSize": WEBHOOK["batchSize"],
            "owners": [{"id": place.ids["alice"], "type": "user"}],
        }
    )
    channels = [{"category": "Followers", "type": channel} for channel in ("Email", "Slack")]
    only = {"resources": ["table"], "rules": [{"effect": "include", "condition": "fieldChanged == 'description'"}]}
    place.office.alert({"name": "Mails", "alertType": "Notification", "filteringRules": only, "destinations": channels})
    profile = {"subscription": {"slack": {"endpoint": f"{place.office.url}/services/alice"}}}
    patch = [{"op": "add", "path": "/profile", "value": profile}]
    answer = place.clients["alice"].patch(f"/users/{place.ids['alice']}", json=patch, headers=PATCH)
    assert answer.status_code == 200, answer.text
    verify_addresses(place.office.engine, place.ids["alice"], place.ids["alice"])


def happen(place: PageOffice) -> None:
    """Let everything happen that the page says followers are notified of."""
    owner, bob = ({"id": place.ids[name], "type": "user"} for name in ("owner", "bob"))
    changes: list[tuple[str, Json]] = [
        ("Description updates", {"op": "add", "path": "/description", "value": "Who has bought."}),
        ("new columns", {"op": "add", "path": "/columns/-", "value": {"name": "city", "dataType": "TEXT"}}),
        ("column type changes", {"op": "replace", "path": "/columns/1/dataType", "value": "BIGINT"}),
        ("Tag additions", {"op": "add", "path": "/tags/-", "value": {**SENSITIVE, "tagFQN": "PersonalData.Personal"}}),
        ("Tag removals", {"op": "replace", "path": "/tags", "value": [SENSITIVE]}),
        ("Ownership changes", {"op": "add", "path": "/owners", "value": [owner, bob]}),
        ("Display name changes", {"op": "add", "path": "/displayName", "value": "Customers"}),
        ("Classification changes", {"op": "replace", "path": "/tags", "value": [{**SENSITIVE, "tagFQN": "PII.None"}]}),
        ("Tier changes", {"op": "add", "path": "/tags/-", "value": TIER}),
        ("Domain reassignments", {"op": "add", "path": "/domains", "value": [_domain(place)]}),
        ("Deprecation notices", {"op": "add", "path": "/entityStatus", "value": "Deprecated"}),
        ("Major version changes", {"op": "remove", "path": "/columns/0"}),
    ]
    for words, operation in changes:
        place.happen(words, "customers", operation)
    report = {"timestamp": SystemClock().now_ms(), "testCaseStatus": "Failed", "result": "stale since yesterday"}
    path = f"/dataQuality/testCases/testCaseResults/{SCHEMA}.customers.not_stale"
    assert place.office.client.post(path, json=report).is_success
    place.note("Data quality test failures", "testCaseFailure")
    silence = Silence(place.assets["customer_etl"]["id"], since_ms=1_000, asked_ms=60_000, at_ms=SystemClock().now_ms())
    add_silence(Writes(SqlCatalogue(place.office.engine), SystemClock()), "pipeline", silence)
    place.note("SLA violations")
    client = place.office.client
    assert client.delete(place.path("old")).status_code == 200
    place.note("Asset soft deletion")
    assert client.put("/tables/restore", json={"id": place.assets["old"]["id"]}).status_code == 200
    place.note("Asset restoration")
    place.happen("Metric definition changes", "turnover", {"op": "add", "path": "/description", "value": "Net."})
    place.happen("unfollowed", "daily_revenue", {"op": "add", "path": "/description", "value": "By day."})


def _domain(place: PageOffice) -> Json:
    return {"id": place.office.client.get("/domains/name/Sales").json()["id"], "type": "domain"}


OF_CUSTOMERS = {
    *("Description updates", "new columns", "column type changes", "Tag additions", "Tag removals"),
    *("Ownership changes", "Display name changes", "Classification changes", "Tier changes"),
    *("Domain reassignments", "Deprecation notices", "Major version changes", "Data quality test failures"),
}


def test_many_follow_many(place: PageOffice) -> None:
    """Overview; What is Following?"""
    answer = place.clients["carol"].get(f"{place.path('customers')}/followers").json()
    assert {one["name"] for one in answer["data"]} == {"alice", "bob", "carol"}
    assert place.words_told_to("carol") == OF_CUSTOMERS, "without being the owner"
    assert place.words_told_to("alice") - place.words_told_to("carol") == {
        *("SLA violations", "Asset soft deletion", "Asset restoration", "Metric definition changes")
    }


def test_an_owner_is_responsible_and_a_follower_interested(place: PageOffice) -> None:
    """Following vs Ownership."""
    assert place.words_told_to("owner") >= OF_CUSTOMERS, "owners hear of all changes, too"
    operations = [{"op": "add", "path": "/displayName", "value": "Taken over"}]
    path = place.path("customers")
    assert place.clients["carol"].patch(path, json=operations, headers=PATCH).status_code == 403
    may_edit = place.clients["owner"].patch(place.path("orders"), json=operations, headers=PATCH)
    assert may_edit.status_code == 200, "the owner has edit rights"
    table = place.clients["carol"].get(path, params={"fields": "owners,followers"}).json()
    assert [one["name"] for one in table["owners"]] == ["owner", "bob"]
    assert {one["name"] for one in table["followers"]} == {"alice", "bob", "carol"}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Description updates", "description"),
        ("new columns", "columns"),
        ("column type changes", "breaking"),
        ("Tag additions", "classification"),
        ("Ownership changes", "owner"),
        ("Display name changes", "name"),
        ("Data quality test failures", "testFailure"),
        ("SLA violations", "sla"),
        ("Classification changes", "classification"),
        ("Tier changes", "tier"),
        ("Domain reassignments", "domain"),
        ("Deprecation notices", "deprecation"),
        ("Asset soft deletion", "softDeletion"),
        ("Asset restoration", "restoration"),
        ("Major version changes", "breaking"),
    ],
)
def test_followers_are_notified_and_may_choose_how_often(place: PageOffice, words: str, kind: str) -> None:
    """What Notifications Do Followers Receive?"""
    assert words in place.words_told_to("alice")
    offered = {one["name"]: one for one in place.clients["alice"].get("/changeKinds").json()["data"]}
    assert offered[kind]["hasEvents"]
    path = f"/users/{place.ids['carol']}/preferences"
    wish = {"kinds": {kind: {"Email": "daily"}}}
    answer = place.clients["carol"].put(path, json=wish)
    assert (answer.status_code, answer.json()["kinds"]) == (200, wish["kinds"]), answer.text


@pytest.mark.parametrize(
    ("kind", "frequency", "has_events"),
    [
        ("freshness", "immediate", True),
        ("profileAnomaly", "immediate", False),
        ("policyViolation", "immediate", True),
        ("queryPattern", "never", False),
        ("usageDrop", "never", False),
        ("description", "daily", True),
        ("columns", "immediate", True),
        ("usage", "weekly", True),
    ],
)
def test_kinds_are_listed_with_what_is_recommended(
    place: PageOffice, kind: str, frequency: str, *, has_events: bool
) -> None:
    """What Notifications …: kinds without events say so; Configure Notification Preferences."""
    offered = {one["name"]: one for one in place.clients["alice"].get("/changeKinds").json()["data"]}
    assert (offered[kind]["frequency"], offered[kind]["hasEvents"]) == (frequency, has_events)


def test_following_for_others_requires_permission(place: PageOffice) -> None:
    """How to Follow Data Assets."""
    path = f"{place.path('daily_revenue')}/followers/{place.ids['owner']}"
    assert place.clients["carol"].put(path).status_code == 403
    assert place.office.client.put(path).status_code == 200
    assert place.office.client.delete(path).status_code == 200


def test_who_unfollows_follows_no_more(place: PageOffice) -> None:
    """How to Unfollow Data Assets."""
    path = f"{place.path('daily_revenue')}/followers"
    for method, names in (("PUT", ["bob"]), ("DELETE", [])):
        assert place.clients["bob"].request(method, f"{path}/{place.ids['bob']}").status_code == 200
        assert [one["name"] for one in place.office.client.get(path).json()["data"]] == names
    assert "unfollowed" not in place.words_told_to("bob") | place.words_told_to("alice")


def test_follows_are_listed_by_type(place: PageOffice) -> None:
    """View All Assets a User Follows."""
    fields = {"fields": "tables,dashboards,pipelines"}
    answer = place.clients["alice"].get(f"/users/{place.ids['alice']}/follows", params=fields).json()
    names = {kind: [one["fullyQualifiedName"] for one in assets] for kind, assets in answer.items()}
    tables = [f"{SCHEMA}.{name}" for name in ("customers", "old", "orders")]
    assert {kind: sorted(many) for kind, many in names.items()} == {
        "tables": tables,
        "dashboards": ["superset.sales_dashboard"],
        "pipelines": ["airflow.customer_etl"],
    }


def test_best_practices_have_what_they_need(place: PageOffice) -> None:
    """Best Practices: review of the list, search subscriptions, team conventions."""
    client, path = place.clients["alice"], f"/users/{place.ids['alice']}"
    following = client.get(f"{path}/following", params={"review": "noisy"}).json()
    assert [one["asset"]["name"] for one in following["data"]] == ["customers"], "13 notifications, none of them read"
    search = {"name": "Sales", "query": "domain:Sales", "index": "table", "follows": True}
    answer = client.post(f"{path}/searches", json=search)
    assert answer.status_code == 201, answer.text
    team = place.office.post("/teams", name="Analysts", teamType="Group", users=[place.ids["bob"]])
    convention = {"names": [f"{SCHEMA}.orders"]}
    assert place.office.client.post(f"/teams/{team['id']}/follows", json=convention).json()["followCount"] == 1
    of_bob = place.clients["bob"].get(f"/users/{place.ids['bob']}/following").json()["data"]
    assert {one["asset"]["name"]: one.get("team", {}).get("name") for one in of_bob} == {
        "customers": None,
        "orders": "Analysts",
    }


def test_storage_and_event_are_as_printed(place: PageOffice) -> None:
    """Technical Details: Storage, Event Stream."""
    stored = place.clients["alice"].get(f"{place.path('customers')}/followers").json()
    customers = place.assets["customers"]["id"]
    assert (stored["entityType"], stored["entityId"]) == ("table", customers)
    assert {"id", "type", "name"} <= set(stored["followers"][0])
    event = place.office.client.get(f"/events/{place.events['followed by carol']}?format=tocsin").json()
    assert (event["eventType"], event["entityType"], event["entityId"]) == ("entityUpdated", "table", customers)
    (addition,) = event["changeDescription"]["fieldsAdded"]
    assert addition["name"] == "followers"
    assert [(one["id"], one["type"]) for one in addition["newValue"]] == [(place.ids["carol"], "user")]


def test_notifications_come_over_each_channel(place: PageOffice) -> None:
    """Notification Delivery: the bell, mails, Slack, webhooks; Webhooks."""
    mails = {address for address, _ in place.office.mails("Mails")}
    assert mails == {f"{name}@example.org" for name in ("alice", "bob", "carol")}
    assert len(place.office.posts("/services/alice")) == 1
    posts: list[Any] = place.office.posts("/notifications")
    changed = {one["event"]["entityFullyQualifiedName"] for one in posts}
    assert changed == {f"{SCHEMA}.{name}" for name in ("customers", "old")} - {f"{SCHEMA}.old"}, "what alice follows"
    assert {one["event"]["eventType"] for one in posts} == {"entityUpdated"}


def test_followed_assets_are_in_ones_activity_feed(place: PageOffice) -> None:
    """Activity Feeds: recent changes and discussions."""
    about = f"<#E::table::{SCHEMA}.orders>"
    assert place.clients["bob"].post("/feed", json={"about": about, "message": "Why so few?"}).is_success
    page = place.clients["alice"].get(f"/users/{place.ids['alice']}/activity", params={"of": "following"}).json()
    types = [one["event"]["eventType"] for one in page["data"]]
    assert types[0] == "threadCreated"
    assert {"entityUpdated", "testCaseFailure", "slaViolation", "entityRestored"} <= set(types)


def test_the_answers_to_frequent_questions_hold(place: PageOffice) -> None:
    """FAQ: no follow of what one may not view, no limit, domains, teams, how to stop."""
    client, alice = place.clients["alice"], place.ids["alice"]
    rule = {"name": "r", "effect": "deny", "operations": ["ViewAll", "ViewBasic"], "resources": ["table"]}
    rule |= {"condition": "matchAnyTag('PersonalData.Personal')"}
    policy = place.office.post("/policies", name="Hidden", rules=[rule])
    organization = place.office.client.get("/teams/name/Organization?fields=policies").json()
    addition = {"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}
    place.office.patch(f"/teams/{organization['id']}", addition)
    personal = {**SENSITIVE, "tagFQN": "PersonalData.Personal"}
    columns = [{"name": "id", "dataType": "INT"}]
    hidden_table = place.office.post("/tables", name="hidden", databaseSchema=SCHEMA, columns=columns, tags=[personal])
    assert client.put(f"/tables/{hidden_table['id']}/followers/{alice}").status_code in (403, 404)
    team_id = place.office.client.get("/teams/name/Organization").json()["id"]
    refusal = place.office.client.put(f"{place.path('orders')}/followers/{team_id}")
    assert (refusal.status_code, "team" in refusal.text) == (400, True)
    domain = place.office.client.get("/domains/name/Sales").json()["id"]
    assert client.put(f"/domains/{domain}/followers/{alice}").status_code == 200, "more than the page promises"
    never = {"kinds": {"description": {"Email": "never", "ActivityFeed": "never"}}}
    assert client.put(f"/users/{alice}/preferences", json=never).status_code == 200
