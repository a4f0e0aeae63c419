"""Tests of threads on both stores: after changes of their assets, and with their recipients."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

import pytest
from sqlalchemy import Engine, func, insert, select
from tests.company import PEOPLE, SmallCompany
from tests.notifying import dependencies_of
from tests.soak import SOAK
from tests.store.catalogues import add_tags

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.clock import FixedClock
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import notifications_for
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key, Written
from tocsin.server.bootstrap import ACTIVITY_FEED_ALERT, CONVERSATION_ALERT
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.feed.filters import FeedQuery
from tocsin.store.catalogue.feed.threads import Feed
from tocsin.store.database.engine import writing
from tocsin.store.database.feed_tables import thread, thread_part, thread_post, tombstone_part
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

ORDERS = "<#E::table::pg.store.public.orders>"
EMAIL = "<#E::table::pg.store.public.orders::columns::email::description>"


class FeedSetup:
    """The company of ``tests/company.py``, with the default alerts, posting in threads."""

    def __init__(self, engine: Engine) -> None:
        self.company = SmallCompany(engine)
        self.writes = FeedWrites(self.company.writes)
        self.feed = Feed(engine)
        self.engine = engine
        for alert in (ACTIVITY_FEED_ALERT, CONVERSATION_ALERT):
            self.company.put("eventsubscription", alert)

    def actor(self, name: str) -> Actor:
        """Return the person as whoever writes."""
        self.company.clock.advance(1_000)
        return self.company.actor(name)

    def begin(self, who: str, message: str, about: str = ORDERS, **fields: object) -> Written:
        """Begin a thread."""
        return self.writes.create({"about": about, "message": message, **fields}, actor=self.actor(who))

    def reply(self, who: str, thread_: Written, message: str) -> Written:
        """Add a post."""
        return self.writes.reply(thread_.document["id"], {"message": message}, actor=self.actor(who))

    def task(self, who: str, *assignees: Document, kind: str = "RequestDescription", about: str = EMAIL) -> Written:
        """Begin a task."""
        details = {"type": kind, "assignees": list(assignees)}
        return self.begin(who, "Please.", about, type="Task", taskDetails=details)

    def user(self, name: str) -> Document:
        """Return a reference to a person."""
        return {"type": "user", "id": self.company.ids[name]}

    def people_notified(self, written: Written) -> dict[str, set[str]]:
        """Return the recipients of a write's in-app notifications, with reasons."""
        assert written.event is not None
        logged_event = EventLog(self.engine).find(written.event.id)
        assert logged_event is not None
        alerts = Subscriptions(self.engine).list_enabled()
        dependencies = dependencies_of(self.engine, alerts, FixedClock(1))
        names = {found: name for name, found in self.company.ids.items()}
        due = notifications_for(
            logged_event, [one for one in alerts if matches(plan_of(one), logged_event)], dependencies
        )
        bells = [scheduled.draft for scheduled in due]
        assert len({bell.recipient_id for bell in bells}) == len(bells), "one row per person per event"
        return {
            names[str(bell.recipient_id)]: {reason.sentence().partition(" (")[0] for reason in bell.reasons.in_order}
            for bell in bells
        }


@pytest.fixture
def talk(store_engine: Engine) -> FeedSetup:
    return FeedSetup(store_engine)


OWN = "you own it through team shop"


