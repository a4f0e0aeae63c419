"""Tests of what commands say of a name that nothing has: what was right_name, but nothing that is hidden."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.commandline import Ended, runner
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_search import index_all
from tests.serving import running_server, warehouse
from tests.startedstore import StartedStore

from tocsin.store.database.engine import open_engine

ORDERS, DANA, TEAM, ALERT = "warehouse.shop.public.orders", "dana.whitlock", "data-engineering", "PaymentsSchemaChanges"
TEST = f"{ORDERS}.email.no_nulls"
EVENT = "EVENT"

NEAR_MISSES = [
    ("incidents list --alert Payments", ALERT),
    ("incidents list --alert PaymentSchemaChange", ALERT),
    ("incidents list --asset no_nulls", TEST),
    (f"incidents list --asset {ORDERS}.emial.no_nulls", TEST),
    ("incidents list --assignee dana", DANA),
    ("incidents list --assignee whitlock", DANA),
    ("incidents list --assignee danna", DANA),
    ("incidents list --assignee whitlok", DANA),
    ("incidents list --asset orders", ORDERS),
    ("incidents list --asset ordrs", ORDERS),
    (f"incidents list --asset {ORDERS[:-1]}", ORDERS),
    ("incidents list --assignee data-enginering", TEAM),
    ("changes list --author dana", DANA),
    ("changes list --author dana.witlock", DANA),
    ("changes list --author danna", DANA),
    ("changes list --asset orders", ORDERS),
    ("changes list --asset warehouse.shop.orders", ORDERS),
    (f"changes announce {ORDERS[:-1]} --on 2099-01-01 --why unused", ORDERS),
    ("inbox --as dana", DANA),
    ("inbox --as danna", DANA),
    ("inbox --as Dana.Witlock", DANA),
    ("follow orders", ORDERS),
    ("follow xrders", ORDERS),
    (f"follow x{ORDERS[1:]}", ORDERS),
    (f"follow {ORDERS.replace('public', 'xublic')}", ORDERS),
    (f"follow {ORDERS.replace('orders', 'xrders')}", ORDERS),
    (f"follow {ORDERS.replace('orders', 'rders')}", ORDERS),
    (f"follow {ORDERS} --as xana.whitlock", DANA),
    ("changes list --asset xrders", ORDERS),
    (f"changes list --asset x{ORDERS[1:]}", ORDERS),
    ("alerts status xaymentsSchemaChanges", ALERT),
    (f"follow {ORDERS} --as whitlock", DANA),
    ("unfollow orders", ORDERS),
    ("mute orders", ORDERS),
    ("mute --alert Payments", ALERT),
    (f"unmute {ORDERS}s", ORDERS),
    ("mutes --as dana", DANA),
    ("preferences --as dana", DANA),
    ("deliveries list --alert Payments", ALERT),
    ("deliveries list --alert SchemaChanges", ALERT),
    ("deliveries replay --alert payment", ALERT),
    ("explain --asset orders", ORDERS),
    (f"explain {EVENT} --alert Payments", ALERT),
    (f"explain {EVENT} --user dana", DANA),
    ("impact orders", ORDERS),
    ("history orders", ORDERS),
    ("diff orders 0.1 0.2", ORDERS),
    ("rollback orders --to 0.1", ORDERS),
    ("alerts watching orders", ORDERS),
    ("alerts status Payments", ALERT),
    ("alerts resume Payments", ALERT),
    ("alerts disable Payments", ALERT),
    ("alerts noise SchemaChanges", ALERT),
    ("alerts history Payments", ALERT),
    ("alerts backtest Payments", ALERT),
    ("alerts export Payments", ALERT),
    ("queue take Payments", ALERT),
    ("erase dana --dry-run", DANA),
]
"""Commands with a name that is nearly right, and the right one."""


@dataclass(frozen=True)
class Company:
    """A server with a company, and tokens of the administrator and of a person who sees no people and no tables."""

    url: str
    administrator: str
    mallory: str
    event_id: str


@pytest.fixture(scope="module")
def company(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    folder = tmp_path_factory.mktemp("near_misses")
    (folder / "tocsin.db").write_bytes(started_store.path.read_bytes())
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="OFF")
    with (
        running_server(engine, password=started_store.password, token=started_store.token) as server,
        server.administrator() as client,
    ):
        warehouse(client)
        create_entity(
            client,
            "/dataQuality/testCases",
            name="no_nulls",
            entityLink=f"<#E::table::{ORDERS}::columns::email>",
            testDefinition="columnValuesToBeNotNull",
        )
        create_entity(client, "/users", name=DANA, email="dana@example.org")
        create_entity(client, "/teams", name=TEAM, teamType="Group")
        to_owners = {"category": "Owners", "type": "Email"}
        rules = {"resources": ["table"]}
        create_entity(
            client, "/events/subscriptions", name=ALERT, filteringRules=rules, destinations=[to_owners],
            alertType="Notification",
        )  # fmt: skip
        index_all(engine)
        mallory_id, mallory = server.person("mallory")
        restrict(client, mallory_id, {"effect": "deny", "resources": ["user", "table", "testCase", "team"]})
        events = client.get("/events", params={"entityCreated": "table", "timestamp": 0}).json()["data"]
        token = mallory.headers["Authorization"].removeprefix("Bearer ")
        mallory.close()
        yield Company(server.url, started_store.token, token, events[0]["id"])
    engine.dispose()


@pytest.fixture
def run_as(
    company: Company, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[str, str], Ended]:
    """Run a command as the owner of a token."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_SERVER", company.url)
    run = runner(monkeypatch, capsys)

    def run_as(token: str, line: str) -> Ended:
        monkeypatch.setenv("TOCSIN_TOKEN", token)
        return run(*line.replace(EVENT, company.event_id).split())

    return run_as


@pytest.mark.parametrize(("line", "right_name"), NEAR_MISSES)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    company: Company, run_as: Callable[[str, str], Ended], line: str, right_name: str
) -> None:
    ended = run_as(company.administrator, line)
    assert ended.code == 3, ended
    assert re.search(rf"did you mean {re.escape(right_name)}(\?| or )", ended.err), ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    ("line", "right_name"),
    [(line, right_name) for line, right_name in NEAR_MISSES if right_name in (ORDERS, DANA, TEST, TEAM)],
)
def test_what_may_not_be_seen_is_not_suggested(
    company: Company, run_as: Callable[[str, str], Ended], line: str, right_name: str
) -> None:
    ended = run_as(company.mallory, line)
    assert ended.code != 0
    assert "did you mean" not in ended.err
    assert right_name in line or right_name not in ended.err
