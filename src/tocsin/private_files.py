"""Files and folders that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def private_file(path: Path) -> Any:  # Any: an opened binary file, which open types by its mode
    """Open a new file to write bytes to that only its owner may read; an earlier one is emptied."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
