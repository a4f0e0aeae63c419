"""Benchmark of recommendations: how much of what people followed next is among the ten that they would have seen.

Real history from ``../shared/data``: whoever edits an asset follows it from then on. The last fifth of each person's
follows, cut where a commit begins, is held out. Each person is judged by the weights that are best for all others, of a
small grid around those of Tocsin. The interval is a bootstrap over people, who are few.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from tocsin.model.recommendation import FAMILIES, WEIGHTS
from tocsin.spark.recommendations import INPUTS, recommendations
from tocsin.spark.relations import RELATIONS
from tocsin.spark.schema import record_batch
from tocsin.spark.session import open_session

HISTORY = Path(__file__).resolve().parents[2] / "shared" / "data" / "bqetl_main"
SHOWN, FEWEST_FOLLOWS, HELD_OUT = 10, 5, 0.2
_RESAMPLED, _SEED = 2_000, 23
_STEPS = (0.1, 0.3, 1.0)
"""What lineage, and what is followed together, may weigh beside the same container, which weighs 1."""

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
    """Measure recall@10 of the weighed sum, against popularity, lineage alone and same schema alone.

    Raises
    ------
    AssertionError : other weights than those of Tocsin are best for most people, or the job orders otherwise
    """
    if not HISTORY.is_dir():
        typer.echo(f"recommendations: skipped, there is no history in {HISTORY.name} of ../shared/data.", err=True)
        return []
    history = read_history(HISTORY)
    people = sorted(history.next_follows)
    with _session() as session:
        evidence = read_evidence(session, history)
        report(1, 2)
        if best_assets(session, history) != {person: evidence.best(person, WEIGHTS) for person in evidence.people}:
            raise AssertionError("another order than that of the job")
    alone = {name: {name: 1.0} for name in ("container", "lineage", "together")}
    sums = {f"sum {one} {other}": _weights(one, other) for one in _STEPS for other in _STEPS}
    recalls = {"popular": history.recalls(history.popular(), people)}
    for name, weights in {**sums, **alone}.items():
        recalls[name] = history.recalls({person: evidence.best(person, weights) for person in people}, people)
    best_names = names_of_best_for_others([recalls[name] for name in sums], list(sums))
    most_frequent_name, _ = Counter(best_names).most_common(1)[0]
    if sums[most_frequent_name] != WEIGHTS:
        raise AssertionError(f"better weights than Tocsin's: {most_frequent_name}")
    recalls["sum"] = [recalls[name][place] for place, name in enumerate(best_names)]
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


def _weights(lineage: float, together: float) -> Mapping[str, float]:
    return {**WEIGHTS, "lineage": lineage, "together": together}


def names_of_best_for_others(recalls: Sequence[Sequence[float]], names: Sequence[str]) -> list[str]:
    """Return for each person which of several ranks has the highest recall of all others, the first of equal ones."""
    totals = [sum(one) for one in recalls]
    return [
        max(zip(names, totals, recalls, strict=True), key=lambda rank: round(rank[1] - rank[2][place], 9))[0]
        for place in range(len(recalls[0]))
    ]


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


@dataclass(frozen=True)
class AllEvidence:
    """How much each family of reasons says for each asset that a person may like, 1 for its best; and the followers."""

    strengths: Mapping[str, Mapping[str, Mapping[str, float]]]
    follower_counts: Mapping[str, int]

    @property
    def people(self) -> Collection[str]:
        """Return all to whom anything is recommended."""
        return self.strengths.keys()

    def best(self, person: str, weights: Mapping[str, float]) -> list[str]:
        """Return what the person would be shown by these weights, the first ten, in the order of the job."""
        totals = {
            asset: sum(weights.get(family, 0.0) * strength for family, strength in by_family.items())
            for asset, by_family in self.strengths.get(person, {}).items()
        }
        candidates = [asset for asset, total in totals.items() if total > 0]
        return sorted(candidates, key=lambda asset: (-round(totals[asset], 9), -self.follower_counts[asset], asset))[
            :SHOWN
        ]


def read_evidence(session: SparkSession, history: History) -> AllEvidence:
    """Return all reasons that the job finds, weighing the same."""
    relations = {name: _frame(session, name, history) for name in INPUTS}
    frame = recommendations(relations, dict.fromkeys(WEIGHTS, 1.0), most_stored=len(history.relations["asset"]))
    strengths: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    for row in frame.collect():
        strengths[row.user_id][row.entity_id][FAMILIES.get(row.kind, row.kind)] += row.strength
    return AllEvidence(strengths, Counter(asset for _, asset, _ in history.follows))


def best_assets(session: SparkSession, history: History) -> dict[str, list[str]]:
    """Return what the job would show to each person, the first ten."""
    relations = {name: _frame(session, name, history) for name in INPUTS}
    frame = recommendations(relations).where(f"place <= {SHOWN}")
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
