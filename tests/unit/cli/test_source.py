"""Tests of the output of ``tocsin source``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commandline import Run
from tests.dbtproject import SERVICE, DbtProject

from tocsin.server.bootstrap import first_start
from tocsin.settings import Settings
from tocsin.store.upkeep.opening import open_store


@pytest.fixture
def project(store: Path, tmp_path: Path) -> DbtProject:
    settings = Settings(database_url=f"sqlite:///{store}")
    with open_store(settings) as engine:
        first_start(engine, settings)
    project = DbtProject(tmp_path / "target")
    project.write()
    return project


def test_a_dry_run_names_what_it_would_do_and_a_run_is_listed(run: Run, project: DbtProject) -> None:
    assert run("source", "list").out.startswith("No source has run.")
    rehearsal = run("source", "dbt", str(project.folder), "--service", SERVICE, "--dry-run")
    assert rehearsal.code == 0 and "warehouse.shop.main.orders" in rehearsal.out
    assert "Would be told: nobody: all of it is history" in rehearsal.out
    assert run("source", "list").out.startswith("No source has run.")
    ended = run("source", "dbt", str(project.folder), "--service", SERVICE, "--json")
    assert (ended.code, json.loads(ended.out)["errors"]) == (0, [])
    listed = run("source", "list").out
    assert f"dbt:{SERVICE}.shop" in listed and "created" in listed
    reports = json.loads(run("source", "list", "--json").out)
    assert reports[f"dbt:{SERVICE}.shop"]["errorCount"] == 0


def test_what_is_wrong_is_said_with_the_way_out(run: Run, project: DbtProject, tmp_path: Path) -> None:
    ended = run("source", "dbt", str(tmp_path / "elsewhere"), "--service", SERVICE)
    assert ended.code == 2
    assert ended.err.startswith(f"tocsin: {tmp_path / 'elsewhere'} has no manifest.json: name the target folder")
    assert run("source", "dbt", str(project.folder), "--service", " ").code == 2
    project.nodes["model.shop.orders"]["meta"] = {"owner": "nobody"}
    project.write()
    ended = run("source", "dbt", str(project.folder), "--service", SERVICE)
    assert "Left out: table warehouse.shop.main.orders: its owner nobody is nobody here" in ended.err
