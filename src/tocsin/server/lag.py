"""Answers about the lags of readers of the log: as JSON and as metrics in Prometheus' text format; metrics of ingest.

Next: ``server/routes/system/lag.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tocsin.flow.eventlog.lag import LagState, ReaderKind, ReaderLag
from tocsin.model.entity import Document
from tocsin.server.build import LagParts
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, FLAG, NUMBER, TEXT, TIME, either, nullable
from tocsin.store.eventlog.ingest_outcomes import IngestOutcomes
from tocsin.store.upkeep.lag import Measurement

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True)
class ShownLag:
    """A lag as it is shown: measured ``now_ms``, with what is remembered of it, and its limit, 0 for none."""

    lag: ReaderLag
    state: LagState | None
    limit: int
    now_ms: int

    @property
    def growing_since_ms(self) -> int | None:
        """Return since when it has not shrunk."""
        return self.state.growing_since_ms if self.state and self.lag.event_count else None

    @property
    def exceeded_since_ms(self) -> int | None:
        """Return since when an event says that it is exceeded."""
        return self.state.exceeded_since_ms if self.state and self.limit else None


READER_LAG: Shape[ShownLag] = {
    "reader": (TEXT, lambda shown: shown.lag.reader),
    "kind": (either(*ReaderKind), lambda shown: shown.lag.kind.value),
    "alert?": (TEXT, lambda shown: shown.lag.alert and shown.lag.alert["name"]),
    "logOffset": (nullable(COUNT), lambda shown: shown.lag.log_offset),
    "lagEvents": (COUNT, lambda shown: shown.lag.event_count),
    "isEstimate": (FLAG, lambda shown: shown.lag.is_estimate),
    "lagSeconds": (NUMBER, lambda shown: shown.lag.seconds(shown.now_ms)),
    "oldestUnreadAt?": (TIME, lambda shown: shown.lag.oldest_ms),
    "growingSince?": (TIME, lambda shown: shown.growing_since_ms),
    "exceededSince?": (TIME, lambda shown: shown.exceeded_since_ms),
    "limit": (nullable(COUNT), lambda shown: shown.limit or None),
    "readAt?": (TIME, lambda shown: shown.lag.read_at_ms),
}
"""A reader of the log, and how much it has not read yet."""


def lags_to_show(parts: LagParts, *, now_ms: int) -> tuple[Measurement, list[ShownLag]]:
    """Return what is measured now, and each lag with what is remembered of it."""
    measurement, states = parts.lags.measure(now_ms=now_ms), parts.states.all()
    shown_lags = [
        ShownLag(lag, states.get(lag.reader), parts.limits.of(lag.reader), now_ms) for lag in measurement.lags
    ]
    return measurement, shown_lags


def lag_json(parts: LagParts, *, now_ms: int) -> Document:
    """Return the lags of all readers, and of which there are none known."""
    measurement, shown_lags = lags_to_show(parts, now_ms=now_ms)
    return {
        "logOffset": measurement.log_offset,
        "measuredAt": now_ms,
        "readers": [json_of(READER_LAG, shown) for shown in shown_lags],
        "missing": list(measurement.missing),
    }


_GAUGES: dict[str, tuple[str, Callable[[ShownLag], float]]] = {
    "tocsin_reader_lag_events": ("Events that a reader of the log has not read.", lambda shown: shown.lag.event_count),
    "tocsin_reader_lag_seconds": (
        "Age of the oldest event that a reader has not read.",
        lambda shown: shown.lag.seconds(shown.now_ms),
    ),
    "tocsin_reader_lag_limit_events": ("Lag beyond which EventLag tells; 0: never.", lambda shown: shown.limit),
    "tocsin_reader_lag_exceeded": (
        "Whether EventLag has told that the lag is exceeded.",
        lambda shown: shown.exceeded_since_ms is not None,
    ),
}


def lag_metrics(parts: LagParts, *, now_ms: int) -> str:
    """Return the lags of all readers as gauges; labels are as many as readers, which are bounded.

    Source: Prometheus, text exposition format 0.0.4.
    """
    measurement, shown_lags = lags_to_show(parts, now_ms=now_ms)
    lines = [*_metric("tocsin_log_offset", "Offset of the last readable event.", {"": measurement.log_offset})]
    for name, (meaning, value_of) in _GAUGES.items():
        lines += _metric(name, meaning, {_labels(shown.lag): float(value_of(shown)) for shown in shown_lags})
    return "".join(f"{line}\n" for line in lines)


def ingest_metrics(outcomes: IngestOutcomes) -> str:
    """Return how many events of other systems came to what, as counters of the whole store."""
    counts = {f'{{state="{state}",reason="{reason}"}}': count for (state, reason), count in outcomes.all().items()}
    meaning = "Events of other systems, by what they came to and, if they were refused, why."
    lines = _metric("tocsin_ingested_events_total", meaning, counts, kind="counter")
    return "".join(f"{line}\n" for line in lines)


def _labels(lag: ReaderLag) -> str:
    return f'{{reader="{lag.reader.translate(_ESCAPES)}",kind="{lag.kind.value}"}}'


def _metric(name: str, meaning: str, values: Mapping[str, float], *, kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value:.15g}"
