"""Tests of profiles and samples: storage, masking, and events without sample values."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.contract.standards import problems
from tests.contract.test_access import restrict
from tests.serving import Json, Served, table

from tocsin.access.sample_masks import MASK

_ORDERS = "warehouse.shop.public.orders"
_PROFILE: Json = {
    "tableProfile": {"timestamp": 1_700_000_000_000, "rowCount": 42, "columnCount": 2},
    "columnProfile": [
        {"name": "email", "timestamp": 1_700_000_000_000, "min": "anna@example.org", "nullCount": 2},
        {"name": "id", "timestamp": 1_700_000_000_000, "max": 41.0},
    ],
    "systemProfile": [{"timestamp": 1_700_000_000_000, "operation": "INSERT", "rowsAffected": 7}],
}
_PRIVATE = [{"tagFQN": "PII.Sensitive"}]
_SAMPLE = {"columns": ["id", "email"], "rows": [[1, "anna@example.org"], [2, None]]}


@pytest.fixture
def private(administrator: httpx.Client, orders: Json) -> Json:
    """The table of orders, its column ``email`` tagged."""
    label = [{"op": "add", "path": "/columns/1/tags/0", "value": {"tagFQN": "PII.Sensitive"}}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(label), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _events(client: httpx.Client, entity_id: str) -> list[Json]:
    answer = client.get("/events", params={"entityId": entity_id, "limit": 1000, "format": "tocsin"})
    events: list[Json] = answer.json()["data"]
    return events


def test_a_profile_is_kept_and_reported_without_a_version(administrator: httpx.Client, orders: Json) -> None:
    before = len(_events(administrator, orders["id"]))
    answer = administrator.put(f"/tables/{orders['id']}/tableProfile", json=_PROFILE)
    assert answer.status_code == 200, answer.text
    assert problems("entity/data/table.json", answer.json()) == []
    assert (answer.json()["profile"], answer.json()["version"]) == (_PROFILE["tableProfile"], orders["version"])
    assert administrator.put(f"/tables/{orders['id']}/tableProfile", json=_PROFILE).is_success
    (event,) = _events(administrator, orders["id"])[before:]
    assert [one["name"] for one in event["changeDescription"]["fieldsAdded"]] == ["profile"]
    assert event["currentVersion"] == event["previousVersion"]
    assert "anna@" not in json.dumps(event)


def test_profiles_are_read_by_table_column_and_statement(administrator: httpx.Client, orders: Json) -> None:
    for at_ms in (1, 2, 3):
        profile = {
            "tableProfile": {"timestamp": at_ms, "rowCount": at_ms},
            "columnProfile": [{"name": "id", "timestamp": at_ms}],
            "systemProfile": [{"timestamp": at_ms, "operation": "DELETE"}],
        }
        assert administrator.put(f"/tables/{orders['id']}/tableProfile", json=profile).is_success
    for path in (f"{_ORDERS}/tableProfile", f"{_ORDERS}.id/columnProfile", f"{_ORDERS}/systemProfile"):
        answer = administrator.get(f"/tables/{path}", params={"startTs": 1, "endTs": 2, "limit": 1}).json()
        assert [one["timestamp"] for one in answer["data"]] == [2], path
        assert answer["paging"]["total"] == 2
        next_page = administrator.get(f"/tables/{path}", params={"endTs": 2, "after": answer["paging"]["after"]}).json()
        assert [one["timestamp"] for one in next_page["data"]] == [1]
    latest = administrator.get(f"/tables/{_ORDERS}/tableProfile/latest").json()
    assert problems("entity/data/table.json", latest) == []
    assert (latest["profile"]["rowCount"], latest["columns"][0]["profile"]["timestamp"]) == (3, 3)
    assert administrator.get(f"/tables/name/{_ORDERS}", params={"fields": "profile"}).json()["profile"]["rowCount"] == 3
    assert "profile" not in administrator.get(f"/tables/name/{_ORDERS}").json()
    listed_tables = administrator.get("/tables", params={"fields": "profile"}).json()["data"]
    assert [one["profile"]["rowCount"] for one in listed_tables] == [3]


def test_a_profile_can_be_forgotten(administrator: httpx.Client, orders: Json) -> None:
    administrator.put(f"/tables/{orders['id']}/tableProfile", json=_PROFILE)
    at_ms = _PROFILE["tableProfile"]["timestamp"]
    for path in (f"{_ORDERS}/table", f"{_ORDERS}.email/column", f"{_ORDERS}/system"):
        assert administrator.delete(f"/tables/{path}/{at_ms}/profile").status_code == 200, path
        assert administrator.delete(f"/tables/{path}/{at_ms}/profile").status_code == 404, path
    assert _events(administrator, orders["id"])[-1]["changeDescription"]["fieldsDeleted"][0]["name"] == "profile"
    assert "profile" not in administrator.get(f"/tables/{_ORDERS}/tableProfile/latest").json()


@pytest.mark.parametrize(
    "profile",
    [
        {},
        {"tableProfile": {}},
        {"tableProfile": {"timestamp": "now"}},
        {"tableProfile": {"timestamp": 1}, "columnProfile": [{"name": "spoon", "timestamp": 1}]},
        {"tableProfile": {"timestamp": 1}, "columnProfile": {}},
        {"tableProfile": {"timestamp": 1}, "systemProfile": [{"timestamp": 1, "operation": "DROP"}]},
        {"tableProfile": {"timestamp": 1, "profileSampleType": "SOME"}},
    ],
)
def test_a_malformed_profile_is_refused(administrator: httpx.Client, orders: Json, profile: Json) -> None:
    answer = administrator.put(f"/tables/{orders['id']}/tableProfile", json=profile)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_a_sample_is_masked_for_all_but_owners_bots_and_administrators(
    served: Served, administrator: httpx.Client, private: Json
) -> None:
    path = f"/tables/{private['id']}/sampleData"
    assert administrator.put(path, json=_SAMPLE).json()["sampleData"] == _SAMPLE
    administrator.put(f"/tables/{private['id']}/tableProfile", json=_PROFILE)
    alice_id, alice = served.person("alice")
    _, bot = served.person("robot", isBot=True)
    with alice, bot:
        table_for_alice = alice.get(path).json()
        assert problems("entity/data/table.json", table_for_alice) == []
        assert table_for_alice["sampleData"]["rows"] == [[1, MASK], [2, MASK]]
        column = alice.get(f"/tables/{_ORDERS}/tableProfile/latest").json()["columns"][1]
        assert column["profile"] == {"name": "email", "timestamp": 1_700_000_000_000, "nullCount": 2}
        assert "min" not in alice.get(f"/tables/{_ORDERS}.email/columnProfile").json()["data"][0]
        assert bot.get(path).json()["sampleData"] == administrator.get(path).json()["sampleData"] == _SAMPLE
        owner = [{"op": "add", "path": "/owners/0", "value": {"id": alice_id, "type": "user"}}]
        administrator.patch(f"/tables/{private['id']}", content=json.dumps(owner))
        assert alice.get(path).json()["sampleData"] == _SAMPLE
        assert alice.get(f"/tables/{_ORDERS}.email/columnProfile").json()["data"][0]["min"] == "anna@example.org"


def test_profiles_of_all_tables_are_read_by_time_and_kind(administrator: httpx.Client, orders: Json) -> None:
    people = table(administrator, "people")
    for at_ms, profiled_table in ((1, orders), (2, people), (3, orders)):
        profile = {
            "tableProfile": {"timestamp": at_ms, "rowCount": at_ms},
            "columnProfile": [{"name": "id", "timestamp": at_ms}],
            "systemProfile": [{"timestamp": at_ms, "operation": "DELETE"}],
        }
        assert administrator.put(f"/tables/{profiled_table['id']}/tableProfile", json=profile).is_success
    first = administrator.get("/entity/profiles/table", params={"endTs": 2, "limit": 4}).json()
    keys = {"id", "entityReference", "timestamp", "profileType", "profileData"}
    assert [set(one) for one in first["data"]] == [keys] * 4
    next_page = administrator.get(
        "/entity/profiles/table", params={"endTs": 2, "after": first["paging"]["after"]}
    ).json()
    assert (first["paging"]["total"], next_page["paging"]) == (6, {"total": 6, "before": None, "after": None})
    read = [(one["timestamp"], one["profileType"]) for one in (*first["data"], *next_page["data"])]
    assert read == [(at_ms, of) for at_ms in (2, 1) for of in ("column", "system", "table")]
    assert len({one["id"] for one in (*first["data"], *next_page["data"])}) == 6
    tables = administrator.get("/entity/profiles/table", params={"startTs": 2, "profileType": "table"}).json()["data"]
    assert [(one["entityReference"]["id"], one["profileData"]["rowCount"]) for one in tables] == [
        (orders["id"], 3),
        (people["id"], 2),
    ]
    administrator.delete(f"/tables/{people['id']}")
    assert administrator.get("/entity/profiles/table").json()["paging"]["total"] == 6
    for path in ("topic", "nothing", "table?profileType=row", "table?after=YWJj", "table?after=MXxh"):
        assert administrator.get(f"/entity/profiles/{path}").status_code == 400, path


def test_profiles_of_all_tables_are_masked_and_leave_out_what_one_may_not_see(
    served: Served, administrator: httpx.Client, private: Json
) -> None:
    administrator.put(f"/tables/{private['id']}/tableProfile", json=_PROFILE)
    _, alice = served.person("alice")
    path = "/entity/profiles/table?profileType=column"
    with alice:
        columns_for_alice = {one["profileData"]["name"]: one["profileData"] for one in alice.get(path).json()["data"]}
        assert columns_for_alice["email"] == {"name": "email", "timestamp": 1_700_000_000_000, "nullCount": 2}
        assert columns_for_alice["id"]["max"] == 41.0
        all_profiles = administrator.get(path).json()["data"]
        assert {one["profileData"].get("min") for one in all_profiles} == {"anna@example.org", None}
    bob_id, bob = served.person("bob")
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["table"], "condition": "!matchAnyTag('X.Y')"})
    with bob:
        assert bob.get(path).json() == {"data": [], "paging": {"total": 0, "before": None, "after": None}}


def test_a_sample_shows_nowhere_else(administrator: httpx.Client, private: Json) -> None:
    events = len(_events(administrator, private["id"]))
    administrator.put(f"/tables/{private['id']}/sampleData", json=_SAMPLE)
    change = [
        {"op": "add", "path": "/sampleData", "value": _SAMPLE},
        {"op": "add", "path": "/description", "value": "x"},
    ]
    administrator.patch(f"/tables/{private['id']}", content=json.dumps(change))
    table_events = _events(administrator, private["id"])
    assert len(table_events) == events + 1
    versions = administrator.get(f"/tables/{private['id']}/versions").text
    read = administrator.get(f"/tables/{private['id']}?fields=*").text
    search_answer = administrator.get("/search/query", params={"q": "anna@example.org", "index": "all"}).text
    assert not any("anna@example.org" in text for text in (json.dumps(table_events), versions, read))
    assert json.loads(search_answer).get("hits", {"hits": []})["hits"] == []


def test_a_sample_can_be_taken_away_and_must_fit_the_table(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}/sampleData"
    samples: tuple[Json, ...] = (
        {"columns": ["spoon"], "rows": []},
        {"columns": ["id"], "rows": [[1, 2]]},
        {"columns": "id", "rows": []},
        {"rows": []},
        {"columns": [], "rows": [], "more": 1},
    )
    for sample in samples:
        assert administrator.put(path, json=sample).status_code == 400, sample
    assert administrator.put(path, json=_SAMPLE).is_success
    assert administrator.delete(path).is_success
    assert "sampleData" not in administrator.get(path).json()
    assert administrator.delete(path).is_success
    user = administrator.get("/users/loggedInUser").json()["id"]
    assert administrator.get(f"/users/{user}/sampleData").status_code == 404


def test_topics_have_samples_too(served: Served, administrator: httpx.Client) -> None:
    administrator.post("/services/messagingServices", json={"name": "kafka", "serviceType": "Kafka"})
    request = {"name": "clicks", "service": "kafka", "partitions": 1, "tags": [{"tagFQN": "PII.Sensitive"}]}
    topic = administrator.post("/topics", json=request).json()
    path = f"/topics/{topic['id']}/sampleData"
    answer = administrator.put(path, json={"messages": ["secret"]}).json()
    assert problems("entity/data/topic.json", answer) == []
    assert answer["sampleData"] == {"messages": ["secret"]}
    _, alice = served.person("alice")
    with alice:
        assert alice.get(path).json()["sampleData"] == {"messages": [MASK]}


def test_containers_have_samples_of_whatever_columns(served: Served, administrator: httpx.Client) -> None:
    administrator.post("/services/storageServices", json={"name": "s3", "serviceType": "S3"})
    columns = [{"name": "id", "dataType": "INT"}, {"name": "mail", "dataType": "STRING", "tags": _PRIVATE}]
    request = {"name": "people.csv", "service": "s3", "dataModel": {"isPartitioned": False, "columns": columns}}
    container = administrator.post("/containers", json=request).json()
    path = f"/containers/{container['id']}/sampleData"
    sample = {"columns": ["id", "mail", "written otherwise"], "rows": [[1, "anna@example.org", "anna@example.org"]]}
    answer = administrator.put(path, json=sample).json()
    assert answer.pop("sampleData") == sample
    assert problems("entity/data/container.json", answer) == []
    assert administrator.put(path, json=sample | {"rows": [[1]]}).status_code == 400
    _, alice = served.person("alice")
    with alice:
        assert alice.get(path).json()["sampleData"]["rows"] == [[1, MASK, MASK]]
    assert administrator.get(path).json()["sampleData"] == sample
    assert administrator.delete(path).is_success
    assert "sampleData" not in administrator.get(path).json()


def test_whoever_owns_what_a_table_lies_in_through_a_team_sees_its_sample(
    served: Served, administrator: httpx.Client, private: Json
) -> None:
    path = f"/tables/{private['id']}/sampleData"
    administrator.put(path, json=_SAMPLE)
    shop = administrator.post("/teams", json={"name": "Shop", "teamType": "Department"}).json()
    tills = administrator.post("/teams", json={"name": "Tills", "teamType": "Group", "parents": [shop["id"]]}).json()
    _, alice = served.person("alice", teams=[tills["id"]])
    schema = administrator.get("/databaseSchemas/name/warehouse.shop.public").json()
    owner = [{"op": "add", "path": "/owners/0", "value": {"id": shop["id"], "type": "team"}}]
    with alice:
        assert alice.get(path).json()["sampleData"]["rows"] == [[1, MASK], [2, MASK]]
        assert administrator.patch(f"/databaseSchemas/{schema['id']}", content=json.dumps(owner)).is_success
        assert alice.get(path).json()["sampleData"] == _SAMPLE


def test_rows_that_failed_a_test_are_masked_like_the_table(
    served: Served, administrator: httpx.Client, private: Json
) -> None:
    del private
    request = {
        "name": "no_nulls",
        "entityLink": f"<#E::table::{_ORDERS}::columns::email>",
        "testDefinition": "columnValuesToBeNotNull",
    }
    case = administrator.post("/dataQuality/testCases", json=request).json()
    path = f"/dataQuality/testCases/{case['id']}/failedRowsSample"
    answer = administrator.put(path, json=_SAMPLE).json()
    assert answer["failedRowsSample"] == _SAMPLE
    assert problems("tests/testCase.json", answer) == []
    assert administrator.put(path, json={"columns": ["x"], "rows": []}).status_code == 400
    assert administrator.put(f"{path}?validate=false", json={"columns": ["x"], "rows": []}).status_code == 200
    administrator.put(path, json=_SAMPLE)
    result = {"timestamp": 1, "testCaseStatus": "Failed", "sampleData": "anna@example.org"}
    results = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
    assert administrator.post(results, json=result).is_success
    _, alice = served.person("alice")
    with alice:
        assert alice.get(path).json()["rows"] == [[1, MASK], [2, MASK]]
        assert alice.get(results).json()["data"][0]["sampleData"] == MASK
        assert alice.get(f"{results}/latest").json()["sampleData"] == MASK
        renamed_sample = {"columns": ["e"], "rows": [["anna@example.org"]]}
        assert administrator.put(f"{path}?validate=false", json=renamed_sample).is_success
        assert alice.get(path).json()["rows"] == [[MASK]]
    assert administrator.get(results).json()["data"][0]["sampleData"] == "anna@example.org"
    assert administrator.delete(path).is_success
    assert administrator.get(path).json() == {"columns": [], "rows": []}


def test_rows_that_failed_a_test_are_kept_until_its_newest_result_is_a_success(
    administrator: httpx.Client, orders: Json
) -> None:
    del orders
    request = {"name": "rows", "entityLink": f"<#E::table::{_ORDERS}>", "testDefinition": "tableRowCountToEqual"}
    case = administrator.post("/dataQuality/testCases", json=request).json()
    path = f"/dataQuality/testCases/{case['id']}/failedRowsSample"
    results = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
    sample = {"columns": ["id"], "rows": [[1], [2]]}

    def is_kept_after(timestamp: int, status: str) -> bool:
        result = {"timestamp": timestamp, "testCaseStatus": status}
        assert administrator.post(results, json=result).is_success
        return bool(administrator.get(path).json() == sample)

    is_kept_after(10, "Failed")
    assert administrator.put(path, json=sample).is_success
    assert [is_kept_after(5, "Success"), is_kept_after(20, "Aborted"), is_kept_after(30, "Success")] == [
        True,
        True,
        False,
    ]
    assert administrator.get(path).json() == {"columns": [], "rows": []}


def test_rows_that_failed_a_test_belong_to_the_result_that_is_named(administrator: httpx.Client, orders: Json) -> None:
    del orders
    request = {"name": "rows", "entityLink": f"<#E::table::{_ORDERS}>", "testDefinition": "tableRowCountToEqual"}
    case = administrator.post("/dataQuality/testCases", json=request).json()
    path = f"/dataQuality/testCases/{case['id']}/failedRowsSample"
    results = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
    sample: Json = {"columns": ["id"], "rows": [[1], [2]]}
    none: Json = {"columns": [], "rows": []}

    def answer_to(at_ms: object) -> tuple[int, str]:
        answer = administrator.put(path, params={"timestamp": str(at_ms)}, json=sample)
        return answer.status_code, str(answer.json().get("message", ""))

    for at_ms, status in ((1_760_000_000_000, "Success"), (1_760_000_060_000, "Failed")):
        result = {"timestamp": at_ms, "testCaseStatus": status}
        assert administrator.post(results, json=result).is_success
    assert answer_to(1_760_000_060_000)[0] == 200
    assert answer_to(1_760_000_120_000)[0] == 200, "its result is reported later"
    code, message = answer_to(1_760_000_000_000)
    assert (code, "has a newer one, of 1760000060000" in message) == (409, True)
    code, message = answer_to(1_760_000_060)
    assert (code, "looks like seconds" in message) == (400, True)
    assert [answer_to(wrong)[0] for wrong in (-1, "x", 10**20)] == [400, 400, 400]
    answers = {at_ms: administrator.get(path, params={"timestamp": at_ms}).json() for at_ms in (0, 1_760_000_120_000)}
    assert answers == {0: none, 1_760_000_120_000: sample}
    assert administrator.get(path).json() == sample
    assert administrator.put(path, json=sample | {"timestamp": 1}).status_code == 400, "the body is OpenMetadata's"
    success = {"timestamp": 1_760_000_120_000, "testCaseStatus": "Success"}
    assert administrator.post(results, json=success).is_success
    assert administrator.get(path).json() == none
    code, message = answer_to(1_760_000_120_000)
    assert (code, "is a success: no rows failed" in message) == (400, True)


def test_rows_of_a_column_that_was_masked_stay_masked_whatever_has_its_name_now(
    served: Served, administrator: httpx.Client, private: Json
) -> None:
    request = {"name": "rows", "entityLink": f"<#E::table::{_ORDERS}>", "testDefinition": "tableRowCountToEqual"}
    case = administrator.post("/dataQuality/testCases", json=request).json()
    path = f"/dataQuality/testCases/{case['id']}/failedRowsSample"
    assert administrator.put(path, json=_SAMPLE).json()["failedRowsSample"] == _SAMPLE
    untagged_columns = [{key: value for key, value in column.items() if key != "tags"} for column in private["columns"]]
    for columns in (untagged_columns[:1], untagged_columns):
        patch = [{"op": "replace", "path": "/columns", "value": columns}]
        headers = {"Content-Type": "application/json-patch+json"}
        answer = administrator.patch(f"/tables/{private['id']}", content=json.dumps(patch), headers=headers)
        assert answer.is_success, answer.text
    _, alice = served.person("alice")
    with alice:
        assert alice.get(path).json() == {"columns": ["id", "email"], "rows": [[1, MASK], [2, MASK]]}
    assert administrator.get(path).json() == _SAMPLE


def test_a_query_that_shows_what_failed_is_kept(administrator: httpx.Client, orders: Json) -> None:
    del orders
    request = {"name": "rows", "entityLink": f"<#E::table::{_ORDERS}>", "testDefinition": "tableRowCountToEqual"}
    case = administrator.post("/dataQuality/testCases", json=request).json()
    path = f"/dataQuality/testCases/{case['id']}"
    for body in (b"SELECT 1 FROM orders", b'"SELECT 1 FROM orders"'):
        answer = administrator.put(f"{path}/inspectionQuery", content=body)
        assert (answer.status_code, answer.json()["inspectionQuery"]) == (200, "SELECT 1 FROM orders")
    assert (
        administrator.get(path, params={"fields": "inspectionQuery"}).json()["inspectionQuery"]
        == "SELECT 1 FROM orders"
    )
    assert "inspectionQuery" not in administrator.put(f"{path}/inspectionQuery", content=b"").json()
    assert administrator.put(f"{path}/inspectionQuery", content=b"\xff").status_code == 400
    assert administrator.put(f"{path}/inspectionQuery", content=b"a\0b").status_code == 400
