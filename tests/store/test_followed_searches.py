"""Tests of followed searches: what comes to one is told until it leaves it, judged at the event's place."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_container_follows import last_event, reasons_by_person
from tests.store.test_label_follows import TAG, put_on

from tocsin.alerts.saved_searches import rules_of_search
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM

BELL = [{"category": "Users", "type": "ActivityFeed"}]
REASONS = {"cem": ["it matches your saved search mine"]}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "Privacy", "description": "x"})
    company.put("tag", {"name": "Secret", "classification": "Privacy", "description": "x"})
    for name in ("Finance", "Sales"):
        company.put("domain", {"name": name, "domainType": "Aggregate", "description": "x"})
    company.table("profit")
    return company


def follow_search(company: SmallCompany, query: str, index: str = "table") -> None:
    search = {"name": "mine", "query": query, "index": index}
    owners = [{"id": company.ids["cem"], "type": "user"}]
    rules = rules_of_search(search)
    company.alert("cem: mine", BELL, toMeOnly=True, owners=owners, search=search, filteringRules=rules)


def put(company: SmallCompany, key: str, value: object) -> LoggedEvent:
    company.clock.advance(1_000)
    patch = [{"op": "add", "path": f"/{key}", "value": value}]
    company.writes.patch("table", company.key("profit"), patch, actor=SYSTEM)
    return last_event(company)


def tier(name: str) -> list[Document]:
    return [{"tagFQN": f"Tier.{name}", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]


def test_what_gets_the_tag_of_a_search_is_told_until_it_loses_it(company: SmallCompany) -> None:
    follow_search(company, "tag:Privacy.Secret")
    events = [put(company, "description", "outside"), put_on(company, "profit", TAG)]
    events += [put(company, "description", "inside"), put_on(company, "profit"), put(company, "description", "after")]
    reasons = [reasons_by_person(company, one) for one in events]
    assert reasons == [{}, REASONS, REASONS, REASONS, {}]


def test_what_enters_and_leaves_a_part_of_a_search_is_told_only_while_all_parts_hold(company: SmallCompany) -> None:
    follow_search(company, "domain:Finance -tag:Privacy.Secret")
    domains = [[{"type": "domain", "id": company.ids[name]}] for name in ("Finance", "Sales")]
    events = [put(company, "domains", domains[1]), put(company, "domains", domains[0])]
    events += [put_on(company, "profit", TAG), put(company, "description", "tagged"), put_on(company, "profit")]
    events += [put(company, "domains", domains[1]), put(company, "description", "of Sales")]
    reasons = [reasons_by_person(company, one) for one in events]
    assert reasons == [{}, REASONS, REASONS, {}, REASONS, REASONS, {}]


def test_a_tier_that_is_replaced_leaves_the_search(company: SmallCompany) -> None:
    company.put("classification", {"name": "Tier", "description": "x"})
    for name in ("Tier1", "Tier2", "Tier3"):
        company.put("tag", {"name": name, "classification": "Tier", "description": "x"})
    follow_search(company, "tier:Tier.Tier1")
    events = [put(company, "tags", tier(name)) for name in ("Tier2", "Tier1", "Tier2", "Tier3")]
    assert [reasons_by_person(company, one) for one in events] == [{}, REASONS, REASONS, {}]


def test_words_are_found_in_names_descriptions_and_columns(company: SmallCompany) -> None:
    follow_search(company, "email")
    events = [put(company, "description", "inside: its column is called so")]
    company.table("EmailAddresses", columns=[])
    events.append(last_event(company))
    company.table("femails", columns=[])
    events.append(last_event(company))
    company.table("other", columns=[], description="An e-mail is no email")
    events.append(last_event(company))
    company.writes.patch(
        "table", company.key("other"), [{"op": "replace", "path": "/description", "value": "left"}], actor=SYSTEM
    )
    events.append(last_event(company))
    company.writes.patch(
        "table", company.key("other"), [{"op": "replace", "path": "/description", "value": "gone"}], actor=SYSTEM
    )
    events.append(last_event(company))
    assert [reasons_by_person(company, one) for one in events] == [REASONS, REASONS, {}, REASONS, REASONS, {}]


def test_a_text_of_a_person_never_becomes_a_part_of_the_condition(company: SmallCompany) -> None:
    for query in (r"tag:x'\)||true", r"name:a'b description:\"||true", r"fqn:*'\)\|\|true*"):
        follow_search(company, query)
        assert reasons_by_person(company, put(company, "description", f"after {query}")) == {}


def test_an_alert_of_a_search_that_tells_others_is_no_saved_search_of_theirs(company: SmallCompany) -> None:
    search = {"name": "of yours. Log in at evil.example", "query": "profit", "index": "table"}
    to_dia = [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["dia"]}}]
    company.alert("Profit", to_dia, search=search, filteringRules=rules_of_search(search))
    reasons = reasons_by_person(company, put(company, "description", "new"))
    assert reasons == {"dia": ["the alert names you"]}
