"""Checks of the connection, of the server's version and settings, of services, and of generic requests."""

from __future__ import annotations

import os

from checks.checking import CheckSetup, check, id_of, status_of_refusal, text
from everything import EVERYTHING
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.metadataIngestion.workflow import Source
from metadata.generated.schema.settings.settings import Settings, SettingType
from metadata.ingestion.ometa.ometa_api import OpenMetadata
from speaking import connect

_SOURCE = {
    "type": "postgres",
    "serviceName": "from_source",
    "serviceConnection": {
        "config": {"type": "Postgres", "username": "reader", "hostPort": "db.example.org:5432", "database": "shop"}
    },
    "sourceConfig": {"config": {"type": "DatabaseMetadata"}},
}


@check("health_check", "the server answers")
def _healthy(setup: CheckSetup) -> None:
    assert setup.metadata.health_check() is True


@check("get_server_version server_version client_version", "server and client are of one version")
def _version(setup: CheckSetup) -> None:
    assert setup.metadata.get_server_version() == setup.metadata.server_version
    assert setup.metadata.server_version.split(".")[:2] == setup.metadata.client_version.split(".")[:2]


@check("validate_versions log_server_version", "the client accepts the server")
def _valid(setup: CheckSetup) -> None:
    setup.metadata.validate_versions()
    setup.metadata.log_server_version()


@check("from_env", "a client made of environment variables reads a table")
def _environment(setup: CheckSetup) -> None:
    prefix = "OPENMETADATA__connection__"
    os.environ |= {
        f"{prefix}hostPort": f"{os.environ['TOCSIN_SERVER']}/api",
        f"{prefix}authProvider": "openmetadata",
        f"{prefix}securityConfig__jwtToken": os.environ["TOCSIN_TOKEN"],
    }
    client = setup.metadata.from_env()
    assert text(client.get_by_name(Table, "pg.shop.public.orders").name) == "orders"


@check("close", "a client that is closed has freed its connections, and another one works")
def _close(setup: CheckSetup) -> None:
    second_client = connect()
    assert second_client.health_check()
    setup.metadata.called.add("close")
    second_client.close()
    assert setup.metadata.health_check()


@check("log_user_name_from_jwt_token", "the token names its user")
def _token(setup: CheckSetup) -> None:
    from metadata.ingestion.ometa.utils import decode_jwt_token

    setup.metadata.log_user_name_from_jwt_token()
    me = setup.metadata.client.get("/users/loggedInUser")
    assert decode_jwt_token(os.environ["TOCSIN_TOKEN"])["sub"] == me["id"]


@check("get_by_name", "a token that is none is refused with 401")
def _unknown_token(setup: CheckSetup) -> None:
    token = os.environ["TOCSIN_TOKEN"]
    os.environ["TOCSIN_TOKEN"] = "not.a.token"
    try:
        second_client = connect()
    finally:
        os.environ["TOCSIN_TOKEN"] = token
    assert status_of_refusal(lambda: second_client.get_by_name(Table, "pg.shop.public.orders")) == 401
    assert setup.metadata.get_by_name(Table, "pg.shop.public.orders")


@check("get_profiler_config_settings", "the settings of the profiler, as the client's model")
def _profiler(setup: CheckSetup) -> None:
    settings = setup.metadata.get_profiler_config_settings()
    assert settings.config_type is SettingType.profilerConfiguration
    assert settings.config_value.metricConfiguration == []


@check("get_settings_by_name", "the same by name")
def _profiler_by_name(setup: CheckSetup) -> None:
    settings = setup.metadata.get_settings_by_name(SettingType.profilerConfiguration)
    assert settings.config_type is SettingType.profilerConfiguration


@check("create_or_update_settings get_profiler_config_settings", "the settings of the profiler are kept")
def _written_setting(setup: CheckSetup) -> None:
    value = {"metricConfiguration": [{"dataType": "INT", "metrics": ["min", "max"], "disabled": False}]}
    written = setup.metadata.create_or_update_settings(
        Settings(config_type="profilerConfiguration", config_value=value)
    )
    read = setup.metadata.get_profiler_config_settings()
    assert written == read
    assert [metric.value for metric in read.config_value.metricConfiguration[0].metrics] == ["min", "max"]
    setup.metadata.client.put("/system/settings/reset/profilerConfiguration", "{}")
    assert setup.metadata.get_profiler_config_settings().config_value.metricConfiguration == []


