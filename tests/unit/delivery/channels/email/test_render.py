"""Tests of email rendering."""

import re
from dataclasses import replace
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mails import read_mail, text_of
from tests.tracing import trace_calls, trace_of
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import (
    MESSAGE_ID,
    NOW_MS,
    OWNER,
    SHARES_OF_FIVE,
    addition_of,
    change_event,
    dispatch,
    update_of,
)
from tests.unit.delivery.wording.test_threads import POSTED, task
from tests.unit.delivery.wording.test_threads import event as thread_event

from tocsin.delivery.channels.email.composition import compose_mail
from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.channels.email.render import CHANGES_LIMIT, LINES_LIMIT
from tocsin.delivery.dispatch import Button, Dispatch, FailureContext
from tocsin.delivery.lines import clean_line
from tocsin.delivery.links import follow as follow_links
from tocsin.delivery.links.follow import FollowLink
from tocsin.delivery.links.mute import MUTED_FOR_MS, MuteLink, request_of
from tocsin.delivery.links.tokens import UNSUBSCRIBE, about_of, sign_token
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.assets import asset_of
from tocsin.delivery.wording.incidents import INCIDENT
from tocsin.delivery.wording.reports import RUN
from tocsin.errors import InvalidInput
from tocsin.model.change import DESTINATION, SUITE_SUMMARY, EventType
from tocsin.model.message import CarriedEvent
from tocsin.model.notification import ReasonKind

SENDER = MailSettings("Tocsin <tocsin@acme.example>", "https://tocsin.acme.example")


def rendered_mail(notified: Dispatch, sender: MailSettings = SENDER) -> EmailMessage:
    return read_mail(render_mail(notified, sender, now_ms=NOW_MS).content)


def parts(notified: Dispatch | None = None) -> tuple[EmailMessage, str, str]:
    mail = rendered_mail(notified or dispatch())
    text, html = (text_of(mail, kind).replace("\r\n", "\n") for kind in ("plain", "html"))
    return mail, text, html


def test_a_mail_names_the_change_the_actor_and_the_reason() -> None:
    message, text, html = parts()
    assert message["Subject"] == "orders: column email VARCHAR removed"
    assert message["To"] == "dana@example.com"
    assert message["Message-ID"] == f"<{MESSAGE_ID}@acme.example>"
    for body in (text, html):
        assert "acme.shop.public.orders" in body
        assert "jane.smith" in body
        assert "you own it (alert schema changes)" in body
        assert "version 0.9 to 1.9" in body
        assert "https://tocsin.acme.example/#/tables/123e4567-e89b-12d3-a456-426614174000" in body


def test_a_mail_can_be_ended_by_one_click_and_by_a_link() -> None:
    notified = dispatch()
    sender = MailSettings("tocsin@acme.example", "https://tocsin.acme.example", b"key")
    message = rendered_mail(notified, sender)
    link = message["List-Unsubscribe"].strip("<>")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    start = "https://tocsin.acme.example/api/v1/unsubscribe/"
    assert link.startswith(start)
    assert about_of(UNSUBSCRIBE, link.removeprefix(start), b"key") == notified.first.notification_id
    assert about_of(UNSUBSCRIBE, link.removeprefix(start), b"other key") is None
    assert about_of(UNSUBSCRIBE, f"{notified.first.notification_id}.x", b"key") is None
    assert all(link in text_of(message, kind) for kind in ("plain", "html"))
    assert rendered_mail(notified)["List-Unsubscribe"] is None


LONG_HOST = ".".join(("a" * 60, "b" * 60, "c" * 60, "example.com"))


