"""Tests of what SQL queries on the lake may use: its view, and functions that compute values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.soak import SOAK

from tocsin.errors import InvalidInput, TooLarge
from tocsin.spark.lake_functions import FUNCTIONS
from tocsin.spark.lake_sql import FunctionIdentifiers, LakeSql

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(spark: SparkSession) -> LakeSql:
    session = spark.newSession()
    event_row = session.createDataFrame([(1, "table", "{}")], "offset long, entityType string, entity string")
    event_row.createOrReplaceTempView("change_events")
    spark.createDataFrame([("hidden",)], "secret string").createOrReplaceGlobalTempView("elsewhere")
    return LakeSql(session)


@pytest.fixture(autouse=True)
def _nothing_is_made(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


FUNCTION_CALLS = [
    "reflect('java.lang.System', 'getenv', 'HOME')",
    "java_method('java.lang.System', 'getProperty', 'user.name')",
    "try_reflect('java.lang.System', 'exit', 0)",
    "system.builtin.reflect('java.lang.System', 'getenv', 'HOME')",
    "builtin.java_method('java.lang.System', 'getenv', 'HOME')",
    "`reflect`('java.lang.System', 'getenv', 'HOME')",
    "REFLECT('java.lang.System', 'getenv', 'HOME')",
    "input_file_name()",
    "input_file_block_start()",
    "current_user()",
    "current_user",
    "user()",
    "user",
    "session_user()",
    "session_user",
    "current_catalog()",
    "current_database()",
    "current_schema()",
    "version()",
    "from_xml('<a/>', 'b int')",
    "xpath_string('<a/>', 'a')",
    "from_avro(x'00', '{}')",
    "from_protobuf(x'00', 'x', '/etc/passwd')",
    "raise_error('x')",
    "aes_decrypt(x'00', 'k')",
    "ai_query('x')",
    "read_files('/etc')",
    "transform(array(1), n -> reflect('java.lang.System', 'getenv', 'HOME'))",
    "IDENTIFIER('reflect')('java.lang.System', 'getenv', 'HOME')",
    "nvl(current_user, 'x')",
]
STATEMENTS = [
    "",
    ";",
    "SELECT 1; SELECT 2",
    "SET x = 1",
    "SET -v",
    "RESET",
    "ADD JAR '/tmp/x.jar'",
    "ADD FILE '/etc/passwd'",
    "LIST JARS",
    "SHOW TABLES",
    "SHOW FUNCTIONS",
    "EXPLAIN SELECT 1",
    "EXPLAIN EXTENDED SELECT * FROM change_events",
    "DESCRIBE FUNCTION reflect",
    "DESCRIBE DATABASE default",
    "DESCRIBE parquet.`/etc`",
    "DESCRIBE QUERY SELECT 1",
    "CREATE TABLE made AS SELECT 1",
    "CREATE TABLE made USING parquet LOCATION '/tmp/x' AS SELECT 1",
    "CREATE TEMPORARY VIEW change_events AS SELECT 1",
    "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/etc/passwd')",
    "CREATE TEMPORARY FUNCTION f AS 'java.lang.String'",
    "CREATE TEMPORARY FUNCTION f() RETURNS STRING RETURN 'x'",
    "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$",
    "CREATE DATABASE made",
    "DROP VIEW change_events",
    "INSERT INTO made VALUES (1)",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
    "WITH a AS (SELECT 1) INSERT INTO made SELECT * FROM a",
    "FROM change_events INSERT INTO made SELECT *",
    "CACHE TABLE change_events",
    "REFRESH TABLE change_events",
    "USE default",
    "DECLARE x = 1",
    "BEGIN SELECT 1; END",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "CALL x()",
    "LOAD DATA INPATH '/etc/passwd' INTO TABLE made",
    "SELECT * FROM parquet.`/etc`",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM binaryFile.`/etc/passwd`",
    "SELECT * FROM tocsin_log.`x`",
    "SELECT * FROM tocsin_log",
    "SELECT * FROM jdbc.`x`",
    "SELECT * FROM `parquet`.`/etc`",
    "SELECT * FROM global_temp.elsewhere",
    "SELECT * FROM elsewhere",
    "SELECT * FROM spark_catalog.default.change_events",
    "SELECT * FROM default.change_events",
    "SELECT * FROM IDENTIFIER('global_temp.elsewhere')",
    "SELECT * FROM python_worker_logs()",
    "SELECT * FROM read_files('/etc')",
    "SELECT * FROM sql_keywords()",
    "SELECT * FROM collations()",
    "SELECT TRANSFORM (offset) USING 'cat' FROM change_events",
    "SELECT * FROM change_events WHERE offset IN (SELECT 1 FROM csv.`/etc/passwd`)",
    "SELECT (SELECT max(value) FROM text.`/etc/passwd`)",
    "SELECT EXISTS (SELECT 1 FROM global_temp.elsewhere)",
    "WITH a AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM a",
    "WITH text AS (SELECT 1) SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM change_events, LATERAL (SELECT * FROM text.`/etc/passwd`)",
    "SELECT sum(1) OVER w FROM change_events WINDOW w AS (PARTITION BY reflect('java.lang.System', 'getenv', 'HOME'))",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    "FROM change_events |> WHERE offset IN (SELECT 1 FROM text.`/etc/passwd`)",
    "TABLE global_temp.elsewhere",
    "SELECT /*+ BROADCAST(change_events) */ * FROM change_events",
    "SELECT /*+ REPARTITION(1000000) */ * FROM change_events",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM change_events TIMESTAMP AS OF '2026-01-01'",
    "SELECT * FROM change_events VERSION AS OF 1",
    "SELECT * FROM STREAM change_events",
    "SELECT _metadata.file_path FROM change_events",
    "SELECT input_file_name() FROM change_events",
    "SELECT system.session.x",
    "SELECT :name",
    "SELECT ?",
    "VALUES (reflect('java.lang.System', 'getenv', 'HOME'))",
    "SELECT * FROM VALUES (java_method('java.lang.System', 'exit', 0))",
    "SELECT * FROM change_events, LATERAL read_files('/etc')",
    "SELECT * FROM change_events LATERAL VIEW reflect('a', 'b') t AS x",
    "SELECT * FROM TABLE(change_events)",
    "SELECT * FROM delta.`/tmp`",
    "SELECT * FROM json.`/etc` PIVOT (count(*) FOR a IN (1))",
    "WITH change_events AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM change_events",
    "WITH elsewhere AS (SELECT 1), b AS (SELECT * FROM global_temp.elsewhere) SELECT * FROM b",
    "FROM change_events |> JOIN csv.`/etc/passwd` ON true",
    "FROM change_events |> EXTEND reflect('java.lang.System', 'getenv', 'HOME') AS x",
    "SELECT session_window(current_timestamp(), reflect('a', 'b'))",
    "SELECT stack(1, current_user())",
    "ANALYZE TABLE change_events COMPUTE STATISTICS",
    "MERGE INTO change_events t USING change_events s ON t.offset = s.offset WHEN MATCHED THEN DELETE",
    "DELETE FROM change_events",
    "UPDATE change_events SET entity = ''",
    "TRUNCATE TABLE change_events",
    "ALTER VIEW change_events AS SELECT 1",
    "ALTER TABLE change_events RENAME TO x",
    "SET VAR x = 1",
    "SET CATALOG x",
    "SET TIME ZONE 'UTC'",
    "MSCK REPAIR TABLE change_events",
    "UNCACHE TABLE change_events",
    "CLEAR CACHE",
    "EXPORT TABLE change_events TO '/tmp/x'",
    "COMMENT ON TABLE change_events IS 'x'",
    "GRANT SELECT ON change_events TO ben",
    "DFS -ls /",
    "!ls",
    f"SELECT {'1 + ' * 6_000} 1",
    f"SELECT '{'x' * 70_000}'",
]


def test_hostile_statements_are_refused(lake: LakeSql) -> None:
    calls = [f"SELECT {call}" for call in FUNCTION_CALLS]
    calls += [f"SELECT * FROM change_events ORDER BY {call}" for call in FUNCTION_CALLS[:2]]
    refusals = {sql: _refusal_of(lake, sql) for sql in (*STATEMENTS, *calls)}
    assert [sql for sql, refusal in refusals.items() if not refusal or "hidden" in refusal] == []


def _refusal_of(lake: LakeSql, sql: str) -> str:
    """Return why a statement is refused; empty if it is not."""
    try:
        lake.frame_of(sql)
    except (InvalidInput, PySparkException) as error:
        return str(error) or repr(error)
    return ""


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FROM events", "There is no table or view events; query change_events."),
        ("SHOW TABLES", "Only queries are allowed, without show tables. docs/lake.md lists"),
        ("SELECT current_timestamp(9)", "Spark refuses the query: [FEATURE_NOT_ENABLED]"),
        ("SELECT current_user", "Queries cannot use current_user. docs/lake.md lists"),
    ],
)
def test_a_refusal_names_what_and_the_way_out(lake: LakeSql, sql: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        lake.frame_of(sql)
    assert says in refused.value.message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "(SELECT 1) UNION (SELECT 2)",
        "VALUES (1), (2)",
        "FROM change_events |> WHERE offset = 1 |> SELECT offset",
        "-- how many?\nSELECT count(*), max(offset) FILTER (WHERE offset > 0) FROM change_events",
        "WITH a AS (SELECT * FROM change_events), b AS (SELECT * FROM a) SELECT a.offset FROM a JOIN b USING (offset)",
        "SELECT *, row_number() OVER (PARTITION BY entityType ORDER BY offset DESC) AS n FROM change_events",
        "SELECT sum(offset) OVER w FROM change_events WINDOW w AS (PARTITION BY entityType)",
        "SELECT get_json_object(entity, '$.name'), from_json(entity, 'name string').name FROM change_events",
        "SELECT entityType, collect_list(offset) FROM change_events GROUP BY ROLLUP (entityType) HAVING count(*) > 0",
        "SELECT * FROM change_events LATERAL VIEW explode(array(1, 2)) t AS x",
        "SELECT * FROM change_events e WHERE EXISTS (SELECT 1 FROM change_events o WHERE o.offset = e.offset)",
        "SELECT filter(array(1), n -> n > 1), CASE WHEN offset LIKE '1%' THEN date '2026-01-01' END FROM change_events",
        "SELECT * FROM (SELECT entityType, offset FROM change_events) PIVOT (count(*) FOR entityType IN ('table'))",
        "SELECT '${system:user.name}'",
        "WITH Per_Type AS (SELECT entityType AS kind FROM Change_Events) SELECT kind FROM per_type",
        "SELECT timestamp '2026-01-01' + interval 1 day, current_date, offset BETWEEN 1 AND 2 FROM change_events",
    ],
)
def test_a_query_is_answered(lake: LakeSql, sql: str) -> None:
    frame = lake.frame_of(sql)
    assert frame is not None
    assert frame.collect() is not None


def test_the_columns_of_the_view_may_be_asked_for(lake: LakeSql) -> None:
    assert lake.frame_of("DESCRIBE change_events") is None
    assert lake.frame_of("desc table change_events") is None


@pytest.mark.parametrize(
    "call",
    [
        "repeat('x', 2000000000)",
        "sequence(1, 1000000000)",
        "collect_list(entity)",
        "max(entity RLIKE '^(a|aa)+$')",
        "max(regexp_like(entity, '^(a|aa)+$'))",
        "max(regexp_count(entity, '(a|aa)+$'))",
        "max(regexp_substr(entity, '(a|aa)+$'))",
        "max(split(entity, '(a|aa)+$'))",
        "max(str_to_map(entity, '(a|aa)+$')['x'])",
        "max(entity LIKE '%a%a%a%a%')",
        "max(entity ILIKE '%a%a%a%a%')",
        "max(entity LIKE entityType)",
    ],
)
def test_what_may_need_much_memory_or_time_is_left_to_a_spark_of_ones_own(lake: LakeSql, call: str) -> None:
    assert lake.frame_of(f"SELECT {call} FROM change_events") is not None
    with pytest.raises(TooLarge):
        lake.frame_of(f"SELECT {call} FROM change_events", may_grow=False)


def test_a_plain_pattern_is_answered_beside_notifications(lake: LakeSql) -> None:
    sql = "SELECT split_part(entity, ',', 1) FROM change_events WHERE entity LIKE '%a%' OR entityType NOT LIKE 'a%b'"
    assert lake.frame_of(sql, may_grow=False) is not None


@settings(max_examples=200 if SOAK else 20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.sampled_from(
            [
                "SELECT",
                "*",
                "FROM",
                "change_events",
                "text.`/etc/passwd`",
                "(",
                ")",
                ",",
                "WITH",
                "a",
                "AS",
                "reflect('java.lang.System', 'getenv', 'HOME')",
                "UNION",
                "current_user",
                "global_temp.elsewhere",
                "${env:HOME}",
                "'",
                ";",
                "/*",
                "*/",
                "--",
                "\n",
                "1",
                "LATERAL",
                "JOIN",
                "IDENTIFIER('x')",
                "SET",
                "x",
                "=",
            ]
        ),
        max_size=14,
    )
)
def test_no_statement_reaches_anything_else(lake: LakeSql, words: list[str]) -> None:
    try:
        frame = lake.frame_of("SELECT " + " ".join(words))
    except (InvalidInput, PySparkException):
        return
    assert frame is not None
    answer = str(frame.limit(5).collect())
    assert "hidden" not in answer
    assert "root:" not in answer


def test_sparks_own_examples_of_the_functions_pass(lake: LakeSql, spark: SparkSession) -> None:
    registry = spark.newSession()._jsparkSession.sessionState().functionRegistry()
    identifiers, refusals = FunctionIdentifiers(spark._jvm), []
    for name in sorted(FUNCTIONS) if SOAK else ("abs", "to_timestamp", "nvl", "filter", "count_if", "listagg", "ceil"):
        examples = str(registry.lookupFunction(identifiers.of(name)).get().getExamples())
        for sql in re.findall(r"> (SELECT .*?);\s*$", examples, re.MULTILINE):
            try:
                lake.frame_of(sql)
            except InvalidInput as error:
                if "Spark refuses" in error.message:  # an example of what is not switched on
                    continue
                refusals.append((name, sql, error.message))
            except PySparkException:  # an example of an error
                continue
    assert refusals == []


def test_a_later_query_asks_java_a_few_hundred_times(
    lake: LakeSql, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query of a person has a session of its own; the classes of 400 functions are looked up once for all."""
    assert lake.frame_of("SELECT abs(offset) FROM change_events") is not None
    session = spark.newSession()
    event_row = session.createDataFrame([(1, "table", "{}")], "offset long, entityType string, entity string")
    event_row.createOrReplaceTempView("change_events")
    commands: list[str] = []
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    monkeypatch.setattr(client, "send_command", _note_commands(client.send_command, commands))
    assert LakeSql(session).frame_of("SELECT abs(offset) FROM change_events WHERE offset > 1") is not None
    assert len([command for command in commands if not command.startswith("m")]) < 700, "without what is freed"


def _note_commands(send: Callable[..., Any], commands: list[str]) -> Callable[..., Any]:
    def noting(command: str, *arguments: Any, **options: Any) -> Any:
        commands.append(command)
        return send(command, *arguments, **options)

    return noting
