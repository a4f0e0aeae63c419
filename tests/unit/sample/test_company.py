"""Tests of the consistency of the sample company: every name it uses exists."""

from __future__ import annotations

from collections import Counter

import pytest

from tocsin.sample import rows
from tocsin.sample.assets import Asset, assets
from tocsin.sample.columns import PERSONAL
from tocsin.sample.company import BOTS, DEMO_FOLLOWS, DEMO_PERSON, DOMAINS, PEOPLE, TEAMS

TEAM_NAMES = {team.name for team in TEAMS}
PEOPLE_NAMES = {person.name for person in PEOPLE}


@pytest.fixture(scope="module")
def catalogue() -> dict[str, Asset]:
    return {asset.fqn: asset for asset in assets()}


def test_there_are_about_300_assets_of_three_types(catalogue: dict[str, Asset]) -> None:
    counts = Counter(asset.entity_type for asset in catalogue.values())
    assert set(counts) == {"table", "dashboard", "pipeline"}
    assert 290 <= counts.total() <= 310


def test_no_two_assets_have_the_same_name(catalogue: dict[str, Asset]) -> None:
    assert len(assets()) == len(catalogue)


def test_teams_form_one_tree() -> None:
    roots = [team.name for team in TEAMS if team.parent is None]
    assert roots == ["Fernhill"]
    above: set[str] = set()
    for team in TEAMS:
        assert team.parent is None or team.parent in above, f"{team.name} stands before its parent"
        above.add(team.name)


def test_everybody_is_in_a_team_and_has_an_address_that_cannot_exist() -> None:
    assert {person.team for person in PEOPLE} <= TEAM_NAMES
    assert all(person.email.endswith(".example.com") for person in PEOPLE)
    assert len(PEOPLE_NAMES) == len(PEOPLE) >= 25
    assert DEMO_PERSON in PEOPLE_NAMES
    assert not PEOPLE_NAMES & {name for name, _ in BOTS}


def test_every_owner_exists(catalogue: dict[str, Asset]) -> None:
    owners = [one for asset in catalogue.values() for one in asset.request["owners"]]
    assert {one["name"] for one in owners if one["type"] == "user"} <= PEOPLE_NAMES
    assert {one["name"] for one in owners if one["type"] == "team"} <= TEAM_NAMES


def test_every_domain_exists_and_has_a_team(catalogue: dict[str, Asset]) -> None:
    assert {asset.domain for asset in catalogue.values()} <= {domain.name for domain in DOMAINS}
    assert {domain.team for domain in DOMAINS} <= TEAM_NAMES


def test_everything_is_listed_after_what_it_is_made_from() -> None:
    listed_fqns: set[str] = set()
    for asset in assets():
        assert set(asset.inputs) <= listed_fqns, asset.fqn
        listed_fqns.add(asset.fqn)


def test_every_table_of_the_warehouse_is_written_by_a_pipeline(catalogue: dict[str, Asset]) -> None:
    tables = [asset for asset in catalogue.values() if asset.layer in ("raw", "staging", "marts")]
    assert [table.fqn for table in tables if table.made_by not in catalogue] == []


def test_what_is_made_from_orders_reaches_dashboards(catalogue: dict[str, Asset]) -> None:
    reached, count_before = {"postgres_prod.ecommerce.public.orders"}, 0
    while len(reached) > count_before:
        count_before = len(reached)
        reached |= {asset.fqn for asset in catalogue.values() if reached & set(asset.inputs)}
    assert "superset.board_report" in reached


def test_every_test_is_about_a_column_that_exists(catalogue: dict[str, Asset]) -> None:
    for test in rows.tests():
        columns = {one["name"] for one in catalogue[test.table].request["columns"]}
        assert test.column is None or test.column in columns, test


def test_the_assets_that_the_documents_name_are_there(catalogue: dict[str, Asset]) -> None:
    assert set(DEMO_FOLLOWS) <= set(catalogue)
    assert "superset.sales_dashboard" in catalogue
    assert "airflow.customer_etl" in catalogue


def test_some_tables_of_the_shop_hold_personal_data(catalogue: dict[str, Asset]) -> None:
    personal = {
        asset.fqn
        for asset in catalogue.values()
        if asset.fqn.startswith("postgres_prod.")
        for column in asset.request["columns"]
        if any(label["tagFQN"] == PERSONAL for label in column.get("tags", []))
    }
    assert "postgres_prod.ecommerce.public.customers" in personal
    assert len(personal) >= 10


def test_every_described_column_is_one_that_a_table_has(catalogue: dict[str, Asset]) -> None:
    used = {one["name"] for asset in catalogue.values() for one in asset.request.get("columns", [])}
    assert set(rows.column_descriptions()) <= used
