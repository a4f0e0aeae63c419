"""Routes of suggestions as OpenMetadata 1.x has them; each is a task of type ``Suggestion`` of the same id.

Next: ``model/suggestion.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from tocsin.catalogue.feed.suggestion_requests import parse_proposal, parse_suggestion
from tocsin.catalogue.feed.task_requests import Decision
from tocsin.errors import Conflict, Forbidden, NotFound, TocsinError
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.suggestion import STATES, SUGGESTION, SuggestionStatus, SuggestionType
from tocsin.model.task import APPROVE, REJECT, Transition
from tocsin.server.access.permissions import ids_to_filter_by, scopes_of
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, QueryParameters, answer
from tocsin.server.routes.feed.decisions import check_decision, decide_task
from tocsin.server.routes.feed.threads import PageCursors, cursors_of_page, document_of, sees, visible
from tocsin.store.catalogue.feed.tasks import TaskFilter
from tocsin.store.catalogue.feed.threads import ThreadWindow

MOST_AT_ONCE = 1_000
"""Suggestions that one request accepts or rejects."""

router = DeclaredRoutes(prefix="/suggestions", tags=["tasks"])


class SuggestionQuery(PageCursors):
    """Filters of suggestions, as OpenMetadata's client sends them."""

    entity_fqn: str | None = Field(default=None, alias="entityFQN", max_length=10_000, description="Of this asset.")
    user_id: UUID | None = Field(default=None, description="Id of who made them.")
    status: SuggestionStatus = Field(default=SuggestionStatus.OPEN, description="Open, Accepted or Rejected.")
    limit: int = Field(default=10, ge=1, le=1_000)


class SuggestionsOfOne(QueryParameters):
    """Which suggestions to accept or reject: those of one person about one asset, of one type."""

    user_id: UUID = Field(description="Id of who made them.")
    entity_fqn: str = Field(alias="entityFQN", max_length=10_000, description="Full name of the asset.")
    suggestion_type: SuggestionType = Field(default=SuggestionType.DESCRIPTION, description="Of what they are.")


@router.get("", openapi_extra=answers("SuggestionEntityPage"))
def list_suggestions(caller: Asked, query: Annotated[SuggestionQuery, Query()]) -> Response:
    """Return a page of suggestions, last changed first; by default the open ones."""
    task_filter = _filter(query.status, query.entity_fqn, query.user_id, caller)
    page = caller.parts.discussion.suggestions.page(task_filter, sees(caller), query.window(query.limit))
    return answer({"data": _all_on_wire(page.threads, caller), "paging": cursors_of_page(page)})


@router.post("", status_code=201, openapi_extra=answers("SuggestionEntity", reads="CreateSuggestionRequest"))
def create_suggestion(body: DocumentBody, caller: Asked) -> Response:
    """Suggest a description or tags for an asset or a part of it; its owners are asked."""
    document_of(parse_link(body.get("entityLink"), "entityLink"), caller)
    request = parse_suggestion(body)
    count_post([request.message, request.suggestion], caller)
    written = caller.parts.discussion.task_writes.create(request, actor=caller.actor)
    return answer(_suggestion(written.document["id"], caller), 201)


@router.put("/accept-all", openapi_extra=answers("SuggestionEntityList"))
def accept_suggestions(caller: Asked, query: Annotated[SuggestionsOfOne, Query()]) -> Response:
    """Accept the open suggestions of one person about an asset, oldest first; return those that were accepted.

    One transaction writes them all, or none. One that no longer fits, say of a column that is gone, stays open.
    """
    return answer(_decide_all(query, APPROVE, caller))


@router.put("/reject-all", openapi_extra=answers("SuggestionEntityList"))
def reject_suggestions(caller: Asked, query: Annotated[SuggestionsOfOne, Query()]) -> Response:
    """Reject the open suggestions of one person about an asset; return those that were rejected."""
    return answer(_decide_all(query, REJECT, caller))


@router.get("/{suggestion_id}", openapi_extra=answers("SuggestionEntity"))
def read_suggestion(suggestion_id: PathId, caller: Asked) -> Response:
    """Return a suggestion."""
    return answer(_suggestion(str(suggestion_id), caller))


