"""Words for the paths of changes: ``columns.email.description`` is "description of column email".

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.delivery.lines import clean_line, in_words

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


def words_of_path(path: list[str]) -> str:
    """Return the words for a path: ``columns.email.description`` is "description of column email"."""
    head, *steps = path
    if head == EXTENSION and steps:
        return clean_line(f"custom property {'.'.join(steps)}")
    if head not in MEMBERS or not steps:
        return clean_line(in_words(" ".join(path)))
    names = [steps.pop(0)]
    while len(steps) > 1 and steps[0] == "children":
        names.append(steps[1])
        steps = steps[2:]
    member = f"{MEMBERS[head]} {'.'.join(names)}"
    return clean_line(f"{in_words(' '.join(steps))} of {member}" if steps else member)


def column_in(path: Sequence[str]) -> str:
    """Return the name of the column that a path leads to or into, as ``words_of_path`` has it; empty for none."""
    if path[0] not in TYPED_MEMBERS or len(path) < 2:
        return ""
    names = [path[1]]
    for at in range(2, len(path) - 1, 2):
        if path[at] != "children":
            break
        names.append(path[at + 1])
    return clean_line(".".join(names))
