"""Tests of names in alerts that are nothing's any more: each is reported once, and only what was a name before."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.store.catalogues import add_tags, company

from tocsin.jobs.lost_names import report_lost_names
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key

_CONDITIONS = (
    "matchAnyTag('Secret.Sensitive') || matchAnyTag('Never.There') || matchAnyTag('Kept.One')",
    r"tags.startsWith('Secret.') || tags.matches('Secret\..*') || tags.matches('(Kept|Secret).*')",
    "tags.startsWith('Kept.') || entity.description == 'Secret.Sensitive' || service == 'pg'",
)


def test_a_lost_name_is_reported_once_on_the_alert(store_engine: Engine) -> None:
    shop = company(store_engine)
    add_tags(shop.writes, "Secret.Sensitive", "Kept.One")
    rules = [{"name": f"r{at}", "effect": "include", "condition": one} for at, one in enumerate(_CONDITIONS)]
    request = {
        "name": "ours",
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": rules},
        "destinations": [],
    }
    alert_id = shop.writes.create("eventsubscription", request, actor=SYSTEM).document["id"]
    assert report_lost_names(store_engine) == 0
    shop.writes.delete("classification", Key.by_name("Secret"), actor=SYSTEM, hard=True, recursive=True)
    assert report_lost_names(store_engine) == 3
    assert report_lost_names(store_engine) == 0
    findings = [one for one in shop.events_after(0) if one.event_type is EventType.AUDIT_FINDING]
    assert {one.entity_id for one in findings} == {alert_id}
    changes = [change for one in findings if one.change_description for change in one.change_description.fields_added]
    assert sorted(change.new_value["about"] for change in changes) == [
        "tag Secret.",
        "tag Secret.Sensitive",
        r"tag Secret\..*",
    ]