def test_a_conversation_reaches_owners_and_whom_it_mentions(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Who knows? <#E::user::cem> or [@tills](https://x/settings/members/teams/tills)")
    assert talk.people_notified(question) == {
        "ana": {OWN},
        "ben": {OWN, "you were mentioned through team tills"},
        "cem": {"you were mentioned"},
    }
    answered = talk.reply("cem", question, "I do, <#E::user::dia>.")
    assert talk.people_notified(answered) == {
        "ana": {OWN},
        "ben": {OWN, "you take part in it through team tills"},
        "dia": {"you started it", "you take part in it", "you were mentioned"},
    }


def test_a_thread_of_one_id_is_begun_once_by_however_many(talk: FeedSetup) -> None:
    thread_id = "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0002"
    request: Document = {"about": "<#E::user::ben>", "message": "<#E::user::ben> Hello."}

    def begin(_number: int) -> Written | None:
        return talk.writes.create_once(thread_id, request, actor=SYSTEM)

    with ThreadPoolExecutor(4) as pool:
        threads = [one for one in pool.map(begin, range(4)) if one is not None]
    assert begin(5) is None
    (written,) = threads
    assert (written.document["id"], written.document["generatedBy"]) == (thread_id, "system")
    assert talk.people_notified(written) == {"ben": {"you were mentioned"}}


def test_participants_of_a_thread_are_notified_although_its_asset_is_gone_by_then(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Who knows? <#E::user::cem>")
    answered = talk.reply("ben", question, "Ask <#E::user::dia>.")
    handed = talk.task("ana", talk.user("dia"))
    before = [talk.people_notified(one) for one in (question, answered, handed)]
    assert before[0]["cem"] == {"you were mentioned"}
    talk.company.writes.delete("table", talk.company.key("orders"), actor=SYSTEM, hard=True)
    assert [talk.people_notified(one) for one in (question, answered, handed)] == before
    with talk.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(thread_part)).scalar_one() == 0
        assert connection.execute(select(func.count()).select_from(tombstone_part)).scalar_one() > 0
    Notifications(talk.engine).advance(MATCH_STREAM, EventLog(talk.engine).readable_end(), now_ms=1)
    assert [talk.people_notified(one) for one in (question, answered, handed)] == before


def change_threads(talk: FeedSetup, chance: Random, threads: list[Written]) -> Written:
    """Begin a thread or task, or reassign, edit, answer or delete something of those that there are."""
    who, mentioned_person = chance.sample(PEOPLE, 2)
    text = f"{chance.random()} <#E::user::{mentioned_person}>" if chance.random() < 0.7 else str(chance.random())
    if not threads or chance.random() < 0.3:
        is_task = chance.random() < 0.5
        threads.append(talk.task(who, talk.user(mentioned_person)) if is_task else talk.begin(who, text))
        return threads[-1]
    thread_ = chance.choice(threads)
    thread_id, author = thread_.document["id"], thread_.document["createdBy"]
    posts = talk.feed.posts(thread_id)
    if posts and chance.random() < 0.5:
        post = chance.choice(posts)
        writer = talk.actor(post["from"])
        if chance.random() < 0.5:
            return talk.writes.delete_post(thread_id, post["id"], actor=writer)
        edit = [{"op": "replace", "path": "/message", "value": text}]
        return talk.writes.patch_post(thread_id, post["id"], edit, actor=writer)
    if chance.random() < 0.1:
        threads.remove(thread_)
        return talk.writes.delete(thread_id, actor=talk.actor(author))
    if chance.random() < 0.5:
        return talk.reply(who, thread_, text)
    is_task = "task" in thread_.document
    assignees = {"op": "replace", "path": "/task/assignees", "value": [talk.user(mentioned_person)]}
    message = {"op": "replace", "path": "/message", "value": text}
    return talk.writes.patch(thread_id, [assignees if is_task else message], actor=talk.actor(author))


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
@pytest.mark.soak_on_postgresql
def test_participants_of_an_event_are_those_of_its_time_however_late_somebody_looks(talk: FeedSetup, seed: int) -> None:
    chance, threads = Random(seed), list[Written]()
    earlier: list[tuple[Written, dict[str, set[str]]]] = []
    for _ in range(40 if SOAK else 15):
        written = change_threads(talk, chance, threads)
        if written.event is not None:
            earlier.append((written, talk.people_notified(written)))
    assert len(earlier) > (20 if SOAK else 7)
    assert [talk.people_notified(written) for written, _ in earlier] == [notified for _, notified in earlier]
    talk.company.writes.delete("table", talk.company.key("orders"), actor=SYSTEM, hard=True)
    assert [talk.people_notified(written) for written, _ in earlier] == [notified for _, notified in earlier]


@pytest.mark.parametrize("shift_ms", [-86_400_000, 0, 86_400_000])
def test_who_takes_part_hears_of_all_that_follows_whatever_clocks_say(talk: FeedSetup, shift_ms: int) -> None:
    question = talk.begin("dia", "Who knows? <#E::user::cem>")
    talk.company.clock.at_ms += shift_ms
    answered = talk.reply("ben", question, "Ask ana.")
    assert talk.people_notified(question)["cem"] == {"you were mentioned"}
    assert talk.people_notified(answered) == {
        "ana": {OWN},
        "cem": {"you take part in it"},
        "dia": {"you started it", "you take part in it"},
    }


def test_a_task_reaches_its_assignees_and_its_end_whoever_asked(talk: FeedSetup) -> None:
    question = talk.task("ana", talk.user("dia"))
    assert talk.people_notified(question) == {"dia": {"it is assigned to you"}, "ben": {OWN}}
    handed_on = [{"op": "replace", "path": "/task/assignees", "value": [talk.user("cem")]}]
    assigned = talk.writes.patch(question.document["id"], handed_on, actor=talk.actor("dia"))
    assert talk.people_notified(assigned)["cem"] == {"it is assigned to you"}
    ended = talk.writes.resolve(question.document["id"], {"newValue": "The address."}, actor=talk.actor("cem"))
    assert talk.people_notified(ended)["ana"] == {"you started it", "you take part in it", OWN}
    (changed,) = ended.cascaded
    assert changed.change_description is not None
    assert changed.change_description.paths() == ("columns.email.description",)
    assert (changed.entity_type, changed.user_name) == ("table", "cem")


def test_an_announcement_reaches_followers_and_owners(talk: FeedSetup) -> None:
    details = {"startTime": 10_000_000_000, "endTime": 20_000_000_000_000}
    announced = talk.begin("dia", "Down tonight", type="Announcement", announcementDetails=details)
    assert talk.people_notified(announced) == {"ana": {OWN}, "ben": {OWN}, "cem": {"you follow it"}}
    assert "cem" not in talk.people_notified(talk.begin("dia", "A question"))
    with pytest.raises(InvalidInput, match="overlaps"):
        talk.begin("dia", "Again", type="Announcement", announcementDetails=details)


def test_reactions_and_corrections_ring_no_bell(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Helo")
    corrected = [{"op": "replace", "path": "/message", "value": "Hello"}]
    assert talk.people_notified(talk.writes.patch(question.document["id"], corrected, actor=talk.actor("dia"))) == {}
    reaction = {"reactionType": "heart", "user": talk.user("cem")}
    reacted = [{"op": "add", "path": "/reactions/-", "value": reaction}]
    assert talk.people_notified(talk.writes.patch(question.document["id"], reacted, actor=talk.actor("cem"))) == {}
    added = [{"op": "replace", "path": "/message", "value": "Hello <#E::user::cem>"}]
    mentioned = talk.writes.patch(question.document["id"], added, actor=talk.actor("dia"))
    assert talk.people_notified(mentioned)["cem"] == {"you were mentioned"}


def test_a_patch_that_changes_nothing_leaves_nothing(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Hello")
    end = EventLog(talk.engine).readable_end()
    same: list[Document] = [
        {"op": "replace", "path": "/message", "value": "Hello"},
        {"op": "add", "path": "/resolved", "value": False},
    ]
    assert talk.writes.patch(question.document["id"], same, actor=talk.actor("dia")).event is None
    assert EventLog(talk.engine).readable_end() == end


def test_tasks_are_numbered_once(talk: FeedSetup) -> None:
    first = talk.task("ana", talk.user("dia"))
    talk.writes.delete(first.document["id"], actor=talk.actor("ana"))
    second = talk.task("ana", talk.user("dia"))
    assert second.document["task"]["id"] > first.document["task"]["id"]
    assert talk.feed.id_of_task(second.document["task"]["id"]) == second.document["id"]


def test_a_task_sets_tags_and_ends_once(talk: FeedSetup) -> None:
    add_tags(talk.company.writes, "PII.Sensitive")
    question = talk.task("ana", talk.user("dia"), kind="RequestTag", about=ORDERS)
    value = json.dumps([{"tagFQN": "PII.Sensitive"}])
    with pytest.raises(Forbidden):
        talk.writes.resolve(question.document["id"], {"newValue": value}, actor=talk.actor("cem"))
    ended = talk.writes.resolve(
        question.document["id"], {"newValue": value}, actor=talk.actor("ben")
    )  # owns it by a team
    assert [event.entity_type for event in ended.cascaded] == ["table"]
    for end, request in ((talk.writes.resolve, {"newValue": value}), (talk.writes.close, {"comment": "No"})):
        with pytest.raises(Conflict):
            end(ended.document["id"], request, actor=talk.actor("dia"))


def test_a_task_whose_column_is_gone_cannot_be_resolved_but_closed(talk: FeedSetup) -> None:
    question = talk.task("ana", talk.user("dia"))
    drop = [{"op": "remove", "path": "/columns/1"}]
    talk.company.writes.patch("table", Key.by_id(talk.company.ids["orders"]), drop, actor=SYSTEM)
    with pytest.raises(InvalidInput, match="email"):
        talk.writes.resolve(question.document["id"], {"newValue": "x"}, actor=talk.actor("dia"))
    assert talk.writes.close(question.document["id"], {"comment": "Gone"}, actor=talk.actor("dia")).event


def test_threads_go_with_their_asset_and_parts_with_their_people(talk: FeedSetup) -> None:
    talk.reply("cem", talk.begin("dia", "Hello <#E::user::cem>"), "Hi")
    elsewhere = talk.begin("ana", "And you, <#E::user::cem>?", "<#E::table::pg.store.public.revenue>")
    talk.company.writes.delete("table", Key.by_id(talk.company.ids["orders"]), actor=SYSTEM, hard=True)
    with talk.engine.connect() as connection:
        counts_after = [
            connection.execute(select(func.count()).select_from(counted_table)).scalar_one()
            for counted_table in (thread, thread_post)
        ]
        assert counts_after == [1, 0]
        parts = select(thread_part.c.part).where(thread_part.c.principal_id == talk.company.ids["cem"])
        assert connection.execute(parts).scalars().all() == ["mention"]
    talk.company.writes.delete("user", Key.by_id(talk.company.ids["cem"]), actor=SYSTEM, hard=True)
    with talk.engine.connect() as connection:
        assert connection.execute(parts).scalars().all() == []
    assert talk.feed.get(elsewhere.document["id"], posts=3)["entityRef"]["name"] == "revenue"


@dataclass(frozen=True)
class SeesOnly:
    """The sight of a person who may see one asset."""

    asset_id: str

    def look_up(self, assets: Iterable[tuple[str, str]]) -> None:
        """Know already."""

    def __call__(self, _entity_type: str, entity_id: str) -> bool:
        return entity_id == self.asset_id


def test_pages_hold_what_may_be_seen(talk: FeedSetup) -> None:
    for number in range(6):
        about = ORDERS if number % 2 else "<#E::table::pg.store.public.revenue>"
        talk.begin("dia", f"{number}", about)
    sees = SeesOnly(talk.company.ids["orders"])
    page = talk.feed.page(FeedQuery(), sees, limit=2, posts=0)
    assert ([one["message"] for one in page.threads], page.after is not None) == (["5", "3"], True)
    next_page = talk.feed.page(FeedQuery(after=page.after), sees, limit=2, posts=0)
    assert ([one["message"] for one in next_page.threads], next_page.after) == (["1"], None)


def test_what_is_gone_is_not_found(talk: FeedSetup) -> None:
    with pytest.raises(NotFound):
        talk.begin("dia", "Hello", "<#E::table::pg.store.public.ghost>")
    with pytest.raises(NotFound):
        talk.task("ana", {"type": "user", "name": "nobody"})
    with pytest.raises(NotFound):
        talk.writes.reply("no-such-thread", {"message": "x"}, actor=talk.actor("dia"))


def test_threads_follow_what_is_renamed(talk: FeedSetup) -> None:
    talk.company.put("glossary", {"name": "words", "description": "All of them."})
    question = talk.task("ana", {"type": "team", "name": "shop"}, about="<#E::glossary::words::description>")
    for entity_type, name in (("glossary", "words"), ("team", "shop")):
        rename_operations = [{"op": "replace", "path": "/name", "value": f"new-{name}"}]
        talk.company.writes.patch(entity_type, Key.by_id(talk.company.ids[name]), rename_operations, actor=SYSTEM)
    thread_now = talk.feed.get(question.document["id"], posts=0)
    assert thread_now["about"] == "<#E::glossary::new-words::description>"
    assert [one["name"] for one in thread_now["task"]["assignees"]] == ["new-shop"]
    resolution = talk.writes.resolve(question.document["id"], {"newValue": "Few."}, actor=talk.actor("ben"))
    assert resolution.event is not None
    assert resolution.event.entity_fully_qualified_name == "new-words"
    assert talk.people_notified(resolution)["ana"] == {
        "you started it",
        "you take part in it",
        "it is assigned to you through team new-shop",
    }


def test_an_edit_keeps_whom_a_message_mentions_by_a_former_name(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Who knows? <#E::team::tills> <#E::user::cem>")
    post = talk.reply("dia", question, "Really: <#E::team::tills>").document["posts"][-1]
    rename_operations = [{"op": "replace", "path": "/name", "value": "cash-desks"}]
    talk.company.writes.patch("team", Key.by_id(talk.company.ids["tills"]), rename_operations, actor=SYSTEM)
    thread_id = question.document["id"]
    text = [{"op": "replace", "path": "/message", "value": "Who knows it? <#E::team::tills>"}]
    talk.writes.patch(thread_id, text, actor=talk.actor("dia"))
    post_text = [{"op": "replace", "path": "/message", "value": "Really, really: <#E::team::tills>"}]
    talk.writes.patch_post(thread_id, post["id"], post_text, actor=talk.actor("dia"))
    talk.writes.patch_post(thread_id, post["id"], [post_text[0] | {"value": "Really?"}], actor=talk.actor("dia"))
    reasons_by_person = talk.people_notified(talk.reply("ana", question, "No."))
    assert reasons_by_person["ben"] == {OWN, "you take part in it through team cash-desks"}
    assert "cem" not in reasons_by_person, "the edit took the mention out"
    talk.writes.patch(thread_id, [text[0] | {"value": "Who knows it?"}], actor=talk.actor("dia"))
    assert talk.people_notified(talk.reply("ana", question, "No."))["ben"] == {OWN}


def test_a_page_that_shows_nothing_says_where_to_look_on(talk: FeedSetup) -> None:
    """What may not be seen is looked through a bounded way a page, and the cursor leads on from there."""
    first = talk.begin("dia", "seen", "<#E::table::pg.store.public.revenue>")
    with writing(talk.engine) as connection:
        row = dict(connection.execute(select(thread)).one()._mapping)
        row["about_id"] = talk.company.ids["orders"]
        copies = [row | {"id": f"{n:036}", "updated_at_ms": row["updated_at_ms"] + 1 + n} for n in range(5_300)]
        for copy in copies:
            copy["document"] = copy["document"].replace(
                f'"updatedAt":{row["updated_at_ms"]}', f'"updatedAt":{copy["updated_at_ms"]}'
            )
        connection.execute(insert(thread), copies)
    sees = SeesOnly(talk.company.ids["revenue"])
    page = talk.feed.page(FeedQuery(), sees, limit=3, posts=0)
    assert page.threads == []
    assert page.after is not None
    page = talk.feed.page(FeedQuery(after=page.after), sees, limit=3, posts=0)
    assert [one["id"] for one in page.threads] == [first.document["id"]]
    assert page.after is None


def test_an_edited_post_says_which_and_mentions_whom_it_names_now(talk: FeedSetup) -> None:
    question = talk.begin("dia", "Hello")
    post = talk.reply("cem", question, "<#E::user::ana>").document["posts"][0]["id"]
    path = [{"op": "replace", "path": "/message", "value": "<#E::user::ana> <#E::team::tills>"}]
    edited = talk.writes.patch_post(question.document["id"], post, path, actor=talk.actor("cem"))
    assert edited.event is not None
    assert edited.event.change_description is not None
    assert edited.event.change_description.paths() == (f"posts.{post}.message",)
    logged = EventLog(talk.engine).find(edited.event.id)
    assert logged is not None
    assert (logged.event.event_type.value, logged.derived["mentions"]) == ("postUpdated", ["tills"])
    assert "you were mentioned through team tills" in talk.people_notified(edited)["ben"]
