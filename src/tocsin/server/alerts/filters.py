"""Which rules stand for the filters that OpenMetadata's client names? One row per named filter.

A client may send ``input`` (named filters and their arguments) instead of conditions; each name has one condition.
Source: OpenMetadata 1.13 FilterFunctionsDescriptor.json and EntityObservabilityFilterDescriptor.json.
Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

CONDITIONS: dict[str, str] = {
    "filterBySource": "matchAnySource({0})",
    "filterByOwnerName": "matchAnyOwnerName({0})",
    "filterByOwner": "matchAnyOwnerName({0})",
    "filterByFqn": "matchAnyEntityFqn({0})",
    "filterByEntityId": "matchAnyEntityId({0})",
    "filterByEventType": "matchAnyEventType({0})",
    "filterByUpdaterName": "matchUpdatedBy({0})",
    "filterByFieldChange": "matchAnyFieldChange({0})",
    "filterByDomain": "matchAnyDomain({0})",
    "filterByMentionedName": "matchConversationUser({0})",
    "filterByGeneralMetadataEvents": "matchAnyFieldChange({{'description','tags'}})",
    "filterByUpdaterIsBot": "isBot()",
    "filterByTableNameTestCaseBelongsTo": "filterByTableNameTestCaseBelongsTo({0})",
    "GetTableSchemaChanges": "matchAnyFieldChange({{'columns','dataModel','joins'}})",
    "GetTableMetricsUpdates": "matchAnyFieldChange({{'customMetrics','profile'}})",
    "GetTopicSchemaChanges": "matchAnyFieldChange({{'messageSchema'}})",
    "GetContainerSchemaChanges": "matchAnyFieldChange({{'parent','children'}})",
    "GetPipelineStatusUpdates": "matchPipelineState({0})",
    "GetIngestionPipelineStatusUpdates": "matchIngestionPipelineState({0})",
    "GetTestCaseStatusUpdates": "matchTestResult({0})",
    "GetTestSuiteStatusUpdates": "matchTestResult({0})",
    "GetTestCaseStatusUpdatesUnderSuite": "getTestCaseStatusIfInTestSuite({0}, {1})",
}
"""The condition behind each named filter; ``{0}`` and ``{1}`` are its arguments, in the client's order."""


def rules_of(chosen: list[Document], place: str) -> list[Document]:
    """Return the rules that these named filters (``name``, ``effect``, ``prefixCondition``, ``arguments``) stand for.

    Raises
    ------
    InvalidInput : there is no filter of that name, or it lacks an argument
    """
    return [_rule(one, f"{place}[{index}]") for index, one in enumerate(chosen)]


def _rule(chosen: Document, place: str) -> Document:
    name = chosen.get("name")
    if not isinstance(name, str) or name not in CONDITIONS:
        raise InvalidInput(f"there is no filter {name!r}; there are: {', '.join(CONDITIONS)}", field=f"{place}.name")
    lists = [_list_text(argument, place) for argument in chosen.get("arguments") or []]
    try:
        condition = CONDITIONS[name].format(*lists)
    except IndexError as error:
        raise InvalidInput(f"{name} needs an argument", field=f"{place}.arguments") from error
    rule = {"name": name, "effect": chosen.get("effect", "include"), "condition": condition}
    if "prefixCondition" in chosen:
        rule["prefixCondition"] = chosen["prefixCondition"]
    return rule


def _list_text(argument: object, place: str) -> str:
    values = argument.get("input") if isinstance(argument, dict) else None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidInput("must be a list of {name, input: [texts]}", field=f"{place}.arguments")
    return "{" + ",".join(_literal(value) for value in values) + "}"


def _literal(text: str) -> str:
    """Return a text as it stands in a condition; a quotation mark inside is doubled."""
    return "'" + text.replace("'", "''") + "'"
