"""Membership of assets in domains, data products, tags and owners, written as a change of the asset.

Adding assets through the group (``PUT /dataProducts/{name}/assets/add``) and patching the asset change the same list of
the asset, so both make one event of the asset. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.access.subject import ORGANIZATION
from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.upsert import set_membership
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.labels import SOURCES
from tocsin.model.stored import Key, Written

GROUPS: dict[str, str] = {
    "domain": "domains",
    "dataProduct": "dataProducts",
    "tag": "tags",
    "glossaryTerm": "tags",
    "user": "owners",
    "team": "owners",
}
"""Per type that groups assets: the list of an asset that says so."""

GIVEN: dict[str, tuple[str, str]] = {"team": ("children", "parents"), "dataProduct": ("assets", "dataProducts")}
"""Per type whose requests may name what belongs to it: the key in the request, and the list of what it names."""


def member_of(group_type: str, group: Document) -> Document:
    """Return the list entry by which an asset belongs to ``group``, a reference."""
    if group_type in SOURCES:
        label = {"tagFQN": group["fullyQualifiedName"], "source": SOURCES[group_type]}
        return label | {"labelType": "Manual", "state": "Confirmed"}
    return {"id": group["id"], "type": group_type}


def put_members(record: Record, entity_type: str, request: Document, group_write: Written) -> Written:
    """Make the members that the request names belong to the written entity, each as a change of its own.

    Child teams that are no longer named lose this parent.

    Raises
    ------
    InvalidInput : the members are not a list
    """
    if entity_type not in GIVEN:
        return group_write
    key, field = GIVEN[entity_type]
    references = request.get(key) or []
    if not isinstance(references, list):
        raise InvalidInput(f"{key} must be a list", field=key)
    place = len(record.events)
    if entity_type == "team" and request.get(key) is not None:
        references = _regroup(record, group_write.document, references)
    for member in references:
        target = str(member.get("type", entity_type)) if isinstance(member, dict) else entity_type
        set_membership(
            record, (target, key_of(member)), field, member_of(entity_type, group_write.document), belongs=True
        )
    events = tuple(captured.event for captured in record.events[place:])
    return replace(group_write, cascaded=(*group_write.cascaded, *events)) if events else group_write


def _regroup(record: Record, team: Document, children: list[Document]) -> list[Document]:
    """Remove this parent from unwanted child teams; return those that do not have it yet."""
    references = [record.transaction.reference("team", key_of(team_id)) for team_id in children]
    ids = {team_id["id"] for team_id in references if team_id}
    before = {team_id["id"] for team_id in record.transaction.teams.children(team["id"])}
    for team_id in sorted(before - ids) if team["name"] != ORGANIZATION else ():
        set_membership(record, ("team", Key.by_id(team_id)), "parents", member_of("team", team), belongs=False)
    return [
        team_id
        for team_id, reference in zip(children, references, strict=True)
        if not reference or reference["id"] not in before
    ]
