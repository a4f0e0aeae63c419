"""Report of a check: each proposed change with what the server says of it and the rules that it breaks.

Next: ``check/text.py``, ``check/markdown.py``, ``check/sarif.py``, which print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tocsin.check.policy import CheckPolicy, CheckRule, RuleLevel, broken_rules
from tocsin.check.proposals import FiledProposal
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, list_text


@dataclass(frozen=True)
class CheckedProposal:
    """A proposed change, the server's ``answer`` about it, and the rules that it breaks."""

    proposal: FiledProposal
    answer: Document
    broken: Sequence[CheckRule] = ()

    @property
    def headline(self) -> str:
        """Return what changes, in words, without the name of the asset."""
        entity = self.answer["entity"]
        if entity is None:
            return "not in the catalogue, or you may not view it"
        headline = str(self.answer["headline"])
        return headline.removeprefix(f"{entity.get('displayName') or entity['name']}: ") or "nothing changes here"

    @property
    def is_breaking(self) -> bool:
        """Return whether it breaks who reads the asset."""
        return bool(self.answer["breakingReasons"])

    @property
    def readers(self) -> list[Document]:
        """Return those who read what changes, the nearest, as far as they may be named."""
        readers: list[Document] = self.answer["readers"]["data"]
        return readers

    @property
    def names_of_adapted(self) -> list[str]:
        """Return the names of those that read it now, and after the same pull request do no more."""
        return [str(one.get("fullyQualifiedName") or one["id"]) for one in self.answer["adapted"]]

    @property
    def reader_count(self) -> int:
        """Return how many read it, hidden ones included."""
        return int(self.answer["readers"]["total"])

    def changes_in_words(self) -> list[str]:
        """Return what changes: what breaks readers, each with how it is announced; else the headline."""
        reasons = self.answer["breakingReasons"]
        return [
            f"breaking: {reason['text']}" + (f" ({reason['announcement']})" if reason["announcement"] else "")
            for reason in reasons
        ] or [self.headline]

    def readers_in_words(self) -> list[str]:
        """Return who reads it: each that may be named, and how many there are besides."""
        lines = [reader_in_words(one) for one in self.readers]
        hidden_count = self.answer["readers"]["hidden"]
        further_count = self.reader_count - len(lines) - hidden_count
        lines += [f"{count_text(further_count, 'more asset')}"] if further_count > 0 else []
        lines += [f"{count_text(hidden_count, 'asset')} that you may not see"] if hidden_count else []
        return lines

    def tests_in_words(self) -> str:
        """Return the tests of what changes; empty if there are none."""
        names = [str(one.get("fullyQualifiedName") or one["id"]) for one in self.answer["tests"]]
        return list_text(names, limit=5)


def reader_in_words(reader: Document) -> str:
    """Return who reads what changes: its type, name, columns and owners, if they are known."""
    entity = reader["entity"]
    name = entity.get("fullyQualifiedName") or entity.get("name") or entity["id"]
    line = f"{entity['type']} {name}"
    if reader.get("affectedColumns"):
        columns = [str(one).removeprefix(f"{name}.") for one in reader["affectedColumns"]]
        line += f", column{'s' if len(columns) > 1 else ''} {list_text(columns, limit=5)}"
    elif not reader["isCertain"]:
        line += ", which may read it: its column lineage is not known"
    owners = [str(one.get("displayName") or one.get("name")) for one in reader.get("owners", ())]
    return f"{line}; owned by {list_text(owners)}" if owners else line


@dataclass(frozen=True)
class CheckReport:
    """All proposed changes of a pull request, whom they would notify, what was not checked, and why it may be."""

    checked: Sequence[CheckedProposal]
    recipients: Document
    remarks: Sequence[str] = ()
    acknowledgement: str | None = None

    @property
    def has_errors(self) -> bool:
        """Return whether a rule of level error is broken."""
        return any(rule.level is RuleLevel.ERROR for one in self.checked for rule in one.broken)

    def verdict(self) -> str:
        """Return what came of it, in a sentence."""
        breaking_count = sum(one.is_breaking for one in self.checked)
        broken_count = sum(bool(one.broken) for one in self.checked)
        changes = count_text(len(self.checked), "change")
        if not self.checked:
            return "Nothing changes."
        verdict = "no rule is broken" if not broken_count else f"{broken_count} against the rules"
        return f"{changes}, {breaking_count} breaking: {verdict}."

    def recipients_in_words(self) -> str:
        """Return whom the changes would notify, as a phrase."""
        people, addresses = self.recipients["people"], self.recipients["addresses"]
        counted = [count_text(people, "person", "people")] if people else []
        counted += [count_text(addresses, "address", "addresses")] if addresses else []
        extent = "" if self.recipients["isComplete"] else ", as far as you may know"
        return f"{' and '.join(counted) or 'nobody'}{extent}"

    def recipient_lines(self) -> list[str]:
        """Return each person and address that would be notified, and why; empty if they were not asked for."""
        return [_recipient_in_words(one) for one in self.recipients.get("data", ())]

    def as_json(self) -> Document:
        """Return the report as JSON."""
        return {
            "changes": [_checked_json(one) for one in self.checked],
            "recipients": self.recipients,
            "remarks": list(self.remarks),
            "acknowledgement": self.acknowledgement,
            "verdict": self.verdict(),
            "hasErrors": self.has_errors,
        }


def build_report(
    proposals: Sequence[FiledProposal],
    answer: Document,
    policy: CheckPolicy,
    *,
    remarks: Sequence[str] = (),
    acknowledgement: str | None = None,
) -> CheckReport:
    """Return the report on proposals, from the server's answer about them, in their order."""
    checked = []
    for proposal, document in zip(proposals, answer["data"], strict=True):
        plain = CheckedProposal(proposal, document)
        is_read, is_acknowledged = plain.reader_count > 0, acknowledgement is not None
        broken = broken_rules(policy, document, is_read=is_read, is_acknowledged=is_acknowledged)
        checked.append(CheckedProposal(proposal, document, broken))
    return CheckReport(checked, answer["recipients"], remarks, acknowledgement)


def _checked_json(checked: CheckedProposal) -> Document:
    broken = [{"rule": rule.name, "level": rule.level.value} for rule in checked.broken]
    place: dict[str, Any] = {"file": checked.proposal.file, "line": checked.proposal.line}
    answer = {key: value for key, value in checked.answer.items() if key != "conditions"}
    return place | answer | {"broken": broken}


def _recipient_in_words(recipient: Document) -> str:
    user = recipient.get("user")
    who = str(user.get("displayName") or user.get("name") or user["id"]) if user else f"{recipient['channel']} address"
    why = ", ".join((*recipient["alerts"], *recipient["reasons"]))
    return f"{who}: {count_text(recipient['events'], 'change')} ({why})" if why else who
