"""Tests of conversations on both stores: reactions at once, replies in order, statements of a page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import Engine, event
from tests.company import PEOPLE
from tests.store.test_feed import FeedSetup, SeesOnly, talk

from tocsin.catalogue.feed.people import OwnReaction
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Written
from tocsin.model.thread import NOBODY_ID, ThreadType
from tocsin.store.catalogue.feed.conversations import ConversationList, ReplyWindow
from tocsin.store.catalogue.feed.filters import FeedQuery

__all__ = ["talk"]  # fixtures


@pytest.fixture
def conversations(store_engine: Engine) -> ConversationList:
    return ConversationList(store_engine)


def page_of(talk: FeedSetup, conversations: ConversationList, limit: int = 10) -> list[Document]:
    query = FeedQuery(kind=ThreadType.CONVERSATION)
    return conversations.page(query, SeesOnly(talk.company.ids["orders"]), limit=limit).threads


def react_to(talk: FeedSetup, thread_id: str, reaction: OwnReaction, actor: Actor) -> Written:
    return talk.writes.react(thread_id, reaction, actor=actor)


def test_people_who_react_at_once_all_do_and_each_once(talk: FeedSetup, conversations: ConversationList) -> None:
    question = talk.begin("dia", "Who knows?")
    thread_id = question.document["id"]
    post = talk.writes.add_reply(thread_id, {"message": "I do."}, actor=talk.actor("ana")).document
    actors = [talk.actor(name) for name in PEOPLE] * 2
    for post_id in (None, post["id"]):
        react = partial(react_to, talk, thread_id, OwnReaction("heart", True, post_id))
        with ThreadPoolExecutor(len(actors)) as pool:
            changes = list(pool.map(react, actors))
        assert sum(one.event is not None for one in changes) == len(PEOPLE)
        document = conversations.get(thread_id) if post_id is None else conversations.reply(thread_id, post_id)
        assert sorted(one["user"]["name"] for one in document["reactions"]) == list(PEOPLE)
        withdrawal = talk.writes.react(thread_id, OwnReaction("heart", False, post_id), actor=talk.actor("ben"))
        assert withdrawal.event is not None
        assert [one["user"]["name"] for one in withdrawal.document["reactions"]].count("ben") == 0
        assert all(talk.people_notified(one) == {} for one in changes if one.event is not None)


def test_a_reply_is_the_one_that_was_written_also_when_the_clock_was_set_back(
    talk: FeedSetup, conversations: ConversationList
) -> None:
    question = talk.begin("dia", "Who knows?")
    for number in range(4):
        talk.reply("ana", question, str(number))
    talk.company.clock.advance(-3_600_000)
    post = talk.writes.add_reply(question.document["id"], {"message": "Early."}, actor=talk.actor("ben")).document
    assert post["message"] == "Early."
    document = conversations.reply(question.document["id"], post["id"])
    assert (document["message"], document["author"]["name"]) == ("Early.", "ben")
    conversation = conversations.get(question.document["id"])
    every_reply = conversations.replies(conversation, ReplyWindow(10)).threads
    assert [one["message"] for one in every_reply] == ["Early.", "0", "1", "2", "3"]


def test_a_conversation_of_people_who_are_erased_is_still_one(talk: FeedSetup, conversations: ConversationList) -> None:
    question = talk.begin("dia", "Who knows?")
    talk.reply("dia", question, "I do.")
    talk.company.writes.delete("user", talk.company.key("dia"), actor=SYSTEM, hard=True)
    conversation = conversations.get(question.document["id"])
    assert (conversation["createdBy"]["id"], conversation["createdBy"]["deleted"]) == (NOBODY_ID, True)
    assert conversation["replies"][0]["author"]["id"] == NOBODY_ID


def test_a_page_takes_as_many_statements_for_many_conversations_as_for_few(
    talk: FeedSetup, conversations: ConversationList
) -> None:
    def begin() -> Written:
        question = talk.begin("dia", "Who knows?")
        for name in PEOPLE:
            talk.reply(name, question, f"{name} does.")
        return question

    begin()
    statements: list[str] = []
    event.listen(talk.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    page_of(talk, conversations)
    count_before = len(statements)
    threads = [begin() for _ in range(5)]
    statements.clear()
    page = page_of(talk, conversations)
    assert len(statements) == count_before
    assert [one["id"] for one in page[:5]] == [one.document["id"] for one in reversed(threads)]
    assert [one["message"] for one in page[0]["replies"]] == ["ben does.", "cem does.", "dia does."]
    assert [one["author"]["name"] for one in page[0]["replies"]] == ["ben", "cem", "dia"]
