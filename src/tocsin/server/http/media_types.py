"""Media types of requests: which the ``Accept`` header allows, and which it likes best.

*Source:* RFC 9110 section 12.5.1. Next: ``paths.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from email.message import Message

LINKED_DATA = ("application/ld+json", "text/turtle", "application/n-triples")
"""Media types of linked data, which reads of entities, events and lineage serve beside JSON."""

NEGOTIATED = "tocsin.negotiated"
"""The key of a request's scope that says that its route chose the format of the answer."""


def best_of(accept: str, offers: Sequence[str]) -> str | None:
    """Return the offer that an ``Accept`` header likes best, the first of equals; None if it allows none.

    The range that names an offer most exactly decides. An empty header allows everything.
    """
    ranges = [_parse(one) for one in accept.split(",") if one.strip()]
    if not ranges:
        return offers[0] if offers else None
    weighed = [(_weight(offer, ranges), offer) for offer in offers]
    best = max(weighed, key=lambda pair: pair[0], default=(0.0, ""))
    return best[1] if best[0] > 0 else None


def _weight(offer: str, ranges: Sequence[tuple[str, float]]) -> float:
    main = offer.partition("/")[0]
    for name in (offer, f"{main}/*", "*/*"):
        weights = [weight for one, weight in ranges if one == name]
        if weights:
            return max(weights)
    return 0.0


def _parse(media_range: str) -> tuple[str, float]:
    """Return the name of a media range and its weight, which is 1 where it has none or one that is no number."""
    name, _, parameters = media_range.partition(";")
    name = name.strip().lower()
    return ("*/*" if name == "*" else name), (_quality(media_range) if parameters else 1.0)


def _quality(media_range: str) -> float:
    header = Message()
    header["content-type"] = media_range
    try:
        weight = float(str(header.get_param("q", "1")))
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(weight) else min(max(weight, 0.0), 1.0)
