"""Command ``python -m bench``: runs the benchmarks and prints one table.

Each benchmark is a file of this package; ``docs/benchmarks.md`` explains them. Next: ``bench/measured.py``.
"""

from __future__ import annotations

import json
import logging
import sys
from enum import StrEnum
from importlib import import_module
from typing import Annotated

import structlog
import typer
from rich.console import Console

from bench import history
from bench.measured import Benchmark, Measurement
from bench.page import table_of, write_page
from bench.quiet import Disturbance, watch_others
from tocsin.cli.progress import progress_bar
from tocsin.logs import to_standard_error


class Name(StrEnum):
    """Which benchmarks there are, in the order in which they run: those in whose process Spark runs come last."""

    LATENCY = "latency"
    API = "api"
    CATALOGUE = "catalogue"
    SEARCH = "search"
    WEBHOOKS = "webhooks"
    DELIVERIES = "deliveries"
    MAILS = "mails"
    WAITING = "waiting"
    PERMISSIONS = "permissions"
    INBOX = "inbox"
    FEEDS = "feeds"
    STREAMS = "streams"
    STARTUP = "startup"
    VERSIONS = "versions"
    LAKE = "lake"
    RETENTION = "retention"
    CONSISTENCY = "consistency"
    PHASES = "phases"
    SINK = "sink"
    LINKED = "linked"
    RELAY = "relay"
    INGEST = "ingest"
    BACKLOG = "backlog"
    FOLLOWS = "follows"
    DOMAINS = "domains"
    RECOMMENDATIONS = "recommendations"
    BACKTEST = "backtest"
    LAKE_SQL = "lake_sql"
    MATCHING = "matching"
    FANOUT = "fanout"
    DIGESTS = "digests"


def main(
    *,
    only: Annotated[list[Name] | None, typer.Option(help="Run this benchmark; may be given several times.")] = None,
    scale: Annotated[float, typer.Option(min=0.0001, max=10, help="Part of the full size; 0.01 tries it out.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    write: Annotated[bool, typer.Option(help="Add what was measured to docs/benchmarks.md, at full size.")] = False,
) -> None:
    """Measure Tocsin on this machine, over loopback only, with a floor from the same run for every figure."""
    if write and scale != 1.0:
        raise typer.BadParameter("the page shows benchmarks at full size", param_hint="--write")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=to_standard_error,
    )
    measurements: list[Measurement] = []
    disturbances: dict[str, Disturbance] = {}
    try:
        for name in only or list(Name):
            with progress_bar(name) as report, watch_others() as disturbances[name]:
                measurements += _benchmark(name)(scale, report)
    finally:  # what was measured is worth seeing even if the next benchmark failed
        _show(measurements, disturbances, as_json=as_json)
    if write:
        disturbed_names = [name for name, disturbance in disturbances.items() if not disturbance.is_quiet]
        write_page(measurements, disturbed_names=disturbed_names)
        history.keep(measurements, disturbances)


def _benchmark(name: Name) -> Benchmark:
    measure: Benchmark = import_module(f"bench.{name}").measure
    return measure


def _show(measurements: list[Measurement], disturbances: dict[str, Disturbance], *, as_json: bool) -> None:
    for name, disturbance in disturbances.items():
        if not disturbance.is_quiet:
            print(f"{name}: {disturbance.text()}", file=sys.stderr)
    if as_json:
        print(json.dumps([row.as_json() for row in measurements], indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 150).print(table_of(measurements))


if __name__ == "__main__":
    typer.run(main)
