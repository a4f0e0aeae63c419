"""Checks of custom properties, data products, domains, tags, terms and CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from checks.checking import CheckSetup, check, id_of, reference, text
from checks.every_type import new
from checks.patches import CUSTOMER, FRAGILE
from metadata.generated.schema.api.data.createCustomProperty import CreateCustomPropertyRequest
from metadata.generated.schema.api.data.createGlossaryTerm import CreateGlossaryTermRequest
from metadata.generated.schema.api.domains.createDataProduct import CreateDataProductRequest
from metadata.generated.schema.entity.data.dashboard import Dashboard
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.databaseSchema import DatabaseSchema
from metadata.generated.schema.entity.data.glossary import Glossary
from metadata.generated.schema.entity.data.glossaryTerm import GlossaryTerm
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.domains.dataProduct import DataProduct
from metadata.generated.schema.entity.teams.team import Team
from metadata.generated.schema.type.customProperties.enumConfig import EnumConfig
from metadata.generated.schema.type.customProperty import CustomPropertyConfig
from metadata.ingestion.models.custom_properties import CustomPropertyDataTypes as Types
from metadata.ingestion.models.custom_properties import OMetaCustomProperties
from speaking import put


def _property(setup: CheckSetup, kind: type, data_type: Types, config: Any = None) -> str:
    name = setup.name("property")
    request = CreateCustomPropertyRequest(
        name=name,
        description="Of our own.",
        propertyType=setup.metadata.get_property_type_ref(data_type),
        customPropertyConfig=config,
    )
    properties = OMetaCustomProperties(entity_type=kind, createCustomPropertyRequest=request)
    setup.metadata.create_or_update_custom_property(properties)
    return name


@check("get_custom_property_type get_property_type_ref", "every data type that the client knows")
def _types(setup: CheckSetup) -> None:
    for data_type in Types:
        property_type = setup.metadata.get_custom_property_type(data_type)
        assert text(property_type.name) == data_type.value
        assert setup.metadata.get_property_type_ref(data_type).root.id == property_type.id


@check("create_or_update_custom_property get_entity_custom_properties", "a property of tables")
def _define(setup: CheckSetup) -> None:
    name = _property(setup, Table, Types.STRING)
    properties = {one["name"]: one for one in setup.metadata.get_entity_custom_properties(Table)}
    assert properties[name]["propertyType"]["name"] == "string"


@check("patch_custom_properties", "values of a table are merged, or replaced with force")
def _values(setup: CheckSetup) -> None:
    string_property, integer_property, table = (
        _property(setup, Table, Types.STRING),
        _property(setup, Table, Types.INTEGER),
        setup.table(),
    )
    setup.metadata.patch_custom_properties(Table, table.id, {string_property: "a year"})
    merged = setup.metadata.patch_custom_properties(
        Table, table.id, {string_property: "a year", integer_property: 7}, force=True
    )
    assert merged.extension.root == {string_property: "a year", integer_property: 7}
    setup.metadata.patch_custom_properties(Table, table.id, {integer_property: 8}, force=True)
    assert setup.metadata.get_by_id(Table, table.id, fields=["extension"]).extension.root == {integer_property: 8}


@check("patch_custom_properties", "a reference and an enum, of a dashboard")
def _values_of_types(setup: CheckSetup) -> None:
    config = CustomPropertyConfig(config=EnumConfig(values=["low", "high"], multiSelect=False))
    level = _property(setup, Dashboard, Types.ENUM, config)
    dashboard = setup.entities["Dashboard sales"]
    patched = setup.metadata.patch_custom_properties(Dashboard, dashboard.id, {level: ["high"]})
    assert patched.extension.root[level] == ["high"]


@check("patch_custom_properties", "a value of another type is refused, and nothing is changed")
def _wrong_value(setup: CheckSetup) -> None:
    name, table = _property(setup, Table, Types.INTEGER), setup.table()
    assert setup.metadata.patch_custom_properties(Table, table.id, {name: "many"}) is None
    assert setup.metadata.get_by_id(Table, table.id).version == table.version


@check("add_assets_to_data_product get_data_product_assets remove_assets_from_data_product", "assets come and go")
def _product(setup: CheckSetup) -> None:
    product, table = text(new(setup, "DataProduct", "product").fullyQualifiedName), setup.table(domains=["Sales"])
    setup.metadata.add_assets_to_data_product(product, [reference(table)])
    assert [one["id"] for one in setup.metadata.get_data_product_assets(product)["data"]] == [id_of(table)]
    read = setup.metadata.get_by_id(Table, table.id, fields=["dataProducts"])
    assert [one.fullyQualifiedName for one in read.dataProducts.root] == [product]
    setup.metadata.remove_assets_from_data_product(product, [reference(table)])
    assert setup.metadata.get_data_product_assets(product)["data"] == []


@check("create_or_update get_by_name", "a data product says of what kind it is, for whom, and how urgent")
def _kind_of_product(setup: CheckSetup) -> None:
    name = setup.name("product")
    kind = {"dataProductType": "DATASET", "visibility": "ORGANISATION", "portfolioPriority": "HIGH"}
    put(setup.metadata, CreateDataProductRequest, name, {"description": "All of it.", "domains": ["Sales"], **kind})
    read = setup.metadata.get_by_name(DataProduct, name)
    assert (read.dataProductType.value, read.visibility.value, read.portfolioPriority.value) == tuple(kind.values())


@check("get_domain_assets", "what belongs to a domain, page by page")
def _domain(setup: CheckSetup) -> None:
    domain = text(new(setup, "Domain", "domain").fullyQualifiedName)
    tables = {id_of(setup.table(domains=[domain])) for _ in range(3)}
    pages = [setup.metadata.get_domain_assets(domain, limit=2, offset=at) for at in (0, 2)]
    assert [len(page["data"]) for page in pages] == [2, 1]
    assert {one["id"] for page in pages for one in page["data"]} == tables


@check("get_tag_assets", "what carries a tag")
def _tag(setup: CheckSetup) -> None:
    table = setup.table(tags=[FRAGILE])
    assert id_of(table) in {one["id"] for one in setup.metadata.get_tag_assets("Care.Fragile", limit=1000)["data"]}


@check("get_glossary_term_assets", "what carries a term")
def _term(setup: CheckSetup) -> None:
    table = setup.table(tags=[CUSTOMER])
    listed = setup.metadata.get_glossary_term_assets("Words.Customer", limit=1000)["data"]
    assert id_of(table) in {one["id"] for one in listed}


@check("create_or_update get_by_name", "a term below a term, with synonyms and related terms")
def _terms(setup: CheckSetup) -> None:
    name = setup.name("term")
    fields = {
        "glossary": "Words",
        "parent": "Words.Customer",
        "description": "One who pays late.",
        "synonyms": ["debtor"],
        "relatedTerms": ["Words.Customer.Regular"],
    }
    put(setup.metadata, CreateGlossaryTermRequest, name, fields)
    read = setup.metadata.get_by_name(GlossaryTerm, f"Words.Customer.{name}", fields=["relatedTerms", "parent"])
    assert (read.parent.name, [text(one) for one in read.synonyms]) == ("Customer", ["debtor"])
    assert len(read.relatedTerms) == 1


@check("export_csv import_csv", "terms of a glossary come from a file")
def _csv(setup: CheckSetup) -> None:
    glossary = text(new(setup, "Glossary", "words").name)
    header = setup.metadata.export_csv(Glossary, glossary).strip()
    row = [{"name*": "Basket", "description": "What they fill."}.get(name, "") for name in header.split(",")]
    data = f"{header}\n{','.join(row)}\n"
    assert setup.metadata.import_csv(Glossary, glossary, data, dry_run=True)["status"] == "success"
    assert setup.metadata.get_by_name(GlossaryTerm, f"{glossary}.Basket") is None
    assert setup.metadata.import_csv(Glossary, glossary, data)["status"] == "success"
    assert text(setup.metadata.get_by_name(GlossaryTerm, f"{glossary}.Basket").description) == "What they fill."


@check("export_csv import_csv", "columns of a table are described by a file")
def _table_csv(setup: CheckSetup) -> None:
    table = setup.table()
    fqn = text(table.fullyQualifiedName)
    records = list(csv.DictReader(io.StringIO(setup.metadata.export_csv(Table, fqn))))
    described = next(key for key in records[0] if key.lower().endswith("description"))
    records[0][described] = "From a file."
    written = io.StringIO()
    writer = csv.DictWriter(written, fieldnames=list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    result = setup.metadata.import_csv(Table, fqn, written.getvalue())
    assert result["status"] == "success", result
    assert text(setup.metadata.get_by_id(Table, table.id).columns[0].description) == "From a file."


@check("export_csv", "what a database, a schema and a team hold")
def _exports(setup: CheckSetup) -> None:
    assert "public" in setup.metadata.export_csv(Database, "pg.shop")
    assert "orders" in setup.metadata.export_csv(DatabaseSchema, "pg.shop.public")
    assert "name*" in setup.metadata.export_csv(Team, "crew")