@pytest.mark.parametrize(
    ("base_url", "public_url"),
    [
        ("https://t.example", "https://t.example"),
        ("https://tocsin.metadata-platform.department.example.com/under/a/path", None),
        (f"https://{LONG_HOST}", None),
        ("https://tocsin.b\u00fccher.example/pfad/\u00fc", "https://tocsin.xn--bcher-kva.example/pfad/%C3%BC"),
    ],
)
@pytest.mark.parametrize("long", [False, True])
def test_every_header_is_read_from_the_wire_as_it_was_meant(base_url: str, public_url: str | None, long: bool) -> None:
    host = LONG_HOST if long else "acme.example"
    mail_dispatch = dispatch()
    mail_dispatch = replace(
        mail_dispatch, message=replace(mail_dispatch.message, target=f"{'d' * (64 if long else 4)}@{host}")
    )
    sender = MailSettings(f"Tocsin <tocsin@{host}>", base_url, b"key")
    wire = render_mail(mail_dispatch, sender, now_ms=NOW_MS).content
    head = wire.partition(b"\r\n\r\n")[0]
    assert b"=?" not in head
    assert max(map(len, head.split(b"\r\n"))) <= 998  # RFC 5321 section 4.5.3.1.6
    headers = dict(line.split(b": ", 1) for line in re.sub(rb":?\r\n(?=[ \t])", _header_separator, head).split(b"\r\n"))
    token = sign_token(UNSUBSCRIBE, mail_dispatch.first.notification_id, b"key")
    link = f"{public_url or base_url}/api/v1/unsubscribe/{token}"
    assert headers[b"List-Unsubscribe"] == f"<{link}>".encode()
    assert headers[b"To"] == mail_dispatch.message.target.encode()
    assert headers[b"From"] == sender.address.encode()
    assert headers[b"Message-ID"] == f"<{MESSAGE_ID}@{host}>".encode()
    mail = read_mail(wire)
    assert (mail["List-Unsubscribe"], mail["To"].addresses[0].addr_spec) == (f"<{link}>", mail_dispatch.message.target)


def _header_separator(fold: re.Match[bytes]) -> bytes:
    return b":" if fold[0].startswith(b":") else b""


def test_a_subject_that_is_not_ascii_is_still_encoded() -> None:
    wire = render_mail(dispatch(change_event(entity={"name": "gr\u00f6\u00dfe"})), SENDER, now_ms=NOW_MS).content
    assert b"Subject: =?utf-8?" in wire
    assert read_mail(wire)["Subject"] == "gr\u00f6\u00dfe: column email VARCHAR removed"


def test_old_and_new_values_stand_under_their_change() -> None:
    _, text, _ = parts(dispatch(change_event(update_of("description", "Orders", "All orders"))))
    assert "- description changed\n    was: Orders\n    now: All orders\n" in text


@pytest.mark.parametrize("count", [1, 2])
def test_an_incident_can_be_acknowledged(count: int) -> None:
    message = samples.with_incident(samples.digest(count, samples.EVENTS["test_failure"]))
    _, text, html = parts(message)
    address = f"{samples.HOME}/#/incidents/INC-7"
    assert text.count(f"\nAcknowledge INC-7: {address}\n") == count
    assert len(re.findall(rf'<a [^>]*href="{re.escape(address)}"[^>]*>Acknowledge INC-7</a>', html)) == count
    assert "Acknowledge" not in "".join(parts(samples.digest(count))[1:])


def test_a_mail_to_a_person_has_buttons_to_open_and_to_mute_the_asset() -> None:
    to_nobody = samples.sample("test_failure")
    to_dana = replace(to_nobody, entries=(replace(to_nobody.first, recipient_id="dana"),))
    sender = replace(SENDER, unsubscribe_key=b"key")
    (mute,) = re.findall(r"https://\S*/api/v1/mute/\S+", read_text(to_dana, sender))
    request = request_of(mute.rpartition("/")[2], b"key", NOW_MS)
    assert request == MuteLink(to_dana.first.notification_id, NOW_MS + MUTED_FOR_MS)
    html = text_of(rendered_mail(to_dana, sender), "html")
    assert re.search(rf'<a [^>]*href="{re.escape(mute)}"[^>]*>Mute the asset for a day</a>', html)
    assert re.search(r'<a [^>]*href="[^"]*testCases/[^"]*"[^>]*>Open in Tocsin</a>', html)
    in_vain = (to_nobody, replace(to_dana, reaches_recipient=False), replace(to_dana, entries=to_dana.entries * 2))
    assert not any("/mute/" in read_text(message, sender) for message in in_vain)


