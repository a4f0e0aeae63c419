"""Lineage edges: data flows from one asset to another, with optional details.

Source: schemas/type/entityLineage.json. ``catalogue/lineage/edges.py`` writes edges,
``store/catalogue/relations/lineage_edges.py`` stores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tocsin.model.entity import Document


class LineageSource(StrEnum):
    """By what an edge was found."""

    MANUAL = "Manual"
    VIEW = "ViewLineage"
    QUERY = "QueryLineage"
    PIPELINE = "PipelineLineage"
    DASHBOARD = "DashboardLineage"
    DBT = "DbtLineage"
    SPARK = "SparkLineage"
    OPEN_LINEAGE = "OpenLineage"
    EXTERNAL_TABLE = "ExternalTableLineage"
    CROSS_DATABASE = "CrossDatabaseLineage"
    CHILD_ASSETS = "ChildAssets"


@dataclass(frozen=True)
class Edge:
    """An edge; ``from_`` and ``to`` are references, ``details`` its ``lineageDetails``."""

    from_: Document
    to: Document
    details: Document

    def to_wire(self) -> Document:
        """Return the edge as change events and answers carry it, with whole references."""
        wire: Document = {"fromEntity": self.from_, "toEntity": self.to}
        return wire | ({"lineageDetails": self.details} if self.details else {})

    def between_ids(self) -> Document:
        """Return the edge as the graph of ``EntityLineage`` names it: its ends by id."""
        return self.to_wire() | {"fromEntity": self.from_["id"], "toEntity": self.to["id"]}
