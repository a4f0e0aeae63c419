"""Tests of names that are given to somebody new, who gets nothing of what the person before had."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_feed import begin
from tests.serving import Json, Served

_HOOK = {
    "category": "External",
    "type": "Webhook",
    "config": {"endpoint": "http://127.0.0.1:9/in", "secretKey": "c2VjcmV0LW9mLWpvc2g=", "headers": {"X-Key": "abc"}},
}


def _alert(name: str) -> Json:
    rules = {"filteringRules": {"resources": ["table"]}, "destinations": [_HOOK]}
    return {"name": name, "alertType": "Notification", **rules}


def _another(served: Served, administrator: httpx.Client, user_id: str, name: str) -> tuple[str, httpx.Client]:
    """Delete somebody for good, and create somebody else by the same name."""
    assert administrator.delete(f"/users/{user_id}?hardDelete=true").is_success
    served.tokens.clear()
    return served.person(name, email=f"another-{name}@example.org")


def test_an_alert_belongs_to_its_creator_not_to_their_name(served: Served, administrator: httpx.Client) -> None:
    user_id, josh = served.person("josh")
    with josh:
        alert = create_entity(josh, "/events/subscriptions", **_alert("ours"))
    _, client_of_new_josh = _another(served, administrator, user_id, "josh")
    path = f"/events/subscriptions/{alert['id']}"
    with client_of_new_josh:
        config = client_of_new_josh.get(path).json()["destinations"][0]["config"]
        assert not {"secretKey", "headers"} & config.keys(), "masks are for editors"
        moved = {"op": "replace", "path": "/destinations/0/config/endpoint", "value": "http://127.0.0.1:9/other"}
        assert send_patch(client_of_new_josh, path, moved).status_code == 403
        assert client_of_new_josh.delete(path).status_code == 403


def test_a_quota_counts_what_a_person_made_not_their_name(
    served: Served, administrator: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_id, josh = served.person("josh")
    with josh:
        create_entity(josh, "/events/subscriptions", **_alert("ours"))
    _, client_of_new_josh = _another(served, administrator, user_id, "josh")
    settings = served.app.state.parts.settings
    monkeypatch.setitem(settings.__dict__, "alerts_per_person", 1)
    with client_of_new_josh:
        create_entity(client_of_new_josh, "/events/subscriptions", **_alert("mine"))
        assert client_of_new_josh.post("/events/subscriptions", json=_alert("more")).status_code == 403


def test_threads_and_posts_belong_to_their_author_not_to_a_name(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, josh = served.person("josh")
    with josh:
        thread = begin(josh)
        assert josh.post(f"/feed/{thread['id']}/posts", json={"message": "An answer."}).is_success
        post = josh.get(f"/feed/{thread['id']}").json()["posts"][0]
    _, client_of_new_josh = _another(served, administrator, user_id, "josh")
    at_thread, at_post = f"/feed/{thread['id']}", f"/feed/{thread['id']}/posts/{post['id']}"
    words = {"op": "replace", "path": "/message", "value": "Something else."}
    with client_of_new_josh:
        assert send_patch(client_of_new_josh, at_thread, words).status_code == 403
        assert send_patch(client_of_new_josh, at_post, words).status_code == 403
        assert client_of_new_josh.delete(at_post).status_code == 403
        assert client_of_new_josh.delete(at_thread).status_code == 403


def test_authors_still_edit_and_delete_their_own_words(served: Served, orders: Json) -> None:
    _, josh = served.person("josh")
    words = {"op": "replace", "path": "/message", "value": "Something else."}
    with josh:
        thread = begin(josh)
        assert josh.post(f"/feed/{thread['id']}/posts", json={"message": "An answer."}).is_success
        post = josh.get(f"/feed/{thread['id']}").json()["posts"][0]
        at_post = f"/feed/{thread['id']}/posts/{post['id']}"
        assert send_patch(josh, at_post, words).is_success
        assert josh.delete(at_post).is_success
        assert send_patch(josh, f"/feed/{thread['id']}", words).is_success
        assert josh.delete(f"/feed/{thread['id']}").is_success


@pytest.mark.parametrize("path", ["/users", "/teams"])
def test_names_that_can_be_mistaken_for_others_are_refused(
    served: Served, administrator: httpx.Client, path: str
) -> None:
    served.person("josh")

    def create(name: str) -> httpx.Response:
        fields = {"email": "somebody@example.org"} if path == "/users" else {"teamType": "Group"}
        return administrator.post(path, json={"name": name, **fields})

    for name in ("Josh", "\u0458\u043e\u0455\u04bb"):
        refusal = create(name)
        assert refusal.status_code == 409, name
        assert "looks like the user 'josh'" in refusal.json()["message"]
    for name in ("jo\u200bsh", "j\u043esh", "\uff4aosh", "system", "System"):
        refusal = create(name)
        assert refusal.status_code == 400, name
        assert refusal.json()["message"].startswith("name: ")
    assert create("joshua").status_code == 201
    response = administrator.post(path, json={"name": "other", "email": "o@example.org", "displayName": "Jo\u200bsh"})
    assert response.status_code == 400


def test_a_team_cannot_be_renamed_to_a_look_alike(served: Served, administrator: httpx.Client) -> None:
    served.person("josh")
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    renamed = {"op": "replace", "path": "/name", "value": "JOSH"}
    assert send_patch(administrator, f"/teams/{team['id']}", renamed).status_code == 409
