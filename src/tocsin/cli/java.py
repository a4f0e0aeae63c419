"""Check for a Java that Spark can run on, used by commands and by the Makefile before anything else.

Source: Spark 4 runs on Java 17 or newer. Standard library only: ``make`` runs this before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tocsin.errors import Unavailable

OLDEST = 17
_ANSWER_WITHIN_S = 30
_HOW_TO_GET_IT = "on Debian or Ubuntu: apt-get install default-jre-headless; elsewhere: https://adoptium.net"


def check_java() -> int:
    """Return the version of the Java that Spark will use: that of ``JAVA_HOME``, else the one on ``PATH``.

    Raises
    ------
    Unavailable : there is none, it does not start, or it is older than 17
    """
    program = java_program()
    if program is None:
        raise Unavailable(f"Java {OLDEST} or newer is required but was not found; {_HOW_TO_GET_IT}.")
    version = java_version(program)
    if version is None:
        raise Unavailable(f"{program} does not start. Java {OLDEST} or newer is required; {_HOW_TO_GET_IT}.")
    if version < OLDEST:
        raise Unavailable(f"{program} is Java {version}; {OLDEST} or newer is required; {_HOW_TO_GET_IT}.")
    return version


def java_program() -> str | None:
    """Return the Java that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def java_version(program: str) -> int | None:
    """Return the feature release of a Java program (8 for ``1.8.0``), or None when it does not say."""
    try:
        ran = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(ran.stderr + ran.stdout)


def parse_version(text: str) -> int | None:
    """Return the feature release in what ``java -version`` printed."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def main() -> None:
    """Exit with one line on stderr unless there is a fitting Java."""
    try:
        check_java()
    except Unavailable as error:
        sys.exit(f"tocsin: {error.message}")


if __name__ == "__main__":
    main()
