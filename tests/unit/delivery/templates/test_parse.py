"""Tests of the parser: Handlebars as notifications need it, and errors with their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.templates.parse import LONGEST, MAX_DEPTH, parse
from tocsin.delivery.templates.syntax import Block, Literal, Output, Path, TemplateCall, Text
from tocsin.errors import InvalidTemplate


def test_text_outputs_and_comments() -> None:
    text, output, end = parse("Hello {{! not {{ shown }}{{!-- {{x}} --}}{{entity.name}}!")
    assert text == Text("Hello ")
    assert isinstance(output, Output)
    assert isinstance(output.value, Path)
    assert output.value.steps == ("entity", "name")
    assert end == Text("!")


@pytest.mark.parametrize(
    ("text", "steps", "up", "is_private", "is_scoped"),
    [
        ("this", (), 0, False, True),
        (".", (), 0, False, True),
        ("..", (), 1, False, True),
        ("../name", ("name",), 1, False, True),
        ("../../a.b", ("a", "b"), 2, False, True),
        ("./name", ("name",), 0, False, True),
        ("this.name", ("name",), 0, False, True),
        (".[1]", ("1",), 0, False, True),
        ("parts.[1]", ("parts", "1"), 0, False, False),
        ("parts.1", ("parts", "1"), 0, False, False),
        ("a.[first name].b", ("a", "first name", "b"), 0, False, False),
        ("a/b", ("a", "b"), 0, False, False),
        ("@root.event", ("root", "event"), 0, True, False),
        ("@../index", ("index",), 1, True, True),
        ("data-type", ("data-type",), 0, False, False),
    ],
)
def test_paths(text: str, steps: tuple[str, ...], up: int, is_private: bool, is_scoped: bool) -> None:
    (output,) = (node for node in parse(f"{{{{{text}}}}}") if isinstance(node, Output))
    path = output.value
    assert isinstance(path, Path)
    assert (path.steps, path.up, path.is_private, path.is_scoped) == (steps, up, is_private, is_scoped)


def test_calls_take_literals_paths_calls_and_named_arguments() -> None:
    (output,) = (
        node for node in parse("{{filter (split a '.') b=1 c=-2.5 d=true e=null}}") if isinstance(node, Output)
    )
    call = output.value
    assert isinstance(call, TemplateCall)
    assert isinstance(call.arguments[0], TemplateCall)
    assert call.arguments[0].arguments[1] == Literal(".")
    assert dict(call.keywords) == {"b": Literal(1), "c": Literal(-2.5), "d": Literal(True), "e": Literal(None)}


def test_else_if_is_a_block_inside_of_the_otherwise() -> None:
    (block,) = (node for node in parse("{{#if a}}1{{else if b}}2{{else}}3{{/if}}") if isinstance(node, Block))
    assert block.body == (Text("1"),)
    (inner,) = block.otherwise
    assert isinstance(inner, Block)
    assert (inner.kind, inner.body, inner.otherwise) == ("if", (Text("2"),), (Text("3"),))


def test_an_inverse_block_swaps_its_parts() -> None:
    (block,) = (node for node in parse("{{^a}}1{{else}}2{{/a}}") if isinstance(node, Block))
    assert (block.body, block.otherwise) == ((Text("2"),), (Text("1"),))


def test_tildes_take_white_space_with_them() -> None:
    assert [node.text for node in parse("a  {{~x~}}  b") if isinstance(node, Text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{#if a}}x", "Line 1, column 1: this block has no end; write {{/if}}"),
        ("\n {{/if}}", "Line 2, column 2: {{/if}} ends no block"),
        ("{{#if a}}{{/each}}", "Line 1, column 10: {{/each}} ends a block that begins with {{#if}}"),
        ("{{#if}}{{/if}}", "{{#if}} takes one value, not 0"),
        ("{{#if a b}}{{/if}}", "{{#if}} takes one value, not 2"),
        ("{{else}}", "{{else}} outside of a block"),
        ("{{#if a}}{{else}}{{else}}{{/if}}", "this block has two {{else}}"),
        ("{{x", "this tag has no end; write }}"),
        ("{{x {{y}}", "this tag has no end; write }}"),
        ("{{{x}}", "this tag has no end; write }}}"),
        ("{{!-- x }}", "this comment has no end"),
        ("{{}}", "this tag is empty"),
        ("{{a ? b}}", "unexpected '?'"),
        ("{{startWith name 'a'}}", "unknown helper 'startWith'; did you mean startsWith?"),
        ("{{#if (eqq a b)}}{{/if}}", "unknown helper 'eqq'; did you mean eq?"),
        ("{{#eq a b}}x{{/eq}}", "eq begins no block; write {{#if (eq …)}}"),
        ("{{#eech list as |x|}}{{/eech}}", "unknown block"),
        ("{{#unles a}}{{/unles}}", "unknown block 'unles'; did you mean unless?"),
        ("{{> header}}", "partials and decorators are not supported"),
        ("{{#> layout}}{{/layout}}", "unexpected '>'"),
        ("{{#*inline 'x'}}{{/inline}}", "unexpected '*'"),
        ("{{*deco}}", "partials and decorators are not supported"),
        ("{{{{raw}}}} {{x}} {{{{/raw}}}}", "raw blocks are not supported"),
        ("{{eq (a b}}", "unknown helper 'a'"),
        ("{{eq (not b}}", "this parenthesis is not closed"),
        ("{{eq a)}}", "unexpected ')'"),
        ("{{eq ()}}", "a function belongs here"),
        ("{{filter a b=}}", "a value is missing"),
        ("{{#each a as |x y z|}}{{/each}}", "block parameters are written as |one| or as |one index|"),
        ("{{#each a |x|}}{{/each}}", "block parameters are written"),
        ("{{#each a as |}}{{/each}}", "block parameters are written"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InvalidTemplate) as refused:
        parse(text)
    assert says in refused.value.message
    assert refused.value.message.startswith(f"Line {refused.value.line}, column {refused.value.column}: ")


def test_nesting_is_limited() -> None:
    deep = "{{#if a}}" * MAX_DEPTH + "{{/if}}" * MAX_DEPTH
    assert parse(deep)
    with pytest.raises(InvalidTemplate, match="nested more than 32 levels"):
        parse("{{#if a}}" + deep + "{{/if}}")
    calls = MAX_DEPTH + 1
    with pytest.raises(InvalidTemplate, match="nested more than 32 levels"):
        parse("{{#if " + "(not " * calls + "a" + ")" * calls + "}}{{/if}}")
    with pytest.raises(InvalidTemplate, match="more than 96"):
        parse("{{#if a}}" + "{{else if a}}" * 200 + "{{/if}}")


def test_length_is_limited() -> None:
    with pytest.raises(InvalidTemplate, match="longer than"):
        parse("x" * (LONGEST + 1))


_PIECES = st.sampled_from(
    "{{ }} {{{ }}} {{# {{/ {{^ {{else}} {{else if if each with unless eq split name this .. ../ @index @root . [ ] ( ) "
    "| as |x| = 'a' \" 12 -3.5 true null ~ ! !-- -- > * & \\ <b> </b> é \n".split(" ")
)


@given(st.lists(_PIECES, max_size=40), st.sampled_from(["", " "]))
def test_whatever_is_written_is_read_or_refused(pieces: list[str], space: str) -> None:
    try:
        parse(space.join(pieces))
    except InvalidTemplate as refused:
        assert refused.message.startswith("Line ")


@given(st.text(max_size=200))
def test_any_text_without_braces_is_itself(text: str) -> None:
    if "{{" not in text:
        assert "".join(node.text for node in parse(text) if isinstance(node, Text)) == text
