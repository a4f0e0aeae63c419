"""Tests of templates against Handlebars' language and Mustache's sections: cases of our own for each rule.

Source: handlebarsjs.com, "Language Guide" and "Built-in Helpers"; Mustache specification, "Sections".
"""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.delivery.templates.budget import Budget
from tocsin.delivery.templates.render import render_html
from tocsin.errors import InvalidTemplate

CONTEXT: dict[str, Any] = {
    "text": "orders",
    "number": 7,
    "zero": 0,
    "blank": "",
    "yes": True,
    "no": False,
    "nothing": None,
    "empty": [],
    "object": {},
    "list": ["a", "b"],
    "owner": {"name": "dana", "this": "key"},
    "foo bar": {"name": "spaced"},
    "foo]bar": "closed",
    'foo"bar': "quoted",
    "foo[bar": "opened",
    "this": "a key called this",
    "12": "twelve",
    "12.5": "a half more",
    "true": "a key called true",
    "null": "a key called null",
    "length": "a key called length",
    "$ref": "dollar",
    "a:b": "colon",
}


def html_of(template: str, context: dict[str, Any] = CONTEXT) -> str:
    return render_html(template, context, Budget())


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{#text}}{{.}}{{/text}}", "orders"),
        ("{{#text}}{{this}} of {{owner.name}}{{/text}}", "orders of dana"),
        ("{{#number}}{{.}}{{/number}}", "7"),
        ("{{#text}}{{../text}}{{/text}}", "orders"),
        ("{{#text}}{{truncate this 3}}{{/text}}", "…"),
        ("{{#text}}{{length}}{{/text}}", "6"),
        ("{{#text as |word|}}{{word}}{{/text}}", "orders"),
        ("{{#list}}{{.}}{{/list}}", "ab"),
        ("{{#yes}}{{text}}{{/yes}}", "orders"),
        ("{{#owner}}{{name}}{{/owner}}", "dana"),
        ("{{^text}}x{{else}}{{.}}{{/text}}", "orders"),
        ("{{#(split 'a.b' '.')}}{{.}}{{/(}}", "ab"),
    ],
)
def test_a_section_makes_its_value_the_context(template: str, expected: str) -> None:
    assert html_of(template) == expected


@pytest.mark.parametrize(
    ("name", "in_section", "in_if", "in_with"),
    [
        ("zero", True, False, True),
        ("blank", True, False, False),
        ("object", True, True, True),
        ("empty", False, False, False),
        ("no", False, False, False),
        ("nothing", False, False, False),
        ("missing", False, False, False),
        ("text", True, True, True),
    ],
)
def test_what_opens_a_block(name: str, in_section: bool, in_if: bool, in_with: bool) -> None:
    for kind, expected in ((f"#{name}", in_section), (f"#if {name}", in_if), (f"#with {name}", in_with)):
        end = name if kind == f"#{name}" else kind[1:].split(maxsplit=1)[0]
        assert html_of(f"{{{{{kind}}}}}+{{{{else}}}}-{{{{/{end}}}}}") == ("+" if expected else "-"), kind
    assert html_of(f"{{{{^{name}}}}}-{{{{/{name}}}}}") == ("" if in_section else "-")


def test_zero_is_the_context_of_its_section() -> None:
    assert html_of("{{#zero}}{{.}}{{/zero}}{{#with zero}}{{.}}{{/with}}") == "00"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{{"foo bar"}}', "{&quot;name&quot;: &quot;spaced&quot;}"),
        ("{{'text'}}", "orders"),
        ("{{[foo bar].name}}", "spaced"),
        ("{{'foo]bar'}}", "closed"),
        ("{{[foo\\]bar]}}", "closed"),
        ('{{"foo[bar"}}', "opened"),
        ("{{'foo\"bar'}}", "quoted"),
        ('{{"foo\\"bar"}}', "quoted"),
        ("{{[this]}}", "a key called this"),
        ("{{./[this]}}", "a key called this"),
        ("{{owner.[this]}}", "key"),
        ("{{12}}", "twelve"),
        ("{{12.5}}", "a half more"),
        ("{{true}}", "a key called true"),
        ("{{null}}", "a key called null"),
        ("{{13}}{{'missing'}}{{false}}", ""),
        ("{{$ref}} {{a:b}}", "dollar colon"),
        ('{{#"foo bar"}}{{name}}{{/"foo bar"}}', "spaced"),
        ("{{#'foo bar'}}{{name}}{{/[foo bar]}}", "spaced"),
        ("{{#12}}{{.}}{{/12}}", "twelve"),
        ("{{^'missing'}}none{{/'missing'}}", "none"),
        ("{{'length' list}} {{[length] list}}", "2 2"),
        ("{{./length}}", "a key called length"),
        ("{{#if true}}y{{/if}}{{#if 'text'}}y{{/if}}{{#if 0}}n{{/if}}", "yy"),
        ('{{truncate "it\'s \\"so\\"" 20}}', "it&#x27;s &quot;so&quot;"),
    ],
)
def test_a_literal_at_the_head_of_a_tag_is_a_name(template: str, expected: str) -> None:
    assert html_of(template) == expected


