"""Filter of the entries of an inbox: by what happened, to what, who did it, why one was told, when, and in which words.

All that it names must hold. An entry that stands for several notifications is judged by the one that leads it.
Next: ``server/inbox/entry_filters.py``.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tocsin.clock import LATEST_MS
from tocsin.model.causes import MOST_TOKEN
from tocsin.model.change_kinds import BOT, CHANGE_KINDS
from tocsin.model.notification import ReasonKind

FILTER_KINDS = tuple(name for name in CHANGE_KINDS if name != BOT)
"""Kinds of change that a filter may name: those that an event shows; of bots, the actor says which."""

MOST_WORDS = 200
"""Characters of the words that entries are searched for."""

_Moment = Annotated[int, Field(ge=0, le=LATEST_MS)]


def _split(value: object) -> object:
    """Return the names of a comma list; anything else as it is."""
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


class EntryFilter(BaseModel):
    """What entries have in common.

    Attributes
    ----------
    kinds : one of these kinds of change
    reasons : one of these reasons of being told
    asset : what happened to this asset, its tests, or in a conversation about it
    alert : this alert told of it
    actor : this person or bot did it
    cause : it is one of the events that a cause had when it was listed: the ``id`` of the cause
    needs_me : it still needs its person (``model/needs.py``), or does not
    start_ms, end_ms : when it happened, epoch milliseconds, both inclusive
    words : all of these words, as they are, stand in what the entry says; upper and lower case are the same
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    kinds: Annotated[tuple[str, ...], BeforeValidator(_split)] = Field(default=(), alias="kind", max_length=100)
    reasons: Annotated[tuple[ReasonKind, ...], BeforeValidator(_split)] = Field(
        default=(), alias="reason", max_length=100
    )
    asset: UUID | None = None
    alert: UUID | None = None
    actor: str | None = Field(default=None, min_length=1, max_length=256)
    cause: str | None = Field(default=None, max_length=MOST_TOKEN)
    needs_me: bool | None = Field(default=None, alias="needsMe")
    start_ms: _Moment | None = Field(default=None, alias="startTs")
    end_ms: _Moment | None = Field(default=None, alias="endTs")
    words: str | None = Field(default=None, alias="q", max_length=MOST_WORDS)


NO_FILTER = EntryFilter()