def test_a_mail_to_a_follower_has_a_button_to_unfollow_the_asset() -> None:
    follower = samples.REASON.model_copy(update={"kind": ReasonKind.FOLLOWER})
    to_dana = dispatch(samples.EVENTS["test_failure"], reasons=(follower,))
    to_dana = replace(to_dana, entries=(replace(to_dana.first, recipient_id="dana"),))
    sender = replace(SENDER, unsubscribe_key=b"key")
    (unfollow,) = re.findall(r"https://\S*/api/v1/follow/\S+", read_text(to_dana, sender))
    request = follow_links.request_of(unfollow.rpartition("/")[2], b"key", NOW_MS)
    assert request == FollowLink(to_dana.first.notification_id, follows=False, until_ms=NOW_MS + 7 * 86_400_000)
    html = text_of(rendered_mail(to_dana, sender), "html")
    assert re.search(rf'<a [^>]*href="{re.escape(unfollow)}"[^>]*>Unfollow the asset</a>', html)
    of_table = replace(to_dana.first, reasons=(follower.model_copy(update={"of_subject": True}),))
    assert "Unfollow the table" in text_of(rendered_mail(replace(to_dana, entries=(of_table,)), sender), "html")
    downstream = replace(to_dana.first, reasons=(follower.model_copy(update={"hops": 1, "via": "x"}),))
    in_vain = (replace(to_dana, entries=(downstream,)), replace(to_dana, reaches_recipient=False))
    assert not any("/follow/" in read_text(message, sender) for message in in_vain)


def read_text(message: Dispatch, sender: MailSettings) -> str:
    return text_of(rendered_mail(message, sender))


@pytest.mark.parametrize(
    ("message", "hidden"),
    [
        (
            samples.sample("test_failure"),
            "found: 3 rows of 10 are null; expected: min value 0; last success",
        ),
        (samples.digest(2), "orders: description changed; orders: description changed"),
        (dispatch(change_event(update_of("description", "Old <1>", "New <2>"))), "New &lt;2&gt;; you own it"),
        (dispatch(), "you own it (alert schema changes)"),
    ],
)
def test_what_stands_beside_the_subject_in_a_list_of_mails_says_what_it_does_not(
    message: Dispatch, hidden: str
) -> None:
    _, _, html = parts(message)
    (preheader,) = re.findall(r'<body[^>]*>\n<p class="page" style="display: none;[^>]*>(.*?)</p>', html, re.DOTALL)
    assert hidden in preheader


def test_what_stands_in_an_entity_adds_no_header() -> None:
    evil = change_event(entity={"name": "orders\r\nBcc: everyone@example.com\r\n\r\nhello"})
    message, _, _ = parts(dispatch(evil))
    assert message["Bcc"] is None
    assert message["Subject"] == "orders Bcc: everyone@example.com hello: column email VARCHAR removed"


def test_what_stands_in_an_entity_adds_no_markup() -> None:
    """Fault scenario 40."""
    evil = change_event(update_of("description", None, "<script>alert(1)</script>"))
    _, text, html = parts(dispatch(evil))
    assert "<script>" in text
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_mail_lists_so_many_changes_and_counts_the_rest() -> None:
    many = [{"name": f"column_{number}"} for number in range(LINES_LIMIT + 7)]
    _, text, html = parts(dispatch(change_event(addition_of("columns", many))))
    assert text.count("\n- column ") == LINES_LIMIT
    assert "… and 7 more\n" in text
    assert ">… and 7 more</li>" in html


@pytest.mark.parametrize("target", ["", "dana", "dana@example.com\r\nBcc: x@example.com", "a@b, c@d", "dana@"])
def test_an_address_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(InvalidInput):
        render_mail(dispatch(target=target), SENDER, now_ms=NOW_MS)


