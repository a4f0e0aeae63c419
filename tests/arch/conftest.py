"""Fixtures of the architecture tests: the repository, its modules, and a bare Python interpreter."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the top folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def sources() -> dict[Path, ast.Module]:
    """Return the syntax tree of every Python file under ``src``, by its path from there; one worker has them."""
    source = ROOT / "src"
    return {path.relative_to(source): ast.parse(path.read_text()) for path in sorted(source.rglob("*.py"))}


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Return every file that is, or is about to be, part of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Return a function that runs a script of this folder in a Python of its own, with an environment of its own."""

    def run(
        script: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(Path(__file__).parent / script), *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path), **(environment or _inherited_environment())},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def _inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
