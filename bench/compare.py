"""Command ``python -m bench.compare REF``: benchmarks of this tree and of another commit, in turns.

A busy minute slows both trees down, so each round measures both, and the ratios are of the same round. Libraries are
those of this tree. ``docs/benchmarks.md`` explains the table. Next: ``bench/measured.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.page import number
from tocsin.cli.progress import ReportProgress, progress_bar

_ROOT = Path(__file__).resolve().parents[1]
_PINS = "requirements/all.txt"
_COLUMNS = ("benchmark", "what", "unit", "this tree", "other", "speed", "range", "verdict")
_SHORT = ("api", "webhooks", "sink", "backlog")
_SHORT_SCALE = 0.05
_FIGURES = frozenset({"this tree", "other", "speed", "range"})


@dataclass(frozen=True)
class Row:
    """What a figure is of."""

    benchmark: str
    name: str
    unit: str


@dataclass(frozen=True)
class Comparison:
    """Figures of both trees, one of each per round, in the order of the rounds."""

    row: Row
    figures_here: tuple[float, ...]
    figures_there: tuple[float, ...]

    @property
    def speeds(self) -> list[float]:
        """How many times as fast, or as small, as the other tree this one is, round by round."""
        ratios = [here / there for here, there in zip(self.figures_here, self.figures_there, strict=True)]
        return ratios if self.row.unit.endswith("/s") else [1 / ratio for ratio in ratios]

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` if every figure of one tree is above every figure of the other."""
        if max(self.figures_here) >= min(self.figures_there) and max(self.figures_there) >= min(self.figures_here):
            return "no difference"
        return "better" if median(self.speeds) > 1 else "worse"


def main(
    *,
    ref: Annotated[str, typer.Argument(help="Commit, branch or tag to compare this tree with.", metavar="REF")],
    only: Annotated[list[str] | None, typer.Option(help="Run this benchmark; may be given several times.")] = None,
    scale: Annotated[float | None, typer.Option(min=0.0001, max=10, help="Part of the full size.")] = None,
    short: Annotated[bool, typer.Option(help=f"{', '.join(_SHORT)} at scale {_SHORT_SCALE}: five minutes.")] = False,
    rounds: Annotated[int, typer.Option(min=3, help="Times that each tree is measured.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure this tree and another commit in turns, and say what differs."""
    names, size = (only or _SHORT, scale or _SHORT_SCALE) if short else (only or (), scale or 1.0)
    choice = [word for name in names for word in ("--only", name)]
    with _check_out(ref) as other_tree, progress_bar("rounds") as report:
        if (other_tree / _PINS).read_text() != (_ROOT / _PINS).read_text():
            print(f"{ref} pins other libraries; both trees are measured with those of this tree.", file=sys.stderr)
        comparisons = compare(_measured_in_turns(other_tree, [*choice, "--scale", str(size)], rounds, report))
    if as_json:
        print(json.dumps([_as_json(comparison) for comparison in comparisons], indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 150).print(_table(comparisons, ref, rounds))


def compare(rounds: Sequence[tuple[Mapping[Row, float], Mapping[Row, float]]]) -> list[Comparison]:
    """Return a comparison for each row that all rounds of both trees have; a figure of 0 has no ratio."""
    figures: dict[Row, list[tuple[float, float]]] = defaultdict(list)
    for own_figures, other_figures in rounds:
        for row, figure in own_figures.items():
            if figure and other_figures.get(row):
                figures[row].append((figure, other_figures[row]))
    pairs_by_row = {row: pairs for row, pairs in figures.items() if len(pairs) == len(rounds)}
    return [Comparison(row, *zip(*pairs, strict=True)) for row, pairs in pairs_by_row.items()]


def _measured_in_turns(
    other_tree: Path, options: Sequence[str], rounds: int, report: ReportProgress
) -> list[tuple[dict[Row, float], dict[Row, float]]]:
    """Measure both trees ``rounds`` times; each round begins with the tree that the last one ended with."""
    results = []
    for at in range(rounds):
        order = (_ROOT, other_tree) if at % 2 == 0 else (other_tree, _ROOT)
        measured = {}
        for step, tree in enumerate(order):
            measured[tree] = _measure(tree, options)
            report(2 * at + step + 1, 2 * rounds)
        results.append((measured[_ROOT], measured[other_tree]))
    return results


def _measure(tree: Path, options: Sequence[str]) -> dict[Row, float]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(tree)))}
    command = [sys.executable, "-m", "bench", *options, "--json"]
    process = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        raise typer.Exit(process.returncode)  # it has said why
    return {Row(row["benchmark"], row["name"], row["unit"]): row["figure"] for row in json.loads(process.stdout)}


@contextmanager
def _check_out(ref: str) -> Iterator[Path]:
    """Check the commit out into a folder of its own until the block ends."""
    git = ("git", "-C", str(_ROOT))
    lookup = subprocess.run([*git, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], capture_output=True)
    if lookup.returncode:
        raise typer.BadParameter(f"git knows no commit {ref}", param_hint="REF")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(tree), ref], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)


def _table(comparisons: Sequence[Comparison], ref: str, rounds: int) -> Table:
    table = Table(title=f"This tree and {ref}, {rounds} rounds in turns", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _FIGURES else "left", no_wrap=column != "what")
    for comparison in comparisons:
        row, speeds = comparison.row, comparison.speeds
        figures = (
            number(median(comparison.figures_here)),
            number(median(comparison.figures_there)),
            f"{median(speeds):.2f}",
        )
        spread = f"{min(speeds):.2f} to {max(speeds):.2f}"
        table.add_row(row.benchmark, row.name, row.unit, *figures, spread, comparison.verdict)
    return table


def _as_json(comparison: Comparison) -> dict[str, object]:
    row, speeds = comparison.row, comparison.speeds
    names = {"benchmark": row.benchmark, "name": row.name, "unit": row.unit}
    figures = {"here": comparison.figures_here, "there": comparison.figures_there, "speeds": speeds}
    return {**names, **figures, "speed": median(speeds), "verdict": comparison.verdict}


if __name__ == "__main__":
    typer.run(main)
