"""How much of what takes long is tested? A part that proves the same, or with TOCSIN_TEST_WHOLE=1 all of it."""

from __future__ import annotations

import os

WHOLE = os.environ.get("TOCSIN_TEST_WHOLE") == "1"
