"""Saved searches: what a person looks for, and the requests that save and follow it.

Next: ``alerts/saved_searches.py``.
"""

from __future__ import annotations

from pydantic import ConfigDict, Field

from tocsin.model.entity import WireModel

LONGEST_NAME, _LONGEST_QUERY = 200, 4_000


class SavedSearch(WireModel):
    """What an alert of a saved search looks for: the search of ``/search/query``, and what its owner calls it."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    query: str = Field(max_length=_LONGEST_QUERY)
    index: str = Field(default="all", max_length=2_000)


class SearchRequest(WireModel):
    """A search to save: its ``query``, or the id of an ``original`` to copy; unnamed, it has its query as name.

    ``follows`` says whether its owner is notified of changes of what it finds.
    """

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    query: str | None = Field(default=None, min_length=1, max_length=_LONGEST_QUERY)
    index: str = Field(default="all", max_length=2_000)
    original: str | None = Field(default=None, max_length=36)
    follows: bool = False


class SearchFollow(WireModel):
    """Whether the owner of a saved search ``follows`` it."""

    model_config = ConfigDict(extra="forbid")

    follows: bool
