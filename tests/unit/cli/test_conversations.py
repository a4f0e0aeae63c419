"""Tests of ``tocsin conversations``."""

from __future__ import annotations

from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/conversations"
REPLY: dict[str, Any] = {
    "id": "r",
    "conversationId": "c",
    "message": "Since **May**.",
    "author": {"id": "b", "type": "user", "name": "ben", "displayName": "Ben Ode"},
    "createdAt": 1_760_000_060_000,
    "reactions": [{"reactionType": "heart"}],
}
CONVERSATION: dict[str, Any] = {
    "id": "c",
    "about": "<#E::table::pg.shop.public.orders>",
    "entityRef": {"id": "e", "type": "table", "fullyQualifiedName": "pg.shop.public.orders"},
    "message": "<#E::user::ben> is this still filled?",
    "createdBy": {"id": "a", "type": "user", "name": "ana"},
    "createdAt": 1_760_000_000_000,
    "updatedAt": 1_760_000_060_000,
    "resolved": False,
    "replyCount": 1,
    "replies": [REPLY],
    "reactions": [{"reactionType": "thumbsUp"}, {"reactionType": "thumbsUp"}, {"reactionType": "heart"}],
}


def test_conversations_are_listed_those_of_an_asset_or_that_mention_one(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", "/api/v1/users/u/preferences", {"timezone": "UTC"})
    table = {"id": "e", "name": "orders", "fullyQualifiedName": "pg.shop.public.orders"}
    small_server.answer("GET", "/api/v1/tables/name/pg.shop.public.orders", table)
    small_server.answer("GET", API, {"data": [CONVERSATION], "paging": {"total": 1}})
    output = run("conversations", "list", "--about", "pg.shop.public.orders", "--of", "mentions").out
    for text in ("pg.shop.public.orders", "ana", "@ben is this still filled?", "2025-10-09 08:54:20 UTC"):
        assert text in output
    query = small_server.requests[-1].query
    assert query["entityLink"] == "<#E::table::pg.shop.public.orders>"
    assert (query["includeFields"], query["userId"], query["filterType"]) == ("true", "u", "MENTIONS")


def test_a_conversation_is_shown_with_replies_and_reactions_and_hidden_people_unnamed(
    run: Run, small_server: SmallServer
) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", "/api/v1/users/u/preferences", {"timezone": "UTC"})
    conversation = {key: value for key, value in CONVERSATION.items() if key != "createdBy"}
    hidden_reply = REPLY | {"author": {"id": "00000000-0000-0000-0000-000000000000", "type": "user"}, "reactions": []}
    small_server.answer("GET", f"{API}/c", conversation)
    small_server.answer("GET", f"{API}/c/replies", {"data": [REPLY, hidden_reply], "paging": {"total": 2}})
    output = run("conversations", "show", "c").out
    for text in (
        "a person whom you may not view",
        "2 thumbs up, 1 heart",
        "Ben Ode, 2025-10-09 08:54:20 UTC: Since May. (1 heart)",
        "a person whom you may not view, 2025-10-09 08:54:20 UTC: Since May.",
    ):
        assert text in output


def test_one_starts_replies_reacts_and_resolves(run: Run, small_server: SmallServer) -> None:
    table = {"id": "e", "name": "orders", "fullyQualifiedName": "pg.shop.public.orders"}
    small_server.answer("GET", "/api/v1/tables/name/pg.shop.public.orders", table)
    small_server.answer("POST", API, CONVERSATION)
    command = ("conversations", "start", "pg.shop.public.orders", "Why?", "--column", "email")
    assert run(*command).out == "Conversation c has begun.\n"
    about = "<#E::table::pg.shop.public.orders::columns::email>"
    assert small_server.requests[-1].body == {"about": about, "message": "Why?"}
    small_server.answer("POST", f"{API}/c/replies", REPLY)
    assert run("conversations", "reply", "c", "So.").out == "You have replied to c.\n"
    small_server.answer("PUT", f"{API}/c/reaction/heart", CONVERSATION)
    assert run("conversations", "react", "c", "heart").out == "c has 2 thumbs up, 1 heart.\n"
    small_server.answer("DELETE", f"{API}/c/reaction/heart", CONVERSATION | {"reactions": []})
    assert run("conversations", "react", "c", "heart", "--undo").out == "c has no reactions.\n"
    small_server.answer("PATCH", f"{API}/c", CONVERSATION | {"resolved": True})
    assert run("conversations", "resolve", "c").out == "c is resolved.\n"
