"""Tests of own addresses: who may set them, and how a code that was sent there verifies them."""

from __future__ import annotations

import re

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_explain import Person, person
from tests.contract.test_subscriptions import receiver
from tests.serving import Json, Served

from tocsin.model.address import MASK
from tocsin.model.own_address import CODE_LIFE_MS, MOST_TRIES
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.observations.series import SqlAttachments
from tocsin.store.catalogue.people.address_codes import AddressCodes, CodeVerdict
from tocsin.store.database.observation_tables import attachment

__all__ = ["person", "receiver"]  # fixtures

Receiver = tuple[str, list[Json]]
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}")


def put(client: httpx.Client, holder: str, endpoint: str, channel: str = "Webhook", **config: Json) -> httpx.Response:
    return client.put(f"/addresses/{holder}/{channel}", json={"endpoint": endpoint, **config})


def send_code(client: httpx.Client, holder: str, receiver: Receiver, channel: str = "Webhook") -> str:
    sent = client.post(f"/addresses/{holder}/{channel}/code")
    assert (sent.status_code, sent.json()["statusDetails"]["status"]) == (200, "Success"), sent.text
    match = CODE.search(str(receiver[1][-1][1]))
    assert match is not None, receiver[1][-1]
    assert match.group() not in sent.text
    return match.group()


def enter(client: httpx.Client, holder: str, code: str, channel: str = "Webhook") -> httpx.Response:
    return client.post(f"/addresses/{holder}/{channel}/verify", json={"code": code})


def verify(client: httpx.Client, holder: str, endpoint: str, receiver: Receiver, channel: str = "Webhook") -> Json:
    assert put(client, holder, endpoint, channel).status_code == 200
    answer = enter(client, holder, send_code(client, holder, receiver, channel), channel)
    assert (answer.status_code, answer.json()["state"]) == (200, "verified"), answer.text
    return answer.json()


def states(client: httpx.Client, holder: str) -> dict[str, str]:
    answer = client.get(f"/addresses/{holder}")
    assert answer.status_code == 200, answer.text
    return {one["channel"]: one["state"] for one in answer.json()["data"]}


@pytest.mark.parametrize("channel", ["Slack", "MsTeams", "GChat", "Webhook"])
def test_a_person_sets_and_verifies_an_address_of_each_channel(
    person: Person, receiver: Receiver, channel: str
) -> None:
    ann, client = person("ann")
    set_address = put(client, ann, f"{receiver[0]}/hook/k4narie", channel, headers={"X-Key": "k4narie"})
    assert (set_address.status_code, set_address.json()["state"]) == (200, "unverified"), set_address.text
    assert enter(client, ann, "ABCD-EFGH-JKMN", channel).status_code == 400
    code = send_code(client, ann, receiver, channel)
    state = client.get(f"/addresses/{ann}").json()["data"][0]
    assert (state["state"], state["triesLeft"]) == ("unverified", MOST_TRIES)
    answer = enter(client, ann, f" {code.lower().replace('-', ' ')}", channel)
    assert answer.json()["state"] == "verified", answer.text
    assert answer.json()["setBy"]["id"] == ann
    assert answer.json()["address"] == f"{receiver[0]}/hook/{MASK}"
    assert answer.json()["verifiedBy"] is not None
    assert "k4narie" not in client.get(f"/addresses/{ann}").text
    assert enter(client, ann, code, channel).status_code == 400, "a code is for one use"
    put(client, ann, f"{receiver[0]}/other", channel)
    assert states(client, ann) == {channel: "unverified"}
    assert client.delete(f"/addresses/{ann}/{channel}").json() == {"data": []}
    assert states(client, ann) == {}
    assert client.delete(f"/addresses/{ann}/{channel}").status_code == 404


def test_the_message_says_who_asks_and_what_to_do(person: Person, receiver: Receiver) -> None:
    ann, client = person("ann")
    put(client, ann, f"{receiver[0]}/hook", "Slack")
    send_code(client, ann, receiver, "Slack")
    text = str(receiver[1][-1][1])
    assert "ann wants notifications of ann to come here." in text
    assert "without it nothing more comes here" in text


