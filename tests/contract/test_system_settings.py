"""Tests of OpenMetadata's system settings, as far as its client and its workflows act on them."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served

PROFILER = {"config_type": "profilerConfiguration"}
METRICS = {"metricConfiguration": [{"dataType": "INT", "metrics": ["min"], "disabled": False}]}


def profiler(client: httpx.Client) -> Json:
    return client.get("/system/settings/profilerConfiguration").json()["config_value"]


def test_the_profilers_settings_are_kept_until_they_are_reset(served: Served, administrator: httpx.Client) -> None:
    sent_metrics = METRICS | {"sampleDataConfig": None}
    write_answer = administrator.put("/system/settings", json=PROFILER | {"config_value": sent_metrics})
    assert (write_answer.status_code, write_answer.json()) == (200, PROFILER | {"config_value": METRICS})
    assert profiler(administrator) == METRICS
    listed_settings = administrator.get("/system/settings").json()
    values = {one["config_type"]: one["config_value"] for one in listed_settings["data"]}
    assert values.pop("openLineageSettings")["enabled"] is True
    assert values == {
        "profilerConfiguration": METRICS,
        "assetCertificationSettings": {"allowedClassification": "Certification", "validityPeriod": "P30D"},
    }
    _, client = served.person("alice")
    with client:
        assert profiler(client) == METRICS
        assert client.put("/system/settings", json=write_answer.json()).status_code == 403
        assert client.put("/system/settings/reset/profilerConfiguration").status_code == 403
    assert administrator.put("/system/settings/reset/profilerConfiguration").status_code == 200
    assert profiler(administrator) == {"metricConfiguration": []}


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        ({"config_type": "profilerConfig", "config_value": {}}, 404, "profilerConfiguration"),
        ({"config_value": {}}, 404, "There is no setting"),
        (PROFILER, 400, "config_value: must be an object"),
        (PROFILER | {"config_value": {"metricConfiguration": [{"spoon": 1}]}}, 400, "spoon"),
        (PROFILER | {"config_value": {"metricConfiguration": [{"metrics": [1]}]}}, 400, "metrics"),
        ({"config_type": "assetCertificationSettings", "config_value": {}}, 400, "cannot be changed"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(administrator: httpx.Client, sent: Json, status: int, says: str) -> None:
    answer = administrator.put("/system/settings", json=sent)
    assert (answer.status_code, answer.json()["code"]) == (status, status)
    assert says in answer.json()["message"]
    assert profiler(administrator) == {"metricConfiguration": []}
