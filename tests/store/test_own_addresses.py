"""Tests of own addresses that an older version stored in clear: sealed when a server starts, gone from the history."""

from __future__ import annotations

import json

from sqlalchemy import Engine, func, select, text, update
from tests.store.catalogues import company
from tests.stores import drop_newest_tables

from tocsin.flow.capture.secrets import KIND
from tocsin.model.entity import Document
from tocsin.store.catalogue.observations.series import SqlAttachments
from tocsin.store.catalogue.people.own_addresses import seal_own_addresses
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, entity, entity_version
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
