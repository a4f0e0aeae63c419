"""Flow of every type: create, put unchanged, read by name and id with all fields, list, read versions."""

from __future__ import annotations

from typing import Any

from everything import EVERYTHING
from speaking import fqn_of, put


def run(metadata: Any) -> object:
    """Return every entity's type, FQN and version."""
    versions = []
    for kind, request, name, fields in EVERYTHING:
        entity = put(metadata, request, name, fields)
        again = put(metadata, request, name, fields)
        assert (again.id, again.version) == (entity.id, entity.version), (kind, again.changeDescription)
        read = metadata.get_by_name(kind, fqn_of(entity), fields=["*"])
        assert read.id == entity.id, kind
        assert metadata.get_by_id(kind, entity.id).name == entity.name
        assert metadata.get_entity_reference(kind, fqn_of(entity)).id == entity.id
        entity_page = metadata.list_entities(kind, fields=["*"], limit=1)
        assert entity_page.total >= 1, kind
        assert str(entity.id.root) in {str(one.id.root) for one in metadata.list_all_entities(kind, limit=2)}, kind
        assert len(metadata.get_list_entity_versions(entity.id, kind).versions) == 1
        assert metadata.get_entity_version(kind, entity.id, 0.1).id == entity.id
        versions.append([kind.__name__, fqn_of(entity), entity.version.root])
    assert metadata.get_by_name(EVERYTHING[0][0], "nowhere") is None
    return versions
