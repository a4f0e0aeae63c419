"""Synthetic search index entries with a given seed, for the search benchmark.

Names are built from few words, some far more frequent than others, as in a real catalogue. Entries are made in plain
Python, as the tests' reference makes them; Spark's part is not measured. Next: ``bench/search.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from uuid import UUID

from tests.entries import Entry, entry_of

from tocsin.model.entity import Document

SEED = 12
TYPES = ("table",) * 14 + ("topic", "dashboard", "pipeline", "container", "chart", "storedProcedure")
SERVICE_COUNT, OWNER_COUNT, DOMAIN_COUNT = 40, 300, 25
WORDS = (
    "customer order payment invoice product event session click user account ledger balance price stock supplier "
    "shipment warehouse region country currency campaign lead contract employee salary device sensor metric alert risk "
    "score model feature label batch daily weekly hourly raw staging clean archive snapshot history dim fact agg tmp"
).split()
_RARE = [f"{first}{second}" for first in WORDS[:40] for second in WORDS[40:]]
_TIERS = (*(None,) * 6, "Tier.Tier1", "Tier.Tier2", "Tier.Tier3")
_COLUMNS = "id created_at updated_at email amount status type name code country_code currency note".split()


def corpus(count: int) -> Iterator[tuple[Entry, Document]]:
    """Yield ``count`` entries and their documents, the same every time."""
    rng = Random(SEED)
    for number in range(count):
        entity_type, document = rng.choice(TYPES), _document(rng, number)
        yield entry_of(entity_type, document), document


def queries(count: int) -> list[dict[str, str]]:
    """Return parameters of ``/search/query``: the mix that is measured, the same every time."""
    rng = Random(SEED + 1)
    return [kind(rng) for _ in range(count // len(_KINDS) + 1) for kind in _KINDS][:count]


def _document(rng: Random, number: int) -> Document:
    words = [_word(rng) for _ in range(rng.randrange(2, 4))]
    name = f"{'_'.join(words)}_{number}" if rng.random() < 0.8 else "".join(map(str.title, words)) + str(number)
    service = f"service_{_skewed_number(rng, SERVICE_COUNT)}"
    tags = [
        {"tagFQN": tag} for tag in (rng.choice(_TIERS), rng.choice((None, None, "PII.Sensitive", "PII.None"))) if tag
    ]
    names = [*rng.sample(_COLUMNS, 5), *(f"{_word(rng)}_{_word(rng)}" for _ in range(5))]
    return {
        "id": str(UUID(int=number)),
        "name": name,
        "fullyQualifiedName": f"{service}.{_word(rng)}.{_word(rng)}.{name}",
        "description": " ".join(_word(rng) for _ in range(rng.randrange(24))),
        "updatedAt": 1_700_000_000_000 + number,
        "deleted": rng.random() < 0.02,
        "service": {"name": service},
        "serviceType": "Postgres",
        "owners": [{"id": f"o{(owner := _skewed_number(rng, OWNER_COUNT))}", "name": f"person_{owner}"}],
        "domains": [{"id": "d", "name": f"domain_{_skewed_number(rng, DOMAIN_COUNT)}"}],
        "tags": tags,
        "columns": [{"name": one, "description": _word(rng) if rng.random() < 0.3 else ""} for one in names],
        "usageSummary": {"weeklyStats": {"count": int(rng.paretovariate(1.0))}},
    }


def _word(rng: Random) -> str:
    return WORDS[_skewed_number(rng, len(WORDS))] if rng.random() < 0.7 else rng.choice(_RARE)


def _skewed_number(rng: Random, count: int) -> int:
    return int(count * rng.random() ** 2)


def _parameters(**values: Any) -> dict[str, str]:
    return {key: str(value) for key, value in values.items()}


_KINDS: tuple[Callable[[Random], dict[str, str]], ...] = (
    lambda rng: _parameters(q=rng.choice(_RARE)),
    lambda rng: _parameters(q=_word(rng)),
    lambda rng: _parameters(q=f"{_word(rng)} {_word(rng)}"),
    lambda rng: _parameters(q=f"{_word(rng)[:4]}*"),
    lambda rng: _parameters(q=f"{_word(rng)} type:table tag:PII.Sensitive"),
    lambda rng: _parameters(q=f"owner:person_{_skewed_number(rng, OWNER_COUNT)}", index="table_search_index"),
    lambda rng: _parameters(q=f"{_word(rng)} service:service_{_skewed_number(rng, SERVICE_COUNT)} tier:Tier.Tier1"),
    lambda rng: _parameters(q=f'"{_word(rng)} {_word(rng)}"'),
    lambda rng: _parameters(q=f"fullyQualifiedName:*.{_word(rng)}.{_word(rng)}.*"),
    lambda rng: _parameters(q="*", sort_field="fullyQualifiedName", sort_order="asc"),
)
