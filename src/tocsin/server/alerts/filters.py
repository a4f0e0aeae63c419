"""Table of OpenMetadata's named filters and their conditions, one row per filter.

A client may send ``input`` (named filters and their arguments) instead of conditions; each name has one condition, in
which ``${argument}`` is replaced by a list. Source: OpenMetadata 1.13 FilterFunctionsDescriptor.json and
EntityObservabilityFilterDescriptor.json; the names after the gap are ours. Next: ``server/alerts/offers.py`` lists the
filters of each resource, ``server/alerts/request.py`` compiles them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tocsin.conditions.check import checked
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import meant
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

    def described(self, name: str) -> Document:
        """Return it as upstream's ``events/eventFilterRule.json``."""
        given: Document = {"arguments": list(self.arguments)} if self.arguments else {}
        return {
            "name": name,
            "fullyQualifiedName": f"eventSubscription.{name}",
            "displayName": self.label,
            "description": self.description,
            "effect": Effect.INCLUDE.value,
            "condition": self.condition,
            **given,
            "inputType": "runtime" if self.arguments else "none",
            "prefixCondition": PrefixCondition.AND.value,
        }


_OWNER = Filter("Owner", "The asset is owned by one of these people or teams", "matchAnyOwnerName(${ownerNameList})")
_RESULT = Filter("Status of a test", "One of these results is reported", "matchTestResult(${testResultList})")

FILTERS: dict[str, Filter] = {
    "filterBySource": Filter("Type", "The entity is of one of these types", "matchAnySource(${sourceList})"),
    "filterByOwnerName": _OWNER,
    "filterByOwner": _OWNER,
    "filterByFqn": Filter("Full name", "It is one of these, or lies under one", "matchAnyEntityFqn(${fqnList})"),
    "filterByEntityId": Filter("Id", "It has one of these ids", "matchAnyEntityId(${entityIdList})"),
    "filterByEventType": Filter("Event type", "Such a thing happened", "matchAnyEventType(${eventTypeList})"),
    "filterByUpdaterName": Filter("Who did it", "One of these made the change", "matchUpdatedBy(${updateByUserList})"),
    "filterByFieldChange": Filter("Field", "One of these fields changed", "matchAnyFieldChange(${fieldChangeList})"),
    "filterByDomain": Filter("Domain", "The asset is in one of these domains", "matchAnyDomain(${domainList})"),
    "filterByMentionedName": Filter("Mentions", "One of these is mentioned", "matchConversationUser(${userList})"),
    "filterByGeneralMetadataEvents": Filter(
        "General metadata", "Descriptions or tags changed", "matchAnyFieldChange({'description','tags'})"
    ),
    "filterByUpdaterIsBot": Filter("By a bot", "A bot made the change", "isBot()"),
    "filterByTableNameTestCaseBelongsTo": Filter(
        "Tested table", "The test is of one of these tables", "filterByTableNameTestCaseBelongsTo(${tableNameList})"
    ),
    "GetTableSchemaChanges": Filter(
        "Schema changes", "Columns, the model or joins changed", "matchAnyFieldChange({'columns','dataModel','joins'})"
    ),
    "GetTableMetricsUpdates": Filter(
        "Metrics", "Profiles or metrics changed", "matchAnyFieldChange({'customMetrics','profile'})"
    ),
    "GetTopicSchemaChanges": Filter(
        "Schema changes", "The schema of messages changed", "matchAnyFieldChange({'messageSchema'})"
    ),
    "GetContainerSchemaChanges": Filter(
        "Schema changes", "The parent or the children changed", "matchAnyFieldChange({'parent','children'})"
    ),
    "GetPipelineStatusUpdates": Filter(
        "Status of a run", "One of these states is reported", "matchPipelineState(${pipelineStateList})"
    ),
    "GetIngestionPipelineStatusUpdates": Filter(
        "Status of an ingestion",
        "One of these states is reported",
        "matchIngestionPipelineState(${ingestionPipelineStateList})",
    ),
    "GetTestCaseStatusUpdates": _RESULT,
    "GetTestSuiteStatusUpdates": _RESULT,
    "GetTestCaseStatusUpdatesUnderSuite": Filter(
        "Status of a test in a suite",
        "One of these results is reported of a test in one of these suites",
        "getTestCaseStatusIfInTestSuite(${testStatusList}, ${testSuiteList})",
    ),
    #
    "filterByTag": Filter("Tag", "The asset or a column has one of these tags", "matchAnyTag(${tagList})"),
    "filterByTier": Filter("Tier", "The asset is of one of these tiers", "matchAnyTier(${tierList})"),
    "filterByService": Filter("Service", "It belongs to one of these services", "matchAnyService(${serviceList})"),
    "GetSchemaChanges": Filter("Schema changes", "What consumers rely on changed", "matchAnyChange('schema')"),
    "GetOwnershipChanges": Filter("Ownership changes", "Owners came or went", "matchAnyChange('owner')"),
    "GetTagChanges": Filter(
        "Tag changes", "Tags, terms or the tier changed", "matchAnyChange({'tag','glossaryTerm','tier'})"
    ),
}
"""Every filter and action by its name."""


