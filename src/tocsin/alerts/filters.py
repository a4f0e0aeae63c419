"""Table of OpenMetadata's named filters and their conditions, one row per filter.

A client may send ``input`` (named filters and their arguments) instead of conditions; each name has one condition, in
which ``${argument}`` is replaced by a list. Source: OpenMetadata 1.13 FilterFunctionsDescriptor.json and
EntityObservabilityFilterDescriptor.json; the names after the gap are ours. Next: ``alerts/offers.py`` lists the
filters of each resource, ``alerts/request.py`` compiles them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import Effect, PrefixCondition

_ARGUMENT = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Filter:
    """One named filter: its display name, its description, and its condition."""

    label: str
    description: str
    condition: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the names of its arguments, each a list of texts, in the order of the condition."""
        return tuple(_ARGUMENT.findall(self.condition))

    def rule_json(self, name: str) -> Document:
        """Return it as upstream's ``events/eventFilterRule.json``."""
        arguments: Document = {"arguments": list(self.arguments)} if self.arguments else {}
        return {
            "name": name,
            "fullyQualifiedName": f"eventSubscription.{name}",
            "displayName": self.label,
            "description": self.description,
            "effect": Effect.INCLUDE.value,
            "condition": self.condition,
            **arguments,
            "inputType": "runtime" if self.arguments else "none",
            "prefixCondition": PrefixCondition.AND.value,
        }


_OWNER = Filter("Owner", "One of these people or teams owns the asset", "matchAnyOwnerName(${ownerNameList})")
_RESULT = Filter("Test result", "A test reports one of these results", "matchTestResult(${testResultList})")

FILTERS: dict[str, Filter] = {
    "filterBySource": Filter("Type", "The entity has one of these types", "matchAnySource(${sourceList})"),
    "filterByOwnerName": _OWNER,
    "filterByOwner": _OWNER,
    "filterByFqn": Filter("FQN", "The entity is one of these or below one", "matchAnyEntityFqn(${fqnList})"),
    "filterByEntityId": Filter("Id", "The entity has one of these ids", "matchAnyEntityId(${entityIdList})"),
    "filterByEventType": Filter(
        "Event type", "The event has one of these types", "matchAnyEventType(${eventTypeList})"
    ),
    "filterByUpdaterName": Filter(
        "Changed by", "One of these users made the change", "matchUpdatedBy(${updateByUserList})"
    ),
    "filterByFieldChange": Filter("Field", "One of these fields changed", "matchAnyFieldChange(${fieldChangeList})"),
    "filterByDomain": Filter("Domain", "The asset is in one of these domains", "matchAnyDomain(${domainList})"),
    "filterByMentionedName": Filter(
        "Mentions", "One of these people or teams is mentioned", "matchConversationUser(${userList})"
    ),
    "filterByGeneralMetadataEvents": Filter(
        "General metadata", "Descriptions or tags changed", "matchAnyFieldChange({'description','tags'})"
    ),
    "filterByUpdaterIsBot": Filter("By a bot", "A bot made the change", "isBot()"),
    "filterByTableNameTestCaseBelongsTo": Filter(
        "Tested table",
        "The test case tests one of these tables",
        "filterByTableNameTestCaseBelongsTo(${tableNameList})",
    ),
    "GetTableSchemaChanges": Filter(
        "Schema changes", "Columns, data model or joins changed", "matchAnyFieldChange({'columns','dataModel','joins'})"
    ),
    "GetTableMetricsUpdates": Filter(
        "Metrics", "Profiles or metrics changed", "matchAnyFieldChange({'customMetrics','profile'})"
    ),
    "GetTopicSchemaChanges": Filter(
        "Schema changes", "The message schema changed", "matchAnyFieldChange({'messageSchema'})"
    ),
    "GetContainerSchemaChanges": Filter(
        "Schema changes", "The parent or the children changed", "matchAnyFieldChange({'parent','children'})"
    ),
    "GetPipelineStatusUpdates": Filter(
        "Run status", "A run reports one of these states", "matchPipelineState(${pipelineStateList})"
    ),
    "GetIngestionPipelineStatusUpdates": Filter(
        "Ingestion run status",
        "A run reports one of these states",
        "matchIngestionPipelineState(${ingestionPipelineStateList})",
    ),
    "GetTestCaseStatusUpdates": _RESULT,
    "GetTestSuiteStatusUpdates": Filter(
        "Test suite run",
        "Every test of the suite has reported, the worst with one of these results",
        "matchTestResult(${testResultList})",
    ),
    "GetTestCaseStatusUpdatesUnderSuite": Filter(
        "Result in a test suite",
        "A test case of one of these suites reports one of these results",
        "getTestCaseStatusIfInTestSuite(${testStatusList}, ${testSuiteList})",
    ),
    # Filters of notifications, and triggers of changes.
    "filterByTag": Filter("Tag", "The asset or one of its columns has one of these tags", "matchAnyTag(${tagList})"),
    "filterByTier": Filter("Tier", "The asset has one of these tiers", "matchAnyTier(${tierList})"),
    "filterByService": Filter(
        "Service", "The asset belongs to one of these services", "matchAnyService(${serviceList})"
    ),
    "GetSchemaChanges": Filter("Schema changes", "Consumers of the asset may be affected", "matchAnyChange('schema')"),
    "GetOwnershipChanges": Filter("Ownership changes", "Owners were added or removed", "matchAnyChange('owner')"),
    "GetTagChanges": Filter(
        "Tag changes", "Tags, glossary terms or the tier changed", "matchAnyChange({'tag','glossaryTerm','tier'})"
    ),
}
"""Every filter and action by its name."""


