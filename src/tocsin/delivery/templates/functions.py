"""Table of the functions of notification templates: upstream's helpers, by their names there.

The route that lists them, the check of templates and ``docs/templates.md`` follow from it.
Next: ``delivery/templates/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.delivery.templates import change_functions as changes
from tocsin.delivery.templates import text_functions as texts
from tocsin.delivery.templates.arguments import Arguments, TemplateFunction
from tocsin.delivery.templates.values import Value, is_true, step_into, text_of


def _all(arguments: Arguments) -> Value:
    return all(is_true(one) for one in arguments.values)


def _any(arguments: Arguments) -> Value:
    return any(is_true(one) for one in arguments.values)


def _not(arguments: Arguments) -> Value:
    return not is_true(arguments.first)


def _member(arguments: Arguments) -> Value:
    return step_into(arguments.first, text_of(arguments.second))


def _function(
    name: str, syntax: str, meaning: str, example: str, apply: Callable[[Arguments], Value]
) -> TemplateFunction:
    return TemplateFunction(name, syntax, meaning, example, apply)


_ROWS = (
    _function("pluck", "pluck list 'name'", "a property of each object", "{{pluck tags 'tagFQN'}}", changes.pluck),
    _function(
        "startsWith",
        "startsWith text 'start'",
        "whether a text starts with another",
        "{{#if (startsWith name 'columns.')}}a column{{/if}}",
        texts.starts_with,
    ),
    _function(
        "endsWith",
        "endsWith text 'end'",
        "whether it ends with another",
        "{{#if (endsWith name '.tags')}}tags{{/if}}",
        texts.ends_with,
    ),
    _function("eq", "eq a b", "whether two values are equal", "{{#if (eq name 'tags')}}tags{{/if}}", texts.is_equal),
    _function("or", "or a b …", "whether one is true", "{{#if (or newValue oldValue)}}a value{{/if}}", _any),
    _function("and", "and a b …", "whether all are true", "{{#if (and newValue oldValue)}}both{{/if}}", _all),
    _function("not", "not a", "whether it is false", "{{#if (not newValue)}}gone{{/if}}", _not),
    _function(
        "textDiff",
        "textDiff old new",
        "both texts in one: removed parts struck through, added parts bold",
        "{{textDiff oldValue newValue}}",
        texts.difference,
    ),
    _function(
        "truncate",
        "truncate text 100",
        "the text, cut with an ellipsis",
        "{{truncate entity.description 100}}",
        texts.shorten,
    ),
    _function(
        "camelCaseToTitle",
        "camelCaseToTitle text",
        "`entityType` as Entity Type",
        "{{camelCaseToTitle event.entityType}}",
        texts.title,
    ),
    _function(
        "resolveDomain", "resolveDomain domain", "the name of a domain", "{{resolveDomain newValue}}", changes.domain
    ),
    _function(
        "formatDate",
        "formatDate ms",
        "epoch milliseconds as `2026-02-28 09:30:00`, in UTC",
        "{{formatDate event.timestamp}}",
        changes.date,
    ),
    _function(
        "formatColumnValue",
        "formatColumnValue column",
        "a column as `name (type, constraint)`",
        "{{formatColumnValue newValue}}",
        changes.column_value,
    ),
    _function(
        "groupEventChanges",
        "groupEventChanges event.changeDescription",
        "the changes as `updates`, `adds` and `deletes`",
        "{{#with (groupEventChanges event.changeDescription) as |changes|}}{{length changes.adds}}{{/with}}",
        changes.group_changes,
    ),
    _function(
        "hasFieldInChanges",
        "hasFieldInChanges changes 'name'",
        "whether grouped changes contain a field",
        "{{#if (hasFieldInChanges changes 'testCaseResult')}}a result{{/if}}",
        changes.has_field,
    ),
    _function("split", "split text '.'", "the parts of a text", "{{lookup (split name '.') 1}}", texts.split),
    _function(
        "buildEntityUrl",
        "buildEntityUrl type entity",
        "the address of its page",
        '<a href="{{buildEntityUrl event.entityType entity}}">{{entity.name}}</a>',
        changes.entity_url,
    ),
    _function(
        "parseEntityLink",
        "parseEntityLink link",
        "the parts of an entity link: `entityType`, `entityFQN`, `field`, `arrayField`, `arrayValue`",
        "{{#with (parseEntityLink entity.about) as |link|}}{{link.entityFQN}}{{/with}}",
        changes.entity_link,
    ),
    _function(
        "processMentions",
        "processMentions text",
        "a message with its mentions as links",
        "{{{processMentions entity.message}}}",
        changes.mentions,
    ),
    _function(
        "filter",
        "filter list name='value'",
        "the objects that have these values",
        "{{length (filter entity.columns dataType='STRING')}}",
        texts.filter_objects,
    ),
    _function("length", "length list", "how many members or characters", "{{length entity.columns}}", texts.length),
    _function(
        "limit",
        "limit list 5",
        "the first members",
        "{{#each (limit entity.columns 5)}}{{name}} {{/each}}",
        texts.first_members,
    ),
    _function(
        "math",
        "math a '+' b",
        "the result of `+ - * / %`, or of `round` to a number of places",
        "{{math @index '+' 1}}",
        texts.calculate,
    ),
    _function(
        "gt",
        "gt a b",
        "whether a number is greater",
        "{{#if (gt (length entity.columns) 9)}}wide{{/if}}",
        texts.is_greater,
    ),
)

HELPERS: dict[str, TemplateFunction] = {one.name: one for one in _ROWS}
"""Upstream's helpers."""

LOOKUP = _function("lookup", "lookup list 0", "the member of a list or object", "{{lookup parts 1}}", _member)

FUNCTIONS: dict[str, TemplateFunction] = {**HELPERS, LOOKUP.name: LOOKUP}
"""All functions: upstream's helpers and what Handlebars has itself."""
