"""Outcomes of requests that follow or unfollow many assets at once, each the write of a single one.

Next: ``server/routes/people/follows.py``, ``server/routes/people/team_follows.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tocsin.errors import TocsinError
from tocsin.model.entity import Document
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.http.json_schema import COUNT, FLAG, TEXT, WHOLE, array, either, exact_object
from tocsin.server.routes.people.asset_selection import SelectedAsset

LISTED_BY_DRY_RUN = 100
"""Assets that a dry run lists of those that it counts, passed and failed ones each."""

_OUTCOME: Document = exact_object(
    {"request": {"description": "The asset, or the id or name that selects none."}, "status": WHOLE},
    {"message": {**TEXT, "description": "What became of it, or why nothing did."}},
)
FOLLOWS_CHANGED = exact_object(
    {
        "dryRun": FLAG,
        "status": either("success", "partialSuccess", "failure"),
        "numberOfRowsProcessed": COUNT,
        "numberOfRowsPassed": COUNT,
        "numberOfRowsFailed": COUNT,
        "successRequest": array(_OUTCOME),
        "failedRequest": array(_OUTCOME),
        "followCount": {
            **COUNT,
            "description": "What the person or team then follows, of that which you may view.",
        },
    },
    {
        "advice": TEXT,
        "remarks": {**array(TEXT), "description": "Why nothing comes over a channel that `preferences` choose."},
    },
)
FollowWrite = Callable[[Document, str | None], bool]
"""Changes whether a person follows an asset or a column of it, or finds out; returns whether that is a difference."""


def follow_outcome(selected: SelectedAsset, write: FollowWrite, words: tuple[str, str]) -> Document:
    """Return what became of what is selected, in the first of ``words`` where that has made a difference."""
    request, asset, column = selected
    if isinstance(request, dict) and column is not None:
        request = request | {"column": column}
    if isinstance(asset, TocsinError):
        return outcome_of(request, asset)
    try:
        is_changed = write(asset, column)
    except TocsinError as error:
        return outcome_of(request, error)
    return outcome_of(request, message=words[0] if is_changed else words[1])


def outcome_count(outcomes: Sequence[Document], message: str) -> int:
    """Return how many of these outcomes say this."""
    return sum(one.get("message") == message for one in outcomes)


def follows_changed(outcomes: Sequence[Document], follow_count: int, *, is_dry: bool) -> Document:
    """Return the answer to a request with these outcomes; a dry run lists the first of each kind."""
    result = bulk_result(outcomes, is_dry=is_dry) | {"followCount": follow_count}
    if is_dry:
        for key in ("successRequest", "failedRequest"):
            result[key] = result[key][:LISTED_BY_DRY_RUN]
    return result
