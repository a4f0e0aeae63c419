"""Lineage derived from documents: edges from the feature sources of an ML model to the model.

Source: OpenMetadata's ``MlModelRepository.setMlFeatureSourcesLineage``. Next: ``flow/capture/lineage.py``.
"""

from __future__ import annotations

from tocsin.flow.capture import lineage
from tocsin.flow.capture.edges import said
from tocsin.flow.capture.ports import Hold, Key, Stored
from tocsin.flow.capture.references import key_of, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.lineage import LineageSource

Source = tuple[str, Key]

_BARE = {"source": LineageSource.MANUAL.value}


def connect(record: Record, entity_type: str, document: Document, before: Document) -> None:
    """Add the edges that a document newly implies, and remove those it no longer implies.

    An edge with details of its own stays unchanged: it has another source, too. A source that is not
    catalogued has no edge.
    """
    if entity_type != "mlmodel":
        return
    then, now = _sources(before), _sources(document)
    if then == now:
        return
    model = record.transaction.find(entity_type, Key.by_id(document["id"]))
    assert model is not None, "it has just been written"  # noqa: S101
    old, new = _found(record, then), _found(record, now)
    for source_id in sorted(new.keys() - old.keys()):
        if record.transaction.edge(source_id, model.id) is None:
            source = reference_to(record.visible(new[source_id]))
            lineage.imply_edge(record, source, reference_to(model))
    for source_id in sorted(old.keys() - new.keys()):
        edge = record.transaction.edge(source_id, model.id)
        if edge is not None and said(edge.details) == _BARE:
            lineage.imply_none(record, edge.from_, edge.to)


def _found(record: Record, sources: frozenset[Source]) -> dict[str, Stored]:
    """Return the sources that are catalogued, by id."""
    found = (record.transaction.find(*source, Hold.SHARED) for source in sorted(sources, key=str))
    return {stored.id: stored for stored in found if stored is not None}


def _sources(document: Document) -> frozenset[Source]:
    features = document.get("mlFeatures") or ()
    given = (source.get("dataSource") for feature in features for source in feature.get("featureSources") or ())
    return frozenset((one["type"], key_of(one)) for one in given if isinstance(one, dict) and _is_catalogued(one))


def _is_catalogued(reference: Document) -> bool:
    named = any(isinstance(reference.get(key), str) for key in ("id", "fullyQualifiedName", "name"))
    return named and isinstance(reference.get("type"), str) and reference["type"] in ENTITY_TYPES
