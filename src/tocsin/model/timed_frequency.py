"""Timed frequencies: how often a kind of change comes, and when, in preferences: ``daily 08:30``, ``weekly friday``.

Next: ``model/preferences.py``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from tocsin.model.change_kinds import Frequency

_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_PATTERN = rf"^(immediate|hourly|never|daily( {_TIME})?|weekly( ({_DAYS}))?( {_TIME})?)$"


class TimedFrequency(NamedTuple):
    """How often something comes, and when if it names that: ``time`` as ``HH:MM``, ``day`` of the week."""

    frequency: Frequency
    day: str = ""
    time: str = ""

    @property
    def moment(self) -> str:
        """Return the day and the time that it names: ``friday 08:30``, or only one of them."""
        return " ".join(filter(None, (self.day, self.time)))


@lru_cache(maxsize=1_024)
def parse_timed_frequency(text: str) -> TimedFrequency:
    """Return what a text such as ``daily 08:30`` says.

    Raises
    ------
    ValueError : it is no frequency, or names a day or a time that there is not
    """
    if not re.fullmatch(_PATTERN, text):
        raise ValueError(
            "must be immediate, hourly, daily, weekly or never; daily may name a time, such as daily 08:30, and weekly"
            f" a day and a time, such as weekly friday 08:30; not {text!r}"
        )
    frequency, *words = text.split(" ")
    times = [word for word in words if ":" in word]
    return TimedFrequency(Frequency(frequency), " ".join(word for word in words if ":" not in word), " ".join(times))


def _check(text: str) -> str:
    parse_timed_frequency(text)
    return text


TimedFrequencyText = Annotated[str, AfterValidator(_check), Field(json_schema_extra={"pattern": _PATTERN})]
"""How often, and perhaps when; the pattern is for the OpenAPI document."""
