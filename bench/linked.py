"""Benchmark of linked data: change events of a log, rendered as JSON-LD and Turtle, beside plain JSON.

The events are those of a wide table that is changed again and again, with the whole entity in each.
Next: ``bench/relay.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import orjson

from bench.measured import Measurement, Report, in_alternation, scale_count
from tocsin.delivery.wording.event_formats import as_default
from tocsin.model.change import ChangeEvent, EventType, describe
from tocsin.server.rdf.answers import render_graph
from tocsin.server.rdf.events import event_node
from tocsin.server.rdf.formats import LINKED, Format
from tocsin.server.rdf.vocabulary import event_context

EVENT_COUNT, PAGE, COLUMN_COUNT, ROUND_COUNT = 20_000, 1_000, 10, 3


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure how many events of about 1 kB one process renders in a second, in pages as ``GET /events`` answers."""
    events = [_event(number) for number in range(scale_count(EVENT_COUNT, scale, least=PAGE))]
    pages = [events[start : start + PAGE] for start in range(0, len(events), PAGE)]
    measurements = []
    for position, answer_format in enumerate(LINKED, start=1):
        figure = partial(_render, pages, partial(_as_rdf, answer_format=answer_format))
        times = in_alternation(figure, partial(_render, pages, _as_json), rounds=ROUND_COUNT, warm_ups=1)
        measurements.append(times.rate("linked", f"events as {answer_format}", "events/s", len(events)))
        report(position, len(LINKED))
    return measurements


def _render(pages: list[list[ChangeEvent]], render: Callable[[list[ChangeEvent]], bytes]) -> float:
    """Return the seconds that it takes to render all pages."""
    begin = time.perf_counter()
    for page in pages:
        render(page)
    return time.perf_counter() - begin


def _as_json(page: list[ChangeEvent]) -> bytes:
    return orjson.dumps({"data": [as_default(event.as_wire()) for event in page]})


def _as_rdf(page: list[ChangeEvent], answer_format: Format) -> bytes:
    nodes = [event_node(as_default(event.as_wire()), by_bot=False) for event in page]
    return render_graph(event_context(), nodes, answer_format)


def _event(number: int) -> ChangeEvent:
    entity_id = f"00000000-0000-7000-8000-{number % 100:012x}"
    columns = [{"name": f"column_{at}", "dataType": "VARCHAR", "dataLength": 64} for at in range(COLUMN_COUNT)]
    return ChangeEvent(
        id=f"00000000-0000-7000-9000-{number:012x}",
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id=entity_id,
        entity_fully_qualified_name="warehouse.shop.public.orders",
        previous_version=Decimal("0.1"),
        current_version=Decimal("0.2"),
        user_name="dana",
        user_id="00000000-0000-7000-a000-000000000001",
        timestamp=1_705_320_000_000 + number,
        change_description=describe("description", old="Orders.", new="All orders of the shop."),
        entity={"id": entity_id, "name": "orders", "version": 0.2, "columns": columns},
    )