@router.put("/{suggestion_id}", openapi_extra=answers("SuggestionEntity", reads="SuggestionUpdate"))
def update_suggestion(suggestion_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Let an open suggestion suggest something else: ``description`` or ``tagLabels``; for its author."""
    shown_suggestion = _suggestion(str(suggestion_id), caller)
    proposal = parse_proposal(body, shown_suggestion)
    count_post(list(proposal.values()), caller)
    caller.parts.discussion.task_writes.propose(str(suggestion_id), proposal, actor=caller.actor)
    return answer(_suggestion(str(suggestion_id), caller))


@router.put("/{suggestion_id}/accept", openapi_extra=answers("SuggestionEntity"))
def accept_suggestion(suggestion_id: PathId, caller: Asked) -> Response:
    """Accept a suggestion: what it suggests is written into the asset, as the caller."""
    return _decision_answer(str(suggestion_id), APPROVE, caller)


@router.put("/{suggestion_id}/reject", openapi_extra=answers("SuggestionEntity"))
def reject_suggestion(suggestion_id: PathId, caller: Asked) -> Response:
    """Reject a suggestion; nothing is written into the asset."""
    return _decision_answer(str(suggestion_id), REJECT, caller)


@router.delete("/{suggestion_id}", openapi_extra=answers("SuggestionEntity"))
def delete_suggestion(suggestion_id: PathId, caller: Asked) -> Response:
    """Delete a suggestion for good; for its author and administrators."""
    suggestion = _suggestion(str(suggestion_id), caller)
    caller.parts.discussion.feed_writes.delete(str(suggestion_id), actor=caller.actor)
    return answer(suggestion)


def _decision_answer(suggestion_id: str, transition: Transition, caller: Caller) -> Response:
    decide_task(_visible(suggestion_id, caller), Decision(transition), caller)
    return answer(_suggestion(suggestion_id, caller))


def _decide_all(query: SuggestionsOfOne, transition: Transition, caller: Caller) -> list[Document]:
    """Accept or reject suggestions in one transaction; return them. What others decided meanwhile stays so.

    Those that the caller may not decide stay open, as those that no longer fit.

    Raises
    ------
    TocsinError : none could be decided: the reason of the first
    """
    task_filter = _filter(SuggestionStatus.OPEN, query.entity_fqn, query.user_id, caller)
    page = caller.parts.discussion.suggestions.page(task_filter, sees(caller), ThreadWindow(MOST_AT_ONCE))
    ids = [one["id"] for one in reversed(page.threads) if one["type"] == query.suggestion_type.value]
    permitted_ids, refusals = [], list[TocsinError]()
    for suggestion_id in ids:
        try:
            check_decision(visible(suggestion_id, caller), Decision(transition), caller)
        except (Forbidden, NotFound) as refusal:
            refusals.append(refusal)
        else:
            count_post((), caller)
            permitted_ids.append(suggestion_id)
    writes = caller.parts.discussion.task_writes
    decided_ids, later_refusals = writes.decide_all(permitted_ids, Decision(transition), actor=caller.actor)
    refusals += later_refusals
    if refusals and not decided_ids and not all(isinstance(one, Conflict) for one in refusals):
        raise refusals[0]
    return [_suggestion(one, caller) for one in decided_ids]


def _filter(status: SuggestionStatus, entity_fqn: str | None, user_id: UUID | None, caller: Caller) -> TaskFilter:
    author = {"type": "user", "id": str(user_id)}
    return TaskFilter(
        states=STATES[status],
        kinds=(SUGGESTION,),
        creator_ids=None if user_id is None else ids_to_filter_by([author], caller),
        about_fqn=entity_fqn,
        scopes=scopes_of(caller),
    )


def _visible(suggestion_id: str, caller: Caller) -> Document:
    """Return the thread of a suggestion, if the caller may see what it is about."""
    try:
        caller.parts.discussion.suggestions.get(suggestion_id)
        return visible(suggestion_id, caller)
    except NotFound as error:
        raise NotFound(f"suggestion {suggestion_id} not found") from error


def _suggestion(suggestion_id: str, caller: Caller) -> Document:
    """Return a suggestion as it is shown, if the caller may see what it is about."""
    _visible(suggestion_id, caller)
    return _all_on_wire([caller.parts.discussion.suggestions.get(suggestion_id)], caller)[0]


def _all_on_wire(suggestions: Sequence[Document], caller: Caller) -> list[Document]:
    """Return suggestions for a response: with their URLs, without hidden people and tags."""
    address = f"{caller.root}{API}/suggestions/"
    return [one | {"href": f"{address}{one['id']}"} for one in caller.visibility.visible_documents(suggestions)]
