"""Tests of what changes between two states of a dbt project."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
from tests.dbtproject import RAW, SERVICE, DbtProject, a_node, depends_on

from tocsin.check.dbt_projects import ProjectComparison
from tocsin.check.proposals import FiledProposal
from tocsin.model.entity import Document
from tocsin.sources.dbt.artifacts import read_artifacts

ORDERS, SUMS = "model.shop.orders", "model.shop.sums"
Edit = Callable[[DbtProject], None]


class TwoStates:
    """A project before and after a pull request: ``sums`` reads ``orders``; both have compiled statements."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = DbtProject(folder / "base")
        orders = self.base.nodes[ORDERS]
        orders |= {"original_file_path": "models/orders.sql", "depends_on": depends_on(RAW)}
        set_code(
            self.base, ORDERS, "select id, cast(total as decimal(10, 2)) as total, email from shop.main.raw_orders"
        )
        sums = a_node("model", "sums", depends_on=depends_on(ORDERS), original_file_path="models/sums.sql")
        self.base.nodes[SUMS] = sums
        set_code(self.base, SUMS, "select id, total from shop.main.orders")
        self.base.types = {RAW: [("id", "INTEGER"), ("total", "DOUBLE"), ("email", "VARCHAR(20)")]}

    def compare(self, edit: Edit, *, folder: str = "") -> tuple[dict[str, FiledProposal], list[str]]:
        head = DbtProject(self.folder / "head")
        head.nodes, head.sources = deepcopy(self.base.nodes), deepcopy(self.base.sources)
        head.types = deepcopy(self.base.types)
        edit(head)
        remarks: list[str] = []
        for project in (self.base, head):
            project.write()
        base, changed = (read_artifacts(one.folder, remarks.append) for one in (self.base, head))
        proposals = ProjectComparison(base, changed, SERVICE, remarks.append, folder).proposals()
        return {one.asset: one for one in proposals}, remarks


def set_code(project: DbtProject, unique_id: str, code: str) -> None:
    project.nodes[unique_id] |= {"raw_code": code, "compiled_code": code}


@pytest.fixture
def states(tmp_path: Path) -> TwoStates:
    return TwoStates(tmp_path)


def change_of(proposal: FiledProposal) -> Document:
    naming = ("entityType", "fullyQualifiedName")
    return {key: value for key, value in proposal.document.items() if key not in naming}


def test_the_same_project_changes_nothing(states: TwoStates) -> None:
    assert states.compare(lambda head: None) == ({}, [])


def test_columns_of_statements_are_compared_with_their_types(states: TwoStates) -> None:
    code = "select id, cast(total as int) as total, current_date as day from shop.main.raw_orders"
    proposals, remarks = states.compare(lambda head: set_code(head, ORDERS, code), folder="analytics")
    orders = proposals[f"{SERVICE}.shop.main.orders"]
    change = change_of(orders)
    assert (change["removedColumns"], remarks, orders.file) == (["email"], [], "analytics/models/orders.sql")
    assert {one["name"]: one["dataType"] for one in change["columns"]} == {"day": "DATE", "total": "INT"}
    sums = change_of(proposals[f"{SERVICE}.shop.main.sums"])
    assert sums == {"columns": [{"name": "total", "dataType": "INT", "dataTypeDisplay": "INT"}]}, "through the reader"


def test_a_star_passes_on_what_goes_upstream(states: TwoStates) -> None:
    set_code(states.base, SUMS, "select * from shop.main.orders")
    proposals, _ = states.compare(lambda head: set_code(head, ORDERS, "select id from shop.main.raw_orders"))
    assert set(change_of(proposals[f"{SERVICE}.shop.main.sums"])["removedColumns"]) == {"total", "email"}


def test_a_reader_that_no_longer_reads_what_goes_is_adapted(states: TwoStates) -> None:
    without_total = "select id, email from shop.main.raw_orders"

    def edit_both(head: DbtProject) -> None:
        set_code(head, ORDERS, without_total)
        set_code(head, SUMS, "select id from shop.main.orders")

    orders = f"{SERVICE}.shop.main.orders"
    proposals, _ = states.compare(edit_both)
    assert proposals[orders].document["adapted"] == [f"{SERVICE}.shop.main.sums"]
    proposals, _ = states.compare(lambda head: set_code(head, ORDERS, without_total))
    assert "adapted" not in proposals[orders].document

    def read_it_in_a_filter(head: DbtProject) -> None:
        set_code(head, ORDERS, without_total)
        set_code(head, SUMS, "select id from shop.main.orders where total > 1")

    proposals, _ = states.compare(read_it_in_a_filter)
    assert "adapted" not in proposals[orders].document


def test_a_reader_of_a_column_that_gets_another_type_is_not_adapted(states: TwoStates) -> None:
    def edit_both(head: DbtProject) -> None:
        set_code(head, ORDERS, "select id, cast(total as int) as total from shop.main.raw_orders")
        set_code(head, SUMS, "select id, total as sum from shop.main.orders")

    change = change_of(states.compare(edit_both)[0][f"{SERVICE}.shop.main.orders"])
    assert (change["removedColumns"], "adapted" in change) == (["email"], False), "it still reads the total"


def test_a_model_that_goes_is_deleted_and_a_source_is_not(states: TwoStates) -> None:
    def remove(head: DbtProject) -> None:
        del head.nodes[SUMS]
        del head.sources[RAW]

    proposals, _ = states.compare(remove)
    assert {name: change_of(one) for name, one in proposals.items()} == {f"{SERVICE}.shop.main.sums": {"deleted": True}}


def test_catalogues_are_compared_and_types_only_if_both_have_them(states: TwoStates) -> None:
    states.base.types |= {ORDERS: [("ID", "INTEGER"), ("TOTAL", "DECIMAL(10,2)"), ("EMAIL", "VARCHAR(20)")]}

    def other_types(head: DbtProject) -> None:
        head.types[ORDERS] = [("ID", "BIGINT"), ("TOTAL", "NUMERIC(10,2)"), ("EMAIL", "VARCHAR(20)")]

    (orders,) = states.compare(other_types)[0].values()
    assert {one["name"]: one["dataType"] for one in change_of(orders)["columns"]} == {
        "ID": "BIGINT",
        "TOTAL": "NUMERIC",
    }

    def without_catalog(head: DbtProject) -> None:
        del head.types[ORDERS]

    assert states.compare(without_catalog) == ({}, []), "names are the same; types of another origin are not compared"


def test_unknown_columns_are_said(states: TwoStates) -> None:
    def write_python(head: DbtProject) -> None:
        head.nodes[ORDERS] |= {"raw_code": "def model(dbt, session): ...", "compiled_code": None}

    proposals, remarks = states.compare(write_python)
    assert (proposals, [one.partition(":")[0] for one in remarks]) == ({}, [ORDERS])


def test_a_contract_says_the_columns_of_what_cannot_be_read(states: TwoStates) -> None:
    for column in ("id", "total"):
        states.base.nodes[ORDERS]["columns"][column] = {"name": column, "data_type": "int"}
    states.base.nodes[ORDERS] |= {"compiled_code": None, "config": {"contract": {"enforced": True}}}
    proposals, _ = states.compare(lambda head: head.nodes[ORDERS]["columns"].pop("total"))
    assert change_of(proposals[f"{SERVICE}.shop.main.orders"]) == {"removedColumns": ["total"]}
