"""Schema drift of the shop's database: columns are added, dropped or widened, and the copies follow.

Each night the bot detects the changes of the shop's engineers; the raw copy follows the next night, staging when
somebody updates it. Next: ``sample/history.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tocsin.sample import drafts
from tocsin.sample.assets import Asset
from tocsin.sample.calendar import Calendar
from tocsin.sample.columns import column, wider
from tocsin.sample.company import DEMO_FOLLOWS
from tocsin.sample.drafts import Draft, Operations
from tocsin.sample.edits import SOURCES, later_columns
from tocsin.sample.founding import CATALOGUER

_DRIFTS = 46
_FOLLOWED_BY_STAGING = 0.6
_STAGERS = ("tomas.ferreira", "ingrid.solheim", "dana.whitlock")


@dataclass(frozen=True)
class Drift:
    """One column of one table changes: ``kind`` is ``add``, ``drop`` or ``widen``."""

    at_ms: int
    actor: str
    fqn: str
    kind: str
    column: str

    def applied_to(self, draft: Draft) -> Operations:
        """Change the draft and return the operations; none where the copy has gone its own way."""
        match self.kind:
            case "add":
                return drafts.add_column(draft, self.column)
            case "drop":
                return drafts.drop_column(draft, self.column)
            case _:
                kind = wider(column(self.column))
                return drafts.retype_column(draft, self.column, kind) if kind else ()


def drifts(
    assets: Sequence[Asset], tested: frozenset[tuple[str, str]], calendar: Calendar, rng: Random
) -> Iterator[Drift]:
    """Yield the drifts of the year, in no order; a column that is tested (table, column) is never dropped."""
    sources = [asset for asset in assets if asset.layer in SOURCES]
    copies = {asset.inputs[0]: asset for asset in assets if asset.layer in ("raw", "staging") and asset.inputs}
    for source in rng.choices(sources, [_restlessness(one) for one in sources], k=_DRIFTS):
        kind = rng.choices(("add", "drop", "widen"), (6, 2, 3))[0]
        chosen = _column(source, kind, tested, rng)
        day = rng.randint(15, 355)
        if chosen is not None:
            yield Drift(calendar.by_night(day, rng), CATALOGUER, source.fqn, kind, chosen)
            yield from _followers(Drift(0, CATALOGUER, source.fqn, kind, chosen), copies, (day, calendar), rng)


def _followers(drift: Drift, copies: dict[str, Asset], since: tuple[int, Calendar], rng: Random) -> Iterator[Drift]:
    day, calendar = since
    raw = copies.get(drift.fqn)
    if raw is None:
        return
    yield Drift(calendar.by_night(day + 1, rng), CATALOGUER, raw.fqn, drift.kind, drift.column)
    staging = copies.get(raw.fqn)
    if staging is not None and rng.random() < _FOLLOWED_BY_STAGING:
        at_ms = calendar.by_day(day + rng.randint(2, 7), rng)
        yield Drift(at_ms, rng.choice(_STAGERS), staging.fqn, drift.kind, drift.column)


def _column(source: Asset, kind: str, tested: frozenset[tuple[str, str]], rng: Random) -> str | None:
    if kind == "add":
        return rng.choice(later_columns(source.domain))
    names = [str(one["name"]) for one in source.request["columns"][1:] if (source.fqn, one["name"]) not in tested]
    if kind == "widen":
        names = [name for name in names if wider(column(name))]
    elif len(names) < 5:
        return None
    return rng.choice(names) if names else None


def _restlessness(source: Asset) -> int:
    if source.fqn in DEMO_FOLLOWS:
        return 12
    return 4 if "Tier.Tier1" in {label["tagFQN"] for label in source.request["tags"]} else 1
