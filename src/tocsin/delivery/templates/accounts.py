"""Processor time used by templates in the current minute, per alert and per person.

Only processor time counts, so that nobody pays for a busy machine. Next: ``delivery/templates/renderings.py``.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tocsin.clock import Steady, steady_s
from tocsin.delivery.dispatch import RenderingAccount
from tocsin.errors import InvalidTemplate

_MINUTE_S = 60.0


@dataclass(frozen=True)
class MinuteLimits:
    """How many seconds of a minute the templates of one alert may take, and those of all alerts of a person."""

    alert_s: float = 10.0
    person_s: float = 20.0


LIMITS_OF_MINUTE = MinuteLimits()


class TemplateAccounts:
    """What templates have taken in this minute; for several threads."""

    def __init__(
        self,
        limits: MinuteLimits = LIMITS_OF_MINUTE,
        *,
        steady: Steady = steady_s,
        worked_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._limits, self._steady, self._worked_s = limits, steady, worked_s
        self._minute, self._used_s = -1, defaultdict[str, float](float)
        self._lock = threading.Lock()

    def used_s(self, name: str) -> float:
        """Return what an alert or a person has taken in this minute."""
        with self._lock:
            return self._of_minute().get(name, 0.0)

    def can_pay(self, payer: RenderingAccount) -> bool:
        """Return whether an alert and its person have time left in this minute."""
        return self._refusal(payer) is None

    @contextmanager
    def charge(
        self, payer: RenderingAccount, spent: defaultdict[RenderingAccount, float] | None = None
    ) -> Iterator[None]:
        """Charge the time that the context takes, and add it to what payers have ``spent``.

        Raises
        ------
        InvalidTemplate : the time of this minute is used up
        """
        if refusal := self._refusal(payer):
            raise InvalidTemplate(refusal)
        began_s = self._worked_s()
        try:
            yield
        finally:
            took_s = self._worked_s() - began_s
            if spent is not None:
                spent[payer] += took_s
            with self._lock:
                for name in {payer.alert_id, payer.name}:
                    self._of_minute()[name] += took_s

    def _refusal(self, payer: RenderingAccount) -> str | None:
        limits = self._limits
        if self.used_s(payer.alert_id) >= limits.alert_s:
            return f"the templates of this alert have taken {limits.alert_s:g} s of this minute"
        if payer.person_id is not None and self.used_s(payer.person_id) >= limits.person_s:
            whose = "all alerts of this alert's creator"
            return f"the templates of {whose} have taken {limits.person_s:g} s of this minute"
        return None

    def _of_minute(self) -> defaultdict[str, float]:
        minute = int(self._steady() // _MINUTE_S)
        if minute != self._minute:
            self._minute, self._used_s = minute, defaultdict(float)
        return self._used_s
