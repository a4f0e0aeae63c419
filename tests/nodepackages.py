"""Packages of npm for tests, each installed once into this working tree by whichever test is first."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def node_modules_of(folder_name: str, package: str) -> Path | None:
    """Return where a package is (``name@version``); None where Node is missing, or npm cannot install it."""
    folder = ROOT / folder_name
    if not folder.is_dir() and shutil.which("npm") and shutil.which("node"):
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder_name}-") as new_folder:
            options = ["--prefix", new_folder, "--no-audit", "--no-fund", "--ignore-scripts"]
            installed = subprocess.run(["npm", "install", *options, package], capture_output=True, timeout=120)
            if installed.returncode == 0:
                with suppress(OSError):  # another process was faster
                    Path(new_folder).rename(folder)
                Path(new_folder).mkdir(exist_ok=True)
    return folder / "node_modules" if folder.is_dir() else None
