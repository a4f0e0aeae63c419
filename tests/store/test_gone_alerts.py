"""Tests of alerts to their owner only whose owner is deleted for good, on both stores."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.store.test_container_follows import BELL

from tocsin.catalogue.writes import Writes
from tocsin.flow.capture.bounds import Bounds
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.alert_tables import mute
from tocsin.store.database.tables import destination_secret
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

SEARCH = {"name": "s", "query": "orders", "index": "table"}


@pytest.mark.parametrize("portion", [1, 1_000])
def test_alerts_to_an_owner_only_go_with_them_and_shared_ones_stay(store_engine: Engine, portion: int) -> None:
    company = SmallCompany(store_engine)
    of_cem, of_dia = ([{"id": company.ids[name], "type": "user"}] for name in ("cem", "dia"))
    for number in range(3):
        company.alert(f"own{number}", BELL, toMeOnly=True, owners=of_cem)
    company.alert("of dia", BELL, toMeOnly=True, owners=of_dia)
    company.alert("shared", BELL, owners=of_cem)
    company.alert("search", BELL, toMeOnly=True, owners=of_cem, search=SEARCH)
    own_id = company.ids["own0"]
    Subscriptions(store_engine).keep_secrets(own_id, {"d": {"secretKey": "k"}})
    Mutes(store_engine).put(Mute(company.ids["dia"], MuteKind.ALERT, own_id, since_ms=company.clock.now_ms()))
    writes = Writes(SqlCatalogue(store_engine), company.clock, bounds=Bounds(portion=portion))
    writes.delete("user", Key.by_name("cem"), actor=SYSTEM, hard=True)
    catalogue = SqlCatalogue(store_engine)
    alerts_left = {one.name: one for one in Subscriptions(store_engine).list_enabled()}
    assert {"of dia", "shared", "search"} <= alerts_left.keys()
    assert not alerts_left.keys() & {"own0", "own1", "own2"}
    owners = {name: catalogue.get("eventsubscription", Key.by_name(name)).get("owners") for name in alerts_left}
    assert [owners[name] for name in ("shared", "search")] == [[], []]
    assert [owner["id"] for owner in owners["of dia"] or ()] == [company.ids["dia"]]
    with store_engine.connect() as connection:
        for column in (mute.c.about_id, destination_secret.c.subscription_id):
            assert own_id not in connection.execute(select(column)).scalars().all()
    deletions = [one.event for one in EventLog(store_engine).read(0, 10_000) if one.event.entity_id == own_id]
    assert [one.event_type.value for one in deletions] == ["entityCreated", "entityDeleted"]


def test_a_person_who_is_deleted_softly_keeps_them(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("own", BELL, toMeOnly=True, owners=[{"id": company.ids["cem"], "type": "user"}])
    company.writes.delete("user", Key.by_name("cem"), actor=SYSTEM)
    assert "own" in {one.name for one in Subscriptions(store_engine).list_enabled()}
