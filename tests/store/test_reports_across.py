"""Tests of reports across entities: of live ones that may be seen, in pages."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import company

from tocsin.access.nodes import Tagged
from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, NEVER
from tocsin.model.people import SYSTEM
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Key
from tocsin.store.catalogue.observations.across import ReportsAcross
from tocsin.store.catalogue.observations.series import SqlSeries
from tocsin.store.database.cursors import ReportWindow
from tocsin.store.database.engine import writing


def test_reports_of_live_entities_that_may_be_seen_come_in_pages(store_engine: Engine) -> None:
    shop = company(store_engine)
    orders, other_id = shop.ids["orders"], shop.writes.create("table", shop.table("other"), actor=SYSTEM).document["id"]
    deleted_id = shop.writes.create("table", shop.table("gone"), actor=SYSTEM).document["id"]
    shop.writes.delete("table", Key.by_id(deleted_id), actor=SYSTEM)
    with writing(store_engine) as connection:
        series = SqlSeries(connection)
        for at_ms, line in (
            (1, Line(orders, "k", "b")),
            (2, Line(orders, "k", "a|x")),
            (2, Line(orders, "k", "a|y")),
            (2, Line(other_id, "l")),
            (3, Line(deleted_id, "k")),
            (3, Line(orders, "m")),
            (4, Line(other_id, "k")),
            (5, Line(shop.ids["nightly"], "k")),
        ):
            series.put(line, StoredReport(at_ms, {"at": at_ms}))
    reader, reports, after = ReportsAcross(store_engine), [], None
    while True:
        page = reader.page("table", ("k", "l"), ReportWindow(limit=2, after=after), ALWAYS)
        assert page.total == 5
        reports += [(one.document["at"], one.entity["name"], one.kind, one.part) for one in page.reports]
        after = page.after
        if after is None:
            break
    same_moment = [(2, "orders", "k", "a|x"), (2, "orders", "k", "a|y"), (2, "other", "l", "")]
    assert (reports[0], reports[-1]) == ((4, "other", "k", ""), (1, "orders", "k", "b"))
    assert sorted(reports[1:-1]) == same_moment, "each once"
    assert [one.document["at"] for one in reader.page("table", ("k",), ReportWindow(2, 3), ALWAYS).reports] == [2, 2]
    tagged_page = reader.page("table", ("k",), ReportWindow(), Tagged("X.Y"))
    assert (tagged_page.reports, tagged_page.total) == ([], 0)
    assert reader.page("table", ("k",), ReportWindow(), NEVER).total == 0
    for cursor in ("?", "YWJj", "MXxh"):
        with pytest.raises(InvalidInput):
            reader.page("table", ("k",), ReportWindow(after=cursor), ALWAYS)
