"""Tests of the text of change events."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.delivery.channels.kinds import judge
from tests.unit.delivery.events import addition_of, change_event, deletion_of, update_of

from tocsin.conditions.breaking import DELETED_WHILE_READ
from tocsin.conditions.changes import ChangeOperation, EventChange
from tocsin.delivery.lines import HEADLINE_LIMIT, SHOWN_LIMIT, ChangeLine, clean_line, moment_text
from tocsin.delivery.wording.changes import EventText, description_of, event_text, version_lines
from tocsin.model.announcement import Announcement, ChangeOutcome
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ALERT_INCIDENT, EXPIRY, ChangeDescription, EventType, FieldChange
from tocsin.model.secret import PARTS_WITH_SECRETS


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (deletion_of("columns", [{"name": "email"}]), "orders: column email removed"),
        (deletion_of("columns", '[{"name": "email"}]'), "orders: column email removed"),
        (addition_of("columns", {"name": "phone"}), "orders: column phone added"),
        (addition_of("tags", [{"tagFQN": "PII.Sensitive"}]), "orders: tag PII.Sensitive added"),
        (
            addition_of("columns.email.tags", [{"tagFQN": "PII.Sensitive"}]),
            "orders: tag PII.Sensitive added to column email",
        ),
        (addition_of("tags", [{"tagFQN": "Tier.Tier1"}]), "orders: tier Tier1 added"),
        (
            deletion_of("columns.email.tags", [{"tagFQN": "Terms.Mail", "source": "Glossary"}]),
            "orders: glossary term Terms.Mail removed from column email",
        ),
        (addition_of("owners", [{"id": "1", "type": "user", "name": "dana"}]), "orders: owner dana added"),
        (addition_of("charts", [{"name": "total"}]), "orders: chart total added"),
        (deletion_of("dataModels", [{"name": "sales"}]), "orders: data model sales removed"),
        (addition_of("reviewers", [{"name": "dana"}]), "orders: reviewer dana added"),
        (update_of("schemaFields.id.dataType", "INT", "LONG"), "orders: field id INT → LONG"),
        (update_of("columns.email.description", "a", "b"), "orders: description of column email changed"),
        (update_of("columns.at.children.city.dataType", "INT", "TEXT"), "orders: column at.city INT → TEXT"),
        (deletion_of("columns.at.children", [{"name": "zip"}]), "orders: column zip removed from column at"),
        (
            update_of("messageSchema.schemaFields.r.children.a.dataType", "INT", "STRING"),
            "orders: field r.a INT → STRING",
        ),
        (
            deletion_of("messageSchema.schemaFields.r.children", [{"name": "a", "dataType": "INT"}]),
            "orders: field a INT removed from field r",
        ),
        (
            addition_of("messageSchema", {"schemaType": "Avro"}),
            "orders: schema of the messages added: schema type Avro",
        ),
        (update_of("messageSchema.schemaType", "Avro", "JSON"), "orders: schema type of the messages Avro → JSON"),
        (
            addition_of("requestSchema.schemaFields", [{"name": "a", "dataType": "INT"}]),
            "orders: field a INT added to the request",
        ),
        (
            update_of("requestSchema.schemaFields.a.description", "a", "b"),
            "orders: description of field a of the request changed",
        ),
        (
            addition_of("responseSchema.schemaFields.a.tags", [{"tagFQN": "PII.Sensitive"}]),
            "orders: tag PII.Sensitive added to field a of the response",
        ),
        (update_of("dataModel.columns.q.dataType", "BIGINT", "INT"), "orders: column q BIGINT → INT"),
        (addition_of("dataModel.columns", [{"name": "q"}]), "orders: column q added to the data model"),
        (update_of('columns."a.b".description', "a", "b"), "orders: description of column a.b changed"),
        (update_of("columns", ["a", "b"], ["b", "a"]), "orders: columns reordered"),
        (update_of("extension.costCenter", 1, 2), "orders: custom property costCenter 1 → 2"),
        (update_of('not"a path', 1, 2), 'orders: not"a path 1 → 2'),
        (update_of("description", None, "new"), "orders: description changed"),
        (update_of("deleted", False, True), "orders: deleted"),
        (update_of("deleted", True, False), "orders: restored"),
        (update_of("testCaseResult", None, {"testCaseStatus": "Failed"}), "orders: test failed"),
        (update_of("pipelineStatus", None, {"executionStatus": "Failed"}), "orders: run failed"),
        (addition_of("description", "new"), "orders: description added"),
        (deletion_of("tags", [{"tagFQN": "A.b"}, {"tagFQN": "A.c"}]), "orders: tag A.b removed … and 1 more"),
        (deletion_of("tags", [{"tagFQN": "A.b"}] * 3), "orders: tag A.b removed … and 2 more"),
    ],
)
def test_headlines_say_what_changed(described: ChangeDescription, expected: str) -> None:
    assert event_text(change_event(described)).headline == expected


@pytest.mark.parametrize("part", sorted(PARTS_WITH_SECRETS))
@pytest.mark.parametrize("below", ["", ".token", ".owners", ".deleted"])
def test_what_may_hold_secrets_is_named_without_its_values(part: str, below: str) -> None:
    name = f"{part}{below}"
    for described, verb in (
        (update_of(name, "k4n4rie", ["k4n4rie"]), "changed"),
        (addition_of(name, ["k4n4rie"]), "added"),
        (deletion_of(name, ["k4n4rie"]), "removed"),
    ):
        text = event_text(change_event(described))
        assert text.headline.endswith(verb)
        assert "k4n4rie" not in repr(text)


MANY = ChangeDescription(
    fields_updated=(
        *update_of("columns.status.dataType", "VARCHAR", "INT").fields_updated,
        *update_of("columns.status.description", "a", "b").fields_updated,
    ),
    fields_deleted=deletion_of("columns", [{"name": "cart_id", "dataType": "BIGINT"}]).fields_deleted,
)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (deletion_of("columns", [{"name": "email", "dataType": "INT"}]), ["breaking: column email INT removed"]),
        (update_of("columns.status.dataType", "BIGINT", "INT"), ["breaking: column status BIGINT → INT"]),
        (update_of("columns.status.dataType", "INT", "BIGINT"), ["column status INT → BIGINT"]),
        (
            update_of("columns.status.constraint", "NULL", "NOT_NULL"),
            ["breaking: column status made NOT NULL"],
        ),
        (deletion_of("columns.at.children", [{"name": "zip"}]), ["breaking: column zip removed from column at"]),
        (
            addition_of("tableConstraints", [{"constraintType": "PRIMARY_KEY", "columns": ["id"]}]),
            ["breaking: constraint PRIMARY KEY (id) added"],
        ),
        (
            MANY,
            [
                "breaking: column cart_id BIGINT removed",
                "breaking: column status VARCHAR → INT",
                "description of column status changed: a → b",
            ],
        ),
    ],
)
def test_changes_that_break_readers_come_first_and_say_so(described: ChangeDescription, expected: list[str]) -> None:
    text = event_text(judge(change_event(described)))
    assert [line.sentence for line in text.lines if not line.label] == expected
    assert text.headline.startswith(f"orders: {expected[0]}")
    advice = [line.text for line in text.lines if line.label == "what to do"]
    is_breaking = expected[0].startswith("breaking")
    command = "tocsin impact 0199c6f2-7c00-7000-8000-000000000001"
    assert advice == ([f"see who reads what changed: {command}"] if is_breaking else [])


def test_a_deletion_says_that_something_reads_what_is_deleted() -> None:
    event = change_event(None, event_type=EventType.ENTITY_DELETED, breaking_reasons=(DELETED_WHILE_READ,))
    assert event_text(event).headline == "orders: permanently deleted while something reads it"


_EMAIL_GONE = deletion_of("columns", [{"name": "email", "dataType": "INT"}])
_EMAIL_REMOVED = BreakingReason(kind=BreakingKind.FIELD_REMOVED, field="columns.email", before="INT")


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("asAnnounced", "orders: as announced by CR-12: column email INT removed"),
        ("early", "orders: breaking, earlier than CR-12 announced: column email INT removed"),
        ("otherwise", "orders: breaking, otherwise than CR-12 announced: column email INT removed"),
        ("objected", "orders: breaking, despite an objection to CR-12: column email INT removed"),
        (None, "orders: breaking, not announced: column email INT removed"),
    ],
)
def test_a_change_says_how_it_was_announced(outcome: str | None, expected: str) -> None:
    announcements = () if outcome is None else (announcement_of(outcome, "columns.email"),)
    reasons = () if outcome == "asAnnounced" else (_EMAIL_REMOVED,)
    event = change_event(_EMAIL_GONE, breaking_reasons=reasons, announcements=announcements)
    assert event_text(event).headline == expected


def announcement_of(outcome: str, field: str | None = None) -> Announcement:
    return Announcement(request="CR-12", outcome=ChangeOutcome(outcome), field=field)


@pytest.mark.parametrize(
    ("described", "headline"),
    [
        (update_of("name", "orders_old", "orders"), "renamed orders_old → orders"),
        (addition_of("entityStatus", "Deprecated"), "deprecated"),
    ],
)
def test_what_becomes_of_an_asset_as_announced_says_so(described: ChangeDescription, headline: str) -> None:
    def headline_of(*announcements: Announcement) -> str:
        return event_text(change_event(described, breaking_reasons=(), announcements=announcements)).headline

    assert headline_of(announcement_of("asAnnounced")) == f"orders: as announced by CR-12: {headline}"
    for announcements in (
        (),
        (announcement_of("asAnnounced"),) * 2,
        (announcement_of("asAnnounced", "columns.email"),),
    ):
        assert headline_of(*announcements) == f"orders: {headline}"


def test_a_deletion_says_how_it_was_announced() -> None:
    reasons = (DELETED_WHILE_READ,)
    headlines = [
        event_text(change_event(None, event_type=EventType.ENTITY_DELETED, **facts)).headline
        for facts in (
            {"announcements": (announcement_of("asAnnounced"),)},
            {"breaking_reasons": reasons, "announcements": (announcement_of("early"),)},
            {"breaking_reasons": reasons, "announcements": ()},
        )
    ]
    assert headlines == [
        "orders: permanently deleted as announced by CR-12",
        "orders: permanently deleted while something reads it, earlier than CR-12 announced",
        "orders: permanently deleted while something reads it, not announced",
    ]


def test_what_only_an_announcement_makes_breaking_has_a_line() -> None:
    early = announcement_of("early")
    reason = BreakingReason(kind=BreakingKind.UNLIKE_ANNOUNCED, after=early.in_words())
    event = change_event(update_of("name", "a", "b"), breaking_reasons=(reason,), announcements=(early,))
    assert event_text(event).headline == "orders: breaking: changed earlier than CR-12 announced … and 1 more"


@pytest.mark.parametrize(
    ("event_type", "expected"),
    [
        (EventType.ENTITY_CREATED, "orders: created"),
        (EventType.ENTITY_SOFT_DELETED, "orders: deleted"),
        (EventType.ENTITY_DELETED, "orders: permanently deleted"),
        (EventType.ENTITY_RESTORED, "orders: restored"),
        (EventType.USER_LOGIN, "orders: logged in"),
        (EventType.USER_LOGOUT, "orders: logged out"),
    ],
)
def test_whole_changes_are_named_for_what_they_are(event_type: EventType, expected: str) -> None:
    assert event_text(change_event(update_of("deleted", False, True), event_type=event_type)).headline == expected


def test_an_event_without_changes_is_named_by_its_type() -> None:
    assert event_text(change_event(None, event_type=EventType.SLA_VIOLATION)).headline == "orders: sla violation"


def test_an_event_without_a_document_is_named_by_the_end_of_its_fqn() -> None:
    event = change_event(None, entity=None, entity_fully_qualified_name='acme."my.db".orders')
    assert event_text(event).headline == "orders: entity updated"


def test_large_values_are_cut() -> None:
    (line,) = event_text(change_event(update_of("description", "x" * 9_000, "y"))).lines
    assert line.old is not None
    assert len(line.old) == SHOWN_LIMIT
    assert line.old.endswith("…")
    assert line.new == "y"


def test_lines_come_in_the_order_of_what_matters() -> None:
    described = ChangeDescription(
        fields_added=(FieldChange(name="tags", new_value=[{"tagFQN": "A.b"}]),),
        fields_updated=(FieldChange(name="description", old_value="a", new_value="b"),),
        fields_deleted=(FieldChange(name="owners", old_value=[{"name": "dana"}]),),
    )
    texts = [line.text for line in event_text(change_event(described)).lines]
    assert texts == ["owner dana removed", "tag A.b added", "description changed"]


def test_a_column_is_named_with_its_type_before_and_after() -> None:
    columns = [{"name": "status", "dataType": "VARCHAR", "dataLength": 16, "dataTypeDisplay": "varchar(16)"}]
    change = ChangeDescription(
        fields_added=(FieldChange(name="columns", new_value=[{"name": "gift_note", "dataType": "TEXT"}]),),
        fields_updated=(
            FieldChange(name="columns.status.dataLength", old_value=8, new_value=16),
            FieldChange(name="columns.status.dataTypeDisplay", old_value="varchar(8)", new_value="varchar(16)"),
            FieldChange(name="description", old_value="a", new_value="b"),
        ),
        fields_deleted=(FieldChange(name="columns", old_value=[{"name": "cart_id", "dataType": "BIGINT"}]),),
    )
    text = event_text(change_event(change, entity={"name": "orders", "columns": columns}))
    assert text.headline == "orders: column cart_id BIGINT removed … and 3 more"
    assert [line.sentence for line in text.lines] == [
        "column cart_id BIGINT removed",
        "column status VARCHAR(8) → VARCHAR(16)",
        "column gift_note TEXT added",
        "description changed: a → b",
    ]


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (addition_of("entityStatus", "Deprecated"), "orders: deprecated"),
        (update_of("entityStatus", "Approved", "Deprecated"), "orders: deprecated"),
        (update_of("deprecated", False, True), "orders: deprecated"),
        (update_of("entityStatus", "Deprecated", "Approved"), "orders: no longer deprecated"),
        (update_of("entityStatus", "Draft", "Approved"), "orders: status Draft → Approved"),
        (addition_of("entityStatus", "Draft"), "orders: status Draft"),
        (deletion_of("entityStatus", "Draft"), "orders: status Draft removed"),
    ],
)
def test_a_deprecation_says_so(described: ChangeDescription, expected: str) -> None:
    assert event_text(change_event(described)).headline == expected


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("acme.shop.public.orders", "tocsin impact acme.shop.public.orders"),
        ('acme."all orders".it', """tocsin impact 'acme."all orders".it'"""),
        ("acme." + "x" * 600, f"tocsin impact {change_event().id}"),
    ],
)
def test_a_deprecation_names_in_a_command_what_is_deprecated(name: str, command: str) -> None:
    event = change_event(addition_of("entityStatus", "Deprecated"), entity_fully_qualified_name=name)
    assert event_text(event).lines[-1].text.endswith(f": {command}")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (ChangeLine("column id removed", name="id"), ("column ", "id", " removed")),
        (ChangeLine("description of column id changed", name="id"), ("description of column ", "id", " changed")),
        (ChangeLine("column id INT → TEXT", "INT", "TEXT", lead="column id", name="id"), ("column ", "id", "")),
        (ChangeLine("column id removed"), ("column id removed", "", "")),
        (ChangeLine("cut short …", name="id"), ("cut short …", "", "")),
    ],
)
def test_the_name_of_a_column_can_be_told_from_the_words_around_it(
    line: ChangeLine, parts: tuple[str, str, str]
) -> None:
    assert line.parts() == parts


def test_labels_that_a_column_brings_are_named() -> None:
    event = change_event(addition_of("columns", [{"name": "email", "tags": [{"tagFQN": "PII.Sensitive"}]}]))
    texts = [line.text for line in event_text(event).lines]
    assert texts == ["column email added", "tag PII.Sensitive added to column email"]


def test_control_and_direction_characters_never_reach_a_line() -> None:
    assert clean_line("a\r\nBcc: x\x00\u202eb\u2028c") == "a Bcc: x b c"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            EventChange("tag", ChangeOperation.ADD, "columns.email", "PII.Sensitive"),
            "tag PII.Sensitive added to column email",
        ),
        (EventChange("tier", ChangeOperation.MODIFY, "asset", "Tier.Tier2"), "tier changed to Tier2"),
        (EventChange("certification", ChangeOperation.MODIFY, "asset", "Gold"), "certification changed to Gold"),
        (EventChange("quality", ChangeOperation.MODIFY, "asset", "Failed"), "test failed"),
        (EventChange("quality", ChangeOperation.ADD, "asset", "Success"), "test passed"),
        (EventChange("quality", ChangeOperation.MODIFY, "asset", "Ack"), "incident acknowledged"),
        (EventChange("run", ChangeOperation.MODIFY, "asset", "partialSuccess"), "run succeeded in part"),
        (EventChange("customProperty", ChangeOperation.MODIFY, "asset", "score"), "custom property score changed"),
        (EventChange("other", ChangeOperation.MODIFY, "asset", "sourceUrl"), "source url changed"),
        (EventChange("quality", ChangeOperation.ADD, "asset", "slaViolation"), "sla violation"),
        (EventChange("usage", ChangeOperation.ADD, "asset"), "usage added"),
        (EventChange("lifecycle", ChangeOperation.REMOVE, "asset", "softDeleted"), "deleted"),
        (EventChange("schema", ChangeOperation.ADD, "asset", "bi.total"), "schema bi.total added"),
        (EventChange("schema", ChangeOperation.REMOVE, "columns.email"), "column email removed"),
    ],
)
def test_what_a_change_means_is_said_as_people_say_it(change: EventChange, expected: str) -> None:
    assert description_of(change) == expected


def test_a_tier_that_goes_while_another_comes_is_one_line() -> None:
    described = ChangeDescription(
        fields_added=(FieldChange(name="tags", new_value=[{"tagFQN": "Tier.Tier2"}, {"tagFQN": "A.b"}]),),
        fields_deleted=(FieldChange(name="tags", old_value=[{"tagFQN": "Tier.Tier1"}]),),
    )
    lines = event_text(change_event(described)).lines
    assert [(line.text, line.old, line.new) for line in lines] == [
        ("tier Tier1 → Tier2", "Tier1", "Tier2"),
        ("tag A.b added", None, None),
    ]
    assert event_text(change_event(described)).headline == "orders: tier Tier1 → Tier2 … and 1 more"


def test_a_failing_destination_is_said_in_words() -> None:
    failure = {
        "destinationId": "d",
        "type": "Webhook",
        "endpoint": "https://hooks.example.org/***",
        "failingSince": 1_704_067_200_000,
        "failureCount": 70,
        "percent": 50,
        "lastFailedReason": "serverError",
        "lastFailedStatusCode": 503,
    }

    def text_of(percent: int) -> EventText:
        change = FieldChange(name="destination", new_value=failure | {"percent": percent})
        return event_text(change_event(change_description=ChangeDescription(fields_updated=(change,))))

    failing = text_of(50)
    assert failing.headline == "orders: Webhook https://hooks.example.org/*** fails"
    assert [line.labelled_text for line in failing.lines] == [
        "failing since: 2024-01-01 00:00 UTC",
        "failed attempts: 70, the last with server error 503",
        "what follows: it is stopped unless an attempt succeeds; 50 % of the time until then is over",
        "what to do: correct it; tocsin alerts status orders shows why",
    ]
    stopped_text = text_of(100)
    assert stopped_text.headline == "orders: Webhook https://hooks.example.org/*** stopped"
    assert [line.labelled_text for line in stopped_text.lines[-2:]] == [
        "what follows: messages wait until it is resumed",
        "what to do: correct it, then tocsin alerts resume orders",
    ]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("customer_" * 12, "customer_lifetime_value", "… renamed to customer_lifetime_value"),
        ("customer_" * 12, "mail_" * 11, "… renamed to mail_mail_mail_"),
        ("email", "customer_" * 12, "column email renamed to customer_customer_"),
    ],
)
def test_a_headline_cuts_the_name_of_a_renamed_column_before_its_new_one(old: str, new: str, part: str) -> None:
    described = ChangeDescription(
        fields_added=addition_of("columns", [{"name": new, "dataType": "INT"}]).fields_added,
        fields_deleted=deletion_of("columns", [{"name": old, "dataType": "INT"}]).fields_deleted,
    )
    announcement = announcement_of("asAnnounced", f"columns.{old}").model_copy(update={"renamed_to": new})
    headline = event_text(change_event(described, announcements=(announcement,))).headline
    assert headline.startswith(f"orders: as announced by CR-12: column {old[:20]}")
    assert part in headline
    assert len(headline) <= HEADLINE_LIMIT + len("orders: ")


def test_a_headline_of_a_long_name_says_what_became_of_it() -> None:
    described = deletion_of("columns", [{"name": "customer_" * 20, "dataType": "INT"}])
    headline = event_text(change_event(described)).headline
    assert headline.startswith("orders: column customer_customer_")
    assert headline.endswith("… INT removed")


def test_times_are_said_in_the_readers_zone() -> None:
    assert moment_text(1_760_000_000_000) == "2025-10-09 08:53 UTC"
    assert moment_text(1_760_000_000_000, "Europe/Berlin") == "2025-10-09 10:53 CEST"
    assert moment_text(1_760_000_000_000, "Nowhere/Land") == "2025-10-09 08:53 UTC"
    assert moment_text(253_402_300_799_999, "Asia/Tokyo") == "9999-12-31 23:59 UTC"


ANN, BEN = {"type": "user", "id": "1", "name": "ann"}, {"type": "user", "id": "2", "name": "ben"}


@pytest.mark.parametrize(
    ("described", "headline"),
    [
        (update_of("name", "orders_old", "orders"), "orders: renamed orders_old → orders"),
        (update_of("name", "orders_old" * 10, "orders"), "orders: renamed"),
        (update_of("extension.steward", ANN, BEN), "orders: custom property steward ann → ben"),
        (update_of("extension.steward", ANN, ANN | {"id": "3"}), "orders: custom property steward changed"),
    ],
)
def test_names_before_and_after_stand_in_the_headline(described: ChangeDescription, headline: str) -> None:
    assert event_text(change_event(described)).headline == headline


def test_what_happens_to_an_alert_says_that_it_is_one() -> None:
    changes = (
        FieldChange(name="enabled", old_value=True, new_value=False),
        *update_of(EXPIRY, None, {"expires": 0}).fields_updated,
    )
    event = change_event(
        ChangeDescription(fields_updated=changes),
        entity_type="eventsubscription",
        entity={"name": "Orders", "enabled": False},
    )
    text = event_text(event)
    assert text.headline == "alert Orders: expired 1970-01-01 00:00 UTC"
    assert not [line.text for line in text.lines if "enabled yes" in line.text]


def test_a_version_is_said_as_messages_say_its_event() -> None:
    described = ChangeDescription(
        fields_added=(
            FieldChange(name="tags", new_value=[{"tagFQN": "Tier.Tier2"}]),
            FieldChange(name="columns", new_value=[{"name": "email", "tags": [{"tagFQN": "PII.Sensitive"}]}]),
        ),
        fields_deleted=(FieldChange(name="tags", old_value=[{"tagFQN": "Tier.Tier1"}]),),
    )
    version = {"id": "1", "name": "orders", "changeDescription": described.to_wire()}
    lines = version_lines("table", version)
    assert lines == [line.sentence for line in event_text(change_event(described)).lines]
    assert {"tier Tier1 → Tier2", "tag PII.Sensitive added to column email"} < set(lines)
    assert version_lines("table", {"id": "1", "name": "orders"}) == ["created"]


def test_the_version_of_a_deletion_says_that_something_reads_the_asset_and_what_was_announced() -> None:
    deletion = ChangeDescription(fields_updated=(FieldChange(name="deleted", old_value=False, new_value=True),))
    version = {"id": "1", "name": "sales", "deleted": True, "changeDescription": deletion.to_wire()}
    announcement = Announcement(request="CR-1", outcome=ChangeOutcome.EARLY)
    for announcements, text in (
        (None, "deleted while something reads it"),
        ((), "deleted while something reads it, not announced"),
        ((announcement,), "deleted while something reads it, earlier than CR-1 announced"),
    ):
        assert version_lines("dashboard", version, (DELETED_WHILE_READ,), announcements) == [text]
    assert version_lines("dashboard", version) == ["deleted"]


def test_a_long_comment_on_an_incident_is_said_in_full() -> None:
    comment = "the warehouse was down " * 8
    step = {"name": "INC-7", "status": "acknowledged", "severity": "Severity2", "comment": comment}
    event = change_event(addition_of(ALERT_INCIDENT, step), event_type=EventType.ALERT_INCIDENT_UPDATED)
    assert f"INC-7 acknowledged: “{comment.strip()}”" in [line.text for line in event_text(event).lines]


@pytest.mark.parametrize(("describe", "verb"), [(addition_of, "added"), (deletion_of, "removed")])
def test_a_headline_says_what_happened_to_lineage_between_assets_of_long_names(
    describe: Callable[[str, Any], ChangeDescription], verb: str
) -> None:
    ends = {key: {"fullyQualifiedName": f"warehouse.{'x' * 60}"} for key in ("fromEntity", "toEntity")}
    assert event_text(change_event(describe("lineage", ends))).headline.startswith(
        f"orders: lineage {verb}: warehouse."
    )


@pytest.mark.parametrize(
    ("outcome", "field", "where", "added", "expected"),
    [
        ("asAnnounced", "columns.email", "columns", "mail", ["as announced by CR-12: column email renamed to mail"]),
        (
            "early",
            "columns.email",
            "columns",
            "mail",
            ["breaking, earlier than CR-12 announced: column email renamed to mail"],
        ),
        (
            "asAnnounced",
            "columns.a.children.email",
            "columns.a.children",
            "mail",
            ["as announced by CR-12: column a.email renamed to mail"],
        ),
        (
            "asAnnounced",
            "columns.email",
            "columns",
            "post",
            ["as announced by CR-12: column email INT removed", "column post INT added"],
        ),
    ],
)
def test_an_announced_rename_is_one_line(outcome: str, field: str, where: str, added: str, expected: list[str]) -> None:
    described = ChangeDescription(
        fields_added=addition_of(where, [{"name": added, "dataType": "INT"}]).fields_added,
        fields_deleted=deletion_of(where, [{"name": "email", "dataType": "INT"}]).fields_deleted,
    )
    announcement = announcement_of(outcome, field).model_copy(update={"renamed_to": "mail"})
    reasons = () if outcome == "asAnnounced" else (_EMAIL_REMOVED,)
    text = event_text(change_event(described, breaking_reasons=reasons, announcements=(announcement,)))
    assert [line.sentence for line in text.lines if not line.label] == expected
    assert text.headline == f"orders: {expected[0]}{' … and 1 more' * (len(expected) - 1)}"