def test_a_wrong_code_may_be_entered_five_times(person: Person, receiver: Receiver) -> None:
    ann, client = person("ann")
    put(client, ann, f"{receiver[0]}/hook")
    code = send_code(client, ann, receiver)
    answers = [enter(client, ann, "ABCD-EFGH-JKMN") for _ in range(MOST_TRIES)]
    assert [one.status_code for one in answers] == [400] * MOST_TRIES
    assert "tries left: 1" in answers[-2].text
    assert enter(client, ann, code).status_code == 400
    assert states(client, ann) == {"Webhook": "unverified"}
    first_code, second_code = (send_code(client, ann, receiver) for _ in range(2))
    assert enter(client, ann, first_code).status_code == 400, "a newer code ends the one before"
    assert enter(client, ann, second_code).status_code == 200


def test_a_code_is_for_the_address_to_which_it_was_sent(person: Person, receiver: Receiver) -> None:
    """Fault scenario 78."""
    ann, client = person("ann")
    put(client, ann, f"{receiver[0]}/mine")
    code = send_code(client, ann, receiver)
    put(client, ann, f"{receiver[0]}/of-somebody-else")
    assert enter(client, ann, code).status_code == 400
    put(client, ann, f"{receiver[0]}/mine")
    assert enter(client, ann, code).status_code == 400, "what was changed meanwhile is verified anew"
    put(client, ann, f"{receiver[0]}/mine", "Slack")
    code = send_code(client, ann, receiver)
    assert enter(client, ann, code, "Slack").status_code == 400
    assert enter(client, ann, code).status_code == 200


def test_a_code_that_could_not_be_sent_is_none(person: Person, receiver: Receiver) -> None:
    ann, client = person("ann")
    put(client, ann, f"{receiver[0]}/broken")
    sent = client.post(f"/addresses/{ann}/Webhook/code")
    assert sent.json()["statusDetails"]["status"] == "Failed"
    assert "inside the network" not in sent.text
    code = CODE.search(str(receiver[1][-1][1]))
    assert code is not None
    assert enter(client, ann, code.group()).status_code == 400


@pytest.mark.parametrize("endpoint", ["http://169.254.169.254/latest", "ftp://example.org", "x", "http://[::", ""])
def test_an_address_that_no_alert_may_have_is_refused(person: Person, endpoint: str) -> None:
    ann, client = person("ann")
    assert put(client, ann, endpoint).status_code == 400
    assert states(client, ann) == {}


@pytest.mark.parametrize("endpoint", ["http://10.1.2.3:9/hook", "http://[fd00::1]/hook", "http://0.0.0.0/hook"])
def test_no_code_goes_into_the_network_behind_the_server(person: Person, endpoint: str) -> None:
    ann, client = person("ann")
    if put(client, ann, endpoint).status_code == 400:
        return
    sent = client.post(f"/addresses/{ann}/Webhook/code").json()
    assert (sent["statusDetails"]["status"], sent["address"]["codeExpiresAt"]) == ("Failed", None)
    assert "statusCode" not in sent["statusDetails"], "nothing was asked"


def test_nobody_else_touches_the_address_of_a_person(
    administrator: httpx.Client, person: Person, receiver: Receiver, served: Served
) -> None:
    (ann, client), (ben, client_of_ben) = person("ann"), person("ben")
    restrict(administrator, ben, {"effect": "allow", "resources": ["user"], "operations": ["All"]})
    verify(client, ann, f"{receiver[0]}/mine", receiver)
    evil = {"subscription": {"generic": {"endpoint": f"{receiver[0]}/evil"}}}
    for stranger in (administrator, client_of_ben):
        assert put(stranger, ann, f"{receiver[0]}/evil").status_code == 403
        assert stranger.post(f"/addresses/{ann}/Webhook/code").status_code == 403
        assert enter(stranger, ann, "ABCD-EFGH-JKMN").status_code == 403
        assert stranger.delete(f"/addresses/{ann}/Webhook").status_code == 403
        for operation in (
            {"op": "add", "path": "/profile", "value": evil},
            {"op": "replace", "path": "/profile/subscription/generic/endpoint", "value": f"{receiver[0]}/evil"},
            {"op": "remove", "path": "/profile/subscription"},
            {"op": "remove", "path": "/profile"},
        ):
            refusal = send_patch(stranger, f"/users/{ann}", operation)
            assert refusal.status_code == 403, (operation, refusal.text)
    assert client_of_ben.get(f"/addresses/{ann}").status_code == 403
    assert states(administrator, ann) == {"Webhook": "verified"}
    assert send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/displayName", "value": "A"}).is_success


