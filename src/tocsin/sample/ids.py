"""Reproducible ids of the sample: derived from the seed, in the form of all other ids.

Next: ``sample/teller.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from uuid import UUID

from tocsin.clock import Clock

_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62


@dataclass(frozen=True)
class Ids:
    """A source of ids that depend on nothing but its random numbers and its clock."""

    rng: Random
    clock: Clock

    def entity(self) -> str:
        """Return the next entity's id: a UUIDv4."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    def event(self) -> str:
        """Return the next event's id: a UUIDv7 of the clock's time. Source: RFC 9562, section 5.7."""
        drawn_high, drawn_low = self.rng.getrandbits(12) << 64, self.rng.getrandbits(62)
        return str(UUID(int=self.clock.now_ms() << 80 | _VERSION_7 | drawn_high | _VARIANT | drawn_low))