def rules_of(choices: list[Document], place: str) -> list[Document]:
    """Return the rules for these named filters (``name``, ``effect``, ``prefixCondition``, ``arguments``).

    Raises
    ------
    InvalidInput : there is no filter of that name, or an argument is missing, unknown or empty; names both
    """
    return [_rule(one, f"{place}[{index}]") for index, one in enumerate(choices)]


def _rule(choice: Document, place: str) -> Document:
    name = choice.get("name")
    if not isinstance(name, str) or name not in FILTERS:
        raise InvalidInput(f"unknown filter {name!r}; {suggestion_for(name, FILTERS)}", field=f"{place}.name")
    named_filter = FILTERS[name]
    lists = _lists(name, named_filter, choice.get("arguments") or [], f"{place}.arguments")
    condition = _ARGUMENT.sub(lambda one: lists[one[1]], named_filter.condition)
    _check(condition, f"{place}.arguments")
    rule = {
        "name": name,
        "displayName": named_filter.label,
        "description": named_filter.description,
        "effect": choice.get("effect") or Effect.INCLUDE.value,
        "condition": condition,
    }
    if choice.get("prefixCondition") is not None:
        rule["prefixCondition"] = choice["prefixCondition"]
    return rule


def _check(condition: str, place: str) -> None:
    """Reject invalid arguments: errors of the condition are reported for them, because the user never saw it."""
    try:
        parse_and_check(condition)
    except InvalidCondition as error:
        message = error.message.removeprefix(f"Line {error.line}, column {error.column}: ")
        raise InvalidInput(message, field=place) from error


def _lists(name: str, named_filter: Filter, arguments: object, place: str) -> dict[str, str]:
    """Return the list for each argument, as conditions write it; unnamed ones in their order."""
    if not isinstance(arguments, list) or not all(isinstance(entry, dict) for entry in arguments):
        raise InvalidInput("must be a list of {name, input: [strings]}", field=place)
    lists: dict[str, str] = {}
    for index, entry in enumerate(arguments):
        free = [wanted for wanted in named_filter.arguments if wanted not in lists]
        argument = entry.get("name") or (free[0] if free else None)
        if argument not in named_filter.arguments:
            raise _unknown(name, named_filter, argument, f"{place}[{index}].name")
        lists[argument] = _list_text(name, argument, entry.get("input"), f"{place}[{index}].input")
    missing = [wanted for wanted in named_filter.arguments if wanted not in lists]
    if missing:
        raise InvalidInput(f"{name} needs the argument {missing[0]}", field=place)
    return lists


def _unknown(name: str, named_filter: Filter, argument: object, place: str) -> InvalidInput:
    if not named_filter.arguments:
        return InvalidInput(f"{name} takes no arguments", field=place)
    return InvalidInput(
        f"{name} has no argument {argument!r}; {suggestion_for(argument, named_filter.arguments)}", field=place
    )


def _list_text(name: str, argument: str, values: object, place: str) -> str:
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{argument} of {name} must be a list of at least one string", field=place)
    return "{" + ",".join(_literal(value) for value in values) + "}"


def _literal(text: str) -> str:
    """Return a text as a string literal of conditions; a quotation mark inside is doubled."""
    return "'" + text.replace("'", "''") + "'"
