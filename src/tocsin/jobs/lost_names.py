"""Lost names job: reports, per alert, the names in it of entities that no longer exist.

A condition with such a name no longer matches anything. Renames are followed when they happen
(``catalogue/naming/follow.py``); deletions, prefixes and patterns remain.
Next: ``alerts/events.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.alerts.events import FindingLog
from tocsin.catalogue.naming.alert_names import condition_names, receiver_names
from tocsin.conditions.entity_names import REMEMBERED, Comparing, EntityName, Types
from tocsin.errors import NotFound
from tocsin.jobs.findings import finding_log
from tocsin.model.audit_finding import AuditFinding, FindingKind
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.relations.names import Names

_LOG = structlog.get_logger(__name__)


def report_lost_names(engine: Engine) -> int:
    """Report every lost name in the store behind ``engine`` once on its alert; return how many were new."""
    log = finding_log(engine)
    names_by_alert = {
        alert.id: [*receiver_names(document), *condition_names(document)]
        for alert in Subscriptions(engine).list_enabled()
        for document in (alert.to_wire(),)
    }
    lost_types = _lost_types(Names(engine), [name for many in names_by_alert.values() for name in many])
    findings = (
        AuditFinding(FindingKind.NAME_UNKNOWN, "", 0, alert_id, f"{lost_types[key]} {name.text}")
        for alert_id, many in names_by_alert.items()
        for key, name in {_key(name): name for name in many}.items()
        if key in lost_types
    )
    count = sum(_is_new(log, finding) for finding in findings)
    if count:
        _LOG.info("lost_names_reported", count=count)
    return count


_Key = tuple[Types, Comparing, str]


def _key(name: EntityName) -> _Key:
    return (name.types, name.comparing, name.text)


def _lost_types(names: Names, names_in_use: list[EntityName]) -> dict[_Key, str]:
    """Return the types of what had these names, of those that nothing has any more."""
    exact: dict[Types, set[str]] = defaultdict(set)
    for name in names_in_use:
        if name.comparing is Comparing.EXACT:
            exact[name.types].add(name.text)
    types_by_key: dict[_Key, str] = {}
    for types, texts in exact.items():
        remembered_types = REMEMBERED & set(types)
        types_by_key |= {
            (types, Comparing.EXACT, text): kind for text, kind in names.lost_names(remembered_types, texts).items()
        }
    return types_by_key | dict(_lost_beginnings(names, names_in_use))


def _lost_beginnings(names: Names, names_in_use: list[EntityName]) -> Iterator[tuple[_Key, str]]:
    for key, name in {_key(name): name for name in names_in_use}.items():
        if name.comparing is not Comparing.EXACT and name.beginning:
            kind = names.lost_below(REMEMBERED & set(name.types), name.beginning)
            if kind is not None:
                yield key, kind


def _is_new(log: FindingLog, finding: AuditFinding) -> bool:
    try:
        return log.add(finding)
    except (IntegrityError, NotFound):  # another pipeline was faster, or the alert is gone
        return False
