"""Tests of the pseudonym that replaces a person, in documents and in texts."""

from __future__ import annotations

from typing import Any, Literal
from unicodedata import normalize

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.erasure import ERASED_NAME, PersonalIdentity, Pseudonymizer, identity_in

USER_ID = "0190d3f0-1111-7000-8000-00000000abcd"
PSEUDONYM, ADDRESS = "erased-00000000abcd", "erased-00000000abcd@erased.invalid"
DANA = PersonalIdentity(
    USER_ID,
    names=frozenset({"dana.whitlock", "dw"}),
    emails=frozenset({"dana.whitlock@example.org"}),
    display_names=frozenset({"Dana Whitlock", "Dana"}),
)
TRACES = ("dana.whitlock", "Dana Whitlock", '"dw"')


@pytest.fixture
def pseudonymizer() -> Pseudonymizer:
    return Pseudonymizer(DANA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask dana.whitlock.", f"Ask {PSEUDONYM}."),
        ("Write to Dana.Whitlock@Example.org, now", f"Write to {ADDRESS}, now"),
        ("Dana  Whitlock said so", f"{ERASED_NAME} said so"),
        ("Look, <#E::user::dana.whitlock>!", f"Look, <#E::user::{PSEUDONYM}>!"),
        ('Look, <#E::user::"dana.whitlock"|[@dana](x)>', f"Look, <#E::user::{PSEUDONYM}|[@dana](x)>"),
        ("[@dw](https://catalog/users/dw) knows", f"[@{PSEUDONYM}](https://catalog/users/{PSEUDONYM}) knows"),
        ("@dw: see", f"@{PSEUDONYM}: see"),
        ("first line\ndana.whitlock", f"first line\n{PSEUDONYM}"),
        ("isOwner('dana.whitlock')", f"isOwner('{PSEUDONYM}')"),
        (f"isOwner('dw (removed {USER_ID})')", f"isOwner('{PSEUDONYM} (removed {USER_ID})')"),
    ],
)
def test_a_text_loses_what_identifies_them(pseudonymizer: Pseudonymizer, text: str, expected: str) -> None:
    assert pseudonymizer.text(text) == expected