def test_a_link_leads_to_the_assets_page() -> None:
    assert asset_of(change_event(entity_id="1")).page == "/#/tables/1"
    assert asset_of(change_event(entity_type="databaseService", entity_id="1")).page == "/#/services/databaseServices/1"
    assert asset_of(change_event(entity_type="thread")).page == "/"


def digest(count: int) -> Dispatch:
    sample = dispatch()
    names = ("orders", "revenue", "returns", "refunds")
    events = [
        change_event(entity_id=f"{place:036}", entity={"id": "e", "name": names[place % len(names)]})
        for place in range(count)
    ]
    entries = [
        replace(sample.first, notification_id=f"n{place}").with_event(event) for place, event in enumerate(events)
    ]
    return replace(sample, entries=tuple(entries))


def test_a_digest_lists_every_change_with_its_reason_and_says_what_it_is_about() -> None:
    message = rendered_mail(digest(6))
    text = text_of(message)
    assert message["Subject"] == "6 changes: orders, revenue, returns and 1 more"
    assert text.count("You receive this because you own it (alert schema changes).") == 6
    assert text_of(message, "html").count("<h2") == 6


def test_a_digest_offers_to_unsubscribe_from_the_alerts_that_it_is_of() -> None:
    sender, of_one_alert = replace(SENDER, unsubscribe_key=b"key"), digest(2)
    assert "Unsubscribe from this alert:" in read_text(of_one_alert, sender)
    first, second = of_one_alert.entries
    of_other_alert = replace(second, reasons=(OWNER.model_copy(update={"subscription_id": "other"}),))
    assert "Unsubscribe from these alerts:" in read_text(replace(of_one_alert, entries=(first, of_other_alert)), sender)


def test_a_digest_counts_what_it_has_no_room_for() -> None:
    text = text_of(rendered_mail(digest(CHANGES_LIMIT + 3)))
    assert text.count("You receive this") == CHANGES_LIMIT
    assert "… and 3 more, in your inbox" in text
    plain_text = text_of(rendered_mail(replace(digest(9), shares=SHARES_OF_FIVE)))
    assert plain_text.count("You receive this") == 5
    assert "… and 4 more, in your inbox" in plain_text


WIDELY_RENDERED = frozenset(
    "background-color border-left color display font-family font-size line-height margin max-width padding".split()
    + "text-decoration width word-break".split()
)


def test_the_html_uses_inline_styles_that_mail_programs_render() -> None:
    """Of CSS, Outlook on Windows renders what Word does; the style sheet is for dark colours alone.

    Gmail drops sheets of more than 8 kB.
    """
    _, _, html = parts(dispatch(change_event(update_of("description", "Orders", "All orders"))))
    used = {one.split(":")[0].strip() for style in re.findall(r'style="([^"]*)"', html) for one in style.split(";")}
    assert used <= WIDELY_RENDERED
    assert {"font-family", "background-color"} <= used
    assert not re.search(r"<(link|script|div|svg|img)\b", html)
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert sheet.startswith("@media (prefers-color-scheme:dark){")
    assert len(sheet) < 1_000
    used_classes = set(re.findall(r'class="([^"]*)"', html))
    assert used_classes <= set(re.findall(r"\.(\w+){", sheet))


@pytest.mark.parametrize(
    ("name", "colours"),
    [("test_failure", ("#c02626", "#ff8a8a")), ("recovery", ("#26703a", "#6cc482")), ("deletion", ())],
)
def test_the_bar_of_a_mail_says_what_the_message_means(name: str, colours: tuple[str, ...]) -> None:
    html = parts(samples.sample(name))[2]
    assert ('<td class="tone"' in html, all(one in html for one in colours)) == (bool(colours), True)


def test_a_mail_says_who_owns_the_asset() -> None:
    for body in parts(samples.sample("test_failure"))[1:]:
        assert "; owned by @Dana Whitlock, Shop\n" in body
    for body in parts(samples.sample("deletion"))[1:]:
        assert "owned by" not in body


