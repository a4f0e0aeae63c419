"""Checks of the client's patches: descriptions, tags, owners, domains, columns, constraints, custom properties."""

from __future__ import annotations

import time
from typing import Any

from checks.checking import World, check, reference, text
from metadata.generated.schema.api.data.createContainer import CreateContainerRequest
from metadata.generated.schema.entity.data.container import Container
from metadata.generated.schema.entity.data.dashboard import Dashboard
from metadata.generated.schema.entity.data.table import ConstraintType, Table, TableConstraint
from metadata.generated.schema.entity.data.topic import Topic
from metadata.generated.schema.entity.domains.domain import Domain
from metadata.generated.schema.type.basic import Timestamp
from metadata.generated.schema.type.entityReferenceList import EntityReferenceList
from metadata.generated.schema.type.lifeCycle import AccessDetails, LifeCycle
from metadata.generated.schema.type.tagLabel import LabelType, State, TagFQN, TagLabel, TagSource
from metadata.ingestion.models.table_metadata import ColumnDescription, ColumnTag
from metadata.ingestion.ometa.mixins.patch_mixin_utils import PatchOperation
from speaking import put


def label(fqn: str, source: TagSource = TagSource.Classification) -> TagLabel:
    """Return the label of a tag or a term."""
    return TagLabel(tagFQN=TagFQN(fqn), source=source, labelType=LabelType.Manual, state=State.Confirmed)


FRAGILE, CUSTOMER = label("Care.Fragile"), label("Words.Customer", TagSource.Glossary)


def _tags(holder: Any) -> list[str]:
    return [text(tag.tagFQN) for tag in holder.tags or ()]


@check("patch_description", "an empty one is filled, one that is there stays")
def _description(world: World) -> None:
    table = world.table()
    assert text(world.metadata.patch_description(Table, table, "All of them.").description) == "All of them."
    again = world.metadata.get_by_id(Table, table.id)
    assert world.metadata.patch_description(Table, again, "Or not.") is None


@check("patch_tags", "a tag and a glossary term are added")
def _tags_added(world: World) -> None:
    table = world.table()
    patched = world.metadata.patch_tags(Table, table, [FRAGILE, CUSTOMER])
    assert set(_tags(patched)) == {"Care.Fragile", "Words.Customer"}
    read = world.metadata.get_by_id(Table, table.id, fields=["tags"])
    assert {tag.source for tag in read.tags} == {TagSource.Classification, TagSource.Glossary}


@check("patch_tags", "a tag is removed")
def _tags_removed(world: World) -> None:
    table = world.table(tags=[FRAGILE])
    assert _tags(table) == ["Care.Fragile"]
    patched = world.metadata.patch_tags(Table, table, [FRAGILE], operation=PatchOperation.REMOVE)
    assert _tags(patched) == []


@check("patch_tags", "a tag that nobody knows is refused, and nothing is changed")
def _tag_unknown(world: World) -> None:
    table = world.table()
    assert world.metadata.patch_tags(Table, table, [label("Care.Nobody")]) is None
    assert _tags(world.metadata.get_by_id(Table, table.id, fields=["tags"])) == []


@check("patch_tag", "one tag, of a dashboard")
def _tag(world: World) -> None:
    patched = world.metadata.patch_tag(Dashboard, world.entities["Dashboard sales"], FRAGILE)
    assert _tags(patched) == ["Care.Fragile"]


@check("patch_owner", "an owner is set, stays without force, and goes with it")
def _owner(world: World) -> None:
    table, owners = world.table(), EntityReferenceList(root=[world.ref("User olga")])
    patched = world.metadata.patch_owner(Table, table, owners)
    assert [one.name for one in patched.owners.root] == ["olga"]
    assert world.metadata.patch_owner(Table, table, None) is None
    world.metadata.patch_owner(Table, table, None, force=True)
    assert world.metadata.get_by_id(Table, table.id, fields=["owners"]).owners.root == []


@check("patch_owner", "a team owns a topic")
def _team_owner(world: World) -> None:
    owners = EntityReferenceList(root=[world.ref("Team crew")])
    patched = world.metadata.patch_owner(Topic, world.entities["Topic placed"], owners, force=True)
    assert [(one.type, one.name) for one in patched.owners.root] == [("team", "crew")]


@check("patch_domain", "a domain is set, and removed")
def _domain(world: World) -> None:
    table, domains = world.table(), EntityReferenceList(root=[world.ref("Domain Sales")])
    patched = world.metadata.patch_domain(Table, table, domains)
    assert [one.name for one in patched.domains.root] == ["Sales"]
    assert world.metadata.patch_domain(Table, table, domains) is None, "the same again is no change"
    world.metadata.patch_domain(Table, table, None)
    assert world.metadata.get_by_id(Table, table.id, fields=["domains"]).domains.root == []


@check("patch_column_tags", "a tag of a column, and of a column within it")
def _column_tags(world: World) -> None:
    table = world.table()
    fqn = text(table.fullyQualifiedName)
    tags = [ColumnTag(column_fqn=f"{fqn}.{name}", tag_label=FRAGILE) for name in ("email", "address.street")]
    patched = world.metadata.patch_column_tags(table, tags)
    assert [_tags(column) for column in patched.columns] == [[], ["Care.Fragile"], []]
    assert _tags(patched.columns[2].children[0]) == ["Care.Fragile"]


