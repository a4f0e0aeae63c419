"""Checks of suggestions, which the client has until 1.13: every call of it on them."""

from __future__ import annotations

from typing import Any

from checks.checking import CheckSetup, check, id_of, text
from metadata.generated.schema.api.feed.createSuggestion import CreateSuggestionRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.feed.suggestion import Suggestion, SuggestionStatus, SuggestionType

_TAG = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Suggested"}


def _suggest(setup: CheckSetup, table: Any, part: str = "", description: str | None = None) -> Any:
    link = f"<#E::table::{text(table.fullyQualifiedName)}{part}>"
    proposal = {"description": description} if description else {"tagLabels": [_TAG]}
    kind = SuggestionType.SuggestDescription if description else SuggestionType.SuggestTagLabel
    return setup.metadata.create(CreateSuggestionRequest({"entityLink": link, "type": kind, **proposal}))


def _status(setup: CheckSetup, suggestion: Any) -> SuggestionStatus:
    stored = Suggestion(**setup.metadata.client.get(f"/suggestions/{text(suggestion.root.id)}"))
    return stored.root.status


def _column(setup: CheckSetup, table: Any, name: str) -> Any:
    columns = setup.metadata.get_by_id(Table, id_of(table), fields=["tags"]).columns
    return next(column for column in columns if text(column.name) == name)


@check("accept_suggestion update_suggestion", "a suggestion is changed, listed and accepted, by a column path")
def _check_accepted(setup: CheckSetup) -> None:
    table = setup.table()
    suggestion = _suggest(setup, table, "::columns::id::description", "A key.")
    suggestion.root.description = "Its key."
    assert setup.metadata.update_suggestion(suggestion).root.description == "Its key."
    listed = setup.metadata.list_entities(Suggestion, params={"entityFQN": text(table.fullyQualifiedName)}).entities
    assert [one.root.id for one in listed] == [suggestion.root.id]
    setup.metadata.accept_suggestion(suggestion.root.id)
    assert text(_column(setup, table, "id").description) == "Its key."
    assert _status(setup, suggestion) is SuggestionStatus.Accepted


@check("reject_suggestion", "a rejected suggestion writes nothing")
def _check_rejected(setup: CheckSetup) -> None:
    table = setup.table()
    suggestion = _suggest(setup, table, "::columns::id", "No.")
    setup.metadata.reject_suggestion(suggestion.root.id)
    assert _column(setup, table, "id").description is None
    assert _status(setup, suggestion) is SuggestionStatus.Rejected


@check("accept_all_suggestions reject_all_suggestions", "all of one person about a table, by type")
def _check_all(setup: CheckSetup) -> None:
    table = setup.table()
    texts = [_suggest(setup, table, f"::columns::{name}", f"The {name}.") for name in ("id", "address")]
    tags = _suggest(setup, table, "::columns::email")
    author = texts[0].root.createdBy.id
    setup.metadata.accept_all_suggestions(table.fullyQualifiedName, author)
    assert [text(_column(setup, table, name).description) for name in ("id", "address")] == ["The id.", "The address."]
    assert _status(setup, tags) is SuggestionStatus.Open
    setup.metadata.reject_all_suggestions(table.fullyQualifiedName, author, SuggestionType.SuggestTagLabel)
    assert _status(setup, tags) is SuggestionStatus.Rejected
