"""Hashes for a file of pins whose libraries pip-compile cannot resolve together: ``python hashes.py FILE``.

Every file of a version that the registry has counts, as in pip-compile's own output.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pip._internal.req.constructors import install_req_from_line
from piptools.repositories import PyPIRepository


def main(file: Path) -> None:
    """Write the file anew, each pin with its hashes."""
    pins = [line.split()[0] for line in file.read_text().splitlines() if "==" in line]
    with tempfile.TemporaryDirectory() as cache:
        registry = PyPIRepository([], cache_dir=cache)
        with registry.allow_all_wheels():
            file.write_text("".join(_pin(registry, pin) for pin in pins))


def _pin(registry: PyPIRepository, pin: str) -> str:
    hashes = sorted(registry.get_hashes(install_req_from_line(pin)))
    return " \\\n".join([pin, *(f"    --hash={each}" for each in hashes)]) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
