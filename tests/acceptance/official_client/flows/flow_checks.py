"""Flow of the checks: separate claims about what the client gets back, one by one.

As a program it prints each check with ``ok`` or why it failed, and how many of how many passed; 1 if one failed.
"""

from __future__ import annotations

import importlib
import logging
import sys
from typing import Any

from checks import (
    answers,
    events,
    every_field,
    every_type,
    every_value,
    governance,
    left_out,
    lineage,
    patches,
    people,
    quality,
    runs,
    sdk,
    search,
    server,
    tables,
)
from checks.checking import results
from metadata.ingestion.ometa.ometa_api import OpenMetadata
from speaking import connect

if hasattr(OpenMetadata, "create_thread"):
    importlib.import_module("checks.since_2")
    importlib.import_module("checks.tasks")
    importlib.import_module("checks.announcements")
else:
    importlib.import_module("checks.suggestions")

SUBJECTS = (
    server,
    every_type,
    every_field,
    every_value,
    patches,
    tables,
    lineage,
    quality,
    runs,
    governance,
    people,
    answers,
    events,
    search,
    sdk,
    left_out,
)
"""Modules that register their checks when they are imported."""


def run(metadata: Any) -> object:
    """Return each check's name and why it failed, or nothing."""
    return list(results(metadata))


def main() -> int:
    """Run the checks and print them; return the exit code."""
    logging.disable(logging.CRITICAL)  # the client logs what it was refused; the checks say what matters
    passed = total = 0
    for name, failure in results(connect()):
        total += 1
        passed += not failure
        print(f"failed  {name}\n        {failure}" if failure else f"ok      {name}", flush=True)  # noqa: T201
    print(f"{passed} of {total}")  # noqa: T201
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
