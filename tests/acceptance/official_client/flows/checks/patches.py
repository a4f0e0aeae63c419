"""Checks of the client's patches: descriptions, tags, owners, domains, columns, constraints, custom properties."""

from __future__ import annotations

import time
from typing import Any

from checks.checking import CheckSetup, check, reference, text
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
def _description(setup: CheckSetup) -> None:
    table = setup.table()
    assert text(setup.metadata.patch_description(Table, table, "All of them.").description) == "All of them."
    again = setup.metadata.get_by_id(Table, table.id)
    assert setup.metadata.patch_description(Table, again, "Or not.") is None


@check("patch_tags", "a tag and a glossary term are added")
def _tags_added(setup: CheckSetup) -> None:
    table = setup.table()
    patched = setup.metadata.patch_tags(Table, table, [FRAGILE, CUSTOMER])
    assert set(_tags(patched)) == {"Care.Fragile", "Words.Customer"}
    read = setup.metadata.get_by_id(Table, table.id, fields=["tags"])
    assert {tag.source for tag in read.tags} == {TagSource.Classification, TagSource.Glossary}


@check("patch_tags", "a tag is removed")
def _tags_removed(setup: CheckSetup) -> None:
    table = setup.table(tags=[FRAGILE])
    assert _tags(table) == ["Care.Fragile"]
    patched = setup.metadata.patch_tags(Table, table, [FRAGILE], operation=PatchOperation.REMOVE)
    assert _tags(patched) == []


@check("patch_tags", "a tag that nobody knows is refused, and nothing is changed")
def _tag_unknown(setup: CheckSetup) -> None:
    table = setup.table()
    assert setup.metadata.patch_tags(Table, table, [label("Care.Nobody")]) is None
    assert _tags(setup.metadata.get_by_id(Table, table.id, fields=["tags"])) == []


@check("patch_tag", "one tag, of a dashboard")
def _tag(setup: CheckSetup) -> None:
    patched = setup.metadata.patch_tag(Dashboard, setup.entities["Dashboard sales"], FRAGILE)
    assert _tags(patched) == ["Care.Fragile"]


@check("patch_owner", "an owner is set, stays without force, and goes with it")
def _owner(setup: CheckSetup) -> None:
    table, owners = setup.table(), EntityReferenceList(root=[setup.ref("User olga")])
    patched = setup.metadata.patch_owner(Table, table, owners)
    assert [one.name for one in patched.owners.root] == ["olga"]
    assert setup.metadata.patch_owner(Table, table, None) is None
    setup.metadata.patch_owner(Table, table, None, force=True)
    assert setup.metadata.get_by_id(Table, table.id, fields=["owners"]).owners.root == []


@check("patch_owner", "a team owns a topic")
def _team_owner(setup: CheckSetup) -> None:
    owners = EntityReferenceList(root=[setup.ref("Team crew")])
    patched = setup.metadata.patch_owner(Topic, setup.entities["Topic placed"], owners, force=True)
    assert [(one.type, one.name) for one in patched.owners.root] == [("team", "crew")]


@check("patch_domain", "a domain is set, and removed")
def _domain(setup: CheckSetup) -> None:
    table, domains = setup.table(), EntityReferenceList(root=[setup.ref("Domain Sales")])
    patched = setup.metadata.patch_domain(Table, table, domains)
    assert [one.name for one in patched.domains.root] == ["Sales"]
    assert setup.metadata.patch_domain(Table, table, domains) is None, "the same again is no change"
    setup.metadata.patch_domain(Table, table, None)
    assert setup.metadata.get_by_id(Table, table.id, fields=["domains"]).domains.root == []


@check("patch_column_tags", "a tag of a column, and of a column within it")
def _column_tags(setup: CheckSetup) -> None:
    table = setup.table()
    fqn = text(table.fullyQualifiedName)
    tags = [ColumnTag(column_fqn=f"{fqn}.{name}", tag_label=FRAGILE) for name in ("email", "address.street")]
    patched = setup.metadata.patch_column_tags(table, tags)
    assert [_tags(column) for column in patched.columns] == [[], ["Care.Fragile"], []]
    assert _tags(patched.columns[2].children[0]) == ["Care.Fragile"]


@check("patch_column_tags", "a column's tag is removed")
def _column_tags_removed(setup: CheckSetup) -> None:
    table = setup.table(columns=[{"name": "a", "dataType": "INT", "tags": [FRAGILE]}])
    tags = [ColumnTag(column_fqn=f"{text(table.fullyQualifiedName)}.a", tag_label=FRAGILE)]
    assert _tags(setup.metadata.patch_column_tags(table, tags, operation=PatchOperation.REMOVE).columns[0]) == []


