"""Tests of lineage and followers that the mirror brings: what people did here stays, and nothing is done twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import func, select
from tests.mirrored import ORDERS, Mirrored, change_table, put
from tests.notifying import notify_all
from tests.openmetadata import Document, Fault, now_ms, reference, table_id

from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.sources.openmetadata import links
from tocsin.sources.openmetadata import mirror as mirror_module
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.store.catalogue.entities.write import SqlTransaction
from tocsin.store.catalogue.lineage.reach import Lineage
from tocsin.store.database.engine import fetch_value
from tocsin.store.database.source_tables import source_link
from tocsin.store.database.tables import follow

SQL = "INSERT INTO orders_1 SELECT id FROM orders_0"
OTHER = "snow.dwh.marts.orders_1"
DETAILS: Document = {
    "sqlQuery": SQL,
    "columnsLineage": [{"fromColumns": [f"{ORDERS}.id", f"{ORDERS}.gone"], "toColumn": f"{OTHER}.id"}],
    "description": "Copied.",
    "source": "QueryLineage",
}


def edges_to(mirror: Mirrored, number: int) -> dict[str, Document]:
    """Return the details of the edges to a table, by the ids from which they lead."""
    return {edge.from_["id"]: edge.details for edge in Lineage(mirror.engine).edges_leading_to([table_id(number)])}


def followers_of(mirror: Mirrored, number: int = 0) -> list[str]:
    table = mirror.catalogue.get("table", Key.by_id(table_id(number)), "all")
    return sorted(one["name"] for one in mirror.catalogue.followers(table["id"]))


def link_count(mirror: Mirrored) -> int:
    return int(fetch_value(mirror.engine, select(func.count()).select_from(source_link)) or 0)


def a_follower(mirror: Mirrored, name: str = "jane", number: int = 600) -> tuple[Actor, Document]:
    """Return a person here, and the one of the same address at the server."""
    return mirror.user(name), put(mirror, "users", number, f"upstream.{name}", email=f"{name}@example.org")


def ends(number: int) -> Document:
    return {"type": "table", "id": table_id(number)}


def test_lineage_comes_with_its_details_and_tells_nobody(each_mirror: Mirrored) -> None:
    each_mirror.alert()
    pipeline = {"pipeline": reference("pipeline", put(each_mirror, "teams", 601, "not_mapped"))}
    each_mirror.fake.connect(table_id(0), table_id(1), **DETAILS, **pipeline)
    each_mirror.fake.connect(table_id(1), table_id(1))
    each_mirror.fake.connect(table_id(77), table_id(2), sqlQuery="FROM secret")
    each_mirror.fake.connect(table_id(1), table_id(2), sqlQuery="FROM secret", source="Unheard")
    report = each_mirror.run()
    assert (report.errors, report.counts["edgesAdded"]) == ([], 2)
    assert (report.counts["selfEdges"], report.counts["edgesNotMapped"]) == (1, 1)
    details = edges_to(each_mirror, 1)[table_id(0)]
    columns = [{"fromColumns": [f"{ORDERS}.id"], "toColumn": f"{OTHER}.id"}]
    expected_details = {"sqlQuery": SQL, "columnsLineage": columns, "description": "Copied.", "source": "QueryLineage"}
    assert {key: details[key] for key in expected_details} == expected_details
    assert "pipeline" not in details
    edges = edges_to(each_mirror, 2)
    assert (set(edges), "sqlQuery" in edges[table_id(1)]) == ({table_id(1)}, False)
    assert notify_all(each_mirror.engine) == 0


def test_followers_come_with_the_list_and_are_told_from_then_on(each_mirror: Mirrored) -> None:
    _, jane = a_follower(each_mirror)
    each_mirror.fake.follow(
        "tables", table_id(0), jane, put(each_mirror, "users", 602, "unknown", email="x@example.org")
    )
    report = each_mirror.run()
    assert (report.errors, report.counts["followersAdded"], report.counts["followersNotHere"]) == ([], 1, 1)
    assert followers_of(each_mirror) == ["jane"]
    assert notify_all(each_mirror.engine) == 0
    each_mirror.alert(category="Followers")
    each_mirror.fake.tell("entityUpdated", "table", change_table(each_mirror, description="New."), now_ms())
    assert each_mirror.run().errors == []
    assert notify_all(each_mirror.engine) == 1


def test_an_unchanged_run_writes_nothing(each_mirror: Mirrored) -> None:
    _, jane = a_follower(each_mirror)
    each_mirror.fake.follow("tables", table_id(0), jane)
    each_mirror.fake.connect(table_id(0), table_id(1), **DETAILS)
    assert each_mirror.run().errors == []
    end, count = each_mirror.end(), link_count(each_mirror)
    report = each_mirror.run(is_full=True)
    assert (report.errors, each_mirror.end(), link_count(each_mirror), count) == ([], end, 2, 2)
    assert not {"edgesAdded", "edgesChanged", "followersAdded"} & report.counts.keys()


def test_what_the_source_drops_goes_and_what_people_made_stays(each_mirror: Mirrored) -> None:
    (jane, upstream_jane), (olga, _) = a_follower(each_mirror), a_follower(each_mirror, "olga", 603)
    each_mirror.fake.follow("tables", table_id(0), upstream_jane)
    each_mirror.fake.connect(table_id(0), table_id(1))
    each_mirror.fake.connect(table_id(1), table_id(2))
    assert each_mirror.run().errors == []
    each_mirror.writes.follow("table", table_id(0), olga.id, actor=olga)
    each_mirror.writes.put_edge({"fromEntity": ends(0), "toEntity": ends(2)}, actor=jane)
    edge_request = {"fromEntity": ends(1), "toEntity": ends(2), "lineageDetails": {"description": "Mine."}}
    each_mirror.writes.put_edge(edge_request, actor=jane)
    each_mirror.fake.follow("tables", table_id(0))
    each_mirror.fake.edges.clear()
    report = each_mirror.run(is_full=True)
    assert (report.errors, report.counts["edgesRemoved"], report.counts["followersRemoved"]) == ([], 1, 1)
    assert followers_of(each_mirror) == ["olga"]
    assert (edges_to(each_mirror, 1), set(edges_to(each_mirror, 2))) == ({}, {table_id(0), table_id(1)})


def test_what_a_person_took_back_here_does_not_come_back(each_mirror: Mirrored) -> None:
    jane, upstream_jane = a_follower(each_mirror)
    each_mirror.fake.follow("tables", table_id(0), upstream_jane)
    each_mirror.fake.connect(table_id(0), table_id(1))
    assert each_mirror.run().errors == []
    each_mirror.writes.unfollow("table", table_id(0), jane.id, actor=jane)
    each_mirror.writes.delete_edge(ends(0), ends(1), actor=jane)
    each_mirror.fake.connect(table_id(0), table_id(1), description="Changed there.")
    for people in ((upstream_jane,), (), (upstream_jane,)):
        each_mirror.fake.follow("tables", table_id(0), *people)
        assert each_mirror.run(is_full=True).errors == []
        assert (followers_of(each_mirror), edges_to(each_mirror, 1)) == ([], {})


def test_who_followed_here_stays_if_the_source_drops_them(each_mirror: Mirrored) -> None:
    (jane, upstream_jane), (olga, upstream_olga) = a_follower(each_mirror), a_follower(each_mirror, "olga", 603)
    each_mirror.fake.follow("tables", table_id(0), upstream_jane, upstream_olga)
    each_mirror.run()
    each_mirror.writes.unfollow("table", table_id(0), jane.id, actor=jane)
    each_mirror.writes.follow("table", table_id(0), jane.id, actor=jane)
    each_mirror.writes.follow("table", table_id(1), olga.id, actor=olga)
    each_mirror.fake.follow("tables", table_id(1), upstream_olga)
    each_mirror.run(is_full=True)
    each_mirror.fake.follow("tables", table_id(0))
    each_mirror.fake.follow("tables", table_id(1))
    each_mirror.run(is_full=True)
    assert (followers_of(each_mirror), followers_of(each_mirror, 1)) == (["jane"], ["olga"])


def test_an_edge_of_a_person_stays_theirs(each_mirror: Mirrored) -> None:
    each_mirror.run()
    jane = each_mirror.user("jane")
    each_mirror.writes.put_edge({"fromEntity": ends(0), "toEntity": ends(1)}, actor=jane)
    each_mirror.fake.connect(table_id(0), table_id(1), sqlQuery=SQL)
    for edges in (each_mirror.fake.edges, {}):
        each_mirror.fake.edges = edges
        assert each_mirror.run(is_full=True).errors == []
        assert "sqlQuery" not in edges_to(each_mirror, 1)[table_id(0)]


def test_events_bring_edges_and_followers_as_news(each_mirror: Mirrored) -> None:
    _, jane = a_follower(each_mirror)
    each_mirror.alert()
    each_mirror.run()
    table = each_mirror.fake.lists["tables"][table_id(0)]
    each_mirror.fake.follow("tables", table_id(0), jane)
    each_mirror.fake.connect(table_id(1), table_id(0))
    for name in ("followers", "lineage"):
        change = {"fieldsAdded": [{"name": name, "newValue": "[]"}]}
        each_mirror.fake.tell("entityUpdated", "table", table, now_ms(), changeDescription=change)
    report = each_mirror.run()
    assert (report.errors, report.counts["followersAdded"], report.counts["edgesAdded"]) == ([], 1, 1)
    assert [event.id for event in each_mirror.events()][-2:] == [event["id"] for event in each_mirror.fake.events]
    assert notify_all(each_mirror.engine) == 3, "the administrator of both, jane of the edge"


def test_an_edge_that_the_source_wrote_after_the_first_load_is_news(each_mirror: Mirrored) -> None:
    each_mirror.alert()
    each_mirror.run()
    each_mirror.fake.connect(table_id(0), table_id(1), updatedAt=now_ms())
    each_mirror.fake.connect(table_id(0), table_id(2), updatedAt=1_700_000_000_000)
    assert each_mirror.run(is_full=True).counts["edgesAdded"] == 2
    assert notify_all(each_mirror.engine) == 1


def test_lineage_from_before_lineage_was_mirrored_tells_nobody(mirror: Mirrored) -> None:
    mirror.alert()
    mirror.run()
    mirror.fake.connect(table_id(0), table_id(1), updatedAt=now_ms())
    mirror.records.save(replace(mirror.records.state(), mapped_at_ms=0, lineage_after=None))
    assert mirror.run(is_full=True).counts["edgesAdded"] == 1
    assert notify_all(mirror.engine) == 0


def test_a_run_that_is_killed_leaves_neither_link_nor_row(
    each_mirror: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault scenario 68."""
    _, jane = a_follower(each_mirror)
    each_mirror.fake.follow("tables", table_id(0), jane)
    each_mirror.fake.connect(table_id(0), table_id(1))

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("follow", "put_edge"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(SqlTransaction, name, kill)
            each_mirror.run()
    report = each_mirror.run()
    assert report.errors == []
    assert (followers_of(each_mirror), set(edges_to(each_mirror, 1)), link_count(each_mirror)) == (
        ["jane"],
        {table_id(0)},
        2,
    )


def test_lineage_is_compared_in_portions_and_goes_on(each_mirror: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    each_mirror.run()
    for number in (1, 2):
        each_mirror.fake.connect(table_id(0), table_id(number))
    monkeypatch.setattr(mirror_module, "LINEAGES_AT_ONCE", 2)
    monkeypatch.setattr(mirror_module, "LINEAGE_PORTION", 1)
    each_mirror.records.save(replace(each_mirror.records.state(), reconciled_at_ms=0))
    assert each_mirror.run().counts["edgesAdded"] == 1
    assert each_mirror.records.state().lineage_after == table_id(1)
    assert each_mirror.run().counts["edgesAdded"] == 1
    assert each_mirror.records.state().lineage_after is None


def test_a_wrong_answer_removes_nothing(each_mirror: Mirrored) -> None:
    for number in (1, 2):
        each_mirror.fake.connect(table_id(0), table_id(number))
    each_mirror.run()
    wrong: list[Document] = [{"entity": {"id": table_id(1)}}, {"entity": {"id": table_id(0)}, "upstreamEdges": []}]
    answers = iter([(200, one) for one in wrong])
    each_mirror.fake._lineage = lambda entity_id: next(answers, (404, {}))  # type: ignore[method-assign]
    report = each_mirror.run(is_full=True)
    assert (len(report.errors), link_count(each_mirror)) == (2, 2)


def test_much_that_is_gone_at_once_stays(each_mirror: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "FEW", 1)
    for number in (1, 2):
        each_mirror.fake.connect(table_id(0), table_id(number))
    each_mirror.run()
    each_mirror.fake.edges.clear()
    report = each_mirror.run(is_full=True)
    assert ("--allow-deletions" in report.errors[0], len(edges_to(each_mirror, 2))) == (True, 1)
    assert each_mirror.run(is_full=True, may_delete=True).counts["edgesRemoved"] == 2


def test_links_end_with_what_they_link(each_mirror: Mirrored) -> None:
    jane, upstream_jane = a_follower(each_mirror)
    each_mirror.fake.follow("tables", table_id(0), upstream_jane)
    each_mirror.fake.connect(table_id(0), table_id(1))
    each_mirror.run()
    each_mirror.writes.delete("user", Key.by_id(jane.id), actor=jane, hard=True)
    assert link_count(each_mirror) == 1
    each_mirror.writes.delete("table", Key.by_id(table_id(1)), actor=jane, hard=True)
    assert link_count(each_mirror) == 0
    assert each_mirror.run(is_full=True).errors == []
    assert fetch_value(each_mirror.engine, select(func.count()).select_from(follow)) == 0


def test_nothing_is_linked_before_it_is_mapped(each_mirror: Mirrored) -> None:
    _, jane = a_follower(each_mirror)
    each_mirror.fake.follow("tables", table_id(0), jane)
    each_mirror.fake.connect(table_id(0), table_id(1), sqlQuery=SQL)
    assert each_mirror.run(Mapping((OTHER,))).errors == []
    assert (followers_of(each_mirror), edges_to(each_mirror, 1)) == ([], {})
    each_mirror.alert()
    assert each_mirror.run().errors == []
    assert (followers_of(each_mirror), set(edges_to(each_mirror, 1))) == (["jane"], {table_id(0)})
    assert notify_all(each_mirror.engine) == 0
    assert each_mirror.run(Mapping((OTHER,))).errors == []
    assert (followers_of(each_mirror), link_count(each_mirror)) == (["jane"], 2), "hidden, not removed"


def test_a_dry_run_says_which_links_would_come(mirror: Mirrored) -> None:
    _, jane = a_follower(mirror)
    mirror.fake.follow("tables", table_id(0), jane)
    mirror.fake.connect(table_id(0), table_id(1))
    report = mirror.run(is_dry=True)
    assert (report.counts["followersAdded"], report.counts["edgesAdded"], link_count(mirror)) == (1, 1, 0)
    mirror.run()
    mirror.fake.edges.clear()
    report = mirror.run(is_dry=True, is_full=True)
    assert (report.counts["edgesRemoved"], link_count(mirror), len(edges_to(mirror, 1))) == (1, 2, 1)
    assert mirror.table()["fullyQualifiedName"] == ORDERS


@pytest.mark.soak_on_postgresql
def test_a_dry_run_says_who_would_be_told(each_mirror: Mirrored) -> None:
    jane, upstream_jane = a_follower(each_mirror)
    each_mirror.alert(category="Followers")
    each_mirror.fake.follow("tables", table_id(0), upstream_jane)
    assert each_mirror.run(is_dry=True).would_tell == {"events": 0, "people": [], "addresses": []}
    each_mirror.run()
    later = change_table(each_mirror, description="New.")
    each_mirror.fake.tell("entityUpdated", "table", later, later["updatedAt"])
    put(each_mirror, "users", 604, "unheard", email="unheard@example.org")
    recipient = {"name": "jane", "events": 1, "alerts": ["ActivityFeedAlert", "all"], "reasons": ["follower"]}
    end = each_mirror.end()
    for _ in range(2):
        assert each_mirror.run(is_dry=True).would_tell == {"events": 1, "people": [recipient], "addresses": []}
    assert each_mirror.end() == end
    assert each_mirror.run().errors == []
    assert notify_all(each_mirror.engine) == 1
    each_mirror.writes.unfollow("table", table_id(0), jane.id, actor=jane)
    assert each_mirror.run(is_dry=True).would_tell["people"] == []


def test_a_dry_run_names_nobody_who_may_not_see_it(mirror: Mirrored) -> None:
    _, upstream_jane = a_follower(mirror)
    mirror.fake.follow("tables", table_id(0), upstream_jane)
    mirror.run()
    mirror.alert(category="Followers")
    mirror.run(Mapping())
    later = change_table(mirror, description="New.")
    mirror.fake.tell("entityUpdated", "table", later, later["updatedAt"])
    assert mirror.run(Mapping(), is_dry=True).would_tell == {"events": 1, "people": [], "addresses": []}


def test_texts_of_queries_go_with_the_mapping_of_what_they_may_name(each_mirror: Mirrored) -> None:
    for start in (0, 1):
        each_mirror.fake.connect(table_id(start), table_id(2), sqlQuery="SELECT FROM orders_0, orders_1")
    each_mirror.run()
    assert ["sqlQuery" in details for details in edges_to(each_mirror, 2).values()] == [True, True]
    each_mirror.fake.faults = [Fault("/", 401, b"{}", times=10_000)]
    each_mirror.run(Mapping((OTHER, "snow.dwh.marts.orders_2")))
    assert ["sqlQuery" in details for details in edges_to(each_mirror, 2).values()] == [False, False]
    each_mirror.fake.faults.clear()
    assert each_mirror.run().errors == []
    assert ["sqlQuery" in details for details in edges_to(each_mirror, 2).values()] == [True, True]


def test_what_is_deleted_and_returns_under_another_id_has_its_links(mirror: Mirrored) -> None:
    _, jane = a_follower(mirror)
    mirror.fake.follow("tables", table_id(0), jane)
    mirror.fake.connect(table_id(0), table_id(1))
    mirror.run()
    table = mirror.fake.lists["tables"].pop(table_id(0))
    mirror.fake.edges.clear()
    mirror.fake.tell("entityDeleted", "table", table, now_ms())
    assert mirror.run(is_full=True).counts["edgesRemoved"] == 1
    mirror.fake.put("tables", table | {"id": table_id(50), "updatedAt": now_ms()})
    mirror.fake.connect(table_id(50), table_id(1))
    assert mirror.run(is_full=True).errors == []
    assert (followers_of(mirror), list(edges_to(mirror, 1))) == (["jane"], [table_id(0)])


def test_hostile_answers_about_links_write_what_is_valid_once(mirror: Mirrored) -> None:
    entries = [None, {"fromColumns": [None, 5], "toColumn": 3}, {"fromColumns": "x", "toColumn": f"{OTHER}.id"}]
    details = {"sqlQuery": 5, "columnsLineage": entries, "pipeline": 5, "source": ["x"], "description": {}}
    edges: list[object] = [
        {"fromEntity": None, "toEntity": table_id(1)},
        {"fromEntity": {"id": 5}, "toEntity": table_id(1), "lineageDetails": []},
        {"fromEntity": table_id(0).upper(), "toEntity": table_id(1), "lineageDetails": details | {"updatedAt": "x"}},
        {"fromEntity": table_id(2), "toEntity": table_id(1), "lineageDetails": {"updatedAt": 2**70}},
        "no edge",
    ]
    mirror.fake.edges[table_id(1)] = dict(enumerate(edges))  # type: ignore[arg-type]  # that is what is wrong
    followers: list[object] = [None, 5, {"id": []}, {"id": table_id(1), "type": "table"}]
    mirror.fake.lists["tables"][table_id(0)]["followers"] = followers
    report = mirror.run()
    assert (report.errors, report.counts["edgesAdded"]) == ([], 2)
    assert followers_of(mirror) == []
    end = mirror.end()
    assert (mirror.run(is_full=True).errors, mirror.end()) == ([], end)
