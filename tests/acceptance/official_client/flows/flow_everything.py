"""Flow of every type: create, put unchanged, read by name and id with all fields, list, read versions."""

from __future__ import annotations

from typing import Any

from everything import EVERYTHING
from speaking import fqn_of, put


def run(metadata: Any) -> object:
    """Return every entity's type, FQN and version."""
    seen = []
    for kind, request, name, rest in EVERYTHING:
        made = put(metadata, request, name, rest)
        again = put(metadata, request, name, rest)
        assert (again.id, again.version) == (made.id, made.version), (kind, again.changeDescription)
        read = metadata.get_by_name(kind, fqn_of(made), fields=["*"])
        assert read.id == made.id, kind
        assert metadata.get_by_id(kind, made.id).name == made.name
        assert metadata.get_entity_reference(kind, fqn_of(made)).id == made.id
        listed = metadata.list_entities(kind, fields=["*"], limit=1)
        assert listed.total >= 1, kind
        assert str(made.id.root) in {str(one.id.root) for one in metadata.list_all_entities(kind, limit=2)}, kind
        assert len(metadata.get_list_entity_versions(made.id, kind).versions) == 1
        assert metadata.get_entity_version(kind, made.id, 0.1).id == made.id
        seen.append([kind.__name__, fqn_of(made), made.version.root])
    assert metadata.get_by_name(EVERYTHING[0][0], "nowhere") is None
    return seen
