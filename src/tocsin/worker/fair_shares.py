"""Fair shares of the next claim between destinations, so that none delays another.

Next: ``worker/deliver.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence


def fair_shares(
    due: Sequence[str], in_hand: Mapping[str, int], *, limit: int, most_each: int, after: str = ""
) -> dict[str, int]:
    """Return how many deliveries each destination may have of a claim of ``limit`` rows.

    Turns go round, one row a turn, beginning with the destination that follows ``after`` (the last one
    served); a destination with ``most_each`` rows in hand already gets none. ``due`` is in order.
    """
    start = bisect_right(due, after)
    room = {name: most_each - in_hand.get(name, 0) for name in (*due[start:], *due[:start])}
    shares: dict[str, int] = {}
    while limit > 0 and (open_ones := [name for name, left in room.items() if left > 0]):
        turn = max(1, limit // len(open_ones))
        for name in open_ones[:limit]:
            given = min(turn, room[name])
            shares[name] = shares.get(name, 0) + given
            room[name] -= given
            limit -= given
    return shares
