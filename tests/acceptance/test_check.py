"""``tocsin check`` as people run it: a real dbt project and migrations in git, and the recipes of its page for CI."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Engine
from tests.acceptance.test_dbt import ENVIRONMENT, ROOT, BuiltProject
from tests.serving import Served, running_server

from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.settings import Settings
from tocsin.sources.process.dbt import ProjectOptions, run_project

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs/check.md"
BRANCH = "main"


def recipe_of(heading: str) -> dict[str, object]:
    """Return the YAML below a heading of the page."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert block is not None, heading
    recipe: dict[str, object] = yaml.safe_load(block[1])
    return recipe


class MergeRequest:
    """A repository with a branch that was pushed, and changes on top of it."""

    def __init__(self, folder: Path, served: Served) -> None:
        self.folder, self._bin = folder, folder.parent / "bin"
        self._bin.mkdir()
        self._write_command("tocsin", f'exec {sys.executable} -m tocsin "$@"')
        self._write_command("pip", "exit 0")  # both are installed
        self._write_command("dbt", f'exec {ENVIRONMENT / "bin/dbt"} --no-version-check "$@"')
        self.environment = os.environ | {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "TOCSIN_SERVER": served.url,
            "TOCSIN_TOKEN": served.log_in(ADMINISTRATOR["email"], served.password),
            "DBT_PROFILES_DIR": ".",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "GITHUB_BASE_REF": BRANCH,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": BRANCH,
            **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.run(f"git init -q -b {BRANCH} && echo target > .gitignore && git add -A && git commit -qm base")
        self.run(f"git update-ref refs/remotes/origin/{BRANCH} HEAD && git checkout -q -b changes")

    def commit(self) -> None:
        self.run("git add -A && git commit -qm changes")

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script as CI does, to its first failure."""
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )

    def _write_command(self, name: str, script: str) -> None:
        path = self._bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def served(sqlite_engine: Engine, tmp_path: Path) -> Iterator[Served]:
    with running_server(sqlite_engine, Settings(log_level="warning", data_dir=tmp_path / "data")) as server:
        yield server


@pytest.fixture(scope="module")
def built_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop's project, built."""
    if not (ENVIRONMENT / "bin/dbt").exists():
        pytest.skip("dbt is not there; `make dbt` gets it (170 MB)")
    project = BuiltProject(tmp_path_factory.mktemp("built") / "shop")
    project.seed()
    project.build()
    return project.folder


@pytest.fixture
def merge_request(built_shop: Path, sqlite_engine: Engine, served: Served, tmp_path: Path) -> MergeRequest:
    """The shop's project, brought into the catalogue, and under version control."""
    run_project(sqlite_engine, Settings(), ProjectOptions(str(built_shop / "target"), "warehouse"))
    folder = tmp_path / "shop"
    shutil.copytree(built_shop, folder, ignore=shutil.ignore_patterns("target"))
    return MergeRequest(folder, served)


def test_the_recipe_for_gitlab_checks_a_dbt_project(merge_request: MergeRequest) -> None:
    job = recipe_of("GitLab")["tocsin"]
    assert isinstance(job, dict)
    staging = merge_request.folder / "models/staging/stg_orders.sql"
    staging.write_text(staging.read_text().replace(", status", ""))
    orders = merge_request.folder / "models/marts/orders.sql"
    orders.write_text(orders.read_text().replace("o.status, ", ""))
    merge_request.commit()
    result = merge_request.run("\n".join(job["script"]))
    assert result.returncode == 10, result.stdout + result.stderr
    comment = (merge_request.folder / "tocsin.markdown").read_text()
    assert comment.startswith("### ❌ Tocsin: ")
    assert "**warehouse.shop.main.stg\\_orders** (models/staging/stg\\_orders.sql:1)" in comment
    assert "- breaking: column status STRING removed (not announced)" in comment
    assert "- no longer read by warehouse.shop.main.orders, which this changes, too" in comment
    assert "accepted\\_values" in comment, "a test of the column"
    staging_part = comment.partition("stg\\_orders** (")[2]
    assert "read by" not in staging_part.replace("no longer read by", ""), "what reads it, reads it through orders"


def test_the_recipe_for_github_checks_new_migrations(merge_request: MergeRequest) -> None:
    job = recipe_of("GitHub Actions")["jobs"]
    assert isinstance(job, dict)
    script = "\n".join(step["run"] for step in job["check"]["steps"] if "run" in step)
    result = merge_request.run(script)
    assert (result.returncode, (merge_request.folder / "tocsin.sarif").exists()) == (0, False), result.stderr
    migrations = merge_request.folder / "migrations"
    migrations.mkdir()
    (migrations / "0001.sql").write_text("-- Unused.\nALTER TABLE stg_orders DROP COLUMN status;\n")
    (migrations / "0002.sql").write_text("ALTER TABLE orders ADD COLUMN note text;\n")
    merge_request.commit()
    result = merge_request.run(script)
    assert result.returncode in (10, 123), result.stderr  # xargs says of any failure 123
    sarif = yaml.safe_load((merge_request.folder / "tocsin.sarif").read_text())
    (finding,) = sarif["runs"][0]["results"]
    place = finding["locations"][0]["physicalLocation"]
    assert (finding["level"], place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        *("error", "migrations/0001.sql", 2),
    )


def test_a_check_announces_and_is_acknowledged(merge_request: MergeRequest) -> None:
    (merge_request.folder / "1.sql").write_text("ALTER TABLE stg_orders DROP COLUMN status;\nDROP TABLE orders;\n")
    command = "tocsin check --sql 1.sql --service warehouse --database shop --schema main"
    assert merge_request.run(command).returncode == 10
    acknowledged_check = merge_request.run(f"{command} --acknowledge 'agreed with finance'")
    assert (acknowledged_check.returncode, "Acknowledged: agreed with finance" in acknowledged_check.stdout) == (
        0,
        True,
    )
    in_a_month = (datetime.now(UTC) + timedelta(days=30)).date()
    rules = {"rules": [{"name": "Never", "when": "breaking()", "unless": ["announced"]}]}
    (merge_request.folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    assert merge_request.run(f"{command} --rules rules.yaml --acknowledge x").returncode == 10
    announced_check = merge_request.run(f"{command} --rules rules.yaml --announce-on {in_a_month} --why 'PR 12'")
    assert announced_check.returncode == 0, announced_check.stdout + announced_check.stderr
    assert "column status STRING removed (announced by CR-" in announced_check.stdout
    assert "PR 12" in merge_request.run("tocsin changes show CR-1").stdout
    wrong = merge_request.run(f"{command} --rules 1.sql")
    assert (wrong.returncode, "1.sql:1:1" in wrong.stderr) == (2, True), wrong.stderr
