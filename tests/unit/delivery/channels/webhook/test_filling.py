"""Tests of the templates of webhooks: what a body, a header, a query and an address can become, and what never."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.delivery.events import change_event, dispatch

from tocsin.delivery.channels.webhook.filling import FilledConfig, check_templates, filled_config
from tocsin.delivery.channels.webhook.render import bodies_of
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.errors import InvalidInput
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.subscription import DestinationConfig

SOURCE = "https://tocsin.acme.example"
NASTY = 'a"b\\c\nd\r\nX-Evil: 1\u2028</script>é/../?&#%{{x}}'


def about(name: str = NASTY, *, count: int = 1) -> Dispatch:
    entries = tuple(
        Entry(f"n{number}", number, CarriedEvent.of(change_event(id=f"e{number}", entity={"name": name})))
        for number in range(count)
    )
    return replace(dispatch(), entries=entries, batch_size=50, sends_arrays=count > 1)


def fill(message: Dispatch | None = None, **config: Any) -> FilledConfig:
    values = {"endpoint": "https://example.org/hook", **config}
    return filled_config(
        message or about(), DestinationConfig.model_validate(values), source=SOURCE, accounts=TemplateAccounts()
    )


def test_a_configuration_without_templates_is_itself() -> None:
    config = DestinationConfig(endpoint="https://example.org/a%20b?c=d", headers={"X-A": "}} {"})
    assert filled_config(about(), config, source=SOURCE, accounts=TemplateAccounts()) == FilledConfig(config)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_stands_in_a_json_string_as_it_is(text: str) -> None:
    config_and_payloads = fill(
        about(text), bodyTemplate='{"text": "{{entity.name}}", "on": {{eq 1 1}}, "n": {{event.timestamp}}}'
    )
    assert config_and_payloads.problem == ""
    assert json.loads(config_and_payloads.payloads["n0"])["text"] == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_text_leaves_its_part_of_an_address(text: str) -> None:
    """Of longer texts the address may be cut, as it has at most 2,048 characters."""
    filling = fill(about(text), endpoint="https://example.org:8443/a/{{entity.name}}/b?q={{entity.name}}")
    path, _, query = (filling.config.endpoint or "").removeprefix("https://example.org:8443").partition("?")
    if filling.problem:
        assert (text, filling.config.endpoint) == (text, "https://example.org:8443/a/")
        assert text in (".", "..")
    else:
        assert (path.count("/"), path.startswith("/a/"), path.endswith("/b")) == (3, True, True)
        assert not {"&", "=", "#", "?", "/", " ", "\r", "\n"} & set(query.removeprefix("q="))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_breaks_a_header(text: str) -> None:
    value = fill(about(text), headers={"X-Asset": "is {{entity.name}}"}).config.headers["X-Asset"]
    assert value.startswith("is ") and value.isascii() and value.isprintable()


def test_a_query_parameter_holds_the_text() -> None:
    assert fill(queryParams={"asset": "{{entity.name}}", "plain": "{"}).config.query_params == {
        "asset": NASTY,
        "plain": "{",
    }


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ('{"a": {{entity.nothing}}}', "bodyTemplate: the body is not JSON: "),
        ('{"a": "{{#each @root}}' * 3 + "x" + "{{/each}}" * 3, "the default body was sent"),
        ('"{{#each entity.many}}' + "x" * 1_000 + '{{/each}}"', "writes more than"),
        ('"{{math 1 "/" 0}}' + "{{#if", "bodyTemplate: "),
    ],
)
def test_a_body_that_cannot_be_made_is_the_default_one_and_says_why(template: str, says: str) -> None:
    """Fault scenario 39."""
    message = replace(
        about(), entries=(Entry("n0", 0, CarriedEvent.of(change_event(entity={"many": list(range(1_000))}))),)
    )
    filling = fill(message, bodyTemplate=template)
    assert filling.payloads == {}
    assert says in filling.problem
    assert filling.problem.endswith("the default body was sent")
    (body,) = bodies_of(replace(message, payloads=filling.payloads), "default", source=SOURCE)
    assert json.loads(body.payload)["eventType"] == "entityUpdated"


def test_a_header_or_parameter_that_cannot_be_made_is_left_out_and_an_address_is_cut() -> None:
    broken = "{{#each entity}}{{#each entity}}{{#each @root}}x{{/each}}{{/each}}{{/each}}{{/if}}"
    filling = fill(headers={"X-A": broken, "X-B": "b"}, queryParams={"a": broken})
    assert (filling.config.headers, filling.config.query_params) == ({"X-B": "b"}, {})
    assert "headers.X-A: " in filling.problem and filling.problem.endswith("(and 1 more)")
    cut = fill(about(".."), endpoint="https://example.org/a/{{entity.name}}/b")
    assert cut.config.endpoint == "https://example.org/a/"
    assert cut.problem == "endpoint: a part of the path becomes . or ..; the address ends before its first template"


def test_each_event_of_an_array_has_its_own_body() -> None:
    message = about("orders", count=3)
    filling = fill(message, bodyTemplate='{"id": "{{event.id}}"}')
    (body,) = bodies_of(replace(message, payloads=filling.payloads), "cloudEvents", source=SOURCE)
    assert json.loads(body.payload) == [{"id": f"e{number}"} for number in range(3)]
    assert body.content_type == "application/json"


def test_bodies_are_limited_as_others_are() -> None:
    filling = fill(about("漢" * 90_000), bodyTemplate='["{{entity.name}}"]')
    assert (filling.payloads, "larger than 262,144 bytes" in filling.problem) == ({}, True)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"bodyTemplate": '{"a": "{{entity.name"}'}, "c.bodyTemplate: Line 1, column "),
        ({"bodyTemplate": "{{lenght changes}}"}, "did you mean length?"),
        ({"headers": {"X-A": "{{#if a}}"}}, "c.headers.X-A: Line 1, column 1"),
        ({"queryParams": {"a": "{{/if}}"}}, "c.queryParams.a: Line 1, column 1"),
        ({"endpoint": "https://{{entity.name}}.example.org/"}, "c.endpoint: of an address only path and query"),
        ({"endpoint": "https://a:{{entity.name}}@example.org/"}, "c.endpoint: of an address only path and query"),
        ({"endpoint": "https://example.org/{{truncate entity.name 3}}"}, "c.endpoint: of an address only path"),
    ],
)
def test_a_template_that_cannot_be_read_is_refused_with_its_place(config: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_templates(config, "c")
    assert says in f"{refused.value.field}: {refused.value.message}"


def test_what_can_be_read_is_taken() -> None:
    check_templates(
        {
            "endpoint": "https://example.org/{{entity.name}}?by={{event.userName}}",
            "bodyTemplate": '{"text": "{{headline}}"}',
            "headers": {"X-A": "{{entity.name}}", "X-B": "*********"},
        },
        "c",
    )
