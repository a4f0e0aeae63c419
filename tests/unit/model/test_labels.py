"""Tests of finding labels at all depths."""

from __future__ import annotations

from tocsin.model.labels import labels_of, replace_labels

_DOCUMENT = {
    "tags": [{"tagFQN": "A.b"}],
    "columns": [{"name": "x", "tags": [{"tagFQN": "C.d"}], "children": [{"name": "y", "tags": [{"tagFQN": "A.b"}]}]}],
    "extension": {"tags": [{"tagFQN": "mine"}]},
    "other": {"tags": ["just a text"]},
}


def test_labels_are_found_at_every_depth_but_not_in_what_people_define() -> None:
    assert [label["tagFQN"] for label in labels_of(_DOCUMENT)] == ["A.b", "C.d", "A.b"]


def test_labels_are_replaced_or_taken_off_and_the_document_stays_as_it_was() -> None:
    replaced = replace_labels(_DOCUMENT, lambda label: None if label["tagFQN"] == "A.b" else {"tagFQN": "E.f"})
    assert [label["tagFQN"] for label in labels_of(replaced)] == ["E.f"]
    assert replaced["extension"] == _DOCUMENT["extension"]
    assert replaced["other"] == _DOCUMENT["other"]
    assert len(list(labels_of(_DOCUMENT))) == 3
