"""Tests of the quotas on what one person may have Tocsin send."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import Conflict, TooManyRequests
from tocsin.model.people import Actor
from tocsin.server.alerts.hourly_counts import counted_post
from tocsin.store.catalogue.access.quotas import Quotas
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

ALERTS = "/events/subscriptions"


def mail(*receivers: str) -> Json:
    return {"category": "External", "type": "Email", "config": {"receivers": list(receivers)}}


def create_alert(client: httpx.Client, name: str, *destinations: Json) -> httpx.Response:
    request = {"name": name, "alertType": "Notification", "resources": ["table"], "destinations": list(destinations)}
    return client.post(ALERTS, json=request)


@pytest.fixture
def ann(served: Served) -> Iterator[httpx.Client]:
    with served.person("ann")[1] as client:
        yield client


def test_the_trials_of_one_person_send_no_more_than_the_hour_allows(
    served: Served, ann: httpx.Client, administrator: httpx.Client
) -> None:
    served.stop_clock()
    trial = {"destinations": [mail("ann@example.org")] * 20}
    assert ann.post(f"{ALERTS}/testDestination", json=trial).status_code == 200
    refused = ann.post(f"{ALERTS}/validation/destination", json={"destination": mail("ann@example.org")})
    assert refused.status_code == 429
    assert "trial_messages_per_hour" in refused.json()["message"]
    assert 0 < int(refused.headers["Retry-After"]) <= 3_600
    assert administrator.post(f"{ALERTS}/testDestination", json=trial).status_code == 200, "each has their own"


def test_strangers_are_not_mailed_unless_an_administrator_says_so(
    ann: httpx.Client, administrator: httpx.Client
) -> None:
    stranger = mail("somebody@elsewhere.example")
    for refusal in (
        create_alert(ann, "Mine", stranger),
        ann.post(f"{ALERTS}/validation/destination", json={"destination": stranger}),
    ):
        assert refusal.status_code == 400
        assert "external_mail_domains" in refusal.json()["message"]
    assert create_alert(ann, "Mine", mail("ANN@example.org")).status_code == 201
    response = create_alert(administrator, "Theirs", stranger)
    assert response.status_code == 201
    receiver_operations = [
        {"op": "add", "path": "/destinations/0/config/receivers/-", "value": "else@elsewhere.example"}
    ]
    assert administrator.patch(f"{ALERTS}/name/Mine", json=receiver_operations).status_code == 200
    another = [{"op": "add", "path": "/destinations/0/config/receivers/-", "value": "third@elsewhere.example"}]
    assert ann.patch(f"{ALERTS}/name/Mine", json=another).status_code == 400
    description = [{"op": "add", "path": "/description", "value": "What an administrator added stays."}]
    assert ann.patch(f"{ALERTS}/name/Mine", json=description).status_code == 200


def test_one_person_sends_to_no_more_places_outside_than_allowed(
    ann: httpx.Client, administrator: httpx.Client
) -> None:
    def hooks(alert: int, count: int) -> list[Json]:
        address = f"https://hooks.example.com/{alert}"
        return [
            {"category": "External", "type": "Webhook", "config": {"endpoint": f"{address}/{number}"}}
            for number in range(count)
        ]

    for alert in range(5):
        assert create_alert(ann, f"Hooks{alert}", *hooks(alert, 19)).status_code == 201
    refusal = create_alert(ann, "Hooks5", *hooks(5, 6))
    assert (refusal.status_code, "external_destinations_per_person" in refusal.json()["message"]) == (400, True)
    assert create_alert(ann, "Hooks5", *hooks(5, 5)).status_code == 201
    another, third = ([{"op": "add", "path": "/destinations/-", "value": one}] for one in hooks(6, 2))
    assert ann.patch(f"{ALERTS}/name/Hooks5", json=another).status_code == 400
    fewer = [{"op": "remove", "path": "/destinations/0"}]
    assert ann.patch(f"{ALERTS}/name/Hooks5", json=[*fewer, *another]).status_code == 200
    assert ann.patch(f"{ALERTS}/name/Hooks5", json=fewer).status_code == 200
    assert ann.patch(f"{ALERTS}/name/Hooks5", json=third).status_code == 200
    assert administrator.patch(f"{ALERTS}/name/Hooks5", json=[{**third[0], "value": hooks(7, 1)[0]}]).status_code == 200
    answer = ann.patch(f"{ALERTS}/name/Hooks5", json=fewer)
    assert answer.status_code == 200, "what an administrator added stays"


def test_an_alert_has_no_more_destinations_and_receivers_than_allowed(
    ann: httpx.Client, administrator: httpx.Client
) -> None:
    hooks = [
        {"category": "External", "type": "Webhook", "config": {"endpoint": f"https://hooks.example.com/{number}"}}
        for number in range(21)
    ]
    assert "destinations_per_alert" in create_alert(ann, "Many", *hooks).json()["message"]
    assert create_alert(ann, "Many", *hooks[:20]).status_code == 201
    assert create_alert(administrator, "More", *hooks).status_code == 201
    crowd = create_alert(ann, "Crowd", mail(*[f"a{number}@example.org" for number in range(51)]))
    assert "receivers_per_destination" in crowd.json()["message"]


def _costly(client: httpx.Client, name: str, conditions: list[str], *, enabled: bool = True) -> httpx.Response:
    rules = [{"condition": one, "effect": "include", "prefixCondition": "OR"} for one in conditions]
    request = {
        "name": name,
        "alertType": "Notification",
        "enabled": enabled,
        "filteringRules": {"resources": ["table"], "rules": rules},
        "destinations": [mail("ann@example.org")],
    }
    return client.put(ALERTS, json=request)


def test_the_conditions_of_an_alert_may_not_cost_the_pipeline_too_much(ann: httpx.Client) -> None:
    """Sixty rules that no index can hold, each of another kind, stopped all notifications."""
    paths = [f"entity.extension{'.x' * depth}" for depth in range(1, 20)]
    kinds = [test.format(path) for path in paths for test in ("{} == 'a'", "{}.contains('a')", "{} > 3")]
    refused = _costly(ann, "Hostile", kinds)
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("filteringRules: The conditions of this alert have 57 kinds of test")
    assert _costly(ann, "Usual", kinds[:20]).status_code == 201


def test_the_conditions_of_one_persons_alerts_may_not_cost_too_much_together(
    ann: httpx.Client, administrator: httpx.Client
) -> None:
    def conditions(alert: int) -> list[str]:
        tests = [f"entity.columns.dataLength > {alert * 400 + number}" for number in range(390)]
        return [" || ".join(tests[first : first + 100]) for first in range(0, 390, 100)]

    chunks = [conditions(alert) for alert in range(3)]
    assert [_costly(ann, f"A{n}", chunks[n]).status_code for n in (0, 1)] == [201, 201]
    refusal = _costly(ann, "A2", chunks[2])
    assert (refusal.status_code, "all alerts that you created" in refusal.json()["message"]) == (400, True)
    assert _costly(ann, "A2", chunks[2], enabled=False).status_code == 201, "it is not matched"
    enabling = [{"op": "replace", "path": "/enabled", "value": True}]
    assert ann.patch(f"{ALERTS}/name/A2", json=enabling).status_code == 400
    disabling = [{"op": "replace", "path": "/enabled", "value": False}]
    assert ann.patch(f"{ALERTS}/name/A1", json=disabling).status_code == 200
    assert ann.patch(f"{ALERTS}/name/A2", json=enabling).status_code == 200
    assert _costly(administrator, "Theirs", chunks[1]).status_code == 201


def test_one_person_makes_no_more_alerts_than_one_may_have(ann: httpx.Client, administrator: httpx.Client) -> None:
    answers = [create_alert(ann, f"A{number}", mail("ann@example.org")) for number in range(51)]
    assert [one.status_code for one in answers] == [201] * 50 + [403]
    assert "alerts_per_person" in answers[-1].json()["message"]
    changed = [{"op": "add", "path": "/description", "value": "Changed by another, still hers."}]
    assert administrator.patch(f"{ALERTS}/name/A1", json=changed).status_code == 200
    assert create_alert(ann, "B", mail("ann@example.org")).status_code == 403
    assert create_alert(administrator, "Theirs", mail("ann@example.org")).status_code == 201


def test_one_person_makes_no_more_alerts_than_the_hour_allows(served: Served, ann: httpx.Client) -> None:
    served.stop_clock()
    answers = []
    for number in range(62):
        answers.append(create_alert(ann, f"A{number}", mail("ann@example.org")).status_code)
        ann.delete(f"{ALERTS}/name/A{number}")
    assert answers == [201] * 60 + [429] * 2


def test_alerts_are_counted_by_who_made_them_on_both_stores(store_engine: Engine) -> None:
    writes, subscriptions = Writes(SqlCatalogue(store_engine), FixedClock(1)), Subscriptions(store_engine)
    for number, name in enumerate(("ann", "ann", "ben")):
        request = {"name": f"A{number}", "alertType": "Notification", "destinations": []}
        writes.create("eventsubscription", request, actor=Actor(name, name))
    assert [len(subscriptions.alerts_made_by(name)) for name in ("ann", "ben", "zoe")] == [2, 1, 0]


def test_a_quota_is_counted_by_the_hour_on_both_stores(store_engine: Engine) -> None:
    quotas, now_ms = Quotas(store_engine), 10 * 3_600_000 + 1_000
    assert quotas.take("ann", "trial", 3, limit=5, now_ms=now_ms) is None
    assert quotas.take("ann", "trial", 3, limit=5, now_ms=now_ms) == 3_599
    assert quotas.take("ann", "trial", 2, limit=5, now_ms=now_ms) is None
    assert quotas.take("ben", "trial", 5, limit=5, now_ms=now_ms) is None
    assert quotas.take("ann", "alert", 5, limit=5, now_ms=now_ms) is None
    assert quotas.take("ann", "trial", 5, limit=5, now_ms=now_ms + 3_600_000) is None


def test_what_is_refused_after_the_full_hour_takes_nothing_off_the_new_one(store_engine: Engine) -> None:
    quotas, clock = Quotas(store_engine), FixedClock(10 * 3_600_000 - 1)
    parts = SimpleNamespace(quotas=quotas, clock=clock, settings=SimpleNamespace(posts_per_hour=2))
    caller: Any = SimpleNamespace(actor=Actor("ann", "ann"), parts=parts)

    def post() -> None:
        with counted_post([], caller):
            pass

    with pytest.raises(Conflict), counted_post([], caller):
        clock.advance(1)
        post()
        raise Conflict("refused in the new hour")
    post()
    with pytest.raises(TooManyRequests):
        post()
    clock.advance(3_600_000)
    for _ in range(3):
        with pytest.raises(Conflict), counted_post([], caller):
            raise Conflict("refused in the same hour")
