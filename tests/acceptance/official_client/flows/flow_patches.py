"""Flow of connectors' patches: descriptions, tags, owners, domains, columns; and a concurrent change."""

from __future__ import annotations

from typing import Any

from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.type.entityReference import EntityReference
from metadata.generated.schema.type.entityReferenceList import EntityReferenceList
from metadata.generated.schema.type.tagLabel import LabelType, State, TagFQN, TagLabel, TagSource
from metadata.ingestion.models.table_metadata import ColumnDescription, ColumnTag
from metadata.ingestion.ometa.mixins.patch_mixin_utils import PatchOperation
from speaking import create_everything

FRAGILE = TagLabel(
    tagFQN=TagFQN("Care.Fragile"),
    source=TagSource.Classification,
    labelType=LabelType.Manual,
    state=State.Confirmed,
)


def run(metadata: Any) -> object:
    """Return the version after each change."""
    entities = create_everything(metadata)
    customers, olga, sales = entities["Table customers"], entities["User olga"], entities["Domain Sales"]
    versions = []

    def read() -> Any:
        fields = ["owners", "tags", "domains", "columns"]
        now = metadata.get_by_name(Table, "pg.shop.public.customers", fields=fields)
        versions.append(now.version.root)
        return now

    assert metadata.patch_description(Table, read(), "All who bought.").description.root == "All who bought."
    assert metadata.patch_description(Table, read(), "Overwritten?") is None, "what people wrote stays"
    metadata.patch_description(Table, read(), "All who ever bought.", force=True)
    assert read().description.root == "All who ever bought."
    metadata.patch_tags(Table, read(), [FRAGILE], operation=PatchOperation.ADD)
    assert [tag.tagFQN.root for tag in read().tags] == ["Care.Fragile"]
    metadata.patch_tags(Table, read(), [FRAGILE], operation=PatchOperation.REMOVE)
    assert read().tags == []
    owners = EntityReferenceList(root=[EntityReference(id=olga.id, type="user")])
    metadata.patch_owner(Table, read(), owners)
    assert [owner.name for owner in read().owners.root] == ["olga"]
    metadata.patch_domain(Table, read(), EntityReferenceList(root=[EntityReference(id=sales.id, type="domain")]))
    assert [domain.name for domain in read().domains.root] == ["Sales"]
    metadata.patch_column_tags(read(), [ColumnTag(column_fqn="pg.shop.public.customers.email", tag_label=FRAGILE)])
    assert [tag.tagFQN.root for tag in read().columns[1].tags] == ["Care.Fragile"]
    street = ColumnDescription(column_fqn="pg.shop.public.customers.address.street", description="With its number.")
    metadata.patch_column_descriptions(read(), [street])
    assert read().columns[2].children[0].description.root == "With its number."
    _changed_by_somebody_else(metadata, read())
    metadata.patch_owner(Table, read(), None, force=True)
    assert customers.id == read().id
    return versions


def _changed_by_somebody_else(metadata: Any, outdated: Any) -> None:
    """A patch on a state that has passed is refused once; the client then writes on top of the new state."""
    metadata.patch_description(Table, outdated, "Said in between.", force=True)
    changed = outdated.model_copy(deep=True)
    changed.displayName = "Customers"
    patched = metadata.patch(Table, outdated, changed)
    assert patched.displayName == "Customers"
    assert patched.description.root == "Said in between."
