"""Tests that rules see exactly the labels of a document that the store keeps as rows."""

from __future__ import annotations

from tocsin.access.evaluate import Facts


def test_labels_count_wherever_they_stand_and_certificates_too() -> None:
    label = {"tagFQN": "PII.Sensitive"}
    document = {
        "tags": [{"tagFQN": "Tier.Tier1"}],
        "columns": [{"name": "a", "children": [{"name": "b", "tags": [label]}]}],
        "certification": {"tagLabel": {"tagFQN": "Certification.Gold"}},
        "extension": {"tags": [{"tagFQN": "own.words"}]},
    }
    assert Facts("table", document).tags == {"Tier.Tier1", "PII.Sensitive", "Certification.Gold"}
