"""Datasets and jobs of lineage events that nothing in the catalogue stands for.

Next: ``store/catalogue/lineage/unresolved.py``.
"""

from __future__ import annotations

from tocsin.model.entity import WireModel


class UnresolvedLineage(WireModel):
    """A dataset or job by its namespace and name; ``events`` counts those that named it, times are epoch ms."""

    namespace: str
    name: str
    reason: str
    events: int
    first_at: int
    last_at: int
