"""Names in alerts after a rename, and after a person is deleted for good.

A person with the right to rename an entity need not have one to edit the alerts that name it, so Tocsin itself writes
them: a version that keeps everything but the name, with a change ``renamed`` or ``removedReceiver`` that says why.
Next: ``catalogue/naming/alert_names.py``; for policies ``catalogue/naming/policy_names.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tocsin.catalogue.naming.alert_names import with_names
from tocsin.conditions.entity_names import CALLED_BY_NAME, Comparing, EntityName
from tocsin.flow.capture.authorization import EVERYTHING
from tocsin.flow.capture.write import Record
from tocsin.model import fqn as names
from tocsin.model.audit_finding import AuditFinding, FindingKind
from tocsin.model.change import FINDING, REMOVED_RECEIVER, RENAMED, ChangeDescription, EventType, describe
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, removed_name
from tocsin.model.stored import Key, Stored

_ALERT = "eventsubscription"
_SIGN = re.compile(r"\W")


@dataclass(frozen=True)
class Renaming:
    """The new FQNs of an entity and all below it, by type and old FQN; those of ``root`` itself are first."""

    new_fqns: Mapping[tuple[str, str], str]
    root_type: str
    old_root: str
    new_root: str

    def new_name_of(self, name: EntityName) -> str | None:
        """Return what an entity is called now, in the form in which ``name`` has it; None if that has not changed."""
        if name.comparing is Comparing.EXACT:
            return next((new for kind in name.types if (new := self.new_fqns.get((kind, name.text)))), None)
        if not {kind for kind, _ in self.new_fqns} & set(name.types):
            return None
        old, new = f"{self.old_root}.", f"{self.new_root}."
        if name.comparing is Comparing.PATTERN:
            return _renamed_pattern(name.text, old, new)
        return new + name.text.removeprefix(old) if name.text.startswith(old) else None

    @property
    def because(self) -> ChangeDescription:
        """The reason for which what names the entity is changed as well."""
        old, new = ({"type": self.root_type, "name": name} for name in (self.old_root, self.new_root))
        return describe(RENAMED, old=old, new=new)


def _renamed_pattern(pattern: str, old: str, new: str) -> str | None:
    """Return a pattern whose alternatives begin with a new literal where they began with ``old``; None if none did.

    A dot without a backslash counts as one: ``PII.Sensitive`` means that tag.
    """
    spelt = "".join(rf"\\?{re.escape(sign)}" if _SIGN.match(sign) else sign for sign in old)
    starts = r"^" if "(" in pattern[1:] else r"^\(?|(?<!\\)\|"  # what follows | in a later group is no beginning
    beginning = re.compile(rf"(?P<start>{starts}){spelt}(?![*+?{{])")
    renamed = beginning.sub(lambda found: found["start"] + re.escape(new), pattern)
    return renamed if renamed != pattern else None


def name_in_conditions(entity_type: str, fqn: str) -> str:
    """Return what conditions call an entity: a user or team by the name, another by the FQN."""
    return names.split(fqn)[-1] if entity_type in CALLED_BY_NAME else fqn


def renaming_of(moved: Sequence[tuple[Stored, str]]) -> Renaming:
    """Return the renaming of these entities, each with its new FQN; the first is the one that was renamed."""
    new_fqns = {(entity.entity_type, entity.fqn): new for entity, new in moved}
    (root, new_root), *_ = moved
    new_fqns[root.entity_type, name_in_conditions(root.entity_type, root.fqn)] = name_in_conditions(
        root.entity_type, new_root
    )
    return Renaming(new_fqns, root.entity_type, root.fqn, new_root)


def follow_renaming(record: Record, renaming: Renaming) -> None:
    """Let alerts say the new names."""
    for alert in record.transaction.entities_containing(_ALERT, renaming.old_root):
        after = with_names(alert.document, renaming.new_name_of)
        if after != alert.document:
            by_tocsin(record).change(alert, after, beside=renaming.because)


def remove_from_alerts(record: Record, entity: Stored) -> None:
    """Take a user or team that goes for good out of what selects the recipients of alerts, and tell the owners.

    A team of the same name that is created later is another team: it inherits nothing.
    """
    own_record, name = by_tocsin(record), str(entity.document["name"])
    for alert in record.transaction.entities_containing(_ALERT, name):
        after = _without_person(record, alert.document, entity)
        if after == alert.document:
            continue
        receiver = {"type": entity.entity_type, "name": name, "id": entity.id}
        own_record.change(alert, after, beside=describe(REMOVED_RECEIVER, old=receiver))
        audit_finding = AuditFinding(FindingKind.NAME_UNKNOWN, "", 0, alert.id, f"{entity.entity_type} {name}")
        now = replace(alert, document=after)
        current_alert = record.transaction.find(_ALERT, Key.by_id(alert.id)) or now
        own_record.note(
            current_alert, describe(FINDING, new=audit_finding.to_wire()), event_type=EventType.AUDIT_FINDING
        )


def _without_person(record: Record, alert: Document, entity: Stored) -> Document:
    name, new_name = entity.document["name"], removed_name(entity.document["name"], entity.id)

    def rename(entity_name: EntityName) -> str | None:
        is_meant = (
            entity_name.is_recipient
            and entity_name.text in (name, entity.fqn)
            and entity.entity_type in entity_name.types
        )
        return new_name if is_meant and not is_another(record, entity_name, entity) else None

    after = with_names(alert, rename)
    destinations = [_without_receiver(one, new_name) for one in after.get("destinations") or ()]
    return after | {"destinations": destinations} if "destinations" in after else after


def is_another(record: Record, name: EntityName, entity: Stored) -> bool:
    """Return whether a name means a person of another type as well, who stays."""
    other_types = (kind for kind in name.types if kind != entity.entity_type)
    return any(record.transaction.reference(kind, Key.by_name(name.text)) is not None for kind in other_types)


def _without_receiver(destination: Document, removed: str) -> Document:
    """Return a destination without a receiver; disabled if it would then name nobody: that can mean everybody."""
    receivers = (destination.get("config") or {}).get("receivers") or []
    if removed not in receivers:
        return destination
    remaining_receivers = [one for one in receivers if one != removed]
    cleared = destination | {"config": destination["config"] | {"receivers": remaining_receivers}}
    return cleared if remaining_receivers else cleared | {"enabled": False}


def by_tocsin(record: Record) -> Record:
    """Return a record of the same write whose actor is Tocsin itself."""
    return replace(record, actor=SYSTEM, permit=EVERYTHING)