@check("patch_column_tags", "a column's tag is removed")
def _column_tags_removed(world: World) -> None:
    table = world.table(columns=[{"name": "a", "dataType": "INT", "tags": [FRAGILE]}])
    tags = [ColumnTag(column_fqn=f"{text(table.fullyQualifiedName)}.a", tag_label=FRAGILE)]
    assert _tags(world.metadata.patch_column_tags(table, tags, operation=PatchOperation.REMOVE).columns[0]) == []


@check("patch_column_tags", "a tag of a container's column")
def _container_tags(world: World) -> None:
    model = {"columns": [{"name": "amount", "dataType": "INT"}]}
    container = put(world.metadata, CreateContainerRequest, world.name("bucket"), {"service": "s3", "dataModel": model})
    read = world.metadata.get_by_id(Container, container.id, fields=["tags", "dataModel"])
    tags = [ColumnTag(column_fqn=text(read.dataModel.columns[0].fullyQualifiedName), tag_label=FRAGILE)]
    assert _tags(world.metadata.patch_column_tags(entity=read, column_tags=tags).dataModel.columns[0])


@check("patch_column_tag", "the older face: one tag of one column")
def _column_tag(world: World) -> None:
    table = world.table()
    column = f"{text(table.fullyQualifiedName)}.id"
    assert _tags(world.metadata.patch_column_tag(table, column, FRAGILE).columns[0]) == ["Care.Fragile"]


@check("patch_column_descriptions", "an empty one is filled, one that is there stays without force")
def _column_descriptions(world: World) -> None:
    table = world.table()
    fqn = text(table.fullyQualifiedName)
    descriptions = [ColumnDescription(column_fqn=f"{fqn}.{name}", description="Said.") for name in ("id", "email")]
    columns = world.metadata.patch_column_descriptions(table, descriptions).columns
    assert [text(one.description) for one in columns[:2]] == ["Said.", "Where to write."]
    forced = world.metadata.patch_column_descriptions(
        world.metadata.get_by_id(Table, table.id), descriptions, force=True
    )
    assert text(forced.columns[1].description) == "Said."


@check("patch_column_description", "the older face: a column within a column")
def _column_description(world: World) -> None:
    table = world.table()
    column = f"{text(table.fullyQualifiedName)}.address.street"
    patched = world.metadata.patch_column_description(table, column, "With its number.")
    assert text(patched.columns[2].children[0].description) == "With its number."


@check("patch_column_tags patch_description", "a stale version is refused with 412, and written again on the new one")
def _stale(world: World) -> None:
    from checks.checking import status_of_refusal

    table = world.table()
    stale = world.metadata.get_by_id(Table, table.id)
    world.metadata.patch_description(Table, table, "In between.")
    changed = stale.model_copy(deep=True)
    changed.displayName = "Late"
    assert status_of_refusal(lambda: world.metadata.patch(Table, stale, changed, if_match='"0123456789abcdef"')) == 412
    tags = [ColumnTag(column_fqn=f"{text(table.fullyQualifiedName)}.id", tag_label=FRAGILE)]
    patched = world.metadata.patch_column_tags(stale, tags)
    assert (text(patched.description), _tags(patched.columns[0])) == ("In between.", ["Care.Fragile"])


@check("patch", "the client computes the entity tag that the server gives")
def _entity_tag(world: World) -> None:
    from metadata.ingestion.ometa.mixins.patch_mixin import _entity_etag

    table = world.metadata.get_by_id(Table, world.table().id)
    changed = table.model_copy(deep=True)
    changed.displayName = "Known"
    patched = world.metadata.patch(Table, table, changed, if_match=_entity_etag(table), skip_on_failure=False)
    assert patched.displayName == "Known"


@check("patch", "with override_metadata, what people wrote is replaced")
def _override(world: World) -> None:
    table = world.table(description="By hand.")
    changed = table.model_copy(deep=True)
    changed.description.root = "By machine."
    patched = world.metadata.patch(Table, table, changed, override_metadata=True, skip_on_failure=False)
    assert text(patched.description) == "By machine."


@check("patch_table_constraints", "a primary key is set")
def _constraints(world: World) -> None:
    table = world.table()
    key = TableConstraint(constraintType=ConstraintType.PRIMARY_KEY, columns=["id"])
    assert world.metadata.patch_table_constraints(table, [key]).tableConstraints[0].columns == ["id"]
    read = world.metadata.get_by_id(Table, table.id, fields=["tableConstraints"])
    assert read.tableConstraints[0].constraintType is ConstraintType.PRIMARY_KEY


@check("patch_life_cycle", "when a table was made, and by whom")
def _life_cycle(world: World) -> None:
    table, now = world.table(), int(time.time() * 1000)
    cycle = LifeCycle(created=AccessDetails(timestamp=Timestamp(now), accessedBy=world.ref("User olga")))
    assert world.metadata.patch_life_cycle(table, cycle).lifeCycle.created.timestamp.root == now
    read = world.metadata.get_by_id(Table, table.id, fields=["lifeCycle"])
    assert read.lifeCycle.created.accessedBy.id == world.entities["User olga"].id


@check("patch", "a domain gets experts")
def _experts(world: World) -> None:
    sales = world.metadata.get_by_name(Domain, "Sales", fields=["experts"])
    changed = sales.model_copy(deep=True)
    changed.experts = EntityReferenceList(root=[reference(world.entities["User olga"])])
    patched = world.metadata.patch(Domain, sales, changed, skip_on_failure=False)
    assert [one.name for one in patched.experts.root] == ["olga"]
