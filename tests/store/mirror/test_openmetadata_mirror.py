"""Tests of the mirror of an OpenMetadata: what it brings, tells, hides and deletes, and what faults do to it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.mirrored import CLOCK, MAPPED, ORDERS, Mirrored, change_table
from tests.notifying import notify_all
from tests.openmetadata import (
    SCHEMA,
    SERVICE,
    TOKEN,
    Fault,
    a_label,
    a_table,
    now_ms,
    reference,
    table_id,
)
from tests.serving import KEY

from tocsin.access.permission_cache import PermissionCache
from tocsin.alerts.explanations.matching import match_trace
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import Conflict, InvalidSetting
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.sources.openmetadata.mirror import Mirror, RunOptions
from tocsin.sources.openmetadata.upstream import Access, Upstream
from tocsin.sources.openmetadata.writing import Writer
from tocsin.sources.process.build import read_status, run_once
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.upkeep.opening import open_store
from tocsin.store.upkeep.stored_settings import store_secret


def test_the_first_load_keeps_ids_times_and_authors_and_tells_nobody(each_mirror: Mirrored) -> None:
    each_mirror.alert()
    notify_all(each_mirror.engine)
    report = each_mirror.run()
    assert (report.errors, report.counts["created"]) == ([], 6)
    table = each_mirror.table()
    assert (table["id"], table["updatedAt"], table["updatedBy"]) == (table_id(0), 1_700_000_000_000, "upstream.admin")
    assert [label["tagFQN"] for label in table["tags"]] == ["Tier.Tier1"]
    assert "connection" not in each_mirror.catalogue.get("databaseService", Key.by_name("snow"))
    assert notify_all(each_mirror.engine) == 0


def test_a_second_run_writes_nothing(each_mirror: Mirrored) -> None:
    each_mirror.run()
    end = each_mirror.end()
    report = each_mirror.run(is_full=True)
    assert (each_mirror.end(), report.errors, set(report.counts)) == (end, [], {"same"})


@pytest.mark.parametrize("has_cursor", [True, False])
def test_a_change_upstream_is_told_once_with_its_id(each_mirror: Mirrored, *, has_cursor: bool) -> None:
    each_mirror.fake.has_cursor = has_cursor
    each_mirror.alert()
    each_mirror.run()
    notify_all(each_mirror.engine)
    after = change_table(each_mirror, description="New words.")
    event = each_mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    each_mirror.run()
    each_mirror.run(is_full=True)
    last = each_mirror.events()[-1]
    assert (last.id, last.user_name, last.timestamp) == (event["id"], "upstream.jane", event["timestamp"])
    assert each_mirror.table()["description"] == "New words."
    assert notify_all(each_mirror.engine) == 1


def test_duplicates_and_events_out_of_order_leave_the_newest_state(mirror: Mirrored) -> None:
    """Fault scenario 56."""
    mirror.run()
    base = now_ms()
    first = change_table(mirror, base + 1, description="First.")
    second = change_table(mirror, base + 2, description="Second.")
    for document in (second, first, second, first):
        mirror.fake.tell("entityUpdated", "table", document, document["updatedAt"], event_id=f"{document['version']}")
    mirror.fake.events[1]["id"] = mirror.fake.events[3]["id"] = "0b0c5a5e-5c0e-4c5e-9b55-0a8f3ad3a001"
    mirror.fake.events[0]["id"] = mirror.fake.events[2]["id"] = "0b0c5a5e-5c0e-4c5e-9b55-0a8f3ad3a002"
    end = mirror.end()
    mirror.run()
    mirror.run()
    assert mirror.table()["description"] == "Second."
    assert mirror.end() - end == 2


def test_an_event_without_its_entity_is_looked_up_and_one_whose_entity_is_gone_is_counted(mirror: Mirrored) -> None:
    """Fault scenario 56."""
    mirror.run()
    after = change_table(mirror, description="Looked up.")
    mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"], entity=None)
    absent = after | {"id": table_id(77)}
    mirror.fake.tell("entityUpdated", "table", absent, after["updatedAt"], entity=None)
    report = mirror.run()
    assert (mirror.table()["description"], report.counts["goneEntities"], report.errors) == ("Looked up.", 1, [])


def test_what_is_not_mapped_is_for_administrators_only_until_it_is_mapped(each_mirror: Mirrored) -> None:
    person = each_mirror.user("dia")
    bot = each_mirror.user("other-bot", isBot=True)
    each_mirror.run(Mapping())
    permissions = PermissionCache(SqlSubjects(each_mirror.engine))
    admin = People(each_mirror.engine).by_name("admin")
    assert admin is not None

    def may_view(user_id: str) -> bool:
        return permissions.current_policies().of(user_id).may(Operation.VIEW_BASIC, "table", each_mirror.table())

    assert [may_view(one) for one in (person.id, bot.id, admin.id)] == [False, False, True]
    notify_all(each_mirror.engine)
    each_mirror.alert()
    each_mirror.run(MAPPED, is_full=True)
    assert [may_view(one) for one in (person.id, bot.id, admin.id)] == [True, True, True]
    assert notify_all(each_mirror.engine) == 0  # a mapping is no news


def test_rights_secrets_and_people_of_the_source_stay_there(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1, "updatedBy": "admin"}
    mallory = {"id": table_id(90), "name": "mallory", "fullyQualifiedName": "mallory", "email": "m@example.org"}
    dia = {"id": table_id(91), "name": "diana", "fullyQualifiedName": "diana", "email": "DIA@example.org"}
    role = {"id": table_id(92), "type": "role", "name": "Admin"}
    mirror.fake.put("users", mallory | stamps | {"isAdmin": True, "roles": [role], "profile": {"subscription": {}}})
    mirror.fake.put("users", dia | stamps | {"isAdmin": True})
    dia_here = mirror.user("dia")
    table = mirror.fake.lists["tables"][table_id(0)]
    table["owners"] = [reference("user", dia), reference("user", mallory)]
    mirror.run()
    assert [owner["id"] for owner in mirror.table()["owners"]] == [dia_here.id]
    assert People(mirror.engine).by_name("mallory") is None
    mirror.run(Mapping(("snow",), has_people=True), is_full=True)
    mirrored_user = mirror.catalogue.get("user", Key.by_name("mallory"))
    assert (mirrored_user.get("isAdmin"), mirrored_user.get("roles"), mirrored_user.get("profile")) in [
        (None, None, None),
        (False, None, None),
    ]
    assert mirror.catalogue.get("user", Key.by_name("dia")).get("isAdmin") in (None, False)


def test_an_event_names_what_changed_and_nothing_that_the_server_works_out(each_mirror: Mirrored) -> None:
    each_mirror.run()
    after = change_table(each_mirror, description="Later.")
    each_mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    each_mirror.run()
    description = each_mirror.events()[-1].change_description
    assert list(description.paths()) == ["description"]


@pytest.mark.soak_on_postgresql
def test_an_owner_known_by_the_address_stays_in_later_runs(each_mirror: Mirrored) -> None:
    dia_here = each_mirror.user("dia")
    person = {"id": table_id(91), "name": "diana", "fullyQualifiedName": "diana", "email": "dia@example.org"}
    each_mirror.fake.put("users", person | {"version": 0.1, "updatedAt": 1, "updatedBy": "admin"})
    each_mirror.fake.lists["tables"][table_id(0)]["owners"] = [reference("user", person)]
    each_mirror.run()
    after = change_table(each_mirror, description="Later.")
    each_mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    for is_full in (False, True):
        each_mirror.run(is_full=is_full)
        assert [owner["id"] for owner in each_mirror.table()["owners"]] == [dia_here.id]
    assert each_mirror.table()["description"] == "Later."


def test_what_a_person_wrote_and_deleted_here_stays(mirror: Mirrored) -> None:
    mirror.run()
    admin = Actor("11111111-1111-4111-8111-111111111111", "ada", is_admin=True)
    operations = [{"op": "replace", "path": "/description", "value": "Ours."}]
    mirror.writes.patch("table", Key.by_name(ORDERS), operations, actor=admin)
    mirror.writes.delete("table", Key.by_name("snow.dwh.marts.orders_1"), actor=admin)
    change_table(mirror, description="Theirs.", displayName="Orders")
    second = mirror.fake.lists["tables"][table_id(1)]
    mirror.fake.put("tables", second | {"updatedAt": now_ms(), "description": "Again."})
    mirror.run(is_full=True)
    assert (mirror.table()["description"], mirror.table()["displayName"]) == ("Ours.", "Orders")
    assert mirror.table("snow.dwh.marts.orders_1")["deleted"] is True


def test_an_entity_that_was_here_before_stands_for_its_name_and_is_never_deleted(mirror: Mirrored) -> None:
    request = {"name": "snow", "serviceType": "Snowflake", "description": "Ours."}
    ours = mirror.writes.create("databaseService", request, actor=SYSTEM).document
    mirror.run()
    assert mirror.table()["service"]["id"] == ours["id"]
    mirror.fake.lists["services/databaseServices"] = {}
    mirror.fake.lists["tables"].pop(table_id(2))
    report = mirror.run(is_full=True)
    assert mirror.catalogue.get("databaseService", Key.by_name("snow"), "all")["deleted"] is False
    assert report.counts["deleted"] == 1


def test_deletions_follow_only_a_complete_list_and_stop_above_a_fifth(each_mirror: Mirrored) -> None:
    """Fault scenario 55."""
    schema = each_mirror.fake.lists["databaseSchemas"][SCHEMA]
    stamps = {"version": 0.1, "updatedAt": 1_700_000_000_000, "updatedBy": "x", "deleted": False}
    for number in range(3, 12):
        each_mirror.fake.put("tables", a_table(number, schema, stamps))
    each_mirror.run()
    each_mirror.fake.lists["tables"].pop(table_id(5))
    each_mirror.fake.faults = [Fault("/tables?", times=5)]
    report = each_mirror.run(is_full=True)
    assert (report.counts["deleted"], report.error_count) == (0, 1)
    assert each_mirror.run(is_full=True).counts["deleted"] == 1
    for number in range(6, 12):
        each_mirror.fake.lists["tables"].pop(table_id(number))
    report = each_mirror.run(is_full=True)
    assert (report.counts["deleted"], report.error_count) == (0, 1)
    assert "--allow-deletions" in report.errors[0]
    assert each_mirror.run(is_full=True, may_delete=True).counts["deleted"] == 6


def test_a_list_that_is_not_there_deletes_nothing(mirror: Mirrored) -> None:
    mirror.run()
    mirror.fake.lists.pop("tables")
    mirror.fake.absent = {"tables"}
    report = mirror.run(is_full=True, may_delete=True)
    assert (report.counts["deleted"], report.errors) == (0, [])


def test_a_deletion_leaves_what_people_added_below(mirror: Mirrored) -> None:
    mirror.run()
    column = [{"name": "id", "dataType": "INT"}]
    request = {"name": "ours", "databaseSchema": "snow.dwh.marts", "columns": column}
    mirror.writes.create("table", request, actor=SYSTEM)
    schema = mirror.fake.lists["databaseSchemas"].pop(SCHEMA)
    mirror.fake.tell("entityDeleted", "databaseSchema", schema, now_ms())
    report = mirror.run()
    assert "holds what the source did not bring" in report.errors[0]
    assert mirror.table("snow.dwh.marts.ours")["deleted"] is False


def test_a_name_that_came_back_is_the_same_entity(each_mirror: Mirrored) -> None:
    each_mirror.run()
    before = each_mirror.fake.lists["tables"].pop(table_id(0))
    each_mirror.fake.tell("entityDeleted", "table", before, now_ms())
    each_mirror.run()
    assert each_mirror.table()["deleted"] is True
    again = each_mirror.fake.put("tables", before | {"id": table_id(50), "updatedAt": now_ms(), "description": "Back."})
    each_mirror.fake.tell("entityCreated", "table", again, again["updatedAt"])
    report = each_mirror.run()
    table = each_mirror.table()
    assert (report.errors, table["id"], table["deleted"], table["description"]) == ([], table_id(0), False, "Back.")


def test_a_soft_deletion_and_a_restore_upstream_are_followed(mirror: Mirrored) -> None:
    mirror.run()
    deleted = change_table(mirror, deleted=True)
    mirror.fake.tell("entitySoftDeleted", "table", deleted, deleted["updatedAt"])
    mirror.run()
    assert mirror.table()["deleted"] is True
    restored = change_table(mirror, deleted=False)
    mirror.fake.tell("entityRestored", "table", restored, restored["updatedAt"])
    mirror.run()
    assert mirror.table()["deleted"] is False


def test_a_deletion_keeps_its_id_and_is_told_once_beside_older_events(each_mirror: Mirrored) -> None:
    each_mirror.run()
    before = each_mirror.fake.lists["databaseSchemas"][SCHEMA]
    for table in [*each_mirror.fake.lists["tables"].values(), before]:
        each_mirror.fake.tell(
            "entityCreated", "table" if "columns" in table else "databaseSchema", table, now_ms() - 1000
        )
    deleted_schema = each_mirror.fake.put("databaseSchemas", before | {"deleted": True, "updatedAt": now_ms()})
    for number in range(3):
        table = each_mirror.fake.lists["tables"][table_id(number)]
        each_mirror.fake.put("tables", table | {"deleted": True, "updatedAt": now_ms()})
    event = each_mirror.fake.tell("entitySoftDeleted", "databaseSchema", deleted_schema, deleted_schema["updatedAt"])
    assert each_mirror.run().errors == []
    last = each_mirror.events()[-1]
    assert (last.id, last.entity_id, each_mirror.table()["deleted"]) == (event["id"], SCHEMA, True)
    end = each_mirror.end()
    assert each_mirror.run().errors == each_mirror.run(is_full=True).errors == []
    assert each_mirror.end() == end


def test_what_events_deleted_for_good_is_not_counted_again(mirror: Mirrored) -> None:
    schema = mirror.fake.lists["databaseSchemas"][SCHEMA]
    for number in range(3, 12):
        mirror.fake.put("tables", a_table(number, schema, {"version": 0.1, "updatedAt": 1, "updatedBy": "x"}))
    mirror.run()
    for number in range(3, 12):
        mirror.fake.tell("entityDeleted", "table", mirror.fake.lists["tables"].pop(table_id(number)), now_ms())
    mirror.run()
    assert mirror.run(is_full=True).errors == []


def test_a_renamed_term_keeps_its_id(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1_700_000_000_000, "updatedBy": "x", "deleted": False, "description": "d"}
    glossary = {"id": table_id(60), "name": "biz", "fullyQualifiedName": "biz", **stamps}
    term = {"id": table_id(61), "name": "sale", "fullyQualifiedName": "biz.sale", **stamps}
    mirror.fake.put("glossaries", glossary)
    mirror.fake.put("glossaryTerms", term | {"glossary": reference("glossary", glossary)})
    mapping = Mapping(("snow", "biz"))
    assert mirror.run(mapping).errors == []
    renamed_term = term | {
        "name": "order",
        "fullyQualifiedName": "biz.order",
        "description": "new",
        "updatedAt": now_ms(),
    }
    mirror.fake.put("glossaryTerms", renamed_term | {"glossary": reference("glossary", glossary)})
    report = mirror.run(mapping, is_full=True)
    assert (report.errors, report.counts["changed"]) == ([], 1)
    document = mirror.catalogue.get("glossaryTerm", Key.by_name("biz.order"))
    assert (document["id"], document["description"]) == (table_id(61), "new")


def test_results_of_tests_and_runs_of_pipelines_come_as_reports(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1_700_000_000_000, "updatedBy": "x", "deleted": False}
    service = {"id": table_id(70), "name": "air", "fullyQualifiedName": "air", "serviceType": "Airflow", **stamps}
    pipeline = {"id": table_id(71), "name": "load", "fullyQualifiedName": "air.load", **stamps}
    mirror.fake.put("services/pipelineServices", service)
    mirror.fake.put("pipelines", pipeline | {"service": reference("pipelineService", service)})
    assert mirror.run(Mapping(("air", "snow"))).errors == []
    status: Document = {"timestamp": now_ms(), "executionStatus": "Failed", "taskStatus": []}
    change = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": status}]}
    mirror.fake.tell("entityUpdated", "pipeline", pipeline, status["timestamp"], changeDescription=change)
    report = mirror.run(Mapping(("air", "snow")))
    assert (report.errors, report.counts["changed"]) == ([], 1)
    assert mirror.events()[-1].entity_fully_qualified_name == "air.load"


FAULTS: dict[str, Callable[[], Fault]] = {
    "an error": lambda: Fault("/tables?", times=2),
    "a cut page": lambda: Fault("/tables?", 200, b'{"data": [{"id": "1', is_cut=True, times=2),
    "truncated JSON": lambda: Fault("/tables?", 200, b'{"data": [{"id": "1', times=2),
    "too many requests": lambda: Fault("/tables?", 429, b"{}", {"Retry-After": "7"}, times=1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_is_waited_out(mirror: Mirrored, fault: str) -> None:
    """Fault scenario 55."""
    mirror.fake.faults = [FAULTS[fault]()]
    report = mirror.run()
    assert (report.errors, report.counts["created"]) == ([], 6)
    assert mirror.waited[0] == (7.0 if fault == "too many requests" else 1.0)


@pytest.mark.soak_on_postgresql
def test_a_page_in_the_middle_that_fails_is_named_and_the_next_run_completes_the_load(each_mirror: Mirrored) -> None:
    """Fault scenario 55."""
    each_mirror.alert()
    notify_all(each_mirror.engine)
    each_mirror.fake.faults = [Fault("after=", times=5)]
    report = each_mirror.run()
    assert report.error_count == 1
    assert report.errors[0].startswith("tables after ")
    assert each_mirror.records.state().is_loaded is False
    report = each_mirror.run()
    assert (report.errors, report.counts["created"], each_mirror.records.state().is_loaded) == ([], 1, True)
    assert notify_all(each_mirror.engine) == 0


def test_a_token_that_is_refused_says_so_at_once(mirror: Mirrored) -> None:
    mirror.fake.faults = [Fault("/", 401, b"{}", times=10_000)]
    report = mirror.run()
    assert "check the token" in report.errors[0]
    assert mirror.waited == []


def test_an_address_that_egress_refuses_is_not_asked(mirror: Mirrored) -> None:
    access = Access(mirror.fake.address, TOKEN, egress_of([]))
    writer = Writer(mirror.writes, mirror.records, SYSTEM, MAPPED, CLOCK)
    with Upstream(access, CLOCK, mirror._wait) as upstream:
        report = Mirror(upstream, writer, CLOCK, RunOptions()).run()
    assert "egress" in report.errors[0]
    assert mirror.fake.addresses == []


def test_a_field_that_the_server_does_not_know_is_left_out(mirror: Mirrored) -> None:
    mirror.fake.unknown_fields = {"domains", "dataProducts"}
    assert mirror.run().errors == []


def test_events_that_are_too_many_or_too_old_are_replaced_by_the_lists(mirror: Mirrored) -> None:
    mirror.run()
    state = mirror.records.state()
    mirror.records.save(type(state)(**{**vars(state), "watermark_ms": now_ms() - 3 * 86_400_000}))
    change_table(mirror, description="Meanwhile.")
    mirror.fake.addresses.clear()
    report = mirror.run()
    assert (mirror.table()["description"], report.errors) == ("Meanwhile.", [])
    assert not [path for path in mirror.fake.addresses if path.startswith("/api/v1/events")]


@pytest.mark.soak_on_postgresql
def test_a_dry_run_keeps_nothing_and_says_what_would_change(each_mirror: Mirrored) -> None:
    end = each_mirror.end()
    report = each_mirror.run(is_dry=True)
    assert (report.errors, report.counts["created"], each_mirror.end()) == ([], 6, end)
    assert each_mirror.records.state().watermark_ms is None
    each_mirror.run()
    end = each_mirror.end()
    change_table(each_mirror, description="Later.")
    report = each_mirror.run(is_dry=True, is_full=True)
    assert [(row["what"], row["fullyQualifiedName"]) for row in report.would] == [("changed", ORDERS)]
    assert each_mirror.end() == end


def test_a_run_that_is_killed_between_two_entities_goes_on_without_loss_or_double(each_mirror: Mirrored) -> None:
    """Fault scenario 57."""
    numbers = count(1)
    each_mirror.run_killed(lambda _entity: next(numbers) == 6)
    report = each_mirror.run()
    assert report.errors == []
    created = [event.entity_id for event in each_mirror.events() if event.event_type.value == "entityCreated"]
    assert len(created) == len(set(created))
    assert each_mirror.table("snow.dwh.marts.orders_2")["id"] == table_id(2)
    assert {row.is_brought for row in each_mirror.records.entities()} == {True}


def test_labels_and_columns_follow_the_source(mirror: Mirrored) -> None:
    mirror.run()
    before = mirror.fake.lists["tables"][table_id(0)]
    columns = [before["columns"][0] | {"tags": []}, {"name": "total", "dataType": "DECIMAL", "tags": []}]
    change_table(mirror, tags=[a_label("Tier.Tier2")], columns=columns)
    assert mirror.run(is_full=True).errors == []
    table = mirror.table()
    assert [label["tagFQN"] for label in table["tags"]] == ["Tier.Tier2"]
    assert [column["name"] for column in table["columns"]] == ["id", "total"]
    assert not table["columns"][0].get("tags")


def test_a_service_of_the_source_has_its_id(mirror: Mirrored) -> None:
    mirror.run()
    assert mirror.catalogue.get("databaseService", Key.by_id(SERVICE))["name"] == "snow"


def test_a_label_that_is_not_valid_here_does_not_take_the_mark_with_it(mirror: Mirrored) -> None:
    mirror.fake.lists["tables"][table_id(0)]["tags"] = [a_label("Tier.Tier1"), a_label("Tier.Tier2")]
    person = mirror.user("dia")
    report = mirror.run(Mapping())
    assert report.errors == []
    labels = [label["tagFQN"] for label in mirror.table()["tags"]]
    assert "Mirrored.Unmapped" in labels
    permissions = PermissionCache(SqlSubjects(mirror.engine)).current_policies().of(person.id)
    assert not permissions.may(Operation.VIEW_BASIC, "table", mirror.table())


def test_tests_of_the_source_and_their_results_come_and_tests_of_people_keep_a_table(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1_700_000_000_000, "updatedBy": "x", "deleted": False}
    name = "tableRowCountToEqual"
    definition = {"id": table_id(80), "name": name, "fullyQualifiedName": name, "entityType": "TABLE", **stamps}
    table = mirror.fake.lists["tables"][table_id(0)]
    suite_name = f"{ORDERS}.testSuite"
    suite = {"id": table_id(81), "name": suite_name, "fullyQualifiedName": suite_name, "basic": True, **stamps}
    case = {"id": table_id(82), "name": "rows", "fullyQualifiedName": f"{ORDERS}.rows", **stamps}
    case |= {"entityLink": f"<#E::table::{ORDERS}>", "testDefinition": reference("testDefinition", definition)}
    mirror.fake.put("dataQuality/testDefinitions", definition | {"testPlatforms": ["OpenMetadata"]})
    mirror.fake.put("dataQuality/testSuites", suite | {"basicEntityReference": reference("table", table)})
    mirror.fake.put("dataQuality/testCases", case | {"testSuite": reference("testSuite", suite)})
    mapping = Mapping(("*",))
    assert mirror.run(mapping).errors == []
    test_case = mirror.catalogue.get("testCase", Key.by_name(f"{ORDERS}.rows"))
    assert test_case["id"] == table_id(82)
    result: Document = {"timestamp": now_ms(), "testCaseStatus": "Failed", "result": "0 rows"}
    change = {"fieldsUpdated": [{"name": "testCaseResult", "newValue": result}]}
    mirror.fake.tell("entityUpdated", "testCase", case, result["timestamp"], changeDescription=change)
    assert mirror.run(mapping).errors == []
    failures = [event for event in mirror.events() if event.event_type.value == "testCaseFailure"]
    assert [event.entity_fully_qualified_name for event in failures] == [f"{ORDERS}.rows"]
    second = "snow.dwh.marts.orders_1"
    request = {"name": "ours", "entityLink": f"<#E::table::{second}>", "testDefinition": name}
    mirror.writes.create("testCase", request, actor=SYSTEM)
    mirror.fake.tell("entityDeleted", "table", mirror.fake.lists["tables"].pop(table_id(1)), now_ms())
    assert "holds what the source did not bring" in mirror.run(mapping).errors[0]
    assert mirror.table(second)["deleted"] is False


def test_an_explanation_says_that_history_notifies_nobody(mirror: Mirrored) -> None:
    mirror.alert()
    mirror.run()
    alert = next(one for one in Subscriptions(mirror.engine).list_enabled() if one.name == "all")
    logged = EventLog(mirror.engine).read(0, 10_000)[-1]
    assert logged.event.entity_type == "table"
    assert "as history" in str(match_trace(alert, logged))


def test_a_term_that_is_not_mapped_labels_nothing(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1_700_000_000_000, "updatedBy": "x", "deleted": False, "description": "d"}
    glossary = {"id": table_id(60), "name": "secret", "fullyQualifiedName": "secret", **stamps}
    term = {"id": table_id(61), "name": "merger", "fullyQualifiedName": "secret.merger", **stamps}
    mirror.fake.put("glossaries", glossary)
    mirror.fake.put("glossaryTerms", term | {"glossary": reference("glossary", glossary)})
    label = a_label("secret.merger") | {"source": "Glossary"}
    mirror.fake.lists["tables"][table_id(0)]["tags"] = [label]
    for _ in range(2):
        assert mirror.run(is_full=True).errors == []
        assert not mirror.table().get("tags")
    assert mirror.run(Mapping(("snow", "secret")), is_full=True).errors == []
    assert [one["tagFQN"] for one in mirror.table()["tags"]] == ["secret.merger"]


def test_a_run_by_the_settings_takes_turns_and_leaves_a_status(mirror: Mirrored, tmp_path: Path) -> None:
    settings = Settings(
        database_url=mirror.engine.url.render_as_string(hide_password=False),
        data_dir=tmp_path,
        secrets_key=SecretStr(KEY),
        openmetadata_url=mirror.fake.address,
        egress_allow=("127.0.0.0/8",),
    )
    with pytest.raises(InvalidSetting, match="admin secret openmetadata_token"):
        run_once(settings, RunOptions())
    with open_store(settings) as engine:
        store_secret(engine, "openmetadata_token", TOKEN)
    assert run_once(settings, RunOptions())["counts"] == {"created": 6}
    lead = RelayLead(mirror.engine, "source-openmetadata", CLOCK, lease_s=60)
    assert lead.try_to_take()
    with pytest.raises(Conflict, match="Another run"):
        run_once(settings, RunOptions())
    lead.give_up()
    status = read_status(mirror.engine)
    assert (status["loaded"], status["mirrored"], status["lastRun"]["errorCount"]) == (True, 6, 0)


def test_no_person_of_the_source_takes_over_an_account_or_a_team(mirror: Mirrored) -> None:
    stamps = {"version": 0.1, "updatedAt": 1, "updatedBy": "admin"}
    admin = {"id": table_id(90), "name": "admin", "fullyQualifiedName": "admin", "email": "mallory@example.org"}
    team = {"id": table_id(91), "name": "powers", "fullyQualifiedName": "powers", "teamType": "Group"}
    mallory = {"id": table_id(92), "name": "mallory", "fullyQualifiedName": "mallory", "email": "m@example.org"}
    ours = mirror.user("dia")
    mirror.writes.create(
        "team", {"name": "powers", "teamType": "Group", "policies": ["DataStewardPolicy"]}, actor=SYSTEM
    )
    mirror.fake.put("users", admin | stamps)
    mirror.fake.put("users", mallory | stamps | {"teams": [reference("team", team)]})
    mirror.fake.put("teams", team | stamps | {"email": "dia@example.org", "policies": [], "description": "Theirs."})
    mapping = Mapping(("*",), has_people=True)
    mirror.run(mapping)
    assert People(mirror.engine).by_email("mallory@example.org") is None
    person = People(mirror.engine).by_email("m@example.org")
    assert person is not None
    permissions = PermissionCache(SqlSubjects(mirror.engine)).current_policies().of(person.id)
    assert permissions.subject.team_names == {"Organization"}
    assert mirror.catalogue.get("team", Key.by_name("powers")).get("description") is None
    assert ours.id not in {row.entity_id for row in mirror.records.entities()}
    mirror.fake.put("users", mallory | stamps | {"email": "dia2@example.org", "updatedAt": now_ms()})
    mirror.run(mapping, is_full=True)
    assert People(mirror.engine).by_email("dia2@example.org") is None