def test_what_a_path_may_not_hold_is_refused() -> None:
    for template in ("{{owner.this}}", "{{owner/..}}", "{{owner.[x}}"):
        with pytest.raises(InvalidTemplate, match="Line 1"):
            html_of(template)
    with pytest.raises(InvalidTemplate, match="unknown helper 'foo bar'"):
        html_of("{{'foo bar' list}}")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("\\{{text}}", "{{text}}"),
        ("\\{{text}} {{text}}", "{{text}} orders"),
        ("{{text}} \\{{text}} \\{{text}}", "orders {{text}} {{text}}"),
        ("\\\\{{text}}", "\\orders"),
        ("\\\\\\{{text}}", "\\\\orders"),
        ("\\\\ {{text}}", "\\\\ orders"),
        ("\\{{{text}}}", "{{{text}}}"),
        ("\\{{text}} \\\\{{text}}", "{{text}} \\orders"),
        ("\\{{#if}}", "{{#if}}"),
        ("a\\b", "a\\b"),
        ("\\{{", "{{"),
    ],
)
def test_a_backslash_escapes_braces_and_two_are_one_before_a_tag(template: str, expected: str) -> None:
    assert html_of(template) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a\n{{#if yes}}\nb\n{{/if}}\nc", "a\nb\nc"),
        ("a\n  {{#if yes}}  \n  b\n\t{{/if}}\nc", "a\n  b\nc"),
        ("a\n{{#if no}}\nb\n{{else}}\nc\n{{/if}}\nd", "a\nc\nd"),
        ("{{#if no}}\nb\n{{else if yes}}\nc\n{{/if}}\n", "c\n"),
        ("{{#if no}}\nb\n{{^}}\nc\n{{/if}}", "c\n"),
        ("a\n{{! note }}\nb", "a\nb"),
        ("a\n  {{!-- a\n longer note --}}\nb", "a\nb"),
        ("{{#each list}}\n- {{.}}\n{{/each}}\n", "- a\n- b\n"),
        ("{{#list}}\r\n- {{.}}\r\n{{/list}}\r\nx", "- a\r\n- b\r\nx"),
        ("{{#text}}\n{{.}}\n{{/text}}", "orders\n"),
        ("{{^missing}}\nnone\n{{/missing}}\n", "none\n"),
        ("  {{! only }}", ""),
        ("{{! only }}\n", ""),
        ("a {{#if yes}}\nb\n{{/if}} c", "a \nb\n c"),
        ("{{#if yes}}{{#if yes}}\nb{{/if}}{{/if}}", "\nb"),
        ("{{#if yes}} x\n{{/if}}", " x\n"),
        ("a\n{{text}}\nb", "a\norders\nb"),
        ("a\n\n{{#if yes}}\n\nb\n{{/if}}\n\nc", "a\n\n\nb\n\nc"),
        ("{{#if\n  yes}}\nb\n{{/if}}\n", "b\n"),
        ("a\n{{~#if yes}}\nb\n{{/if}}\nc", "ab\nc"),
        ("a\n{{#if yes~}}\n  b\n{{/if}}\nc", "a\nb\nc"),
        ("\\{{#if}}\n{{#if yes}}\nb\n{{/if}}", "{{#if}}\nb\n"),
    ],
)
def test_a_block_or_comment_alone_on_its_line_takes_the_line_with_it(template: str, expected: str) -> None:
    assert html_of(template) == expected
