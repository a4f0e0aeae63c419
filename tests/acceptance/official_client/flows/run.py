"""Runner of one flow against the server named in the environment; prints the flow's result as JSON.

Usage: run.py FLOW, in the official client's own environment.
"""

from __future__ import annotations

import importlib
import json
import sys

from speaking import connected

if __name__ == "__main__":
    flow = importlib.import_module(f"flow_{sys.argv[1]}")
    print("RETURNED " + json.dumps(flow.run(connected())))  # noqa: T201  the test reads it