def test_a_bot_replaces_no_address_that_a_person_has_set(
    administrator: httpx.Client, person: Person, receiver: Receiver, served: Served
) -> None:
    ann, client = person("ann")
    verify(client, ann, f"{receiver[0]}/mine", receiver)
    request = {"name": "connector", "email": "connector@example.org", "isBot": True, "isAdmin": True}
    bot = administrator.put("/users", json=request).json()
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    profile = {"subscription": {"generic": {"endpoint": f"{receiver[0]}/evil"}}}
    report = {"name": "ann", "email": "ann@example.org", "profile": profile, "description": "New."}
    with served.client(token) as connector:
        answer = connector.put("/users", json=report)
        assert (answer.status_code, answer.json()["description"]) == (200, "New."), answer.text
        proposal = {"subscription": {"slack": {"endpoint": f"{receiver[0]}/slack"}}}
        assert connector.put("/users", json=report | {"profile": proposal}).status_code == 200
        assert enter(connector, ann, "ABCD-EFGH-JKMN", "Slack").status_code == 403
        assert connector.post(f"/addresses/{ann}/Slack/code").status_code == 403
    assert states(client, ann) == {"Slack": "unverified", "Webhook": "verified"}
    addresses = client.get(f"/users/{ann}", params={"fields": "profile"}).json()["profile"]["subscription"]
    assert addresses["generic"]["endpoint"].endswith(MASK)


def test_what_an_administrator_proposes_is_used_once_the_person_has_verified_it(
    administrator: httpx.Client, person: Person, receiver: Receiver
) -> None:
    ann, client = person("ann")
    profile = {"subscription": {"slack": {"endpoint": f"{receiver[0]}/slack"}}}
    proposal = send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/profile", "value": profile})
    assert proposal.status_code == 200, proposal.text
    (state,) = client.get(f"/addresses/{ann}").json()["data"]
    assert (state["state"], state["setBy"]["name"]) == ("unverified", "admin")
    assert administrator.post(f"/addresses/{ann}/Slack/code").status_code == 403
    answer = enter(client, ann, send_code(client, ann, receiver, "Slack"), "Slack")
    assert (answer.json()["state"], answer.json()["setBy"]["name"]) == ("verified", "ann")


def test_the_address_of_a_team_is_that_of_its_owners_and_administrators(
    administrator: httpx.Client, person: Person, receiver: Receiver
) -> None:
    (ann, client), (ben, client_of_ben) = person("ann"), person("ben")
    owners = [{"id": ann, "type": "user"}]
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", users=[ben], owners=owners)["id"]
    restrict(administrator, ben, {"effect": "allow", "resources": ["team"], "operations": ["All"]})
    verify(client, team, f"{receiver[0]}/crew", receiver, "Slack")
    assert put(client_of_ben, team, f"{receiver[0]}/evil", "Slack").status_code == 403
    assert client_of_ben.get(f"/addresses/{team}").status_code == 403
    evil = {"op": "replace", "path": "/profile/subscription/slack/endpoint", "value": f"{receiver[0]}/evil"}
    assert send_patch(client_of_ben, f"/teams/{team}", evil).status_code == 403
    assert states(client, team) == {"Slack": "verified"}
    code = send_code(administrator, team, receiver, "Slack")
    assert enter(client, team, code, "Slack").status_code == 400, "a code is for who asked for it"
    assert enter(administrator, team, code, "Slack").json()["setBy"]["name"] == "admin"


