"""Tests of secrets that an older version stored in clear: sealed when a server starts, and gone from the history."""

from __future__ import annotations

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, select, update
from tests.conftest import KEY
from tests.store.catalogues import company
from tests.stores import drop_newest_tables

from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.model.subscription import bot_key_of
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.sealing import seal_alerts
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, destination_secret, document_snapshot, entity, entity_version
from tocsin.store.database.vault import use_vault

BEFORE = "0022_bots"
WORD, MASK, TOKEN = "kanarie-routing", "*********", "xoxb-kanarie-token"
BODY = f'{{"routing_key": "{WORD}", "text": "{{{{headline}}}}"}}'
HOOK = {"endpoint": "https://example.org/hook", "headers": {"X-Key": MASK}, "bodyTemplate": BODY}
HOOK_ID, BOT_ID = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


@pytest.fixture
def older(unmigrated_engine: Engine) -> Engine:
    """Return an empty store with a key; ``an_alert`` makes it one of the revision before."""
    use_vault(unmigrated_engine, Settings(secrets_key=SecretStr(KEY)))
    migrate(unmigrated_engine)
    return unmigrated_engine


def an_alert(engine: Engine) -> str:
    """Store an alert as older versions did, and change it; its history has large documents. Return its id."""
    shop = company(engine)
    bot = {"botToken": MASK, "channel": "#alerts"}
    request = {
        "name": "ours",
        "alertType": "Notification",
        "description": "long " * 2_000,
        "destinations": [
            {"id": HOOK_ID, "category": "External", "type": "Webhook", "config": HOOK},
            {"id": BOT_ID, "category": "External", "type": "Slack", "config": bot},
        ],
    }
    alert_id = str(shop.writes.create("eventsubscription", request, actor=SYSTEM).document["id"])
    secrets_by_destination: dict[str, Document] = {
        HOOK_ID: {"headers": {"X-Key": "key"}, "endpoint": HOOK["endpoint"]},
        BOT_ID: {"botToken": TOKEN},
    }
    Subscriptions(engine).keep_secrets(alert_id, secrets_by_destination)
    template_change = {
        "op": "replace",
        "path": "/destinations/0/config/bodyTemplate",
        "value": BODY.replace("text", "words"),
    }
    shop.writes.patch("eventsubscription", Key.by_id(alert_id), [template_change], actor=SYSTEM)
    with engine.begin() as connection:
        connection.execute(update(destination_secret).values(bot=None))
        connection.exec_driver_sql("ALTER TABLE entity DROP COLUMN curated")  # later revisions add it
        connection.exec_driver_sql("DROP TABLE relabelling")  # and this
        connection.exec_driver_sql("DROP TABLE renaming")  # and this
        connection.exec_driver_sql("DROP TABLE earlier_holder")
        connection.exec_driver_sql("DROP TABLE suite_run")
        drop_newest_tables(connection)
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{BEFORE}'")
    return alert_id


def test_bodies_in_clear_are_sealed_and_masked_in_all_versions_and_events(older: Engine) -> None:
    alert_id = an_alert(older)
    alert_with_secrets = Subscriptions(older).with_secrets(alert_id)
    assert alert_with_secrets is not None
    migrate(older)
    seal_alerts(older)
    with older.connect() as connection:
        for table in (entity, entity_version, change_event, document_snapshot):
            assert WORD not in str(connection.execute(select(table)).all()), table.name
        versions = [from_text(one) for one in connection.execute(select(entity_version.c.document)).scalars()]
        assert {"description": "long " * 2_000} in [{"description": one.get("description")} for one in versions]
        bots = dict(connection.execute(select(destination_secret.c.destination_id, destination_secret.c.bot)).all())
    assert Subscriptions(older).with_secrets(alert_id) == alert_with_secrets.model_copy(
        update={"bots": {BOT_ID: bot_key_of(TOKEN)}}
    )
    assert bots == {HOOK_ID: None, BOT_ID: bot_key_of(TOKEN)}


def test_doing_it_again_changes_nothing(older: Engine) -> None:
    an_alert(older)
    migrate(older)
    seal_alerts(older)
    with older.connect() as connection:
        before = connection.execute(select(destination_secret)).all(), connection.execute(select(entity)).all()
    seal_alerts(older)
    with older.connect() as connection:
        assert before == (
            connection.execute(select(destination_secret)).all(),
            connection.execute(select(entity)).all(),
        )


def test_an_alert_whose_secrets_cannot_be_opened_stays_as_it_is(older: Engine) -> None:
    alert_id = an_alert(older)
    migrate(older)
    unreadable = {"sealed": "of another key"}
    with older.begin() as connection:
        connection.execute(update(destination_secret).values(document=to_text(unreadable)))
    seal_alerts(older)
    with older.connect() as connection:
        document = connection.execute(select(entity.c.document).where(entity.c.id == alert_id)).scalar_one()
    assert from_text(document)["destinations"][0]["config"]["bodyTemplate"] == BODY.replace("text", "words")
