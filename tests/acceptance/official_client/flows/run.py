"""Runner of flows: imports the client once, then runs each flow in a process of its own, forked from this one.

Usage: run.py, in the official client's own environment. Each line that it reads is JSON: the ``flow``, the
``environment`` that names the server, and the file to ``print`` to. It answers with a line: how the process ended.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from speaking import connect


def _run_in_child(order: dict[str, Any]) -> int:
    """Run a flow in a child; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        _print_to(order["print"])
        os.environ.update(order["environment"])
        flow = importlib.import_module(f"flow_{order['flow']}")
        print("RETURNED " + json.dumps(flow.run(connect())))  # noqa: T201  the test reads it
        code = 0
    except BaseException:  # noqa: BLE001  the child ends here, whatever it was
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _print_to(path: str) -> None:
    with Path(path).open("wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())


if __name__ == "__main__":
    for line in sys.stdin:
        print(_run_in_child(json.loads(line)), flush=True)  # noqa: T201  the test waits for it
