"""Tests of the wheel: pure Python, complete, and usable in part without the extras."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("wheel")

ROOT = Path(__file__).resolve().parents[3]
RUN_BARE = """
import sys
import tomllib
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{fullname!r}}", name=fullname)

sys.meta_path.insert(0, Absent())
sys.argv = ["tocsin", *{arguments}]
from tocsin.cli.main import main
main()
"""


def test_the_wheel_is_for_every_machine(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_wheel_holds_every_file_of_the_sources_and_nothing_else(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for package in ("tocsin", "openmetadata")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    packed_files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed_files == sources
    for needed_file in (
        "conditions/grammar.lark",
        "ui/static/index.html",
        "ui/static/licences.md",
        "store/migrations/env.py",
        "__main__.py",
    ):
        assert f"tocsin/{needed_file}" in packed_files


def names_in(pins: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / pins).read_text(), re.MULTILINE))


@cache
def only_with_extras() -> list[str]:
    """Return the importable names that a plain ``pip install tocsin`` does not bring."""
    extra = names_in("all.txt") - names_in("base.txt")
    spelt = {
        name: {re.sub(r"[-_.]+", "-", one.lower()) for one in distributions}
        for name, distributions in packages_distributions().items()
    }
    return sorted(name for name, given in spelt.items() if given <= extra)


def run_bare(wheel: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``tocsin`` from the wheel as if no extra were installed."""
    program = RUN_BARE.format(absent=json.dumps(only_with_extras()), arguments=json.dumps(arguments))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")}
    environment["PYTHONPATH"] = str(wheel)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=wheel.parent, check=False)


def test_the_small_part_runs_without_the_extras(wheel: Path) -> None:
    assert {"fastapi", "pyspark", "sqlalchemy"} <= set(only_with_extras())
    assert not {"httpx", "typer", "pydantic"} & set(only_with_extras())
    ended = run_bare(wheel, "--help")
    assert ended.returncode == 0, ended.stderr
    assert "tocsin up" in ended.stdout
    assert run_bare(wheel, "settings", "--json").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("serve",), "server"),
        (("deliver",), "server"),
        (("receive",), "server"),
        (("admin", "migrate"), "server"),
        (("sample", "load"), "server"),
        (("pipeline",), "spark"),
    ],
)
def test_a_command_that_needs_an_extra_says_which(wheel: Path, arguments: tuple[str, ...], extra: str) -> None:
    ended = run_bare(wheel, *arguments)
    assert ended.returncode == 6, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert f"pip install 'tocsin[{extra}]'" in line


def test_pins_hold_names_versions_and_hashes_only() -> None:
    lines = [line for pins in (ROOT / "requirements").glob("*.txt") for line in pins.read_text().splitlines()]
    pin = r"[\w.-]+==[\w.]+( ; python_version < \"[\d.]+\")?( \\)?"
    below = r" +(--hash=sha256:\w{64}( \\)?|# via .*)"
    unpinned = [line for line in lines if not re.fullmatch(f"{pin}|{below}|#.*|", line)]
    assert unpinned == []
    assert not [line for line in lines if "://" in line or " /" in line]


def test_the_parts_pin_what_the_whole_pins() -> None:
    all_pins = set(re.findall(r"^[\w.-]+==\S+", (ROOT / "requirements/all.txt").read_text(), re.MULTILINE))
    for part in ("base", "server", "spark", "kafka", "delta", "pulsar"):
        pins = set(re.findall(r"^[\w.-]+==\S+", (ROOT / f"requirements/{part}.txt").read_text(), re.MULTILINE))
        assert pins <= all_pins, part


def test_every_library_has_its_line_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    parts = ("server", "spark", "kafka", "delta", "pulsar")
    requirements = [*project["project"]["dependencies"], *(library for part in parts for library in extras[part])]
    requirements += project["dependency-groups"]["dev"]
    libraries = {re.split(r"[^\w.-]", library)[0] for library in requirements}
    libraries |= set(json.loads((ROOT / "web/package.json").read_text(encoding="utf-8"))["devDependencies"])
    table_cells = re.findall(r"^\| ([a-z0-9@/, .-]+) \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    listed_libraries = {name for row in table_cells for name in row.split(", ") if name != "library"}
    assert listed_libraries == libraries
