"""Tests that the repository is portable: it names no registry and no machine, and holds no build products."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# Written in pieces, so that this file does not name what it looks for.
_HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "registry.npm" + "js", "repo1.mav" + "en", "repo.mav" + "en")
REGISTRY = re.compile(
    "|".join(map(re.escape, (*_HOSTS, "crates" + ".io", "proxy.gol" + "ang", "deb.deb" + "ian"))), re.I
)
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:wo" + "rk|fa" + "rm|ro" + r"ot|ho" + r"me/\w+)/[A-Za-z.]")

LOCK_FILES = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "package-lock.json", "yarn.lock"}
MADE_BY_TOOLS = {".venv", "__pycache__", "node_modules", "metastore_db", "spark-warehouse", "derby.log", "tocsin-data"}
PINS_OF_THE_WEB_APPLICATION = "web/package-lock.json"
LARGEST_FILE_BYTES = 1_000_000


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["registry", "machine path"])
def test_no_file_names(pattern: re.Pattern[str], root: Path, files: list[Path]) -> None:
    matches = [
        f"{path.relative_to(root)}:{number}"
        for path in files
        for number, line in enumerate(_lines(path), start=1)
        if pattern.search(line)
    ]
    assert matches == []


def test_no_lock_file_and_nothing_built_is_kept(root: Path, files: list[Path]) -> None:
    paths = [path.relative_to(root) for path in files]
    built = [str(path) for path in paths if path.name in LOCK_FILES or set(path.parts) & MADE_BY_TOOLS]
    assert built == [PINS_OF_THE_WEB_APPLICATION]
    assert '"resolved"' not in (root / PINS_OF_THE_WEB_APPLICATION).read_text(), "it names no address"


def test_no_file_is_large(root: Path, files: list[Path]) -> None:
    assert [str(path.relative_to(root)) for path in files if path.stat().st_size > LARGEST_FILE_BYTES] == []


def test_every_pin_has_the_hashes_of_its_files(root: Path) -> None:
    for path in sorted((root / "requirements").glob("*.txt")):
        pins = re.split(r"^(?=[A-Za-z0-9._-]+==)", path.read_text(), flags=re.MULTILINE)[1:]
        assert [pin.split()[0] for pin in pins if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", pin)] == [], path.name
        assert len(pins) > 5, path.name
    assert "--require-hashes" in (root / "Makefile").read_text()


def test_unfinished_work_is_named_in_issues_not_in_code(root: Path, files: list[Path]) -> None:
    unfinished = re.compile(r"#.*\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    code = [path for path in files if path.suffix == ".py"]
    assert [str(path.relative_to(root)) for path in code if unfinished.search(path.read_text())] == []


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:
        return []  # a picture
