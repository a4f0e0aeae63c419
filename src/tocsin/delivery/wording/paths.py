"""Words for the paths of changes: ``columns.email.description`` is "description of column email".

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.delivery.lines import clean_line
from tocsin.model.breaking import HOLDERS, SCHEMAS, SIDES
from tocsin.model.phrases import in_words

EXTENSION = "extension"
"""The field of custom properties."""

MEMBERS = {
    "columns": "column",
    "children": "column",
    "tasks": "task",
    "tags": "tag",
    "owners": "owner",
    "reviewers": "reviewer",
    "experts": "expert",
    "domains": "domain",
    "dataProducts": "data product",
    "consumesFrom": "consumed data product",
    "providesTo": "provided data product",
    "followers": "follower",
    "members": "member",
    "teams": "team",
    "users": "user",
    "parents": "parent",
    "roles": "role",
    "defaultRoles": "default role",
    "policies": "policy",
    "charts": "chart",
    "dashboards": "dashboard",
    "dataModels": "data model",
    "relatedMetrics": "related metric",
    "queryUsedIn": "use in",
    "testSuites": "test suite",
    "tests": "test",
    "fields": "field",
    "schemaFields": "field",
    "mlFeatures": "feature",
    "tableConstraints": "constraint",
}
"""What people call the members of a list, by the name of its field."""

TYPED_MEMBERS = frozenset({"columns", "children", "fields", "schemaFields", "mlFeatures"})
"""The lists of columns and fields, whose members have types."""


_NESTED, _TESTED = "children", "entityLink"


def words_of_path(path: list[str]) -> str:
    """Return the words for a path: ``columns.email.description`` is "description of column email"."""
    head, *steps = path
    if head == EXTENSION:
        return clean_line(f"custom property {'.'.join(steps)}") if steps else "custom properties"
    if head in SCHEMAS:
        return _words_in_schema(head, steps)
    if path == [_TESTED]:
        return "tested asset"
    if head not in MEMBERS or not steps:
        return clean_line(in_words(" ".join(path)))
    return _words_of_member(head, steps)


def _words_in_schema(schema: str, steps: list[str]) -> str:
    """Return the words for what a schema, or a data model, holds: ``field amount of the request``."""
    if not steps:
        return SCHEMAS[schema]
    if steps[0] in MEMBERS and len(steps) > 1:
        words = _words_of_member(steps[0], steps[1:])
        return f"{words} of {SIDES[schema]}" if schema in SIDES else words
    return clean_line(f"{in_words(' '.join(steps))} of {HOLDERS[schema]}")


def _words_of_member(list_name: str, steps: list[str]) -> str:
    names = [steps[0]]
    steps = steps[1:]
    while len(steps) > 1 and steps[0] == _NESTED:
        names.append(steps[1])
        steps = steps[2:]
    member = f"{MEMBERS[list_name]} {'.'.join(names)}"
    return clean_line(f"{in_words(' '.join(steps))} of {member}" if steps else member)


def place_of_list(path: list[str]) -> str:
    """Return what holds the list at a path, in words: ``column address``, ``the request``; empty for the asset."""
    if len(path) == 2 and path[0] in HOLDERS:
        return HOLDERS[path[0]]
    return words_of_path(path[:-1]) if len(path) > 1 else ""


def member_noun(path: Sequence[str]) -> str:
    """Return what people call a member of the list at a path; a nested one as those around it."""
    steps = path[1:] if path[0] in SCHEMAS else path
    return MEMBERS[steps[0] if path[-1] == _NESTED and steps[0] in TYPED_MEMBERS else path[-1]]


def column_in(path: Sequence[str]) -> str:
    """Return the name of the column that a path leads to or into, as ``words_of_path`` has it; empty for none."""
    steps = path[1:] if path[0] in SCHEMAS else path
    if len(steps) < 2 or steps[0] not in TYPED_MEMBERS:
        return ""
    names = [steps[1]]
    for at in range(2, len(steps) - 1, 2):
        if steps[at] != _NESTED:
            break
        names.append(steps[at + 1])
    return clean_line(".".join(names))