def test_owners_of_a_mail_are_counted_beyond_a_few_and_never_markup() -> None:
    owners = [{"type": "team", "id": str(number), "name": f"<b>t{number}</b>"} for number in range(7)]
    _, text, html = parts(dispatch(change_event(entity={"id": "i", "name": "orders", "owners": owners})))
    assert "<b>t4</b> … and 2 more\n" in text
    assert "&lt;b&gt;t4&lt;/b&gt; … and 2 more\n" in html
    assert "<b>t" not in html


_ENCODED_WORD = re.compile(rb"=\?[^?\s]+\?[BbQq]\?[^?\s]*\?=")


@given(st.text(alphabet="abc deé表😀 .,:_?=ü\u0301", min_size=1, max_size=150))
@example("ü" * 150)
@example("表" * 150)
@example("orders: description ü " + "a" * 120)
@example("c😀 =?=:é =a:_a?😀表 .aaaa:é_aü表?=表,表表")
@example("=?utf-8?q?not_encoded?=")
def test_encoded_words_have_at_most_75_characters_and_read_as_meant(name: str) -> None:
    text = RichText(name, ())
    mail_dispatch = dispatch()
    mail_dispatch = replace(mail_dispatch, texts={mail_dispatch.first.notification_id: text})
    sender = MailSettings(f"{'Größe ' * 20}<tocsin@acme.example>", "https://tocsin.acme.example")
    wire = render_mail(mail_dispatch, sender, now_ms=NOW_MS).content
    head = wire.partition(b"\r\n\r\n")[0]
    words = _ENCODED_WORD.findall(head)
    assert max(map(len, words)) <= 75
    assert all(len(line) <= 76 for line in head.split(b"\r\n") if b"=?" in line)
    from_header = str(make_header(decode_header(message_from_bytes(wire)["From"])))
    assert from_header == f"{'Größe ' * 20}<tocsin@acme.example>"
    if expected_subject := clean_line(name, limit=150):
        assert read_mail(wire)["Subject"] == expected_subject


@given(st.from_regex(r"[a-z.+]{1,9}@[a-z.-]{1,9}", fullmatch=True))
def test_a_recipient_is_refused_as_the_parser_of_addresses_refuses_it(target: str) -> None:
    try:
        expected = Address(addr_spec=target).addr_spec
    except (ValueError, IndexError, HeaderParseError):
        with pytest.raises(InvalidInput):
            render_mail(dispatch(target=target), SENDER, now_ms=NOW_MS)
    else:
        mail = render_mail(dispatch(target=target), SENDER, now_ms=NOW_MS)
        assert mail.recipient == expected
        assert f"\r\nTo: {expected}\r\n".encode() in mail.content


@given(st.text())
def test_a_part_is_read_as_it_was_written_and_cannot_end_itself(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "")
    wire = compose_mail([("Subject", "s")], boundary="b", text=lines, html=f"{lines}\n--=_b--\n")
    assert wire.isascii()
    assert max(map(len, wire.split(b"\r\n"))) <= 76
    plain, html = read_mail(wire).iter_parts()
    assert plain.get_content().replace("\r\n", "\n").removesuffix("\n") == lines.removesuffix("\n")
    assert html.get_content().replace("\r\n", "\n").endswith("\n--=_b--\n")


LAYERS = [
    *("tocsin.delivery.channels", "tocsin.delivery.templates", "tocsin.delivery.wording.content"),
    *("tocsin.delivery.wording.changes", "tocsin.delivery.wording"),
    *("tocsin.delivery.links", "tocsin.delivery.dispatch", "tocsin.delivery", "tocsin.conditions", "tocsin.model"),
]


@pytest.mark.parametrize("name", list(samples.EVENTS))
def test_no_call_goes_up_while_a_mail_is_rendered(name: str) -> None:
    message = replace(samples.sample(name), failure=FailureContext(since_ms=1, count=2))
    trace = trace_of(lambda: render_mail(message, SENDER, now_ms=NOW_MS))
    assert trace.calls_up(LAYERS) == []


