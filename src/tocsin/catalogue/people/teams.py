"""Teams and their members: one tree below the Organization, validated on every write.

A team without a named parent is a child of the Organization, and so is a person without a team; these links are shown
but never stored. Only teams of type Group have direct members. Next: ``store/catalogue/people/teams.py``.
Source: OpenMetadata's ``TeamRepository`` and ``UserRepository``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tocsin.access.subject import ORGANIZATION
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.flow.capture.upsert import change, set_membership
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written

_DEFAULT_TYPE = "Group"
_ABOVE: dict[str, tuple[str, ...]] = {
    "Group": ("Department", "Division", "BusinessUnit", "Organization"),
    "Department": ("Department", "Division", "BusinessUnit", "Organization"),
    "Division": ("Division", "BusinessUnit", "Organization"),
    "BusinessUnit": ("BusinessUnit", "Organization"),
    "Organization": (),
}
"""Per type of team, the allowed types of its parent."""
_ONE_PARENT = frozenset({"Division", "BusinessUnit"})


def with_checked_parents(transaction: Transaction, team: Document, old: Document) -> Document:
    """Return a team with the parents it stores, checked if its type or its parents are new.

    Raises
    ------
    InvalidInput : it may not have this parent, or it would be its own ancestor; ``field`` says what is wrong.
    """
    parents = [one for one in team.get("parents") or () if one.get("name") != ORGANIZATION]
    placed_team = {key: value for key, value in team.items() if key != "parents"}
    if parents or (old.get("parents") and "parents" in team):
        placed_team["parents"] = parents
    if _type(placed_team) not in _ABOVE:
        return placed_team  # no type at all: the check of each key's shape refuses it
    _check_type(placed_team, old)
    old_parent_ids = {one.get("id") for one in old.get("parents") or ()}
    new_type = _type(placed_team) != _type(old)
    if old and not new_type and {one.get("id") for one in parents} <= old_parent_ids:
        return placed_team
    parent_teams = [_find_team(transaction, one) for one in parents]
    _check_parents(placed_team, parent_teams)
    if old:
        _check_no_circle(transaction, placed_team, old["id"], parent_teams)
    if old and new_type:
        _check_children(placed_team, transaction.teams.children(old["id"]))
    return placed_team


def without_root_team(transaction: Transaction, user: Document, old: Document) -> Document:
    """Return a user without the root team among their teams, which is implied; check that the address is theirs.

    Raises
    ------
    Conflict : another person has their e-mail address, with which people log in
    """
    _check_address(transaction, user.get("email"), old)
    teams = [one for one in user.get("teams") or () if one.get("name") != ORGANIZATION]
    other_fields = {key: value for key, value in user.items() if key != "teams"}
    return other_fields | {"teams": teams} if teams or (old.get("teams") and "teams" in user) else other_fields


def _check_address(transaction: Transaction, email: str | None, old: Document) -> None:
    if email is None or email == old.get("email"):
        return
    if (user := transaction.teams.at_address(email)) is not None:
        suffix = ", who is soft-deleted" if user.get("deleted") else ""
        raise Conflict(f"email: {email} is already used by the user {user['name']}{suffix}")


def as_patched(transaction: Transaction, document: Document, subject: Stored, paths: Iterable[str]) -> Document:
    """Return a team or a person as its readers see it, for a patch of ``paths``: with what is worked out."""
    if subject.entity_type not in ("team", "user"):
        return document
    shown_document = dict(document)
    if not document.get("domains") and (domains := transaction.teams.domains(subject.id)):
        shown_document["domains"] = [{**domain, "inherited": True} for domain in domains]
    parent_key = "parents" if subject.entity_type == "team" else "teams"
    if not document.get(parent_key) and not (parent_key == "parents" and document["name"] == ORGANIZATION):
        root = transaction.reference("team", Key.by_name(ORGANIZATION))
        shown_document |= {parent_key: [root]} if root else {}
    if subject.entity_type == "team" and any(_speaks_of("children", path) for path in paths):
        shown_document["children"] = transaction.teams.children(subject.id)
    return shown_document


def _speaks_of(key: str, path: str) -> bool:
    return path == "" or path.split("/")[1:2] == [key]


def _type(team: Document) -> str:
    return str(team.get("teamType") or _DEFAULT_TYPE)


def _check_type(team: Document, old: Document) -> None:
    is_root = team.get("name") == ORGANIZATION
    if old and (old.get("name") == ORGANIZATION) != is_root:
        raise InvalidInput(f"the name {ORGANIZATION} is reserved for the root team and cannot be changed", field="name")
    if old and _type(old) == _type(team):
        return
    if (_type(team) == ORGANIZATION) != is_root:
        raise InvalidInput(
            f"there is only one {ORGANIZATION}, the root team; use BusinessUnit, Division, Department or Group",
            field="teamType",
        )


def _check_parents(team: Document, parents: Sequence[Stored]) -> None:
    kind, parent_types = _type(team), _ABOVE[_type(team)]
    if kind in _ONE_PARENT and len(parents) > 1:
        raise InvalidInput(
            f"a {kind} must have one parent; only Departments and Groups may have several", field="parents"
        )
    for parent in parents:
        if _type(parent.document) not in parent_types:
            where = f"below a {' or a '.join(parent_types)}" if parent_types else "below no other team"
            problem = f"{team['name']} is a {kind} and must be {where}; {parent.fqn} is a {_type(parent.document)}"
            raise InvalidInput(problem, field="parents")


def _check_children(team: Document, children: Sequence[Document]) -> None:
    for child in children:
        if _type(team) not in _ABOVE.get(child["teamType"], ()):
            problem = f"its child {child['name']} is a {child['teamType']}, which cannot be below a {_type(team)}"
            raise InvalidInput(problem, field="teamType")


def _check_no_circle(transaction: Transaction, team: Document, own_id: str, above: Sequence[Stored]) -> None:
    waiting, checked_ids = list(above), set[str]()
    while waiting:
        ancestor = waiting.pop()
        if ancestor.id == own_id:
            raise InvalidInput(f"{team['name']} would be its own ancestor", field="parents")
        if ancestor.id not in checked_ids:
            checked_ids.add(ancestor.id)
            waiting += [_find_team(transaction, parent) for parent in ancestor.document.get("parents") or ()]


def _find_team(transaction: Transaction, reference: Document) -> Stored:
    team = transaction.find("team", Key.by_id(reference["id"]), Hold.SHARED)
    if team is None:
        raise InvalidInput(f"team {reference['id']} does not exist", field="parents")
    return team


_WITH_PEOPLE = "Group"
MOST_USERS = 10_000
"""People that one request may name."""


def set_users(record: Record, team: Stored, references: object) -> Written:
    """Let these people, a list of references, be all that are in the team; nothing if they are.

    Raises
    ------
    NotFound : a new person among them is not there, or is deleted.
    InvalidInput : it is no list of references to users, or the team is no Group.
    """
    if not isinstance(references, list) or len(references) > MOST_USERS:
        raise InvalidInput(f"must be a list of at most {MOST_USERS} references to users", field="users")
    _check_kind(team)
    resolver = record.resolver()
    full_references = resolver.lists({"users": references}, team.document).get("users", [])
    users = list({one["id"]: one for one in full_references}.values())
    return change(record, resolver, team, team.document | {"users": users})


def take_out(record: Record, team: Stored, user_id: str) -> Written:
    """Let a person be in the team no longer; nothing if they are not in it. Raises as ``set_users``."""
    _check_kind(team)
    return set_membership(record, ("team", Key.by_id(team.id)), "users", {"id": user_id, "type": "user"}, belongs=False)


def _check_kind(team: Stored) -> None:
    kind = team.document.get("teamType")
    if kind != _WITH_PEOPLE:
        raise InvalidInput(f"{team.fqn} is a {kind}; only a {_WITH_PEOPLE} has members", field="teamType")
