"""Tests of the text of thread events, with unsafe input."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from tests.unit.delivery.events import NOW_MS, addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.wording.assets import asset_of
from tocsin.delivery.wording.changes import event_text
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.model.personal_notice import notice_thread

EMAIL = "<#E::table::acme.shop.public.orders::columns::email::description>"
ORDERS = "<#E::table::acme.shop.public.orders>"


def event(kind: str, described: ChangeDescription | None = None, **thread: Any) -> ChangeEvent:
    document = {
        "id": "t",
        "type": "Conversation",
        "about": ORDERS,
        "entityRef": {"id": "o-1", "type": "table", "name": "orders"},
        "message": "Is this right, <#E::user::ann>?",
        **thread,
    }
    facts = {"entity_type": "thread", "entity_id": "t", "user_name": "ben", "entity": document}
    return change_event(described, event_type=EventType(kind), previous_version=None, current_version=None, **facts)


def because(*kinds: ReasonKind) -> tuple[Reason, ...]:
    return tuple(Reason(kind=kind, subscription_id="s", subscription_name="s", destination_id="d") for kind in kinds)


def task(kind: str = "RequestDescription", *assignees: str, **fields: Any) -> dict[str, Any]:
    references = [{"id": name, "type": "user", "name": name} for name in assignees]
    return {"type": "Task", "task": {"id": 7, "type": kind, "assignees": references, **fields}, "about": EMAIL}


POSTED = addition_of(
    "posts", [{"id": "p", "message": "Yes **it is**, <#E::team::shop|[@shop](http://x/teams/shop)>", "from": "ben"}]
)


@pytest.mark.parametrize(
    ("happened", "kinds", "expected"),
    [
        (event("threadCreated"), (), "ben started a conversation about orders: Is this right, @ann?"),
        (
            event("threadCreated"),
            (ReasonKind.MENTION, ReasonKind.OWNER),
            "ben mentioned you in a conversation about orders: Is this right, @ann?",
        ),
        (
            event("threadCreated", **task("RequestDescription", "ann")),
            (ReasonKind.ASSIGNEE,),
            "ben asks you to describe orders.email",
        ),
        (
            event("threadCreated", **task("UpdateTag", "ann", "cem")),
            (),
            "ben asks ann and cem to review the tags of orders.email",
        ),
        (event("threadCreated", **task("Generic")), (), "ben asks others to look at orders.email"),
        (
            event("threadCreated", **task("RequestTag", *"abcde")),
            (),
            "ben asks a, b, c and 2 more to tag orders.email",
        ),
        (
            event("threadCreated", type="Announcement", message="Down tonight"),
            (),
            "ben announced for orders: Down tonight",
        ),
        (
            event(
                "threadCreated",
                type="Announcement",
                message="Announcement",
                announcement={"description": "It moves.", "startTime": 1, "endTime": 2},
            ),
            (),
            "ben announced for orders: It moves.",
        ),
        (event("postCreated", POSTED), (), "ben replied in a conversation about orders: Yes it is, @shop"),
        (
            event("postCreated", POSTED, **task()),
            (ReasonKind.MENTION,),
            "ben mentioned you in task 7 about orders.email: Yes it is, @shop",
        ),
        (event("taskResolved", **task()), (), "ben resolved task 7 about orders.email"),
        (event("taskClosed", POSTED, **task()), (), "ben closed task 7 about orders.email: Yes it is, @shop"),
        (
            event("threadUpdated", addition_of("task.assignees", []), **task()),
            (ReasonKind.ASSIGNEE,),
            "ben assigned task 7 about orders.email to you",
        ),
        (event("threadUpdated", update_of("message", "a", "b")), (), "ben changed a conversation about orders"),
        (event("postUpdated", update_of("posts.p.message", "a", "b")), (), "ben changed a conversation about orders"),
        (event("entityDeleted"), (), "ben deleted a conversation about orders"),
    ],
)
def test_a_headline_addresses_the_recipient(
    happened: ChangeEvent, kinds: tuple[ReasonKind, ...], expected: str
) -> None:
    assert event_text(happened, because(*kinds)).headline == expected


def test_who_is_asked_is_addressed_in_whatever_place_it_is_read_and_others_are_called_as_people_call_them() -> None:
    dana = {"id": "d", "type": "user", "name": "dana.whitlock", "displayName": "Dana Whitlock"}
    request = event("threadCreated", **task("RequestDescription"))
    (request.entity or {})["task"]["assignees"] = [dana]
    by_reader = [event_text(request, reader_id=one).headline for one in ("d", "someone else", None)]
    assert by_reader == [
        "ben asks you to describe orders.email",
        *["ben asks Dana Whitlock to describe orders.email"] * 2,
    ]


@pytest.mark.parametrize(
    ("happened", "is_of_reader", "advice"),
    [
        (
            event("threadCreated", **task("RequestDescription", "ann")),
            True,
            ["write the description and resolve task 7, or close it and say why not: tocsin tasks show TASK-00007"],
        ),
        (
            event("threadCreated", **task("RequestApproval", "ann")),
            True,
            ["approve it by resolving task 7, or close it and say why not: tocsin tasks show TASK-00007"],
        ),
        (
            event("threadUpdated", addition_of("task.assignees", []), **task("RequestTag", "ann")),
            True,
            ["choose the tags and resolve task 7, or close it and say why not: tocsin tasks show TASK-00007"],
        ),
        (
            event("threadCreated", **task("Odd{kind}", "ann")),
            True,
            ["look at it and resolve task 7, or close it and say why not: tocsin tasks show TASK-00007"],
        ),
        (
            event("threadCreated", **task("RequestTag", "ann")),
            False,
            ["ann is to choose the tags and resolve task 7: tocsin tasks show TASK-00007"],
        ),
        (
            event("threadCreated", **task("RequestTag", *"abcde")),
            False,
            ["a, b, c and 2 more are to choose the tags and resolve task 7: tocsin tasks show TASK-00007"],
        ),
        (event("threadCreated", **task("RequestTag")), False, []),
        (event("postCreated", POSTED, **task("RequestTag", "ann")), True, []),
        (event("taskResolved", **task("RequestTag", "ann")), True, []),
    ],
)
def test_who_is_to_do_a_task_is_told_what(happened: ChangeEvent, is_of_reader: bool, advice: list[str]) -> None:
    for reader_id, reasons in (("ann", ()), (None, because(ReasonKind.ASSIGNEE))):
        lines = event_text(
            happened, reasons if is_of_reader else (), reader_id=reader_id if is_of_reader else "x"
        ).lines
        assert [line.text for line in lines if line.label == "what to do"] == advice


def test_what_was_said_is_shown_as_plain_text() -> None:
    text = event_text(
        event("threadCreated", message="# Hi\n<b onclick=x>see</b> [this](http://evil) &amp; <#E::table::a.b>")
    )
    assert [line.text for line in text.all_lines] == ["Hi see this & a.b"]
    assert (text.headline.endswith(": Hi see this & a.b"), text.lines) == (True, []), "it is said once"
    (long_line,) = event_text(event("threadCreated", message="See this. " * 20)).lines
    assert long_line.text == " ".join(["See this."] * 20), "the headline quotes only its beginning"
    suggestion_lines = event_text(event("threadCreated", **task(suggestion="New", oldValue="Old"))).lines
    assert [(one.text, one.old, one.new) for one in suggestion_lines][1:] == [("suggested", "Old", "New")]
    (resolution_line,) = event_text(
        event("taskResolved", **task("RequestTag", newValue='[{"tagFQN": "PII.None"}]'))
    ).lines
    assert resolution_line.new == "PII.None"
    announcement_lines = event_text(
        event("threadCreated", announcement={"description": "x", "startTime": 0, "endTime": 60_000})
    ).lines
    assert [one.text for one in announcement_lines] == ["x", "from 1970-01-01 00:00 UTC until 1970-01-01 00:01 UTC"]
    (change_line,) = event_text(event("threadUpdated", update_of("message", "a", "b"))).lines
    assert (change_line.text, change_line.old, change_line.new) == ("message a → b", "a", "b")


@pytest.mark.parametrize(
    ("old", "suggestion", "values"),
    [
        (None, "[]", None),
        ("[]", "[]", None),
        ("", "", None),
        ('[{"tagFQN": "PII.None"}]', "[]", ("PII.None", "no tags")),
        ('[{"tagFQN": "PII.None"}]', '[{"tagFQN": "PII.Sensitive"}]', ("PII.None", "PII.Sensitive")),
        ("[]", '[{"tagFQN": "PII.Sensitive"}]', (None, "PII.Sensitive")),
        (None, "[not JSON", (None, "[not JSON")),
    ],
)
def test_what_a_task_suggests_is_said_in_names_and_nothing_where_it_suggests_nothing(
    old: str | None, suggestion: str, values: tuple[str | None, str] | None
) -> None:
    lines = event_text(event("threadCreated", **task("UpdateTag", oldValue=old, suggestion=suggestion))).lines
    suggestion_lines = [(line.old, line.new) for line in lines if line.text == "suggested"]
    assert suggestion_lines == ([] if values is None else [values])


@pytest.mark.parametrize(
    "thread",
    [
        {"about": None, "entityRef": None, "message": None, "type": None},
        {"task": "odd", "type": "Task", "announcement": [1], "message": 7},
        {"task": {"assignees": ["x"], "newValue": "[1"}, "type": "Task", "about": "rubbish"},
    ],
)
def test_an_unusual_thread_is_still_worded(thread: dict[str, Any]) -> None:
    for kind in ("threadCreated", "postCreated", "taskResolved", "threadUpdated"):
        odd = event(kind, addition_of("posts", ["x"]), **thread)
        text = event_text(odd)
        assert text.headline and text.asset.name


def test_a_letter_about_a_thread_leads_to_its_asset() -> None:
    thread_event = event("threadCreated", **task("RequestDescription", "ann"))
    mail = render_mail(
        dispatch(thread_event, reasons=because(ReasonKind.ASSIGNEE)),
        MailSettings("t@example.com", "http://t"),
        now_ms=NOW_MS,
    )
    letter = message_from_bytes(mail.content, policy=default)
    assert letter["Subject"] == "ben asks you to describe orders.email"
    text = letter.get_body(("plain",))
    assert text is not None
    assert "acme.shop.public.orders (table), from ben, " in text.get_content()
    assert "it is assigned to you" in text.get_content()
    assert asset_of(thread_event).page == "/#/tables/o-1"


@pytest.mark.parametrize(
    ("user_id", "kinds", "headline"),
    [
        (SYSTEM.id, (ReasonKind.MENTION,), "You follow more than 100 assets."),
        (SYSTEM.id, (), "ben started a conversation about ann: @ann For you alone: You follow more than 100 assets."),
        ("b", (ReasonKind.MENTION,), "ben mentioned you in a conversation about ann: @ann For you alone: You follow"),
    ],
)
def test_a_notice_says_to_its_person_alone_what_it_is_about(
    user_id: str, kinds: tuple[ReasonKind, ...], headline: str
) -> None:
    request = notice_thread("ann", "You follow more than 100 assets.")
    reference = {"id": "a", "type": "user", "name": "ann"}
    happening = event("threadCreated", **request, entityRef=reference).model_copy(update={"user_id": user_id})
    text = event_text(happening, because(*kinds))
    assert text.headline.startswith(headline)
    assert ("For you alone" in str(text)) == (not headline.startswith("You"))
