"""Header with remarks on what a request has written: it is stored, but its writer may not mean it.

Next: ``server/routes/alerts/subscriptions.py``, ``server/entities/reports.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

REMARKS = "X-Tocsin-Remarks"
"""The header: a JSON list of kind, message and field."""


def remarks_header(remarks: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the header, by its name; nothing without remarks."""
    return {REMARKS: json.dumps(remarks)} if remarks else {}
