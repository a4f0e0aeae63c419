"""Tests of what administrators read of the server: its settings, quotas of people, and how long notifications took."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.contract.test_inbox import CatalogueWriter
from tests.serving import Json, Served

from tocsin.model.address import MASK
from tocsin.model.shown_settings import ShownSetting, names_in_file, settings_to_show
from tocsin.settings import Settings
from tocsin.store.upkeep.stored_settings import store_secret


def test_settings_say_where_each_was_set_and_its_default(administrator: httpx.Client, sqlite_engine: Engine) -> None:
    store_secret(sqlite_engine, "pulsar_token", "opensesame")
    answer = administrator.get("/system/server/settings")
    assert "opensesame" not in answer.text
    settings = {one["name"]: one for one in answer.json()["data"]}
    assert list(settings) == list(Settings.model_fields)
    assert settings["data_dir"]["origin"] == "start"
    assert (settings["pulsar_token"]["origin"], settings["pulsar_token"]["isSecret"]) == ("store", True)
    assert settings["alerts_per_person"] == {
        "name": "alerts_per_person",
        "variable": "TOCSIN_ALERTS_PER_PERSON",
        "value": 50,
        "origin": "default",
        "default": 50,
        "description": "Maximum alerts created by one person; administrators: unlimited.",
        "isSecret": False,
    }


def test_the_environment_wins_over_the_file_and_secrets_stay_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tocsin.toml").write_text('smtp_host = "mail.example"\nport = 1\nkafka_password = "opensesame"\n')
    environment = {
        "tocsin_port": "2",
        "TOCSIN_DATABASE_URL": "postgresql+psycopg://ann:opensesame@db/tocsin",
        "TOCSIN_SPARK_CONF": '{"spark.hadoop.fs.s3a.secret.key": "opensesame"}',
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    by_name = _by_name(Settings(host="::1"), environment, names_in_file(tmp_path / "tocsin.toml"))
    values = {name: (one.value, one.origin.value) for name, one in by_name.items()}
    assert values["port"] == (2, "environment")
    assert values["smtp_host"] == ("mail.example", "file")
    assert values["host"] == ("::1", "start")
    assert values["database_url"] == (f"postgresql+psycopg://ann:{MASK}@db/tocsin", "environment")
    assert "opensesame" not in str(by_name)
    (tmp_path / "tocsin.toml").write_text("no TOML [")
    assert names_in_file(tmp_path / "tocsin.toml") == set()
    assert _by_name(Settings.model_construct(secrets_key=SecretStr("k")), {}, set())["secrets_key"].is_secret


@pytest.mark.parametrize(
    ("key", "value", "masked_text"),
    [
        ("spark.hadoop.fs.azure.account.key.shop.blob", "opensesame", MASK),
        ("spark.hadoop.fs.azure.sas.box.shop", "sv=1&sig=opensesame", MASK),
        ("spark.hadoop.google.cloud.auth.service.account.private.key", "opensesame", MASK),
        ("spark.kafka.sasl.jaas.config", 'Login required password="opensesame";', MASK),
        ("spark.driver.extraJavaOptions", "-Dstore.Password=opensesame -Xss4m", f"-Dstore.Password={MASK} -Xss4m"),
        ("spark.executor.extraJavaOptions", "-Dx='password=\"open opensesame\"' -Da=1", f"-Dx='password={MASK}' -Da=1"),
        (
            "spark.url",
            "postgresql://ann@db/tocsin?password=opensesame&a=1",
            f"postgresql://{MASK}@db/tocsin?password={MASK}&a=1",
        ),
        ("spark.url", "https://opensesame@code.example/shop", f"https://{MASK}@code.example/shop"),
        ("spark.url", "wasbs://x;AccountKey=opensesame==;a=1", f"wasbs://x;AccountKey={MASK};a=1"),
        ("spark.sql.shuffle.partitions", "2", "2"),
        ("spark.mail", "ann@shop.example", "ann@shop.example"),
    ],
)
def test_secrets_within_a_value_stay_hidden(key: str, value: str, masked_text: str) -> None:
    settings = Settings.model_construct(spark_conf={key: value}, database_url=value)
    by_name = _by_name(settings, {}, set())
    assert by_name["spark_conf"].value == {key: masked_text}
    if masked_text != MASK:
        assert by_name["database_url"].value == masked_text


def _by_name(settings: Settings, environment: dict[str, str], in_file: set[str]) -> dict[str, ShownSetting]:
    shown_list = settings_to_show(settings, environment=environment, in_file=in_file, in_store=())
    return {one.name: one for one in shown_list}


def test_quotas_say_who_has_used_how_much(served: Served, administrator: httpx.Client) -> None:
    ann_id, ann = served.person("ann")
    with ann:
        assert ann.post("/events/subscriptions", json=_alert("Ours")).status_code == 201
        assert ann.post("/events/subscriptions", json=_alert("Gone")).status_code == 201
        gone_id = ann.get("/events/subscriptions/name/Gone").json()["id"]
        assert ann.delete(f"/events/subscriptions/{gone_id}").is_success
    quotas = {one["quota"]: one for one in administrator.get("/system/server/quotas").json()["quotas"]}
    assert list(quotas) == ["alerts_per_person", "alerts_per_hour", "trial_messages_per_hour", "posts_per_hour"]
    assert quotas["alerts_per_person"]["limit"] == 50
    ours = [use for use in quotas["alerts_per_person"]["uses"] if use["fullyQualifiedName"] == "ann"]
    assert ours == [{"userId": ann_id, "fullyQualifiedName": "ann", "used": 1}]
    assert quotas["alerts_per_hour"]["uses"] == [{"userId": ann_id, "fullyQualifiedName": "ann", "used": 2}]
    assert quotas["posts_per_hour"]["uses"] == []


def _alert(name: str) -> Json:
    destinations = [{"category": "Owners", "type": "ActivityFeed"}]
    return {"name": name, "alertType": "Notification", "resources": ["table"], "destinations": destinations}


def test_the_history_says_how_long_notifications_took(
    served: Served, administrator: httpx.Client, sqlite_engine: Engine, orders: Json
) -> None:
    user_id, client = served.person("ann")
    client.close()
    del orders
    CatalogueWriter(served, sqlite_engine, administrator).tell(user_id, "late")
    for span, count in (("1h", 12), ("24h", 24), ("7d", 28)):
        answer = administrator.get(f"/events/lag/history?span={span}").json()
        assert len(answer["periods"]) == count
        newest = answer["periods"][-1]
        assert newest["begins"] == answer["measuredAt"] - answer["lengthMs"]
        assert newest["notifications"] >= 1
        assert 0 <= newest["medianSeconds"] <= newest["p95Seconds"] < 3600
        assert newest["events"] >= 1
    assert administrator.get("/events/lag/history?span=2h").status_code == 400


def test_only_administrators_read_settings_and_quotas(served: Served) -> None:
    _, client = served.person("ann")
    with client:
        for path in ("/system/server/settings", "/system/server/quotas", "/events/lag/history"):
            assert client.get(path).status_code == 403
