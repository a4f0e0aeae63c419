"""Tests of the helpers: each behaves as upstream's of its name does."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tocsin.delivery.templates.budget import Budget
from tocsin.delivery.templates.functions import HELPERS
from tocsin.delivery.templates.render import render_html, render_line

ID = "0190b0b0-0000-7000-8000-00000000abcd"
TAGS = [{"tagFQN": "PII.Sensitive"}, {"tagFQN": "Tier.Tier1"}, {"other": 1}]
CONTEXT: dict[str, Any] = {
    "baseUrl": "https://tocsin.example.com",
    "event": {"entityType": "table", "entityId": ID, "entityFullyQualifiedName": "a.b.c.orders", "timestamp": 0},
    "entity": {"id": ID, "name": "orders", "domains": [{"id": "d1", "name": "Sales"}], "columns": [1, 2, 3]},
    "tags": TAGS,
    "json": '[{"tagFQN": "PII.Sensitive"}]',
    "object": '{"a": {"b": 1}}',
    "text": "columns.email.tags",
    "empty": "",
    "none": None,
    "no": False,
    "zero": 0,
    "list": [1, 2, 3],
    "nothing": [],
    "rows": [{"s": "Failed", "n": 1}, {"s": "Success", "n": 1}, {"s": "Failed", "n": 2}, "x"],
    "column": {"name": "id", "dataType": "INT", "constraint": "PRIMARY_KEY"},
    "changes": {
        "fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b"}],
        "fieldsAdded": [{"name": "tags", "newValue": "new"}, {"name": "owners", "newValue": "ann"}],
        "fieldsDeleted": [{"name": "tags", "oldValue": "old"}, {"name": "columns", "oldValue": "x"}],
    },
    "link": "<#E::table::a.b.c.orders::columns::email::description>",
    "message": "Hi <#E::user::ann|[@Ann <b>](https://x.example/users/ann)> & <b>all</b>",
    "good": "Hi <#E::user::ann|[@Ann](https://x.example/users/ann?a=1&b=2)> & <b>all</b>",
    "script": "<#E::user::ann|[@Ann](javascript:alert(1))>",
}

CASES: dict[str, list[tuple[str, str]]] = {
    "pluck": [
        ("{{#each (pluck tags 'tagFQN')}}{{this}};{{/each}}", "PII.Sensitive;Tier.Tier1;"),
        ("{{#each (pluck json 'tagFQN')}}{{this}};{{/each}}", "PII.Sensitive;"),
        ("{{#with (pluck object 'a')}}{{b}}{{/with}}", "1"),
        ("{{#with (pluck object)}}{{a.b}}{{/with}}", "1"),
        ("{{pluck text}}", "columns.email.tags"),
        ("{{pluck none 'x'}}", ""),
    ],
    "startsWith": [
        ("{{startsWith text 'columns.'}}", "true"),
        ("{{startsWith text 'x'}}", "false"),
        ("{{startsWith none ''}}", "false"),
        ("{{startsWith text}}", "false"),
    ],
    "endsWith": [("{{endsWith text '.tags'}}", "true"), ("{{endsWith none 'x'}}", "false")],
    "eq": [
        ("{{eq text 'columns.email.tags'}}", "true"),
        ("{{eq zero 0}}", "true"),
        ("{{eq no 0}}", "false"),
        ("{{eq none none}}", "false"),
        ("{{eq text}}", "false"),
    ],
    "or": [("{{or no none 'x'}}", "true"), ("{{or no none '' 0}}", "false"), ("{{or nothing}}", "true")],
    "and": [("{{and text list}}", "true"), ("{{and text empty}}", "false"), ("{{and text 0}}", "false")],
    "not": [("{{not none}}", "true"), ("{{not text}}", "false"), ("{{not nothing}}", "false")],
    "textDiff": [
        ("{{textDiff 'one old text' 'one new text'}}", "one <s>old</s> <b>new</b> text"),
        ("{{textDiff 'same' 'same'}}", "same"),
        ("{{textDiff none '<i>x'}}", "<b>&lt;i&gt;x</b>"),
        ("{{textDiff 'a' 'b' insTag='ins' delTag='del'}}", "<del>a</del> <ins>b</ins>"),
        ("{{textDiff 'a' 'b' insTag='img onerror=1'}}", "<s>a</s> <b>b</b>"),
    ],
    "truncate": [
        ("{{truncate 'abcdefghij' 8}}", "abcde…"),
        ("{{truncate 'abc' 8}}", "abc"),
        ("{{truncate 'abc' 0}}", ""),
        ("{{truncate 'abc' 'x'}}", "abc"),
        ("{{truncate 'abcdef' 2}}", "…"),
        ("{{truncate none 5}}", ""),
    ],
    "camelCaseToTitle": [("{{camelCaseToTitle 'entityType'}}", "Entity Type"), ("{{camelCaseToTitle none}}", "")],
    "resolveDomain": [
        ("{{resolveDomain entity.domains.[0]}}", "Sales"),
        ("{{resolveDomain 'd1'}}", "Sales"),
        ("{{resolveDomain 'd2'}}", "d2"),
        ("{{resolveDomain none}}", "(no domain)"),
    ],
    "formatDate": [
        ("{{formatDate 1772271000000}}", "2026-02-28 09:30:00"),
        ("{{formatDate '1772271000000'}}", "2026-02-28 09:30:00"),
        ("{{formatDate 'soon'}}", "soon"),
        ("{{formatDate 999999999999999999}}", "999999999999999999"),
        ("{{formatDate none}}", ""),
    ],
    "formatColumnValue": [
        ("{{formatColumnValue column}}", "id (INT, PRIMARY_KEY)"),
        ("{{formatColumnValue 'x<'}}", "x&lt;"),
        ("{{formatColumnValue none}}", "<em>empty</em>"),
    ],
    "groupEventChanges": [
        (
            "{{#with (groupEventChanges changes) as |c|}}"
            "{{#each c.updates}}{{name}}:{{oldValue}}>{{newValue}} {{/each}}"
            "|{{#each c.adds}}{{name}} {{/each}}|{{#each c.deletes}}{{name}} {{/each}}{{/with}}",
            "description:a>b tags:old>new |owners |columns ",
        ),
        ("{{#with (groupEventChanges none) as |c|}}{{length c.adds}}{{/with}}", "0"),
    ],
    "hasFieldInChanges": [
        ("{{#with (groupEventChanges changes) as |c|}}{{hasFieldInChanges c 'owners'}}{{/with}}", "true"),
        ("{{#with (groupEventChanges changes) as |c|}}{{hasFieldInChanges c 'x'}}{{/with}}", "false"),
        ("{{hasFieldInChanges text 'x'}}", "false"),
    ],
    "split": [
        ("{{lookup (split text '.') 1}}", "email"),
        ("{{length (split 'a..' '.')}}", "1"),
        ("{{length (split 'abc' '')}}", "3"),
        ("{{length (split none '.')}}", "0"),
        ("{{#with (split text '.') as |p|}}{{p.[0]}} {{.[2]}}{{/with}}", "columns tags"),
    ],
    "buildEntityUrl": [
        ("{{buildEntityUrl event.entityType entity}}", f"https://tocsin.example.com/#/tables/{ID}"),
        ("{{buildEntityUrl 'table' 'a.b.c.orders'}}", f"https://tocsin.example.com/#/tables/{ID}"),
        ("{{buildEntityUrl 'table' 'other'}}", "https://tocsin.example.com/"),
        ("{{buildEntityUrl 'nonsense' entity}}", "https://tocsin.example.com/"),
        ("{{buildEntityUrl none entity}}", ""),
    ],
    "parseEntityLink": [
        (
            "{{#with (parseEntityLink link)}}"
            "{{entityType}} {{entityFQN}} {{field}} {{arrayField}} {{arrayValue}}{{/with}}",
            "table a.b.c.orders columns email description",
        ),
        ("{{#with (parseEntityLink 'x')}}yes{{else}}no{{/with}}", "no"),
    ],
    "processMentions": [
        (
            "{{{processMentions good}}}",
            'Hi <a href="https://x.example/users/ann?a=1&amp;b=2">@Ann</a> &amp; &lt;b&gt;all&lt;/b&gt;',
        ),
        ("{{processMentions script}}", "&lt;#E::user::ann|[@Ann](javascript:alert(1))&gt;"),
        ("{{processMentions none}}", ""),
    ],
    "filter": [
        ("{{length (filter rows s='Failed')}}", "2"),
        ("{{length (filter rows s='Failed' n=2)}}", "1"),
        ("{{length (filter rows)}}", "4"),
        ("{{length (filter text s='x')}}", "0"),
    ],
    "length": [
        ("{{length list}}", "3"),
        ("{{length text}}", "18"),
        ("{{length none}}", "0"),
        ("{{length entity}}", "0"),
    ],
    "limit": [
        ("{{#each (limit list 2)}}{{this}}{{/each}}", "12"),
        ("{{#each (limit list 'x')}}{{this}}{{/each}}", "123"),
        ("{{length (limit list -1)}}", "0"),
        ("{{length (limit text 1)}}", "0"),
    ],
    "math": [
        ("{{math 1 '+' 2}}", "3"),
        ("{{math 7 '/' 2}}", "3.5"),
        ("{{math 7 '%' 4}}", "3"),
        ("{{math 3.14159 'round' 2}}", "3.14"),
        ("{{math 2.5 'round' 0}}", "3"),
        ("{{math 1 '/' 0}}", "0"),
        ("{{math 'x' '+' 1}}", "0"),
        ("{{math 1 '?' 1}}", "0"),
        ("{{math 1}}", "0"),
        ("{{#each list}}{{math @index '+' 1}}{{/each}}", "123"),
    ],
    "gt": [
        ("{{gt 2 1}}", "true"),
        ("{{gt '10' 9}}", "true"),
        ("{{gt 1 1}}", "false"),
        ("{{gt text 1}}", "false"),
        ("{{gt none 1}}", "false"),
    ],
}


def test_there_are_upstreams_24_helpers_and_each_has_cases() -> None:
    assert len(HELPERS) == 24
    assert set(CASES) == set(HELPERS)


@pytest.mark.parametrize(("template", "expected"), [case for cases in CASES.values() for case in cases])
def test_a_helper(template: str, expected: str) -> None:
    assert render_html(template, CONTEXT, Budget()) == expected


@pytest.mark.parametrize("name", sorted(HELPERS))
def test_the_example_of_a_helper_can_be_rendered(name: str) -> None:
    render_html(HELPERS[name].example, CONTEXT, Budget())


VALUES: list[Any] = [None, True, 0, -1, 1.5, "", "x", "{", "[1", [], [None, 1, {}], {}, {"a": [1]}, 10**30]
OTHERS: list[Any] = [None, False, 3, "a", [], {}, float("inf"), "1e400"]


@pytest.mark.parametrize("name", sorted(HELPERS))
def test_a_helper_takes_any_values(name: str) -> None:
    for value, operand in product(VALUES, OTHERS):
        context = {**CONTEXT, "value": value, "other": operand}
        for arguments in (
            "value",
            "value other",
            "value other other a=other",
            "value '/' other",
            "value 'round' other",
        ):
            render_html(f"{{{{{name} {arguments}}}}}", context, Budget())


def test_markup_becomes_text_in_a_line() -> None:
    assert render_line("{{textDiff 'a b' 'a c'}} & {{entity.name}}", CONTEXT, Budget()) == "a b c & orders"
