"""Tests of stored recommendations on both stores: runs replace each other whole, dismissals hold, follows count now."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, func, select
from tests.company import SmallCompany

from tocsin.errors import Conflict
from tocsin.model.people import SYSTEM
from tocsin.model.recommendation import ReasonToFollow
from tocsin.model.stored import Key
from tocsin.store.database.engine import reading
from tocsin.store.database.follow_tables import dismissed_recommendation, recommendation, recommendation_run
from tocsin.store.recipients.recommendations import Recommendations
from tocsin.store.upkeep.fsck.dangling import POINTERS

_DISMISSED = dismissed_recommendation.c
NOW_MS = 1_790_000_000_000


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.table("customers")
    return small_company


def row(company: SmallCompany, who: str, asset: str, *, place: int = 1) -> tuple[object, ...]:
    """Return a row that recommends a table to a person because they follow orders."""
    ids = company.ids
    return ids[who], ids[asset], ReasonToFollow.FEEDS.value, ids["orders"], "", 0, 0, 0.3, place


def run(company: SmallCompany, *rows_of_run: tuple[object, ...], is_complete: bool = True) -> int:
    recommendations = Recommendations(company.engine)
    run_id = recommendations.begin(7)
    recommendations.add(run_id, rows_of_run)
    if is_complete:
        recommendations.complete(run_id, now_ms=NOW_MS)
    return run_id


def names_for(company: SmallCompany, who: str) -> list[str]:
    names = {entity_id: name for name, entity_id in company.ids.items()}
    evidence, _ = Recommendations(company.engine).of(company.ids[who])
    return [names[one.entity_id] for one in sorted(evidence, key=lambda one: one.place)]


def test_a_run_is_shown_when_it_is_complete_and_replaces_the_one_before(company: SmallCompany) -> None:
    """Fault scenario 82."""
    recommendations = Recommendations(company.engine)
    assert recommendations.of(company.ids["cem"]) == ([], None)
    run(company, row(company, "cem", "revenue"), is_complete=False)
    assert (names_for(company, "cem"), recommendations.through_offset()) == ([], None), "killed before it ended"
    first_id = run(company, row(company, "cem", "revenue"))
    assert names_for(company, "cem") == ["revenue"]
    second_id = run(company, row(company, "cem", "customers"), is_complete=False)
    recommendations.add(second_id, [row(company, "cem", "customers")])  # a task that runs twice
    assert names_for(company, "cem") == ["revenue"], "until the new run is complete"
    recommendations.complete(second_id, now_ms=NOW_MS + 1)
    assert (names_for(company, "cem"), recommendations.through_offset()) == (["customers"], 7)
    assert recommendations.of(company.ids["cem"])[1] == NOW_MS + 1
    assert first_id < second_id
    with reading(company.engine) as connection:
        run_ids = connection.scalars(select(recommendation_run.c.id)).all()
        assert (run_ids, connection.scalar(select(func.count()).select_from(recommendation))) == ([second_id], 1)


def test_what_is_followed_contained_dismissed_or_deleted_is_not_recommended(company: SmallCompany) -> None:
    recommendations, ids = Recommendations(company.engine), company.ids
    run(company, row(company, "cem", "revenue"), row(company, "cem", "customers", place=2))
    assert recommendations.dismiss(ids["cem"], ids["revenue"], now_ms=NOW_MS)
    assert not recommendations.dismiss(ids["cem"], ids["revenue"], now_ms=NOW_MS + 1)
    assert (names_for(company, "cem"), recommendations.list_dismissals(ids["cem"])) == (
        ["customers"],
        [(ids["revenue"], NOW_MS)],
    )
    assert recommendations.undo(ids["cem"], ids["revenue"])
    assert not recommendations.undo(ids["cem"], ids["revenue"])
    assert not recommendations.undo(ids["ben"], ids["revenue"])
    company.writes.follow("table", ids["revenue"], ids["cem"], actor=SYSTEM)
    assert names_for(company, "cem") == ["customers"]
    company.writes.unfollow("table", ids["revenue"], ids["cem"], actor=SYSTEM)
    company.writes.delete("table", Key.by_id(ids["customers"]), actor=SYSTEM)
    assert names_for(company, "cem") == ["revenue"]
    company.writes.follow("databaseSchema", ids["public"], ids["cem"], actor=SYSTEM)
    assert names_for(company, "cem") == [], "who follows the schema follows what is in it"
    company.writes.unfollow("databaseSchema", ids["public"], ids["cem"], actor=SYSTEM)
    assert recommendations.of(ids["cem"], {ids["public"]})[0] == [], "by a team"
    company.writes.unfollow("table", ids["orders"], ids["cem"], actor=SYSTEM)
    assert names_for(company, "cem") == [], "its only reason was orders, which is followed no more"


def test_what_a_person_or_a_team_of_theirs_owns_is_not_recommended(company: SmallCompany) -> None:
    company.writes.follow("table", company.ids["orders"], company.ids["ben"], actor=SYSTEM)
    company.table("carts", owners=[{"type": "user", "name": "ben"}])
    company.table("baskets", owners=[{"type": "team", "name": "shop"}])
    run(company, *(row(company, "ben", name) for name in ("carts", "baskets", "customers")))
    assert names_for(company, "ben") == ["customers"], "owners are told anyway"


def test_a_person_dismisses_so_many_at_most(company: SmallCompany) -> None:
    recommendations, ids = Recommendations(company.engine, most_dismissed=1), company.ids
    recommendations.dismiss(ids["cem"], ids["revenue"], now_ms=NOW_MS)
    with pytest.raises(Conflict):
        recommendations.dismiss(ids["cem"], ids["customers"], now_ms=NOW_MS)
    assert not recommendations.dismiss(ids["cem"], ids["revenue"], now_ms=NOW_MS), "again, it changes nothing"
    assert len(recommendations.list_dismissals(ids["cem"])) == 1
    assert recommendations.dismiss(ids["ben"], ids["customers"], now_ms=NOW_MS), "that concerns nobody else"


def test_nothing_is_left_of_a_person_or_an_asset_that_is_erased(company: SmallCompany) -> None:
    recommendations, ids = Recommendations(company.engine), company.ids
    run(company, row(company, "cem", "revenue"), row(company, "ben", "revenue"))
    for who in ("cem", "ben"):
        recommendations.dismiss(ids[who], ids["customers"], now_ms=NOW_MS)
    recommendations.dismiss(ids["ben"], ids["revenue"], now_ms=NOW_MS)
    company.writes.delete("user", Key.by_id(ids["cem"]), actor=SYSTEM, hard=True)
    company.writes.delete("table", Key.by_id(ids["customers"]), actor=SYSTEM, hard=True)
    with reading(company.engine) as connection:
        assert connection.scalars(select(recommendation.c.user_id)).all() == [ids["ben"]]
        dismissals = connection.execute(select(_DISMISSED.user_id, _DISMISSED.entity_id)).all()
    assert [tuple(one) for one in dismissals] == [(ids["ben"], ids["revenue"])]
    assert {column for table, column, _ in POINTERS if table == "dismissed_recommendation"} == {"user_id", "entity_id"}
