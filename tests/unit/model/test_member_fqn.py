"""Tests of the names of columns, tasks and fields."""

from __future__ import annotations

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.member_fqn import with_member_names


def test_nested_columns_are_named_by_the_way_to_them() -> None:
    street = {"name": "street.1"}
    document = {"fullyQualifiedName": "pg.a.b.t", "columns": [{"name": "address", "children": [street]}]}
    column = with_member_names(ENTITY_TYPES["table"], document)["columns"][0]
    assert (column["tags"], column["ordinalPosition"]) == ([], 1)
    assert column["fullyQualifiedName"] == "pg.a.b.t.address"
    assert column["children"][0]["fullyQualifiedName"] == 'pg.a.b.t.address."street.1"'
    assert street == {"name": "street.1"}, "the stored document stays as it is"


def test_the_two_lists_of_an_endpoint_are_distinguished() -> None:
    schema = {"schemaType": "JSON", "schemaFields": [{"name": "id"}]}
    document = {"fullyQualifiedName": "rest.orders.place", "requestSchema": schema, "responseSchema": schema}
    with_names = with_member_names(ENTITY_TYPES["apiEndpoint"], document)
    fields = [with_names[key]["schemaFields"][0]["fullyQualifiedName"] for key in ("requestSchema", "responseSchema")]
    assert fields == ["rest.orders.place.requestSchema.id", "rest.orders.place.responseSchema.id"]


def test_what_has_no_members_or_no_name_stays_as_it_is() -> None:
    assert with_member_names(ENTITY_TYPES["user"], {"fullyQualifiedName": "ann"}) == {"fullyQualifiedName": "ann"}
    assert with_member_names(ENTITY_TYPES["table"], {"columns": [{"name": "a"}]}) == {"columns": [{"name": "a"}]}
