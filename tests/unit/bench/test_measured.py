"""Tests of benchmark rows and tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.alerts import MIX, requests
from bench.estate import copy_id, copy_text, stem_of
from bench.measured import Measurement, Rounds, in_alternation, p95, scale_count
from bench.page import BEGIN, END, PAGE, write_page

from tocsin.conditions.check import parse_and_check

ROWS = [
    Measurement("latency", "commit to inbox, p50", 240.4, "ms", 6.0, 60, aim="500"),
    Measurement("latency", "of it until planned", 31.25, "ms", None, 60),
    Measurement("backlog", "log to notifications", 4321.0, "events/s", 8642.0, 100_000),
]


def test_a_ratio_is_the_figure_over_its_floor() -> None:
    assert [row.ratio for row in ROWS] == [pytest.approx(240.4 / 6), None, 0.5]
    assert ROWS[2].as_json()["ratio"] == 0.5


def test_a_run_and_its_floor_are_measured_in_turns_and_the_first_rounds_do_not_count() -> None:
    order: list[str] = []

    def take_time(name: str, start_s: float) -> float:
        order.append(name)
        return start_s + len(order)

    measured = in_alternation(lambda: take_time("run", 10), lambda: take_time("floor", 0), rounds=2, warm_ups=1)
    assert order == ["floor", "run"] * 3
    assert measured == Rounds(times_s=(14, 16), floors_s=(3, 5))


def test_rounds_give_the_median_the_range_and_the_median_of_the_paired_ratios() -> None:
    row = Rounds(times_s=(1.0, 2.0, 1.25), floors_s=(0.5, 1.5, 0.25)).rate("matching", "10 alerts", "events/s", 100)
    assert (row.figure, row.floor, row.span) == (80.0, 200.0, (50.0, 100.0))
    assert row.ratio == pytest.approx(0.5)
    assert not row.is_settled
    assert Rounds((1.0, 1.4), (1.0, 1.0)).time("matching", "one").is_settled


def test_rounds_that_spread_too_far_are_marked_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    write_page([Rounds((1.0, 2.0, 1.25), (0.5, 1.5, 0.25)).rate("matching", "10 alerts", "events/s", 100)], page)
    assert "| 80.0 | 50.0 to 100: unsettled | events/s | 200 | 0.50 |" in page.read_text()


def test_the_page_gets_the_table_between_its_markers_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n")
    write_page(ROWS, page)
    write_page(ROWS, page)
    text = page.read_text()
    assert text.startswith(f"before\n\n{BEGIN}\n\nMachine: 2 cores, shared; ")
    assert text.endswith(f"\n\n{END}\n\nafter\n")
    assert "| latency | commit to inbox, p50 | 240 |  | ms | 6.00 | 40.07 | 60 | 500 | 20" in text
    assert "|  | of it until planned | 31.2 |  | ms | - | - | 60 |  |  |\n" in text
    assert "old" not in text


def test_a_benchmark_measured_anew_takes_its_own_place_and_leaves_the_others(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    write_page(ROWS, page)
    before = page.read_text().splitlines()
    write_page([Measurement("latency", "commit to inbox, p50", 250.0, "ms", 6.0, 60), ROWS[1]], page)
    after = page.read_text().splitlines()
    assert [line for line in after if line not in before] == [line for line in after if " 250 " in line]
    assert [line for line in before if line not in after] == [line for line in before if " 240 " in line]
    assert len(after) == len(before)


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("nothing to fill in")
    with pytest.raises(ValueError, match="markers"):
        write_page(ROWS, page)
    assert page.read_text() == "nothing to fill in"


def test_the_page_of_the_repository_has_its_markers() -> None:
    assert PAGE.read_text().index(BEGIN) < PAGE.read_text().index(END)


def test_percentiles_and_scales() -> None:
    assert p95([7.0]) == 7.0
    assert p95(list(range(101))) == 95
    assert (scale_count(1000, 0.01, least=3), scale_count(100, 0.01, least=3)) == (10, 3)


def test_there_are_a_hundred_different_alerts_with_valid_conditions() -> None:
    alerts = list(requests())
    assert len(alerts) == sum(family.count for family in MIX) == 99  # and the activity feed's
    assert len({one["name"] for one in alerts}) == 99
    for alert in alerts:
        for rule in alert["filteringRules"]["rules"]:
            parse_and_check(rule["condition"])
            assert "{team" not in str(alert)


def test_a_copy_has_its_own_id_and_name_everywhere() -> None:
    text = '{"id":"abc","fullyQualifiedName":"lake.shop.s02.t042_00.c1","name":"t042_00"}'
    assert stem_of("lake.shop.s02.t042_00.rows_present") == "t042"
    assert copy_text(text, "abc", "t042", 0) == text
    copied = copy_text(text, "abc", "t042", 7)
    assert copied == text.replace("t042_00", "t042_07").replace("abc", copy_id("abc", 7))
    assert copy_id("abc", 7) != copy_id("abc", 8)