def test_garbage_is_refused(person: Person, administrator: httpx.Client) -> None:
    ann, client = person("ann")
    nobody = "00000000-0000-4000-8000-000000000000"
    assert put(client, nobody, "https://example.org").status_code == 404
    assert put(client, ann, "https://example.org", "Email").status_code == 400
    assert put(client, ann, "https://example.org", "Pigeon").status_code == 400
    assert put(client, ann, "https://example.org", receivers=["ben"]).status_code == 400
    assert put(client, ann, "https://example.org").status_code == 200
    for body in ({}, {"code": ""}, {"code": 7}, {"code": "x" * 65}, {"code": "\u0130\u2003-"}, {"code": None}):
        answer = client.post(f"/addresses/{ann}/Webhook/verify", json=body)
        assert answer.status_code == 400, (body, answer.text)


def test_a_code_ends_and_is_void_while_the_clock_is_behind(
    person: Person, receiver: Receiver, sqlite_engine: Engine
) -> None:
    """Fault scenario 78."""
    ann, client = person("ann")
    put(client, ann, f"{receiver[0]}/hook")
    codes, place = AddressCodes(sqlite_engine), (ann, Channel.WEBHOOK)
    address = codes.address(*place)
    assert address is not None
    sent = codes.keep(place, address, "CODE", asker_id=ann, sent=("m1", 10_000))
    assert sent is not None
    for now_ms in (9_999, sent.expires_at_ms, 10_000 + CODE_LIFE_MS):
        assert codes.enter(place, "CODE", asker_id=ann, now_ms=now_ms) == (CodeVerdict.NONE, None)
    assert codes.keep(place, address | {"endpoint": "https://example.org"}, "X", asker_id=ann, sent=("m2", 0)) is None
    assert codes.enter(place, "CODE", asker_id=ann, now_ms=sent.expires_at_ms - 1)[0] is CodeVerdict.VERIFIED


def test_others_put_a_person_or_team_without_touching_the_addresses(
    administrator: httpx.Client, person: Person, receiver: Receiver
) -> None:
    ann, client = person("ann")
    verify(client, ann, f"{receiver[0]}/mine", receiver)
    report = {"name": "ann", "email": "ann@example.org"}
    assert administrator.put("/users", json=report | {"description": "New."}).status_code == 200
    assert states(client, ann) == {"Webhook": "verified"}
    images = {"images": {"image": "https://example.org/ann.png"}}
    answer = administrator.put("/users", json=report | {"profile": images})
    assert answer.status_code == 200, answer.text
    profile = client.get(f"/users/{ann}", params={"fields": "profile"}).json()["profile"]
    assert profile["images"] == images["images"]
    assert states(client, ann) == {"Webhook": "verified"}


@pytest.mark.parametrize(
    "profile", ["x", {"subscription": "x"}, {"subscription": ["generic"]}, {"subscription": 7}, [1]]
)
def test_a_profile_that_is_none_is_refused_and_leaves_the_addresses(
    administrator: httpx.Client, person: Person, served: Served, profile: Json
) -> None:
    ann, client = person("ann")
    put(client, ann, "https://example.org/mine")
    request = {"name": "connector", "email": "connector@example.org", "isBot": True, "isAdmin": True}
    bot = administrator.put("/users", json=request).json()
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    report = {"name": "ann", "email": "ann@example.org", "profile": profile}
    with served.client(token) as connector:
        codes = {one.put("/users", json=report).status_code for one in (client, administrator, connector)}
    assert codes <= {400, 403}
    assert states(client, ann) == {"Webhook": "unverified"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/profile"},
        {"op": "remove", "path": "/profile/subscription"},
        {"op": "remove", "path": "/profile/subscription/generic"},
        {"op": "replace", "path": "/profile", "value": {}},
    ],
)
def test_of_an_address_that_is_removed_nothing_stays(
    person: Person, receiver: Receiver, sqlite_engine: Engine, operation: Json
) -> None:
    ann, client = person("ann")
    verify(client, ann, f"{receiver[0]}/mine", receiver)
    send_code(client, ann, receiver)
    assert send_patch(client, f"/users/{ann}", operation).status_code == 200
    with sqlite_engine.connect() as connection:
        kinds = connection.scalars(select(attachment.c.kind).where(attachment.c.entity_id == ann)).all()
        assert not any(SqlAttachments(connection).get(ann, kind) for kind in kinds)
    assert put(client, ann, f"{receiver[0]}/mine").json()["state"] == "unverified"
