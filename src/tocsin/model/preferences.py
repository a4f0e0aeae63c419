"""Notification preferences of a person: quiet hours, and how often mails and direct messages come.

Next: ``flow/schedule/preferences.py`` applies them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from tocsin.model.change_kinds import BREAKING, Frequency
from tocsin.model.entity import WireModel

_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"


def _check_time(text: str) -> str:
    if not re.fullmatch(_TIME, text):
        raise ValueError(f"must be a time of the day from 00:00 to 23:59, such as 20:00, not {text!r}")
    return text


TimeOfDay = Annotated[str, AfterValidator(_check_time), Field(json_schema_extra={"pattern": _TIME})]
"""``HH:MM``; the pattern is for the OpenAPI document."""


_SOONEST_FIRST = {one: place for place, one in enumerate(Frequency)}


class QuietHours(WireModel):
    """Time of the day without mails and direct messages, as ``HH:MM``; an ``end`` before ``start``: past midnight."""

    start: TimeOfDay
    end: TimeOfDay


class Preferences(WireModel):
    """What a person prefers; ``timezone`` is an IANA name.

    ``frequency`` is for changes of the categories that ``categories`` does not name
    (``conditions/changes.KNOWN_CATEGORIES``); ``BREAKING`` among them is of changes that break who reads the asset, of
    whatever category, and alone decides about them. Digests come at ``digest_at``, weekly ones on Mondays.
    """

    timezone: str = "UTC"
    quiet_hours: QuietHours | None = None
    digest_at: TimeOfDay = "09:00"
    frequency: Frequency = Frequency.IMMEDIATE
    categories: Mapping[str, Frequency] = Field(default_factory=dict)

    def frequency_of(self, categories: Collection[str]) -> Frequency:
        """Return how often changes of these categories are notified: of several the soonest."""
        if BREAKING in categories and BREAKING in self.categories:
            return self.categories[BREAKING]
        frequencies = [self.categories.get(one, self.frequency) for one in categories if one != BREAKING]
        return min(frequencies, key=_SOONEST_FIRST.__getitem__, default=self.frequency)

    def has(self, frequency: Frequency) -> bool:
        """Return whether changes of any kind are notified so often."""
        return frequency in (self.frequency, *self.categories.values())
