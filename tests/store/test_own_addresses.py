"""Tests of own addresses that an older version stored in clear: sealed when a server starts, gone from the history."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, func, select, text, update
from tests.company import SmallCompany
from tests.store.catalogues import company
from tests.stores import drop_newest_tables

from tocsin.flow.capture.secrets import KIND
from tocsin.model.entity import Document
from tocsin.model.own_address import OwnAddress
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.observations.series import SqlAttachments
from tocsin.store.catalogue.people.address_codes import AddressCodes, CodeVerdict
from tocsin.store.catalogue.people.own_addresses import OwnAddresses, seal_own_addresses
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, entity, entity_version
from tocsin.store.migrations.versions import v0067_verified_addresses
from tocsin.store.upkeep.fsck.inspection import inspect

BEFORE = "0027_domains_of_products"
TOKEN = "kanarie-own-address"
CLEAR: Document = {
    "slack": {"endpoint": f"https://hooks.slack.com/services/T1/{TOKEN}"},
    "generic": {
        "endpoint": f"https://example.org/hook?key={TOKEN}",
        "headers": {"X-Key": TOKEN},
        "authType": {"type": "bearer", "secretKey": TOKEN},
    },
}


def test_what_stood_in_clear_is_sealed_and_gone_from_the_history(store_engine: Engine) -> None:
    shop = company(store_engine)
    image = {"images": {"image": "https://example.org/jane.png"}}
    shop.patch(("add", "/profile", image), entity_type="user", fqn="jane")
    stored_text, clear = (json.dumps(one, separators=(",", ":")) for one in (image, image | {"subscription": CLEAR}))
    tables = (entity, entity_version, change_event)
    with store_engine.begin() as connection:
        for table in tables:
            replaced_document = func.replace(table.c.document, stored_text, clear)
            result = connection.execute(
                update(table).where(table.c.document.contains(stored_text)).values(document=replaced_document)
            )
            assert result.rowcount == 1
        for name in ("renaming", "earlier_holder", "suite_run"):  # later revisions make them
            connection.execute(text(f"DROP TABLE {name}"))
        drop_newest_tables(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = :one"), {"one": BEFORE})
    migrate(store_engine)
    for _ in range(2):
        seal_own_addresses(store_engine)
    with store_engine.connect() as connection:
        for table in (*tables, attachment):
            assert [one for one in connection.scalars(select(table.c.document)) if TOKEN in one] == [], table.name
        secrets = SqlAttachments(connection).get(shop.ids["jane"], KIND)
    assert secrets is not None
    assert secrets["profile.subscription.slack.endpoint"] == CLEAR["slack"]["endpoint"]
    assert secrets["profile.subscription.generic.authType.secretKey"] == TOKEN
    profile = shop.get("user", "jane")["profile"]
    assert profile["images"] == image["images"]
    assert profile["subscription"]["generic"]["authType"] == {"type": "bearer", "secretKey": "*********"}
    assert inspect(store_engine, deep=True).findings == []


def test_an_upgrade_counts_those_addresses_as_verified_that_alerts_send_to(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    slack = {"endpoint": "https://hooks.slack.com/services/T1/B1/secret"}
    operations = [
        ("add", "/profile", {"subscription": {"slack": slack, "generic": {"endpoint": "https://example.org/hook"}}})
    ]
    patch = [{"op": op, "path": path, "value": value} for op, path, value in operations]
    company.writes.patch("user", company.key("dia"), patch, actor=company.actor("dia"))
    webhook = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://example.org/hook"}}
    company.alert("owned", [{"category": "Owners", "type": "Slack"}, webhook], resources=("table",))
    codes, place = AddressCodes(store_engine), (company.ids["dia"], Channel.SLACK)
    assert [one.verified_at_ms for one in codes.states(place[0], now_ms=0)] == [None, None]
    with store_engine.begin() as connection, Operations.context(MigrationContext.configure(connection)):
        v0067_verified_addresses.upgrade()
    slack_state, webhook_state = codes.states(place[0], now_ms=0)
    assert (slack_state.channel, slack_state.message_id, webhook_state.verified_at_ms) == (Channel.SLACK, None, None)
    assert slack_state.verified_at_ms is not None
    own_address = OwnAddress("user", place[0], place[0])
    config = OwnAddresses(store_engine).of(own_address, "Slack")
    assert config is not None
    assert config.endpoint == slack["endpoint"]
    assert OwnAddresses(store_engine).of(own_address, "Webhook") is None
    company.writes.patch(
        "user",
        company.key("dia"),
        [{"op": "replace", "path": "/profile/subscription/slack/endpoint", "value": "https://hooks.slack.com/x"}],
        actor=company.actor("dia"),
    )
    assert OwnAddresses(store_engine).of(own_address, "Slack") is None
    company.writes.delete("user", company.key("dia"), actor=SYSTEM, hard=True)
    with store_engine.connect() as connection:
        assert list(connection.scalars(select(attachment.c.kind).where(attachment.c.entity_id == place[0]))) == []


def test_guesses_at_one_time_are_five_together(store_engine: Engine) -> None:
    """Fault scenario 78."""
    company = SmallCompany(store_engine)
    endpoint = "https://hooks.slack.com/services/T1/B1/secret"
    patch = [{"op": "add", "path": "/profile", "value": {"subscription": {"slack": {"endpoint": endpoint}}}}]
    company.writes.patch("user", company.key("dia"), patch, actor=company.actor("dia"))
    codes, dia = AddressCodes(store_engine), company.ids["dia"]
    place = dia, Channel.SLACK
    address = codes.address(*place)
    assert address is not None
    codes.keep(place, address, "RIGHT", asker_id=dia, sent=("m", 0))

    def guess(number: int) -> CodeVerdict:
        return codes.enter(place, f"GUESS{number}", asker_id=dia, now_ms=1)[0]

    with ThreadPoolExecutor(8) as pool:
        verdicts = Counter(pool.map(guess, range(24)))
    assert verdicts == {CodeVerdict.WRONG: 4, CodeVerdict.SPENT: 1, CodeVerdict.NONE: 19}
    assert codes.enter(place, "RIGHT", asker_id=dia, now_ms=1)[0] is CodeVerdict.NONE
