"""Entry point of the command line, with shared error handling; the overview needs nothing else.

Next: ``cli/app.py``.
"""

from __future__ import annotations

import os
import sys

from tocsin.cli.failure import ending_unread, report
from tocsin.cli.parent_pipe import hold_lifeline
from tocsin.errors import TocsinError

_OVERVIEW = (["-h"], ["--help"])
_OURS_ALONE = 0o077
"""The umask of every process: what it makes is for its own account alone."""


def main() -> None:
    """Run the command line and exit with the code that ``cli/exit_codes.py`` gives."""
    hold_lifeline()
    os.umask(_OURS_ALONE)
    try:
        with ending_unread():
            _run(sys.argv[1:])
    except TocsinError as error:
        sys.exit(report(error))
    except Exception as error:
        from tocsin.store.database.faults import failure_with_cause

        failure = failure_with_cause(error)
        if failure is None:
            raise
        sys.exit(report(failure))


def _run(arguments: list[str]) -> None:
    if arguments in _OVERVIEW:
        from tocsin.cli.overview import print_overview

        print_overview()
        sys.exit(0)
    from tocsin.cli.app import run

    run(arguments)
