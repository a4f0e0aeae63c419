"""Tests of what a check prints: text, Markdown that is only text, SARIF, and which rules are broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tocsin.check.announcing import announce_unannounced
from tocsin.check.markdown import LONGEST_COMMENT, escape, markdown_text
from tocsin.check.policy import DEFAULT_POLICY, CheckPolicy, parse_policy
from tocsin.check.proposals import FiledProposal
from tocsin.check.report import CheckReport, RecipientSum, build_report, text_lines
from tocsin.check.sarif import sarif_document
from tocsin.check.schema_files import schema_proposals
from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document

ASSET = "pg.shop.public.orders"
READER = {"id": "r1", "type": "dashboard", "fullyQualifiedName": "bi.weekly"}
NOBODY = {"people": 0, "addresses": 0, "isComplete": True}


def a_checked(**fields: Any) -> Document:
    """Return an answer about a column that goes, which one dashboard and one hidden asset read."""
    reason = {"kind": "fieldRemoved", "text": "column email VARCHAR removed", "announcement": "not announced"}
    readers = {"total": 2, "hidden": 1, "data": [{"entity": READER, "level": 1, "isCertain": True}]}
    return {
        "entityType": "table",
        "fullyQualifiedName": ASSET,
        "entity": {"id": "o1", "type": "table", "name": "orders", "fullyQualifiedName": ASSET},
        "headline": "orders: breaking, not announced: column email VARCHAR removed",
        "breakingReasons": [reason],
        "isAnnounced": False,
        "announcements": [],
        "readers": readers,
        "adapted": [],
        "tests": [{"id": "t1", "fullyQualifiedName": f"{ASSET}.email.not_null"}],
        "missingColumns": [],
        "conditions": [True],
        **fields,
    }


def a_report(*answers: Document, policy: CheckPolicy = DEFAULT_POLICY, **options: Any) -> CheckReport:
    document = {"entityType": "table", "fullyQualifiedName": ASSET, "removedColumns": ["email"]}
    proposals = [FiledProposal(document, "migrations/1.sql", 3) for _ in answers]
    return build_report(proposals, {"data": list(answers), "recipients": NOBODY}, policy, **options)


def test_text_says_what_breaks_who_reads_it_and_the_rule() -> None:
    report = a_report(a_checked())
    assert list(text_lines(report)) == [
        f"{ASSET}  (migrations/1.sql:3)",
        "  breaking: column email VARCHAR removed (not announced)",
        "  read by 2 assets:",
        "    dashboard bi.weekly",
        "    1 asset that you may not see",
        f"  tested by {ASSET}.email.not_null",
        "  error: Breaking changes of what something reads are announced",
        "Would notify: nobody.",
        "1 change, 1 breaking: 1 against the rules.",
    ]
    assert report.has_errors and report.as_json()["hasErrors"]


@pytest.mark.parametrize(
    ("fields", "options", "is_broken"),
    [
        ({}, {}, True),
        ({"isAnnounced": True}, {}, False),
        ({}, {"acknowledgement": "agreed"}, False),
        ({"conditions": [False]}, {}, False),
        ({"readers": {"total": 0, "hidden": 0, "data": []}}, {}, False),
        ({"readers": {"total": 1, "hidden": 1, "data": []}}, {}, True),
        ({"readers": {"total": 1, "hidden": 0, "data": [{"entity": READER, "isCertain": True}]}}, {}, True),
    ],
)
def test_when_the_default_rule_is_broken(fields: Document, options: Document, is_broken: bool) -> None:
    assert a_report(a_checked(**fields), **options).has_errors is is_broken


def test_what_the_pull_request_adapts_reads_it_no_more() -> None:
    nobody = {"total": 0, "hidden": 0, "data": []}
    report = a_report(a_checked(readers=nobody, adapted=[READER]))
    assert not report.has_errors
    assert "  no longer read by bi.weekly, which this changes, too" in list(text_lines(report))


def test_a_warning_ends_no_check_and_an_acknowledgement_is_no_announcement() -> None:
    rule = {"name": "Tier 1", "when": "breaking()", "unless": ["announced"], "level": "warning"}
    policy = parse_policy({"rules": [rule]})
    report = a_report(a_checked(), policy=policy, acknowledgement="agreed")
    assert ("  warning: Tier 1" in list(text_lines(report)), report.has_errors) == (True, False)
    assert a_report(
        a_checked(), policy=parse_policy({"rules": [rule | {"level": "error"}]}), acknowledgement="x"
    ).has_errors


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "rules"),
        ({}, "rules"),
        ({"rules": []}, "rules"),
        ({"rules": [{"name": "x"}]}, "rules[0].when"),
        ({"rules": [{"name": "x", "when": "breaking()", "unless": ["friday"]}]}, "rules[0].unless"),
        ({"rules": [{"name": "x", "when": "breaking()", "wen": 1}]}, "rules[0].wen"),
        ({"rules": [{"name": "x", "when": "breaking("}]}, "rules[0].when"),
    ],
)
def test_wrong_policies_name_the_place(value: object, place: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_policy(value)
    assert place in (raised.value.field or raised.value.message)


class _Announcer:
    """Takes announcements, and refuses those of one asset."""

    def __init__(self, refused_id: str = "") -> None:
        self.announced: list[Document] = []
        self._refused_id = refused_id

    def announce_change(self, announcement: Document, *, dry_run: bool = False) -> Document:
        if announcement["entity"]["id"] == self._refused_id:
            raise Forbidden("no")
        self.announced += [] if dry_run else [announcement]
        return {"name": f"CR-{len(self.announced)}"}


def test_what_is_not_announced_is_announced_all_or_nothing() -> None:
    deletion = {"kind": "deletedWhileRead", "text": "deleted", "announcement": "not announced"}
    new_type = {
        "kind": "typeNarrowed",
        "field": "columns.total",
        "after": "INT",
        "text": "",
        "announcement": "not announced",
    }
    removal = {"kind": "fieldRemoved", "field": "columns.a.children.b", "text": "", "announcement": "not announced"}
    old_removal = {"kind": "fieldRemoved", "field": "columns.c", "text": "", "announcement": "announced by CR-9"}
    second_table = {"id": "o2", "type": "table", "name": "x"}
    report = a_report(
        a_checked(breakingReasons=[new_type, removal, old_removal]),
        a_checked(entity=second_table, breakingReasons=[deletion]),
    )
    announcer = _Announcer()
    assert announce_unannounced(announcer, report, 5, "PR 1") == ["CR-1", "CR-2", "CR-3"]
    columns = [(request["entity"]["id"], request.get("column")) for request in announcer.announced]
    kinds = [(request["kind"], request.get("newValue")) for request in announcer.announced]
    assert (columns, kinds) == (
        [("o1", "total"), ("o1", "a.b"), ("o2", None)],
        [("type", "INT"), ("removal", None), ("removal", None)],
    )
    refusing = _Announcer("o2")
    with pytest.raises(Forbidden):
        announce_unannounced(refusing, report, 5, "PR 1")
    assert refusing.announced == []


def test_markdown_shows_names_as_they_are() -> None:
    name = "a<img src=x>[b](http://evil.example) @everyone **x** `y` | z www.evil.example #1"
    assert escape(name) == (
        r"a&lt;img src=x\>\[b\](http\://evil.example) @"
        "\u200b"
        r"everyone \*\*x\*\* \`y\` \| z www\.evil.example \#1"
    )
    comment = markdown_text(a_report(a_checked(headline="orders: x\n## y", breakingReasons=[], conditions=[False])))
    assert "x \\#\\# y" in comment and comment.startswith("### ✅ Tocsin: ")


def test_a_comment_is_no_longer_than_a_host_takes() -> None:
    reasons = [{"kind": "fieldRemoved", "text": "column x removed", "announcement": ""}] * 50
    comment = markdown_text(a_report(*(a_checked(breakingReasons=reasons) for _ in range(100))))
    assert len(comment) <= LONGEST_COMMENT and "more changes left out" in comment


def test_sarif_has_a_result_per_broken_rule_at_its_place() -> None:
    document = sarif_document(a_report(a_checked(), a_checked(isAnnounced=True)), version="1.0.0")
    (run,) = document["runs"]
    broken, note = run["results"]
    assert (document["version"], broken["level"], note["level"]) == ("2.1.0", "error", "note")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [broken["ruleId"], note["ruleId"]]
    place = broken["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("migrations/1.sql", 3)
    assert "column email VARCHAR removed" in broken["message"]["text"]


def test_recipients_of_portions_add_up_by_person() -> None:
    ann = {"user": {"id": "u1", "name": "ann"}, "events": 2, "alerts": ["a"], "reasons": ["owner"]}
    hook = {"channel": "Webhook", "events": 1, "alerts": ["h"], "reasons": []}
    for is_named in (True, False):
        recipients = RecipientSum(is_named)
        recipients.add({"people": 1, "addresses": 1, "isComplete": True, "data": [ann, hook]})
        recipients.add({"people": 1, "addresses": 0, "isComplete": True, "data": [ann | {"alerts": ["b"]}]})
        answer = recipients.as_document()
        assert (answer["people"], answer["addresses"], "data" in answer) == (1, 1, is_named)
    assert RecipientSum(is_named=False).as_document()["people"] == 0


def test_schemas_that_differ_or_are_gone(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    for folder, files in ((base, ("a.avsc", "b.proto", "c.json", "d.txt")), (head, ("a.avsc", "c.json"))):
        folder.mkdir()
        for name in files:
            (folder / name).write_text("same" if name == "c.json" else folder.name)
    proposals = {one.asset: one for one in schema_proposals(base, head, "kafka")}
    assert proposals.keys() == {"kafka.a", "kafka.b"}
    assert proposals["kafka.a"].document["messageSchema"] == {"schemaText": "head", "schemaType": "Avro"}
    assert proposals["kafka.b"].document["deleted"]
    with pytest.raises(InvalidInput, match="is no folder"):
        list(schema_proposals(base, tmp_path / "absent", "kafka"))
