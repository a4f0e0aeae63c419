"""Tests of how costs grow: fitted exponents, the page, plots, and the history of full runs."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import history
from bench.growth import BEGIN, END, Growth, keep, read_points, write_page
from bench.growth_series import SERIES, Series
from bench.measured import Measurement
from bench.page import PAGE
from bench.plot import Panel, svg_of
from bench.quiet import Disturbance, watch_others
from hypothesis import given
from hypothesis import strategies as st

SIZES = (10, 30, 100, 300, 1_000)


def growth_of(exponent: float, expected: float = 0) -> Growth:
    series = Series("things", SIZES, expected, lambda _sizes: iter(()))
    return Growth(series, "look at <one>", tuple((size, 5 * size**exponent) for size in SIZES))


@given(st.floats(-1, 2))
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    assert growth_of(exponent).exponent == pytest.approx(exponent, abs=1e-6)


def test_costs_of_small_stores_do_not_hide_how_large_ones_grow() -> None:
    series = Series("things", SIZES, 0, lambda _sizes: iter(()))
    flat_first = Growth(series, "look", ((1, 50), (3, 50), (10, 10), (30, 30), (100, 100), (300, 300), (1_000, 1_000)))
    assert flat_first.exponent == pytest.approx(1)


@pytest.mark.parametrize(("exponent", "expected", "is_too_steep"), [(0.1, 0, False), (0.9, 0, True), (1.1, 1, False)])
def test_a_cost_that_grows_faster_than_its_work_is_named(exponent: float, expected: float, is_too_steep: bool) -> None:
    growth = growth_of(exponent, expected)
    assert growth.is_too_steep is is_too_steep
    assert ("too steep" in " ".join(growth.cells())) is is_too_steep


def test_the_page_gets_a_row_and_a_plot_of_each_growth(tmp_path: Path) -> None:
    page, plot = tmp_path / "page.md", tmp_path / "plot.svg"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_page([growth_of(0), growth_of(1)], page, plot)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| things | look at <one> | 10 | 1,000 | 5.00 ms | 5.00 ms | 0.00 | 0 |  |" in text
    titles = [one.text for one in ElementTree.fromstring(plot.read_text()).iter() if one.get("class") == "title"]
    assert titles == ["things: look at <one>"] * 2


def test_a_series_that_is_measured_again_takes_the_place_of_its_points_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "growth.csv"
    first, second = (Growth(series, "work", ((10, 1.5), (100, 2.5)), "2026-01-01") for series in SERIES[:2])
    assert keep([second], path) == [second]
    assert keep([first], path) == [first, second]
    newer = Growth(SERIES[1], "other work", ((10, 3.5),), "2026-01-02, not quiet")
    assert keep([newer], path) == read_points(path) == [first, newer]


def test_every_series_has_ascending_sizes_and_a_place_on_the_page() -> None:
    assert all(list(series.sizes) == sorted(set(series.sizes)) for series in SERIES)
    assert PAGE.read_text().count(BEGIN) == PAGE.read_text().count(END) == 1


@given(st.lists(st.tuples(st.floats(1, 1e9), st.floats(1e-3, 1e9)), min_size=1, max_size=20), st.booleans())
def test_every_line_has_a_place_on_its_panel(points: list[tuple[float, float]], is_logarithmic: bool) -> None:
    svg = ElementTree.fromstring(svg_of([Panel("a & b", sorted(points), is_logarithmic=is_logarithmic)]))
    dots = [one for one in svg.iter() if one.tag.endswith("circle")]
    assert len(dots) == len(points)
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= float(svg.attrib["width"])
        assert 0 <= float(dot.attrib["cy"]) <= float(svg.attrib["height"])


def test_the_history_keeps_every_run_and_draws_what_was_measured_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "PLOT", tmp_path / "history.svg")
    path = tmp_path / "history.csv"
    lines = [f"2026-01-0{day},abc,api,PUT,writes/s,{day}00,1000,5," for day in (1, 2)]
    path.write_text("\n".join(("measured,commit,benchmark,what,unit,figure,floor,n,busy_percent", *lines, "")))
    measurements = [
        Measurement("api", "PUT", 300, "writes/s", 1000, 5),
        Measurement("api", "no floor", 1, "ms", None, 1),
    ]
    history.keep(measurements, {"api": Disturbance(34.4)}, path)
    runs = history.read(path)
    assert [(run.name, run.speed) for run in runs] == [("PUT", 0.1), ("PUT", 0.2), ("PUT", 0.3), ("no floor", None)]
    assert path.read_text().splitlines()[3].endswith(",api,PUT,writes/s,300,1000,5,34")
    svg_text = (tmp_path / "history.svg").read_text()
    assert "api: PUT" in svg_text
    assert "no floor" not in svg_text


def test_times_are_faster_when_they_are_less() -> None:
    run = history.Run(date(2026, 1, 1), "latency", "p50", "ms", 200, 50)
    assert run.speed == 0.25


def test_the_plot_of_the_repository_is_drawn_from_its_history() -> None:
    assert history.PLOT.read_text() == history.draw(history.read())


def test_others_are_those_that_this_process_has_not_started() -> None:
    with watch_others() as disturbance:
        sum(range(2_000_000))
    assert disturbance.busy_percent is None or 0 <= disturbance.busy_percent <= 100
    assert Disturbance(50).text() == "not quiet: others took 50 % of the cores"
    assert Disturbance(3).text() == Disturbance().text() == ""
