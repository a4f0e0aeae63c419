"""Tests of the layers and stages of house-style section 3: import-linter's contracts, and what it cannot check."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

RunPython = Callable[..., subprocess.CompletedProcess[str]]

STAGES = ("capture", "eventlog", "match", "resolve", "schedule", "track")


def test_import_contracts_hold(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "src"))
    broken = lint_imports(config_filename=str(root / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


def test_the_folder_listing_is_the_data_flow(root: Path) -> None:
    flow = root / "src/tocsin/flow"
    stages = sorted(path.name for path in flow.iterdir() if (path / "__init__.py").exists())
    assert tuple(stages) == STAGES
    assert {path.name for path in flow.glob("*.py")} == {"__init__.py", "once.py", "pipeline.py"}


def test_packages_export_nothing_but_the_clients_public_face(sources: dict[Path, ast.Module]) -> None:
    public_faces = {Path("tocsin/client/__init__.py")}
    full = [path for path, tree in sources.items() if path.name == "__init__.py" and tree.body]
    assert set(full) <= public_faces


def test_importing_a_module_has_no_effect(run_python: RunPython) -> None:
    result = run_python("import_without_effect.py")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["effects"] == []
    assert len(report["imported"]) > 20, "the walk over the modules found too few"


def test_only_alembic_may_import_its_environment(root: Path) -> None:
    """The effect-free walk leaves these files out, so there must be no more of them than Alembic needs."""
    environments = [path.relative_to(root) for path in (root / "src").rglob("env.py")]
    assert environments == [Path("src/tocsin/store/migrations/env.py")]