@check("patch_column_tags", "a tag of a container's column")
def _container_tags(setup: CheckSetup) -> None:
    model = {"columns": [{"name": "amount", "dataType": "INT"}]}
    container = put(setup.metadata, CreateContainerRequest, setup.name("bucket"), {"service": "s3", "dataModel": model})
    read = setup.metadata.get_by_id(Container, container.id, fields=["tags", "dataModel"])
    tags = [ColumnTag(column_fqn=text(read.dataModel.columns[0].fullyQualifiedName), tag_label=FRAGILE)]
    assert _tags(setup.metadata.patch_column_tags(entity=read, column_tags=tags).dataModel.columns[0])


@check("patch_column_tag", "the older face: one tag of one column")
def _column_tag(setup: CheckSetup) -> None:
    table = setup.table()
    column = f"{text(table.fullyQualifiedName)}.id"
    assert _tags(setup.metadata.patch_column_tag(table, column, FRAGILE).columns[0]) == ["Care.Fragile"]


@check("patch_column_descriptions", "an empty one is filled, one that is there stays without force")
def _column_descriptions(setup: CheckSetup) -> None:
    table = setup.table()
    fqn = text(table.fullyQualifiedName)
    descriptions = [ColumnDescription(column_fqn=f"{fqn}.{name}", description="Said.") for name in ("id", "email")]
    columns = setup.metadata.patch_column_descriptions(table, descriptions).columns
    assert [text(one.description) for one in columns[:2]] == ["Said.", "Where to write."]
    forced = setup.metadata.patch_column_descriptions(
        setup.metadata.get_by_id(Table, table.id), descriptions, force=True
    )
    assert text(forced.columns[1].description) == "Said."


@check("patch_column_description", "the older face: a column within a column")
def _column_description(setup: CheckSetup) -> None:
    table = setup.table()
    column = f"{text(table.fullyQualifiedName)}.address.street"
    patched = setup.metadata.patch_column_description(table, column, "With its number.")
    assert text(patched.columns[2].children[0].description) == "With its number."


@check("patch_column_tags patch_description", "a stale version is refused with 412, and written again on the new one")
def _stale(setup: CheckSetup) -> None:
    from checks.checking import status_of_refusal

    table = setup.table()
    stale = setup.metadata.get_by_id(Table, table.id)
    setup.metadata.patch_description(Table, table, "In between.")
    changed = stale.model_copy(deep=True)
    changed.displayName = "Late"
    assert status_of_refusal(lambda: setup.metadata.patch(Table, stale, changed, if_match='"0123456789abcdef"')) == 412
    tags = [ColumnTag(column_fqn=f"{text(table.fullyQualifiedName)}.id", tag_label=FRAGILE)]
    patched = setup.metadata.patch_column_tags(stale, tags)
    assert (text(patched.description), _tags(patched.columns[0])) == ("In between.", ["Care.Fragile"])


@check("patch", "the client computes the entity tag that the server gives")
def _entity_tag(setup: CheckSetup) -> None:
    from metadata.ingestion.ometa.mixins.patch_mixin import _entity_etag

    table = setup.metadata.get_by_id(Table, setup.table().id)
    changed = table.model_copy(deep=True)
    changed.displayName = "Known"
    patched = setup.metadata.patch(Table, table, changed, if_match=_entity_etag(table), skip_on_failure=False)
    assert patched.displayName == "Known"


@check("patch", "with override_metadata, what people wrote is replaced")
def _override(setup: CheckSetup) -> None:
    table = setup.table(description="By hand.")
    changed = table.model_copy(deep=True)
    changed.description.root = "By machine."
    patched = setup.metadata.patch(Table, table, changed, override_metadata=True, skip_on_failure=False)
    assert text(patched.description) == "By machine."


@check("patch_table_constraints", "a primary key is set")
def _constraints(setup: CheckSetup) -> None:
    table = setup.table()
    key = TableConstraint(constraintType=ConstraintType.PRIMARY_KEY, columns=["id"])
    assert setup.metadata.patch_table_constraints(table, [key]).tableConstraints[0].columns == ["id"]
    read = setup.metadata.get_by_id(Table, table.id, fields=["tableConstraints"])
    assert read.tableConstraints[0].constraintType is ConstraintType.PRIMARY_KEY


@check("patch_life_cycle", "when a table was made, and by whom")
def _life_cycle(setup: CheckSetup) -> None:
    table, now = setup.table(), int(time.time() * 1000)
    cycle = LifeCycle(created=AccessDetails(timestamp=Timestamp(now), accessedBy=setup.ref("User olga")))
    assert setup.metadata.patch_life_cycle(table, cycle).lifeCycle.created.timestamp.root == now
    read = setup.metadata.get_by_id(Table, table.id, fields=["lifeCycle"])
    assert read.lifeCycle.created.accessedBy.id == setup.entities["User olga"].id


@check("patch", "a domain gets experts")
def _experts(setup: CheckSetup) -> None:
    sales = setup.metadata.get_by_name(Domain, "Sales", fields=["experts"])
    changed = sales.model_copy(deep=True)
    changed.experts = EntityReferenceList(root=[reference(setup.entities["User olga"])])
    patched = setup.metadata.patch(Domain, sales, changed, skip_on_failure=False)
    assert [one.name for one in patched.experts.root] == ["olga"]
