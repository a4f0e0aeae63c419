"""Tests of follows of dashboards: what their page shows and the metrics they use are followed with them."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_container_follows import BELL, follow, last_event, reasons_by_person, unfollow
from tests.store.test_resolving import restrict

from tocsin.model.change import LoggedEvent
from tocsin.model.people import SYSTEM
from tocsin.store.eventlog.log import EventLog

SALES = ("dashboard", "sales")
SHOWS = {"cem": ["you follow the dashboard looker.sales, which shows it"]}
USES = {"cem": ["you follow the dashboard looker.sales, which uses it"]}
PARTS = [("charts", "chart", "by_day"), ("dataModels", "dashboardDataModel", "orders_view")]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.put("dashboardService", {"name": "looker", "serviceType": "Looker"})
    company.put("chart", {"name": "by_day", "service": "looker"})
    model = {"name": "orders_view", "service": "looker", "dataModelType": "LookMlView", "columns": []}
    company.put("dashboardDataModel", model)
    company.put("metric", {"name": "turnover"})
    company.put("dashboard", {"name": "sales", "service": "looker"})
    company.alert("bell", BELL)
    return company


def change(company: SmallCompany, part: tuple[str, str]) -> LoggedEvent:
    """Change the description of what has this type and name; return the event."""
    patch = [{"op": "add", "path": "/description", "value": f"at {company.clock.now_ms()}"}]
    company.clock.advance(1_000)
    company.writes.patch(part[0], company.key(part[1]), patch, actor=SYSTEM)
    return last_event(company)


def show(company: SmallCompany, field: str, *parts: tuple[str, str]) -> LoggedEvent:
    """Let the dashboard name these parts and no others; return the event."""
    references = [{"type": kind, "id": company.ids[name]} for kind, name in parts]
    patch = [{"op": "add", "path": f"/{field}", "value": references}]
    company.writes.patch("dashboard", company.key("sales"), patch, actor=SYSTEM)
    return last_event(company)


@pytest.mark.parametrize(("field", "kind", "name"), PARTS)
def test_who_follows_a_dashboard_hears_of_what_it_shows_while_it_does(
    company: SmallCompany, field: str, kind: str, name: str
) -> None:
    part = (kind, name)
    follow(company, "cem", SALES)
    before = change(company, part)
    show(company, field, part)
    during = change(company, part)
    show(company, field)
    after = change(company, part)
    show(company, field, part)
    unfollow(company, "cem", SALES)
    of_unfollowed = change(company, part)
    events = (before, during, after, of_unfollowed)
    assert [reasons_by_person(company, one) for one in events] == [{}, SHOWS, {}, {}], "each at its place"


def test_a_chart_and_a_dashboard_that_go_for_good_are_remembered(company: SmallCompany) -> None:
    chart = ("chart", "by_day")
    follow(company, "cem", SALES)
    show(company, "charts", chart)
    of_shown = change(company, chart)
    company.writes.delete("chart", company.key("by_day"), actor=SYSTEM, hard=True)
    events = EventLog(company.engine).read(0, 10_000)
    of_deleted = next(one for one in events if one.event.event_type.value == "entityDeleted")
    assert [reasons_by_person(company, one) for one in (of_shown, of_deleted)] == [SHOWS, SHOWS]
    company.put("chart", {"name": "by_day", "service": "looker"})
    show(company, "charts", chart)
    of_again = change(company, chart)
    company.writes.delete("dashboard", company.key("sales"), actor=SYSTEM, hard=True)
    of_gone = change(company, chart)
    assert [list(reasons_by_person(company, one)) for one in (of_again, of_gone)] == [["cem"], []]


def test_a_deleted_dashboard_shows_nothing_until_it_is_restored(company: SmallCompany) -> None:
    chart = ("chart", "by_day")
    follow(company, "cem", SALES)
    show(company, "charts", chart)
    before = change(company, chart)
    company.writes.delete("dashboard", company.key("sales"), actor=SYSTEM)
    meanwhile = change(company, chart)
    company.writes.restore("dashboard", company.ids["sales"], actor=SYSTEM)
    after = change(company, chart)
    assert [reasons_by_person(company, one) for one in (before, meanwhile, after)] == [SHOWS, {}, SHOWS]


def test_a_chart_that_comes_with_a_dashboard_is_covered_from_then_on(company: SmallCompany) -> None:
    chart = ("chart", "by_day")
    before = change(company, chart)
    dashboard = company.put("dashboard", {"name": "costs", "service": "looker", "charts": ["looker.by_day"]})
    assert [one["id"] for one in dashboard["charts"]] == [company.ids["by_day"]]
    follow(company, "cem", ("dashboard", "costs"))
    reasons = {"cem": ["you follow the dashboard looker.costs, which shows it"]}
    assert [reasons_by_person(company, one) for one in (before, change(company, chart))] == [{}, reasons]


def test_who_follows_a_dashboard_hears_of_the_metrics_that_lineage_leads_to_it(company: SmallCompany) -> None:
    metric = ("metric", "turnover")
    follow(company, "cem", SALES)
    before = change(company, metric)
    ends = {"fromEntity": ("metric", "turnover"), "toEntity": SALES}
    edge = {side: {"type": kind, "id": company.ids[name]} for side, (kind, name) in ends.items()}
    company.writes.put_edge(edge, actor=SYSTEM)
    of_used = change(company, metric)
    assert [reasons_by_person(company, one) for one in (before, of_used)] == [{}, USES]


def test_a_dashboard_that_one_may_not_see_covers_nothing(company: SmallCompany) -> None:
    chart = ("chart", "by_day")
    show(company, "charts", chart)
    follow(company, "cem", SALES)
    restrict(company, "cem", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["dashboard"]})
    assert reasons_by_person(company, change(company, chart)) == {}
