"""Size of long tests: a part that proves the same, or everything under ``make soak``.

A test marked ``soak`` runs only there. One that repeats, kills or generates asks ``SOAK`` how often: there, it runs
without a mark as well.
"""

from __future__ import annotations

import os

SOAK = os.environ.get("TOCSIN_TEST_SOAK") == "1"
