"""A type that OpenMetadata does not have is one row of the table, as ``docs/recipes.md`` says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_type_that_is_not_published_needs_its_row_alone(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.contract.invented_type", str(tmp_path / "tocsin.db")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
