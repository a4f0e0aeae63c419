"""Content negotiation: in which of its formats an answer is sent, by ``format=`` or by ``Accept``.

*Source:* RFC 9110 sections 12.4.2 and 12.5.1. Next: ``answers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from fastapi import Depends, Query, Request

from tocsin.server.http.media_types import NEGOTIATED, best_of


class Format(StrEnum):
    """A format of linked data, or plain JSON, by its name in ``format=``."""

    JSON = "json"
    JSON_LD = "jsonld"
    TURTLE = "turtle"
    N_TRIPLES = "ntriples"


MEDIA_TYPES: dict[Format, str] = {
    Format.JSON: "application/json",
    Format.JSON_LD: "application/ld+json",
    Format.TURTLE: "text/turtle",
    Format.N_TRIPLES: "application/n-triples",
}
"""The media type of each format; of two that a client likes as much, the first is sent."""
LINKED = (Format.TURTLE, Format.JSON_LD, Format.N_TRIPLES)
"""The formats of linked data."""
LinkedName = Literal["turtle", "jsonld", "ntriples"]
_DESCRIPTION = "Format of the answer: JSON, or linked data. Without it, `Accept` decides."
_BY_TYPE = {media_type: one for one, media_type in MEDIA_TYPES.items()}


def accepted_format(request: Request, offers: Sequence[Format] = tuple(Format)) -> Format:
    """Return which of these formats the ``Accept`` header likes best; the first where it names none."""
    request.scope[NEGOTIATED] = True
    best = best_of(",".join(request.headers.getlist("accept")), [MEDIA_TYPES[one] for one in offers])
    return offers[0] if best is None else _BY_TYPE[best]


async def format_of(
    request: Request,
    name: Annotated[
        Format | None, Query(alias="format", description="Format of the answer; else, as `Accept` says.")
    ] = None,
) -> Format:
    """Return the format that a request asks for; ``format=`` wins over ``Accept``."""
    accepted = accepted_format(request)
    return accepted if name is None else name


async def linked_format_of(
    request: Request, name: Annotated[LinkedName | None, Query(alias="format", description=_DESCRIPTION)] = None
) -> Format:
    """Return the format of a route that has linked data only: Turtle, unless the request names another one."""
    accepted = accepted_format(request, LINKED)
    return accepted if name is None else Format(name)


AskedFormat = Annotated[Format, Depends(format_of)]
LinkedFormat = Annotated[Format, Depends(linked_format_of)]
