"""Versions of an executor's Python and libraries, asked with Python's own library alone.

An executor that lacks a library can import this module, though not the one that asks (``jobs/executors.py``).
"""

from __future__ import annotations

import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True)
class Environment:
    """Where a task runs: its machine, Python's version, and that of each library, None if it is missing."""

    host: str
    python: str
    versions: dict[str, str | None]


def environment_of(libraries: Sequence[str]) -> Environment:
    """Return the environment of this process."""
    return Environment(socket.gethostname(), platform.python_version(), {name: _version_of(name) for name in libraries})


def _version_of(library: str) -> str | None:
    if library == "pyspark":  # that of SPARK_HOME comes before the installed one
        import pyspark

        return str(pyspark.__version__)
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None