KINDS = samples.EVENTS | {
    "conversation": thread_event("threadCreated"),
    "announcement": thread_event("threadCreated", announcement={"description": "x", "startTime": 0, "endTime": 60_000}),
    "post": thread_event("postCreated", POSTED),
    "resolved_task": thread_event("taskResolved", **task("RequestTag", newValue='[{"tagFQN": "PII.None"}]')),
    "suggestion": thread_event("threadCreated", **task(suggestion="New", oldValue="Old")),
    "description": change_event(update_of("columns.email.description", "old", "new")),
    "failed_run": change_event(
        update_of(RUN, {"executionStatus": "Successful"}, {"executionStatus": "Failed", "timestamp": NOW_MS})
    ),
    "incident": change_event(addition_of(INCIDENT, {"testCaseResolutionStatusType": "Ack"})),
    "failing_destination": change_event(
        addition_of(DESTINATION, {"type": "Webhook", "failingSince": NOW_MS, "failureCount": 3, "percent": 50}),
        event_type=EventType.DESTINATION_FAILING,
    ),
    "suite_run": change_event(
        addition_of(
            SUITE_SUMMARY,
            {
                "status": "Failed",
                "failed": 1,
                "testCaseResultSummary": [{"status": "Failed", "testCase": {"name": "t"}, "table": {"name": "orders"}}],
            },
        ),
        event_type=EventType.TEST_SUITE_RUN_COMPLETED,
    ),
    "log_in": change_event(None, event_type=EventType.USER_LOGIN),
}


@pytest.mark.parametrize("name", list(KINDS))
def test_mails_that_carry_one_event_are_as_each_would_be_alone(name: str) -> None:
    """What they share is made once; reasons, failures, templates and buttons are those of each."""
    sender, event = replace(SENDER, unsubscribe_key=b"key"), KINDS[name]
    template_text = RichText("worded", (RichBlock(BlockKind.PARAGRAPH, (Span("by a template"),)),))
    single = dispatch(event)
    mention_reason = OWNER.model_copy(update={"kind": ReasonKind.MENTION, "subscription_name": "mentions"})
    variants = [
        single,
        dispatch(event, reasons=(mention_reason,)),
        replace(single, failure=FailureContext(since_ms=1, count=2, downstream=("a.b.c",))),
        replace(single, texts={"n": template_text}),
        replace(single, buttons={"n": (Button("Acknowledge", "https://t.example/a", "token"),)}),
        replace(single, entries=(single.first, replace(single.first, notification_id="o", reasons=(mention_reason,)))),
        single,
    ]
    carried_event = single.first.carried
    for variant in variants:
        fresh = replace(variant, entries=tuple(replace(one, carried=CarriedEvent.of(event)) for one in variant.entries))
        shared_dispatch = replace(
            variant, entries=tuple(replace(one, carried=carried_event) for one in variant.entries)
        )
        for own_sender in (sender, replace(sender, base_url="https://other.example")):
            expected_mail = render_mail(fresh, own_sender, now_ms=NOW_MS)
            assert render_mail(shared_dispatch, own_sender, now_ms=NOW_MS) == expected_mail


def test_what_many_mails_say_of_one_event_is_worded_once() -> None:
    event = change_event()
    first, second = dispatch(event), dispatch(target="erin@example.com")
    second = replace(second, entries=(replace(second.first, carried=first.first.carried),))
    render_mail(first, SENDER, now_ms=NOW_MS)
    with trace_calls() as trace:
        render_mail(second, SENDER, now_ms=NOW_MS)
    assert not [function for function in trace.functions if function.endswith((":event_text", ":owners_of"))]


@pytest.mark.parametrize("name", list(KINDS))
def test_a_message_becomes_a_mail_through_at_most_fifteen_functions(name: str) -> None:
    sender, message = replace(SENDER, unsubscribe_key=b"key"), dispatch(KINDS[name])
    trace = trace_of(lambda: render_mail(message, sender, now_ms=NOW_MS))
    assert len(trace.functions) <= 15, sorted(trace.functions)
