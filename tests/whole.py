"""Size of long tests: an equivalent part, or everything with TOCSIN_TEST_WHOLE=1."""

from __future__ import annotations

import os

WHOLE = os.environ.get("TOCSIN_TEST_WHOLE") == "1"