JOSE = PersonalIdentity(
    USER_ID,
    names=frozenset({"josé.weiß"}),
    emails=frozenset({"jose@example.org"}),
    display_names=frozenset({"José Weiß"}),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask josé.weiß.", f"Ask {PSEUDONYM}."),
        ("Ask JOSÉ.WEISS!", f"Ask {PSEUDONYM}!"),
        ("José WEISS and josé weiss", f"{ERASED_NAME} and {ERASED_NAME}"),
        ("[J](/users/jos%C3%A9.wei%C3%9F)", f"[J](/users/{PSEUDONYM})"),
        ("<#E::user::josé.weiss>", f"<#E::user::{PSEUDONYM}>"),
        (
            "José Weiss\u0327 and Jose Weiss and \u00e9José Weiss",
            "José Weiss\u0327 and Jose Weiss and \u00e9José Weiss",
        ),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_every_spelling_of_theirs_goes(text: str, expected: str, form: Literal["NFC", "NFD"]) -> None:
    assert Pseudonymizer(JOSE).text(normalize(form, text)) == normalize(form, expected)
    document = {"userName": normalize(form, "JOSÉ.weiss"), "text": normalize(form, text)}
    assert Pseudonymizer(JOSE).document(document) == {"userName": PSEUDONYM, "text": normalize(form, expected)}


@pytest.mark.parametrize(
    "text",
    [
        "dw is the data warehouse",
        "Dana is a name of many",
        "adana.whitlock and dana.whitlocks",
        "dana.whitlock.archive",
        "xdana.whitlock@example.org",
        "dana.whitlock@example.organic",
    ],
)
def test_what_is_not_theirs_stays(pseudonymizer: Pseudonymizer, text: str) -> None:
    assert pseudonymizer.text(text) == text


def test_fields_that_name_a_person_lose_ordinary_words_too(pseudonymizer: Pseudonymizer) -> None:
    table: dict[str, Any] = {
        "name": "dw",
        "fullyQualifiedName": "service.dw",
        "updatedBy": "dw",
        "owners": [{"id": USER_ID, "type": "user", "name": "dw", "fullyQualifiedName": "dw", "displayName": "Dana"}],
        "receivers": ["dw", "ann", "dana.whitlock@example.org"],
        "columns": [{"name": "dw", "description": "of the dw"}],
        "followers": ["dw", "ann"],
    }
    assert pseudonymizer.document(table) == {
        **table,
        "updatedBy": PSEUDONYM,
        "owners": [
            {
                **{"id": USER_ID, "type": "user", "name": PSEUDONYM},
                **{"fullyQualifiedName": PSEUDONYM, "displayName": ERASED_NAME},
            }
        ],
        "receivers": ["ann"],
        "followers": [PSEUDONYM, "ann"],
    }


def test_conditions_that_name_people_lose_ordinary_words_too(pseudonymizer: Pseudonymizer) -> None:
    rule = {"condition": """matchUpdatedBy({'dw', 'ann'}) || matchAnyOwnerName({"dw"}) || matchAnyTag({'dw'})"""}
    names = f"""matchUpdatedBy({{'{PSEUDONYM}', 'ann'}}) || matchAnyOwnerName({{"{PSEUDONYM}"}})"""
    assert pseudonymizer.document(rule) == {"condition": f"{names} || matchAnyTag({{'dw'}})"}
    assert pseudonymizer.document({"about": "user dw"}) == {"about": f"user {PSEUDONYM}"}
    assert pseudonymizer.document({"about": "table dw"}) == {"about": "table dw"}


def test_a_reference_without_the_id_is_theirs_by_its_type(pseudonymizer: Pseudonymizer) -> None:
    reference = {"type": "user", "name": "dw", "displayName": "Dana"}
    assert pseudonymizer.document(reference) == {"type": "user", "name": PSEUDONYM, "displayName": ERASED_NAME}
    assert pseudonymizer.document({"type": "team", "name": "dw"}) == {"type": "team", "name": "dw"}


def test_events_about_them_say_what_the_versions_say(pseudonymizer: Pseudonymizer) -> None:
    user = {"id": USER_ID, "name": "dw", "displayName": "Dana", "email": "dana.whitlock@example.org", "profile": {}}
    event = {
        "id": "e1",
        "entityType": "user",
        "entityId": USER_ID,
        "entityFullyQualifiedName": "dw",
        "userName": "ann",
        "changeDescription": {
            "fieldsAdded": [{"name": "profile", "newValue": {}}],
            "fieldsUpdated": [{"name": "displayName", "oldValue": "D.", "newValue": "Dana"}],
            "fieldsDeleted": [],
            "previousVersion": 0.1,
        },
        "entity": user,
    }
    erased_event = pseudonymizer.document(event)
    assert erased_event["entity"] == {"id": USER_ID, "name": PSEUDONYM, "displayName": ERASED_NAME, "email": ADDRESS}
    assert erased_event["entityFullyQualifiedName"] == PSEUDONYM
    assert erased_event["changeDescription"] == {
        "fieldsAdded": [],
        "fieldsUpdated": [{"name": "displayName", "oldValue": ERASED_NAME, "newValue": ERASED_NAME}],
        "fieldsDeleted": [],
        "previousVersion": 0.1,
    }


def test_derived_fields_are_rewritten_part_by_part(pseudonymizer: Pseudonymizer) -> None:
    derived = {"owners": ["dw", "Sales"], "changes": ["owner\tadd\tasset\tdw"], "size": 3}
    erased = {"owners": [PSEUDONYM, "Sales"], "changes": [f"owner\tadd\tasset\t{PSEUDONYM}"], "size": 3}
    assert pseudonymizer.derived_fields(derived) == erased


def test_every_spelling_that_they_ever_had_is_theirs() -> None:
    versions = [{"name": "dw", "email": "a@example.org"}, {"name": "dana"}, {"name": PSEUDONYM}, {"email": ADDRESS}]
    identity = identity_in(USER_ID, versions)
    assert (identity.names, identity.emails) == (frozenset({"dw", "dana"}), frozenset({"a@example.org"}))
    assert PersonalIdentity.from_json(orjson.loads(orjson.dumps(identity.to_json()))) == identity


_WORDS = st.sampled_from(
    ["dana.whitlock", "dw", "Dana Whitlock", "DANA.WHITLOCK@EXAMPLE.ORG", "@dw", "x", " ", "\n", '"']
)
_TEXTS = st.lists(_WORDS | st.text(max_size=5), max_size=6).map("".join)
_KEYS = st.sampled_from(
    ["name", "updatedBy", "owners", "description", "type", "id", "displayName", "email", "receivers"]
)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.none() | st.sampled_from(["user", USER_ID]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_a_second_time_changes_nothing(value: object) -> None:
    once = Pseudonymizer(DANA).document(value)
    assert Pseudonymizer(DANA).document(once) == once


@given(_VALUES)
def test_who_is_not_named_is_not_touched(value: object) -> None:
    elsewhere = PersonalIdentity(
        "0190d3f0-2222-7000-8000-00000000ffff", frozenset({"zoe.q"}), frozenset({"zoe.q@example.org"})
    )
    assert Pseudonymizer(elsewhere).document(value) == value
