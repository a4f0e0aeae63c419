"""Benchmark of recommendations: how much of what people followed next is among the ten that they would have seen.

Real history from ``../shared/data``: whoever edits an asset follows it from then on. The last fifth of each person's
follows, cut where a commit begins, is held out. The weights were fixed on every other person; what is reported is the
rest. The interval is a bootstrap over people, who are few.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import floor
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pyarrow as pa
import typer
from pyspark.sql import DataFrame, SparkSession

from bench.measured import Measurement, Report
from tocsin.model.recommendation import WEIGHTS
from tocsin.spark.recommendations import INPUTS, recommendations
from tocsin.spark.relations import RELATIONS
from tocsin.spark.schema import record_batch
from tocsin.spark.session import open_session

HISTORY = Path(__file__).resolve().parents[2] / "shared" / "data" / "bqetl_main"
SHOWN, FEWEST_FOLLOWS, HELD_OUT = 10, 5, 0.2
_RESAMPLED, _SEED = 2_000, 23
_SAME_SCHEMA = 0.129
"""What same schema alone reached on all people in ../shared/research/next-stage.md, section 7."""

Follow = tuple[str, str, int]
"""Person, asset, and the number of the commit since which the person follows it."""


@dataclass(frozen=True)
class History:
    """What people follow before the cut, what they followed afterwards, and the assets around."""

    follows: Sequence[Follow]
    next_follows: Mapping[str, frozenset[str]]
    relations: Mapping[str, Sequence[tuple[Any, ...]]]  # Any: a column's value

    def popular(self) -> dict[str, list[str]]:
        """Return the ten most followed assets that each person does not follow."""
        counts = Counter(asset for _, asset, _ in self.follows)
        own_follows = defaultdict(set)
        for person, asset, _ in self.follows:
            own_follows[person].add(asset)
        order = [asset for asset, _ in counts.most_common()]
        return {one: [asset for asset in order if asset not in own_follows[one]][:SHOWN] for one in self.next_follows}

    def recalls(self, asset_lists: Mapping[str, Sequence[str]], people: Sequence[str]) -> list[float]:
        """Return of each person the part of what they followed next that was shown."""
        return [
            len(self.next_follows[person].intersection(asset_lists.get(person, ())[:SHOWN]))
            / len(self.next_follows[person])
            for person in people
        ]


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure recall@10 of the weighed sum, against popularity, lineage alone and same schema alone."""
    if not HISTORY.is_dir():
        typer.echo(f"recommendations: skipped, there is no history in {HISTORY.name} of ../shared/data.", err=True)
        return []
    history = read_history(HISTORY)
    people = sorted(history.next_follows)[1::2]
    alone = {name: {name: 1.0} for name in ("container", "lineage", "together")}
    with _session() as session:
        lists_by_name: dict[str, Mapping[str, Sequence[str]]] = {}
        for number, (name, weights) in enumerate({"sum": WEIGHTS, **alone}.items()):
            report(number, len(alone) + 1)
            lists_by_name[name] = best_assets(session, history, weights)
    recalls = {
        name: history.recalls(lists, people) for name, lists in {**lists_by_name, "popular": history.popular()}.items()
    }
    names = {
        "popular": "popularity",
        "lineage": "lineage alone",
        "container": "same schema alone",
        "together": "followed together alone",
    }
    return [_row(f"recall@10, floor: {text}", recalls["sum"], recalls[name]) for name, text in names.items()]


def _row(name: str, recalls: Sequence[float], floors: Sequence[float]) -> Measurement:
    low, high = interval_of([one - other for one, other in zip(recalls, floors, strict=True)])
    aim = f"above {_SAME_SCHEMA}; difference {low:+.3f} to {high:+.3f} in 95 of 100"
    return Measurement("recommendations", name, mean(recalls), "", mean(floors), len(recalls), aim)


def interval_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the bounds between which the mean lies in 95 of 100 samples of the same people."""
    rng = Random(_SEED)
    means = sorted(mean(rng.choices(values, k=len(values))) for _ in range(_RESAMPLED))
    return means[floor(0.025 * _RESAMPLED)], means[floor(0.975 * _RESAMPLED)]


@contextmanager
def _session() -> Iterator[SparkSession]:
    session = open_session(master="local[2]")
    try:
        yield session
    finally:
        session.stop()


def best_assets(session: SparkSession, history: History, weights: Mapping[str, float]) -> dict[str, list[str]]:
    """Return what each person would be shown, the first ten."""
    relations = {name: _frame(session, name, history) for name in INPUTS}
    frame = recommendations(relations, weights).where(f"place <= {SHOWN}")
    ranks = sorted({(row.user_id, row.place, row.entity_id) for row in frame.collect()})
    asset_lists: dict[str, list[str]] = defaultdict(list)
    for person, _, asset in ranks:
        asset_lists[person].append(asset)
    return asset_lists


def _frame(session: SparkSession, name: str, history: History) -> DataFrame:
    columns = RELATIONS[name].columns
    relation_rows = history.follows if name == "follow" else history.relations.get(name, ())
    return session.createDataFrame(pa.Table.from_batches([record_batch(relation_rows, columns)]))


def read_history(folder: Path) -> History:
    """Return the follows, assets, labels and edges of a history."""
    follows: dict[str, dict[str, int]] = defaultdict(dict)
    assets: dict[str, dict[str, Any]] = {}
    for state in _lines(folder / "states.jsonl.gz"):
        asset = _id_of(state["entityType"], state["fullyQualifiedName"])
        if state["op"] == "put":
            assets[asset] = state["entity"] | {"type": state["entityType"]}
        if not state["user"].startswith("bot"):
            follows[state["user"]].setdefault(asset, int(state["commit"].lstrip("c")))
    edges = {
        (_end_of(edge["fromEntity"]), _end_of(edge["toEntity"]))
        for edge in _lines(folder / "lineage.jsonl.gz")
        if edge["op"] == "put"
    }
    relations: dict[str, list[tuple[Any, ...]]] = {  # Any: as above
        "asset": [(one, assets[one]["type"], one.partition(":")[2].rpartition(".")[0]) for one in assets],
        "edge": sorted(edge for edge in edges if assets.keys() >= set(edge)),
        "tag": sorted({(one, tag["tagFQN"]) for one in assets for tag in assets[one].get("tags") or ()}),
    }
    follows_before, next_follows = _cut(follows)
    return History(follows_before, next_follows, relations)


def _cut(follows: Mapping[str, Mapping[str, int]]) -> tuple[list[Follow], dict[str, frozenset[str]]]:
    """Return the follows before each person's cut, and what those with enough of them followed afterwards."""
    follows_before: list[Follow] = []
    next_follows: dict[str, frozenset[str]] = {}
    for person, since in follows.items():
        times = sorted(since.values())
        cut = times[int(len(times) * (1 - HELD_OUT))] if len(times) >= FEWEST_FOLLOWS else times[-1] + 1
        before = [(person, asset, commit) for asset, commit in since.items() if commit < cut]
        if before and len(before) < len(since):
            next_follows[person] = frozenset(asset for asset, commit in since.items() if commit >= cut)
        follows_before += before or [(person, asset, commit) for asset, commit in since.items()]
    return follows_before, next_follows


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def _end_of(reference: Mapping[str, str]) -> str:
    return _id_of(reference["type"], reference["fullyQualifiedName"])


def _id_of(entity_type: str, fqn: str) -> str:
    return f"{entity_type}:{fqn}"
