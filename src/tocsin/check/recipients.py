"""Recipients of all portions of a check: a person whom several portions would notify is one. Next: ``cli/check.py``."""

from __future__ import annotations

from dataclasses import dataclass, field

from tocsin.model.entity import Document


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
