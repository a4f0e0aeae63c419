"""Tests of the interpreter: contexts, escaping, and limits that no template escapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.templates.budget import Budget, RenderLimits
from tocsin.delivery.templates.functions import FUNCTIONS
from tocsin.delivery.templates.render import render_html
from tocsin.errors import InvalidTemplate

CONTEXT: dict[str, Any] = {
    "name": "outer",
    "one": {"name": "inner", "two": {"deep": 1}},
    "list": [{"n": 1}, {"n": 2}],
    "pairs": {"a": 1, "b": 2},
    "markup": "<script>alert('x')</script> & \"q\"",
    "zero": 0,
    "flag": True,
    "ratio": 0.5,
}


def html_of(template: str, context: dict[str, Any] = CONTEXT) -> str:
    return render_html(template, context, Budget())


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{name}} {{one.name}} {{one.two.deep}} {{missing}}{{missing.too}}", "outer inner 1 "),
        ("{{#with one}}{{name}} {{../name}} {{@root.name}} {{list.length}}{{/with}}", "inner outer outer 2"),
        ("{{#with one}}{{this.list}}{{./list}}{{/with}}", ""),
        ("{{#with missing}}x{{else}}y{{/with}}", "y"),
        ("{{#each list}}{{@index}}{{n}}{{@first}}{{@last}} {{/each}}", "01truefalse 12falsetrue "),
        ("{{#each pairs}}{{@key}}={{this}};{{/each}}", "a=1;b=2;"),
        ("{{#each list as |row i|}}{{i}}:{{row.n}} {{/each}}", "0:1 1:2 "),
        ("{{#each list}}{{#each ../pairs}}{{@../index}}{{@index}} {{/each}}{{/each}}", "00 01 10 11 "),
        ("{{#each missing}}x{{else}}none{{/each}}", "none"),
        ("{{#each name}}x{{else}}none{{/each}}", "none"),
        ("{{#if zero}}x{{else}}y{{/if}}{{#if zero includeZero=true}}x{{/if}}", "yx"),
        ("{{#unless missing}}x{{/unless}}", "x"),
        ("{{#list}}{{n}}{{/list}}{{^missing}}no{{/missing}}{{#one}}{{name}}{{/one}}{{#flag}}f{{/flag}}", "12noinnerf"),
        ("{{lookup list 1}} {{lookup pairs 'b'}}", "{&quot;n&quot;: 2} 2"),
        ("{{flag}} {{ratio}} {{zero}}", "true 0.5 0"),
        ("\\{{name}}", "{{name}}"),
        ("{{#if (eq name 'x')}}1{{else if (eq name 'outer')}}2{{else}}3{{/if}}", "2"),
    ],
)
def test_contexts(template: str, expected: str) -> None:
    assert html_of(template) == expected


@pytest.mark.parametrize("tag", ["{{markup}}", "{{{markup}}}", "{{&markup}}", "{{truncate markup 100}}"])
def test_texts_of_the_context_are_escaped_in_every_tag(tag: str) -> None:
    assert html_of(tag) == "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;q&quot;"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{#each l}}{{#each ../l}}{{#each ../../l}}x{{/each}}{{/each}}{{/each}}", "steps"),
        ("{{#each l}}{{../big}}{{/each}}", "writes more than"),
        ("{{#each l}}{{#with (split ../big '')}}x{{/with}}{{/each}}", "makes values"),
        ("{{#each l}}{{#with (textDiff ../big ../other)}}x{{/with}}{{/each}}", "makes values|steps"),
        ("{{#each l}}{{#with (pluck ../json)}}x{{/with}}{{/each}}", "makes values|steps"),
        ("{{@root}}{{@root}}", "steps|writes more than"),
        ("{{textDiff words others}}", "writes more than|makes values"),
        ("{{#each l}}{{#if (hasFieldInChanges ../groups 'x')}}{{/if}}{{/each}}", "steps"),
        ("{{#each l}}{{length (filter ../l a=1)}}{{/each}}", "steps"),
    ],
)
def test_a_bomb_is_stopped_by_what_it_uses_and_says_where(template: str, says: str) -> None:
    """Fault scenario 39."""
    large = {
        "l": list(range(2_000)),
        "big": "word " * 20_000,
        "other": "text " * 20_000,
        "json": "[" + "{},0," * 50_000 + "0]",
        "words": " ".join(f"w{n}" for n in range(50_000)),
        "others": " ".join(f"v{n}" for n in range(50_000)),
        "groups": {"adds": [{"name": str(n)} for n in range(1_000)]},
    }
    without_a_clock = Budget(steady=lambda: 0.0)
    with pytest.raises(InvalidTemplate, match=says) as refusal:
        render_html(template, large, without_a_clock)
    assert refusal.value.message.startswith("Line 1, column ")


def test_time_is_limited() -> None:
    """Fault scenario 39."""
    ticks = iter(range(1_000))
    budget = Budget(RenderLimits(steps=10_000_000, seconds=5), steady=lambda: float(next(ticks)))
    with pytest.raises(InvalidTemplate, match="takes longer than 5 s"):
        render_html("{{#each l}}x{{/each}}", {"l": [0] * 10_000}, budget)


def test_the_limits_hold_exactly() -> None:
    render_html("x" * 10, {}, Budget(RenderLimits(written_chars=10)))
    with pytest.raises(InvalidTemplate, match="writes more than 9 characters"):
        render_html("x" * 10, {}, Budget(RenderLimits(written_chars=9)))


def test_a_value_that_contains_itself_in_upward_paths_ends() -> None:
    assert html_of("{{../../../../name}}") == "outer"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
_EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b.c", "this", "../a", "@index", "@root.a", "'x'", "1", "-2.5", "true", "null", "a.[0]"]),
    lambda inner: st.builds(
        lambda name, some: f"({name} {' '.join(some)})", st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)
_TEMPLATES = st.recursive(
    st.text(alphabet='ab<&" \n', max_size=5)
    | st.builds(lambda one: "{{#if " + one + "}}y{{/if}}", _EXPRESSIONS)
    | st.builds(lambda one: "{{lookup " + one + " 0}}", _EXPRESSIONS),
    lambda inner: (
        st.builds(
            lambda kind, value, body, rest: f"{{{{#{kind} {value}}}}}{body}{{{{else}}}}{rest}{{{{/{kind}}}}}",
            st.sampled_from(["if", "each", "with", "unless"]),
            _EXPRESSIONS,
            inner,
            inner,
        )
        | st.builds("".join, st.lists(inner, max_size=3))
    ),
    max_leaves=8,
)


@given(_TEMPLATES, st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3))
def test_any_template_renders_any_context_or_is_refused(template: str, context: dict[str, Any]) -> None:
    try:
        html = render_html(template, context, Budget(RenderLimits(steps=5_000, written_chars=5_000)))
    except InvalidTemplate as refused:
        assert refused.message
    else:
        assert len(html) <= 5_000
