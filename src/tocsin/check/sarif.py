"""Report of a check as SARIF 2.1.0, which code hosts show beside the changed lines. Next: ``cli/check.py``.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from tocsin.check.policy import RuleLevel
from tocsin.check.report import CheckedProposal, CheckReport
from tocsin.model.entity import Document

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BREAKING = "breaking"


def sarif_document(report: CheckReport, *, version: str) -> Document:
    """Return a report as a SARIF log: a result for each broken rule, and a note for each other breaking change."""
    results = [result for checked in report.checked for result in _results_of(checked)]
    rule_ids = list(dict.fromkeys(str(result["ruleId"]) for result in results))
    rules = [{"id": rule_id, "shortDescription": {"text": rule_id}} for rule_id in rule_ids]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tocsin check", "semanticVersion": version, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _results_of(checked: CheckedProposal) -> Iterator[Document]:
    for rule in checked.broken:
        yield _result(checked, rule.name, "error" if rule.level is RuleLevel.ERROR else "warning")
    if checked.is_breaking and not checked.broken:
        yield _result(checked, _BREAKING, "note")


def _result(checked: CheckedProposal, rule_id: str, level: str) -> Document:
    proposal = checked.proposal
    lines = [f"{proposal.asset}:", *checked.changes_in_words()]
    lines += [f"read by {line}" for line in checked.readers_in_words()]
    location = {
        "artifactLocation": {"uri": quote(proposal.file.replace("\\", "/"))},
        "region": {"startLine": proposal.line},
    }
    return {
        "ruleId": rule_id,
        "level": level,
        "message": {"text": "\n".join(lines)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"assetAndRule/v1": f"{proposal.asset} {rule_id}"},
    }