def rules_of(chosen: list[Document], place: str) -> list[Document]:
    """Return the rules for these named filters (``name``, ``effect``, ``prefixCondition``, ``arguments``).

    Raises
    ------
    InvalidInput : there is no filter of that name, or an argument is missing, unknown or empty; names both
    """
    return [_rule(one, f"{place}[{index}]") for index, one in enumerate(chosen)]


def _rule(chosen: Document, place: str) -> Document:
    name = chosen.get("name")
    if not isinstance(name, str) or name not in FILTERS:
        raise InvalidInput(f"there is no filter {name!r}; {meant(name, FILTERS)}", field=f"{place}.name")
    found = FILTERS[name]
    lists = _lists(name, found, chosen.get("arguments") or [], f"{place}.arguments")
    condition = _ARGUMENT.sub(lambda one: lists[one[1]], found.condition)
    _check(condition, f"{place}.arguments")
    rule = {
        "name": name,
        "displayName": found.label,
        "description": found.description,
        "effect": chosen.get("effect") or Effect.INCLUDE.value,
        "condition": condition,
    }
    if chosen.get("prefixCondition") is not None:
        rule["prefixCondition"] = chosen["prefixCondition"]
    return rule


def _check(condition: str, place: str) -> None:
    """Reject invalid arguments: errors of the condition are reported for them, because the user never saw it."""
    try:
        checked(condition)
    except InvalidCondition as error:
        message = error.message.removeprefix(f"Line {error.line}, column {error.column}: ")
        raise InvalidInput(message, field=place) from error


def _lists(name: str, found: Filter, given: object, place: str) -> dict[str, str]:
    """Return the list for each argument, as conditions write it; unnamed ones in their order."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise InvalidInput("must be a list of {name, input: [texts]}", field=place)
    lists: dict[str, str] = {}
    for index, one in enumerate(given):
        free = [wanted for wanted in found.arguments if wanted not in lists]
        argument = one.get("name") or (free[0] if free else None)
        if argument not in found.arguments:
            raise _unknown(name, found, argument, f"{place}[{index}].name")
        lists[argument] = _list_text(name, argument, one.get("input"), f"{place}[{index}].input")
    missing = [wanted for wanted in found.arguments if wanted not in lists]
    if missing:
        raise InvalidInput(f"{name} needs the argument {missing[0]}", field=place)
    return lists


def _unknown(name: str, found: Filter, argument: object, place: str) -> InvalidInput:
    if not found.arguments:
        return InvalidInput(f"{name} takes no argument", field=place)
    return InvalidInput(f"{name} has no argument {argument!r}; {meant(argument, found.arguments)}", field=place)


def _list_text(name: str, argument: str, values: object, place: str) -> str:
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{argument} of {name} must be a list of at least one text", field=place)
    return "{" + ",".join(_literal(value) for value in values) + "}"


def _literal(text: str) -> str:
    """Return a text as a string literal of conditions; a quotation mark inside is doubled."""
    return "'" + text.replace("'", "''") + "'"
