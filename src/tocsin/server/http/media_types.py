"""Media types of requests: which the ``Accept`` header allows, and which it likes best.

*Source:* RFC 9110 section 12.5.1. Next: ``paths.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

LINKED_DATA = ("application/ld+json", "text/turtle", "application/n-triples")
"""Media types of linked data, which reads of entities, events and lineage serve beside JSON."""

NEGOTIATED = "tocsin.negotiated"
"""The key of a request's scope that says that its route chose the format of the answer."""


def best_of(accept: str, offers: Sequence[str]) -> str | None:
    """Return the offer that an ``Accept`` header likes best, the first of equals; None if it allows none.

    The range that names an offer most exactly decides. An empty header allows everything.
    """
    weights: dict[str, float] = {}
    for media_range in accept.split(","):
        if media_range.strip():
            name, weight = _parse(media_range)
            weights[name] = max(weight, weights.get(name, 0.0))
    if not weights:
        return offers[0]
    best = max(offers, key=lambda offer: _weight(offer, weights))
    return best if _weight(best, weights) > 0 else None


def _weight(offer: str, weights: Mapping[str, float]) -> float:
    ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
    return next((weights[one] for one in ranges if one in weights), 0.0)


def _parse(media_range: str) -> tuple[str, float]:
    """Return the name of a media range and its weight, which is 1 where it has none or one that is no number."""
    name, _, parameters = media_range.partition(";")
    name = name.strip().lower()
    return ("*/*" if name == "*" else name), (_quality(parameters) if parameters else 1.0)


def _quality(parameters: str) -> float:
    pairs = (parameter.partition("=") for parameter in parameters.split(";"))
    text = next((value for name, _, value in pairs if name.strip().lower() == "q"), "1")
    try:
        weight = float(text.strip().strip('"'))
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(weight) else min(max(weight, 0.0), 1.0)
