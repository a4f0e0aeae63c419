"""Report of a check: each proposed change with what the server says of it and the rules that it breaks.

Next: ``check/markdown.py``, ``check/sarif.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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

    def details(self) -> Iterator[tuple[int, str]]:
        """Yield what is to be said of the change but for its rules, line by line, each with its depth from 0."""
        yield from ((0, line) for line in self.changes_in_words())
        if self.reader_count:
            yield 0, f"read by {count_text(self.reader_count, 'asset')}:"
            yield from ((1, line) for line in self.readers_in_words())
        yield from ((0, f"no longer read by {name}, which this changes, too") for name in self.names_of_adapted)
        if tests := [str(one.get("fullyQualifiedName") or one["id"]) for one in self.answer["tests"]]:
            yield 0, f"tested by {list_text(tests, limit=5)}"
        if missing := self.answer["missingColumns"]:
            yield 0, f"not in the catalogue: {', '.join(missing)}"


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


@dataclass
class RecipientSum:
    """Adds up the recipients of portions, by person and by address; ``is_named`` says that they are shown by name.

    Portions must name them if there are several.
    """

    is_named: bool
    _portions: list[Document] = field(default_factory=list)

    def add(self, recipients: Document) -> None:
        """Add what a portion was answered."""
        self._portions.append(recipients)

    def as_document(self) -> Document:
        """Return the recipients of all portions, in the form of one."""
        if not self._portions:
            return {"people": 0, "addresses": 0, "isComplete": True} | ({"data": []} if self.is_named else {})
        if len(self._portions) == 1:
            return self._portions[0]
        by_key: dict[tuple[str, ...], Document] = {}
        for recipient in (one for portion in self._portions for one in portion["data"]):
            key = (recipient["user"]["id"],) if "user" in recipient else (recipient["channel"], *recipient["alerts"])
            known_recipient = by_key.setdefault(key, recipient | {"events": 0})
            known_recipient["events"] += recipient["events"]
            for part in {"alerts", "reasons", "channels"} & recipient.keys():
                known_recipient[part] = sorted({*known_recipient[part], *recipient[part]})
        data = sorted(by_key.values(), key=lambda one: -one["events"])
        people_count = sum("user" in one for one in data)
        is_complete = all(portion["isComplete"] for portion in self._portions)
        recipients = {"people": people_count, "addresses": len(data) - people_count, "isComplete": is_complete}
        return recipients | ({"data": data} if self.is_named else {})


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


def text_lines(report: CheckReport) -> Iterator[str]:
    """Yield the lines of a report: what breaks first, then the rest, whom it would notify, and the verdict."""
    for checked in sorted(report.checked, key=lambda one: (not one.broken, not one.is_breaking)):
        yield from _lines_of(checked)
    if report.checked:
        yield f"Would notify: {report.recipients_in_words()}."
        yield from (f"  {line}" for line in report.recipient_lines())
    if report.acknowledgement is not None:
        yield f"Acknowledged: {report.acknowledgement}"
    yield report.verdict()


def _lines_of(checked: CheckedProposal) -> Iterator[str]:
    yield f"{checked.proposal.asset}  ({checked.proposal.file}:{checked.proposal.line})"
    yield from (f"{'  ' * (depth + 1)}{line}" for depth, line in checked.details())
    yield from (f"  {rule.level}: {rule.name}" for rule in checked.broken)
