"""Tests of report series: keyed by time and part, newest first."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from tocsin.errors import InvalidInput
from tocsin.model.report import Line, StoredReport
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.catalogue.observations.series import SqlAttachments, SqlSeries
from tocsin.store.database.cursors import ReportWindow
from tocsin.store.database.engine import writing

_LINE = Line("t", "columnProfile", "email")


def _put(engine: Engine, line: Line, *moments: int) -> None:
    with writing(engine) as connection:
        for at_ms in moments:
            SqlSeries(connection).put(line, StoredReport(at_ms, {"at": at_ms}, "Success"))


def test_a_report_replaces_the_one_of_the_same_moment(store_engine: Engine) -> None:
    with writing(store_engine) as connection:
        series = SqlSeries(connection)
        assert series.put(_LINE, StoredReport(1, {"a": 1})) is None
        assert series.put(_LINE, StoredReport(1, {"a": 2})) == {"a": 1}
        assert series.latest(_LINE) == StoredReport(1, {"a": 2})
        assert series.remove(_LINE, 1) == {"a": 2}
        assert (series.remove(_LINE, 1), series.latest(_LINE), series.at(_LINE, 1)) == (None, None, None)


def test_pages_go_back_in_time_and_on_from_their_cursor(store_engine: Engine) -> None:
    for part in ("b", "a"):
        _put(store_engine, Line("t", "k", part), 1, 2, 3)
    _put(store_engine, Line("t", "other"), 9)
    reader, moments, after = ObservationReads(store_engine), [], None
    while True:
        page = reader.page("t", "k", ReportWindow(limit=2, after=after))
        moments += [one["at"] for one in page.documents]
        assert page.total == 6
        after = page.after
        if after is None:
            break
    assert moments == [3, 3, 2, 2, 1, 1]
    assert [one["at"] for one in reader.page("t", "k", ReportWindow(2, 3), part="a").documents] == [3, 2]
    assert reader.page("t", "k", ReportWindow(limit=0)).documents == []
    assert reader.page("t", "k", ReportWindow(), status="Failed").total == 0
    for cursor in ("?", "YWJj", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5fGE"):
        with pytest.raises(InvalidInput):
            reader.page("t", "k", ReportWindow(after=cursor))


def test_the_latest_is_found_for_many_entities_and_for_every_part(store_engine: Engine) -> None:
    _put(store_engine, Line("a", "k"), 1, 5)
    _put(store_engine, Line("b", "k"), 2)
    _put(store_engine, Line("b", "k", "part"), 7)
    reader = ObservationReads(store_engine)
    assert reader.latest(["a", "b", "c"], "k") == {"a": {"at": 5}, "b": {"at": 2}}
    assert reader.latest_by_part("b", "k") == {"": {"at": 2}, "part": {"at": 7}}


def test_an_attachment_is_replaced_and_taken_away(store_engine: Engine) -> None:
    with writing(store_engine) as connection:
        attachments = SqlAttachments(connection)
        attachments.put("t", "joins", {"a": 1})
        attachments.put("t", "joins", {"a": 2})
        assert attachments.get("t", "joins") == {"a": 2}
    assert ObservationReads(store_engine).attachments(["t", "u"], "joins") == {"t": {"a": 2}}
    with writing(store_engine) as connection:
        assert SqlAttachments(connection).remove("t", "joins")
        assert not SqlAttachments(connection).remove("t", "joins")


def test_a_part_whose_name_no_index_holds_is_refused(store_engine: Engine) -> None:
    with pytest.raises(InvalidInput):
        _put(store_engine, Line("t", "k", "😀" * 300), 1)
