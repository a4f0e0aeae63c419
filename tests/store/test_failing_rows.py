"""Tests of rows that failed a test in mails: shown to one person, masked, and only those of the result that is told."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.access.sample_masks import MASK
from tocsin.catalogue.observations.samples import put_failed_rows
from tocsin.delivery.channels.email.render import preview
from tocsin.delivery.dispatch import Dispatch, FailingRows, FailureContext
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.outbox.failing_rows import FailedRowSamples
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

_TAG = "PII.Sensitive"
_SAMPLE: Document = {"columns": ["id", "email"], "rows": [[7, "ann@example.org"], [8, None]]}
_WITHHELD = FailingRows(are_withheld=True)


def failing_company(engine: Engine) -> SmallCompany:
    """Return a company whose owner ana and follower cem hear by mail that a test of ``orders`` failed with rows."""
    company = SmallCompany(engine)
    company.put("classification", {"name": "PII", "description": ""})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": ""})
    for name in ("ana", "cem"):
        permit(company, name)
    company.test_case("orders")
    tell = [{"category": "Owners", "type": "Email"}, {"category": "Followers", "type": "Email"}]
    company.clock.advance(1_000)
    company.alert("failed", tell, "testStatus == 'Failed'", poll_interval_s=0)
    notify_all(engine)
    fail(company)
    return company


def permit(company: SmallCompany, name: str, *rules: Document) -> None:
    """Let a person view everything but what these rules deny."""
    see = {"name": "See", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    company.put("policy", {"name": f"Of{name}", "rules": [see, *rules]})
    policies = [{"type": "policy", "id": company.ids[f"Of{name}"]}]
    role = company.put("role", {"name": f"RoleOf{name}", "policies": policies})
    roles = [{"type": "role", "id": role["id"]}]
    company.put("user", {"name": name, "email": f"{name}@example.com", "roles": roles})


def fail(company: SmallCompany, sample: Document = _SAMPLE) -> None:
    """Report a failure of the test, then the rows that failed."""
    company.clock.advance(60_000)
    company.result("orders", "Failed")
    work = partial(put_failed_rows, sample=sample, validate=False)
    company.writes.on_entity("testCase", company.key("has_rows"), work, actor=SYSTEM)


def mails_of(engine: Engine) -> dict[str, Dispatch]:
    """Return the messages that are due, by the name of their recipient."""
    notify_all(engine)
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(engine)
    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=10**15))
    dispatches = sorted(dispatches, key=lambda one: one.first.log_offset)
    return {one.message.target.partition("@")[0]: one for one in dispatches}


def test_owners_see_the_values_and_followers_those_of_columns_that_are_not_masked(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails, samples = mails_of(store_engine), FailedRowSamples(store_engine, {_TAG})
    whole_sample = FailingRows(("id", "email"), (("7", "ann@example.org"), ("8", "null")), 2, 2)
    assert samples.of(mails["ana"]) == samples.of(mails["cem"]) == whole_sample
    columns: list[Document] = [
        {"name": "id", "dataType": "INT"},
        {"name": "email", "dataType": "VARCHAR", "dataLength": 80, "tags": [{"tagFQN": _TAG}]},
    ]
    company.table("orders", columns=columns)
    masked = whole_sample._replace(cells=(("7", MASK), ("8", MASK)))
    assert (samples.of(mails["ana"]), samples.of(mails["cem"])) == (whole_sample, masked)
    columns[1]["name"] = "mail"
    company.table("orders", columns=columns)
    assert samples.of(mails["cem"]) == masked, "what a renamed column held stays masked"


def test_rows_of_another_result_are_not_shown(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mail, samples = mails_of(store_engine)["cem"], FailedRowSamples(store_engine, {_TAG})
    assert samples.of(mail) is not None
    fail(company)
    newer_mail = mails_of(store_engine)["cem"]
    assert samples.of(mail) is None, "a newer result has rows of its own"
    assert samples.of(newer_mail) is not None
    company.result("orders", "Success")
    assert samples.of(newer_mail) is None


def test_who_may_not_see_samples_reads_that_they_are_kept(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails, samples = mails_of(store_engine), FailedRowSamples(store_engine, {_TAG})
    rule = {"name": "Hide", "effect": "deny", "operations": ["ViewSampleData"], "resources": ["testCase"]}
    permit(company, "cem", rule)
    assert samples.of(mails["cem"]) == _WITHHELD
    assert samples.of(mails["ana"]) not in (None, _WITHHELD)


@pytest.mark.parametrize("change", ["channel", "own address", "named address", "gone"])
def test_rows_stand_only_in_mails_to_one_person(store_engine: Engine, change: str) -> None:
    failing_company(store_engine)
    mail = mails_of(store_engine)["cem"]
    (reason,) = mail.first.reasons
    named_entry = replace(mail.first, reasons=(reason, reason.model_copy(update={"kind": ReasonKind.EXTERNAL})))
    changed_mails = {
        "channel": replace(mail, message=replace(mail.message, channel="Slack")),
        "own address": replace(mail, reaches_recipient=False),
        "named address": replace(mail, entries=(named_entry,)),
        "gone": replace(mail, entries=(replace(mail.first, recipient_gone=True),)),
    }
    samples = FailedRowSamples(store_engine, {_TAG})
    assert samples.of(mail) is not None
    assert samples.of(changed_mails[change]) is None


def test_a_mail_shows_few_short_rows_and_no_markup(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails_of(store_engine)
    row: list[object] = ["<b>x</b>\n" + "y" * 500, "", True, 1, {"a": 1}, "left out"]
    fail(company, {"columns": ["<i>id</i>", "b", "c", "d", "e", "f"], "rows": [row] * 9})
    mail = mails_of(store_engine)["cem"]
    texts = preview(
        replace(mail, failure=FailureContext(failing_rows=FailedRowSamples(store_engine, ()).of(mail))), "http://tocsin"
    )
    assert "<b>x" not in texts["html"]
    assert "<i>" not in texts["html"]
    assert "&lt;b&gt;x&lt;/b&gt; yy" in texts["html"]
    assert texts["text"].count("ailing row") == 3
    assert "left out" not in texts["text"]
    assert "the first of 9 rows of 6 columns that are kept" in texts["text"]
    withheld = preview(replace(mail, failure=FailureContext(failing_rows=_WITHHELD)), "http://tocsin")
    assert "failing rows are kept; you may not see them" in withheld["text"]
