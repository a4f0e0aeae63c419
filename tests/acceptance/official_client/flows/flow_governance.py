"""Flow of governance: custom properties, terms and tags on assets, data products, roles and policies."""

from __future__ import annotations

from typing import Any

from metadata.generated.schema.api.data.createCustomProperty import CreateCustomPropertyRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.type.customProperty import PropertyType
from metadata.generated.schema.type.entityReference import EntityReference
from metadata.ingestion.models.custom_properties import CustomPropertyDataTypes, OMetaCustomProperties
from speaking import create_everything

CUSTOMERS = "pg.shop.public.customers"


def run(metadata: Any) -> object:
    """Return the custom properties of tables."""
    entities = create_everything(metadata)
    kind = metadata.get_property_type_ref(CustomPropertyDataTypes.STRING)
    assert isinstance(kind, PropertyType)
    request = CreateCustomPropertyRequest(name="retention", description="How long.", propertyType=kind)
    metadata.create_or_update_custom_property(
        OMetaCustomProperties(entity_type=Table, createCustomPropertyRequest=request)
    )
    table = metadata.get_by_name(Table, CUSTOMERS, fields=["extension"])
    metadata.patch_custom_properties(Table, table.id, {"retention": "a year"})
    assert metadata.get_by_name(Table, CUSTOMERS, fields=["extension"]).extension.root == {"retention": "a year"}
    product = entities["DataProduct Orders360"]
    assets = [EntityReference(id=table.id, type="table")]
    metadata.add_assets_to_data_product("Orders360", assets)
    asset_page = metadata.get_data_product_assets("Orders360")
    assert [one["id"] for one in asset_page["data"]] == [str(table.id.root)], asset_page
    metadata.remove_assets_from_data_product("Orders360", assets)
    assert product.domains.root[0].name == "Sales"
    assert {one["name"] for one in metadata.get_domain_assets("Sales")["data"]} >= {"orders"}
    assert [one["name"] for one in metadata.get_tag_assets("Care.Fragile")["data"]] == ["orders"]
    return [one["name"] for one in metadata.get_entity_custom_properties(Table)]