@check("get_create_service_from_source create_service_from_source", "a service of a workflow's source")
def _service(setup: CheckSetup) -> None:
    source = Source.model_validate(_SOURCE)
    request = setup.metadata.get_create_service_from_source(DatabaseService, source)
    service = setup.metadata.create_service_from_source(DatabaseService, source)
    assert text(service.name) == text(request.name) == "from_source"
    assert service.connection.config.username == "reader"


@check("get_service_or_create", "the service that is there, or a new one")
def _service_or_new(setup: CheckSetup) -> None:
    source = Source.model_validate(_SOURCE | {"serviceName": setup.name("service")})
    service = setup.metadata.get_service_or_create(DatabaseService, source)
    assert setup.metadata.get_service_or_create(DatabaseService, source).id == service.id


@check("list_services", "every service of a kind")
def _services(setup: CheckSetup) -> None:
    for kind in {kind for kind, *_ in EVERYTHING if kind.__name__.endswith("Service")}:
        assert all(type(one) is kind for one in setup.metadata.list_services(kind))
        assert setup.metadata.list_services(kind), kind


@check("list_entities", "params narrow the list: the tables of one database")
def _list_narrowed(setup: CheckSetup) -> None:
    listed = setup.metadata.list_entities(Table, params={"database": "pg.shop"}, limit=5, fields=["owners"])
    assert listed.entities and all(text(one.fullyQualifiedName).startswith("pg.shop.") for one in listed.entities)
    assert setup.metadata.list_entities(Table, params={"database": "pg.nowhere"}).total == 0


@check("list_entities delete", "include: only what is deleted, or all of it")
def _list_with_deleted(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.delete(Table, table.id)

    def ids(include: str) -> set[str]:
        return {id_of(one) for one in setup.metadata.list_entities(Table, include=include, limit=1000).entities}

    assert id_of(table) in ids("deleted") & ids("all")
    assert id_of(table) not in ids("non-deleted")


@check("delete", "what holds something goes only with all that it holds")
def _recursive(setup: CheckSetup) -> None:
    refusal = status_of_refusal(lambda: setup.metadata.delete(Database, setup.entities["Database shop"].id))
    assert refusal == 400


@check("bulk_create_or_update", "requests of two types: parents first, each row with its result")
def _bulk(setup: CheckSetup) -> None:
    from metadata.generated.schema.api.data.createDatabaseSchema import CreateDatabaseSchemaRequest

    schema, table = setup.name("schema"), setup.name("table")
    requests = [
        CreateTableRequest(name=table, databaseSchema=f"pg.shop.{schema}", columns=[{"name": "a", "dataType": "INT"}]),
        CreateDatabaseSchemaRequest(name=schema, database="pg.shop"),
    ]
    result = setup.metadata.bulk_create_or_update(requests)
    assert (result.numberOfRowsProcessed.root, result.numberOfRowsFailed.root) == (2, 0), result
    assert setup.metadata.get_by_name(Table, f"pg.shop.{schema}.{table}") is not None


@check("bulk_create_or_update", "a row that fails says why, the others pass")
def _bulk_failure(setup: CheckSetup) -> None:
    columns = [{"name": "a", "dataType": "INT"}]
    good, rejected = setup.name("table"), setup.name("table")
    requests = [
        CreateTableRequest(name=good, databaseSchema="pg.shop.public", columns=columns),
        CreateTableRequest(name=rejected, databaseSchema="pg.nowhere.public", columns=columns),
    ]
    result = setup.metadata.bulk_create_or_update(requests)
    assert (len(result.successRequest), len(result.failedRequest)) == (1, 1), result
    assert "pg.nowhere" in result.failedRequest[0].message


@check("get_create_entity_type get_entity_from_create", "the client finds the classes of each other")
def _classes(setup: CheckSetup) -> None:
    assert setup.metadata.get_create_entity_type(Table) is CreateTableRequest
    assert setup.metadata.get_entity_from_create(CreateTableRequest) is Table
    assert isinstance(setup.metadata.metadata, OpenMetadata)
