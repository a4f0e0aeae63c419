"""Tests of the semantic check: errors with position and nearest known name."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.examples import call_of, method_of, relation_of
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.methods import METHODS
from tocsin.conditions.nodes import Has, Personal
from tocsin.conditions.relations import RELATIONS
from tocsin.errors import InvalidCondition
from tocsin.logic import ALWAYS, NEVER, And, Not, Or

SEED_CONDITIONS = (
    "testStatus == 'Failed'",
    "eventType == 'entityUpdated' && fieldChanged == 'columns'",
    "eventType == 'policyViolation' && tags.contains('PII.Sensitive')",
    "pipelineStatus == 'Failed' || pipelineStatus == 'PartialSuccess'",
    "testCase.testCaseResult.testCaseStatus == 'Failed' && testCase.name == 'revenue_threshold_check'",
)


@pytest.mark.parametrize("text", SEED_CONDITIONS)
def test_the_conditions_printed_in_the_seed_check(text: str) -> None:
    parse_and_check(text)


@pytest.mark.parametrize(
    ("text", "column", "suggestion"),
    [
        ("evntType == 'a'", 1, "eventType"),
        ("tag == 'a'", 1, "tags"),
        ("EVENTTYPE == 'a'", 1, "eventType"),
        ("matchAnyTags({'a'})", 1, "matchAnyTag"),
        ("newvalue('a') == 1", 1, "newValue"),
        ("tags.contain('a')", 6, "contains"),
        ("tags.StartsWith('a')", 6, "startsWith"),
        ("table.colums == null", 7, "columns"),
        ("entity.ownrs == null", 8, "owners"),
        ("tabel.name == 'a'", 1, "table"),
        ("nothingLikeIt == 'a'", 1, None),
        ("changeCategory == 'tags'", 19, "tag"),
        ("changeOperation in {'add','delet'}", 27, None),
        ("matchAnyChange({'tag','ownr'})", 23, "owner"),
        ("matchAnyChange('tag', 'added')", 23, "add"),
        ("matchAnyEventType({'entityUpdatd'})", 20, "entityUpdated"),
        ("user.owns(tabel)", 11, "table"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(text: str, column: int, suggestion: str | None) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_and_check(text)
    assert (caught.value.line, caught.value.column, caught.value.suggestion) == (1, column, suggestion)
    assert suggestion is None or suggestion in caught.value.message


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("eventType == 5", 14, "a text cannot be compared with a number"),
        ("timestamp == 'now'", 14, "a number cannot be compared with a text"),
        ("isBot == 'true'", 10, "a true or false cannot be compared with a text"),
        ("isBot > false", 9, "cannot be ordered"),
        ("tags == 1", 9, "cannot be compared"),
        ("tags.contains(1)", 15, "cannot be compared"),
        ("timestamp.startsWith('1')", 1, "startsWith works on text"),
        ("userName.startsWith(1)", 21, "startsWith needs text"),
        ("userName.size() == 1", 1, "works on sets and lists"),
        ("timestamp.toLowerCase() == 'a'", 1, "toLowerCase() works on text"),
        ("userName", 1, "a condition must be true or false, but this is a text"),
        ("tags", 1, "a condition must be true or false"),
        ("!eventType == 'a'", 1, "write !(eventType == 'a')"),
        ("!isBot() == 'a'", 1, "write !( … )"),
        ("isBot() == isBot()", 1, "only be compared with true or false"),
        ("null", 1, "cannot be null"),
        ("table", 1, "'table' is an entity type, not a field; use its fields, such as table.name"),
        ("userName > null", 1, "null cannot be used with >"),
        ("userName in {'a', null}", 13, "no null"),
        ("userName in {'a', 1}", 13, "only numbers"),
        ("userName.name == 'a'", 10, "only the entity"),
        ("'abc'.contains('a')", 1, "a literal has no methods"),
        ("entity.extension['a\"b'] == 1", 18, "cannot be empty or contain quotes"),
        ("matchAnyTag()", 1, "matchAnyTag takes tags, as matchAnyTag('PII.Sensitive')"),
        ("matchAnyTag({'a'},{'b'})", 1, "matchAnyTag takes tags"),
        ("matchAnyTag({1})", 13, "matchAnyTag takes texts"),
        ("matchAnyTag(userName)", 13, "matchAnyTag takes texts"),
        (
            "isBot({'a'})",
            1,
            "isBot takes no arguments",
        ),
        ("getTestCaseStatusIfInTestSuite({'a'})", 1, "takes statuses and suites"),
        ("oldValue({'a','b'}) == 1", 1, "takes one path"),
        ("tags.contains()", 6, "contains takes one value, as contains('PII.Sensitive')"),
        ("tags.isEmpty('a')", 6, "isEmpty takes no arguments"),
        ("matchAnyTag == 'a'", 1, "is a function; write matchAnyTag('PII.Sensitive')"),
        ("userName matches '(a+)+'", 18, "regular expression rejected"),
        ("userName matches '[a-z]*[a-z]*x.*y'", 18, "more than 2,000,000 steps on one text"),
        ("tags matches '\\w+_\\w+'", 14, "could take more than"),
        ("entity.name.toLowerCase() matches '\\w+_\\w+'", 35, "could take more than"),
        ("userName matches '\\w+_\\w+' || service matches '\\w+-?\\w+'", 1, "more than 2,000,000 steps together"),
        ("userName matches entity.name", 18, "needs text"),
        ("noSuccessFor('6h','7h')", 1, "as noSuccessFor('6h'); write several in one list, {'6h', '7h'}"),
        ("matchStatusInARow('Failed')", 1, "takes statuses and times, as matchStatusInARow('Failed', 3)"),
        ("tags.containsAny('a','b')", 6, "one list of values, as containsAny({'PII.Sensitive','PII.None'})"),
        ("newValue() == 1", 1, "takes path, as newValue('description')"),
        ("firstFailure", 1, "'firstFailure' is a function; write firstFailure()"),
        ("timestamp > '2024-01-01'", 13, "write times as epoch milliseconds"),
        ("timestamp > 2024-01-01", 17, "write times as epoch milliseconds"),
        (
            "user == 'jane'",
            1,
            "use user.follows(entity), user.owns(entity) or user.isMemberOf('team'); userName is who",
        ),
        ("fqn == 'x'", 1, "unknown field 'fqn'; did you mean entityFullyQualifiedName?"),
        ("table.changeRequests == 'x'", 7, "unknown key of a table 'changeRequests'"),
        ("ingestionPipeline.x == 'x'", 19, "unknown key of an ingestionPipeline 'x'"),
        ("entity.changeRequests == 'x'", 8, "unknown key of an entity 'changeRequests'"),
        ("name == 'x'", 1, "did you mean entity.name?"),
        ("id == 'x'", 1, "did you mean entityId?"),
        ("isBot() && userName == 'a' && (tags == 'b' ||\n  owner == 'c')", 3, "did you mean owners"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_stands(text: str, column: int, says: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_and_check(text)
    assert says in caught.value.message
    assert caught.value.column == column
    assert caught.value.line == 1 + text.count("\n")


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("user.folows(entity)", 6, "unknown relation 'folows'; did you mean follows?"),
        ("user.follows()", 6, "user.follows takes entity, as user.follows(entity)"),
        ("user.follows('entity')", 14, "user.follows takes entity"),
        ("user.follows(entty)", 14, "user.follows takes entity; did you mean entity?"),
        ("user.owns(entity, table)", 6, "user.owns takes entity"),
        ("user.isMemberOf(entity)", 17, "user.isMemberOf takes texts"),
        ("user.isMemberOf()", 6, "takes the name of a team, as user.isMemberOf('Finance')"),
    ],
)
def test_what_is_wrongly_asked_of_a_person_is_refused(text: str, column: int, says: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_and_check(text)
    assert says in caught.value.message
    assert caught.value.column == column


def test_what_is_asked_of_a_person_stands_apart() -> None:
    assert parse_and_check("user.follows(entity)") == Personal("follows")
    assert parse_and_check("user.owns(table)") == And((Has("entityType", ("table",)), Personal("owns")))
    assert parse_and_check("user.isMemberOf({'a','b'})") == Or((Personal("isMemberOf:a"), Personal("isMemberOf:b")))
    assert parse_and_check("user.name == 'ann'") != parse_and_check("entity.name == 'ann'"), (
        "the entity, when it is a user"
    )


_ONLY = {"times": "'3'", "durations": "'6h'"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_one_text_for_a_list_of_one(name: str) -> None:
    any_text = "'*'" if name == "matchAnyChange" else "'entityUpdated'"
    texts = [_ONLY.get(parameter, any_text) for parameter in FUNCTIONS[name].parameters]
    alone, listed = ",".join(texts), ",".join("{" + text + "}" for text in texts)
    assert parse_and_check(f"{name}({alone})") == parse_and_check(f"{name}({listed})")


def test_sugar_is_gone_and_trivial_parts_vanish() -> None:
    assert parse_and_check("tags.contains('a')") == Has("tags", ("a",))
    assert parse_and_check("userName != 'a'") == Not(Has("userName", ("a",)))
    assert parse_and_check("!!isBot()") == Has("isBot", ("true",))
    assert parse_and_check("true && isBot()") == Has("isBot", ("true",))
    assert parse_and_check("false && isBot()") == NEVER
    assert parse_and_check("isBot() || true") == ALWAYS
    assert parse_and_check("matchAnyTag({})") == NEVER
    assert parse_and_check("isBot() && tier == 'a'") == And((Has("isBot", ("true",)), Has("tier", ("a",))))
    assert parse_and_check("isBot() || tier == 'a'") == Or((Has("isBot", ("true",)), Has("tier", ("a",))))


def test_one_change_is_asked_for_with_all_its_parts_at_once() -> None:
    node = parse_and_check("matchAnyChange({'tag','tier'}, 'add', {'columns.email'})")
    expected = ("tag\tadd\tcolumns.email", "tier\tadd\tcolumns.email")
    assert node == Has("changes:category+operation+target", expected)
    assert parse_and_check("matchAnyChange('tag', '*', '*', 'PII.Sensitive')") == Has(
        "changes:category+value", ("tag\tPII.Sensitive",)
    )
    assert parse_and_check("matchAnyChange('*', 'add')") == parse_and_check("changeOperation == 'add'")
    assert parse_and_check("matchAnyChange('*')") == parse_and_check("changeCategory != null")
    assert parse_and_check("matchAnyChange('tag', {})") == NEVER


def test_a_change_with_too_many_combinations_is_refused() -> None:
    many = "{" + ",".join(f"'{n}'" for n in range(40)) + "}"
    with pytest.raises(InvalidCondition, match="more than 1000 changes"):
        parse_and_check(f"matchAnyChange('*', '*', {many}, {many})")


def test_a_status_is_kept_in_lower_case_and_a_text_as_written() -> None:
    assert parse_and_check("testStatus == 'FAILED'") == Has("testStatus", ("failed",))
    assert parse_and_check("tier == 'Tier.Tier1'") == Has("tier", ("Tier.Tier1",))


def test_an_age_is_asked_for_by_a_duration() -> None:
    assert parse_and_check("olderThan('7d')") == parse_and_check("unchangedFor >= 604800000")
    with pytest.raises(InvalidCondition, match="invalid duration 'a week'; use for example 30m"):
        parse_and_check("olderThan('a week')")


def test_truth_and_the_number_one_are_distinguished() -> None:
    assert parse_and_check("entity.extension.x == true") != parse_and_check("entity.extension.x == 1")


def test_a_word_of_a_list_on_several_lines_is_refused_where_it_stands() -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_and_check("isBot() ||\n  matchAnyEventType({'entityUpdated',\n    'entityDeletd'})")
    assert (caught.value.line, caught.value.column) == (3, 5)


@pytest.mark.parametrize(
    "text",
    [
        "eventType == 'entityUpdate'",
        "'entityUpdate' != eventType",
        "eventType in {'entityUpdate'}",
        "matchAnyEventType({'entityUpdate'})",
    ],
)
def test_a_type_of_event_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(InvalidCondition, match="unknown type of event 'entityUpdate'; did you mean entityUpdated"):
        parse_and_check(text)


@pytest.mark.parametrize(
    ("text", "suggestion"), [("tier = 'a'", "=="), ("isBot() & isBot()", "&&"), ("isBot() | isBot()", "||")]
)
def test_a_sign_of_another_language_is_answered_with_ours(text: str, suggestion: str) -> None:
    with pytest.raises(InvalidCondition) as refusal:
        parse_and_check(text)
    assert refusal.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("eventType == entityUpdated", 14, "unknown field 'entityUpdated'; put text in quotes: 'entityUpdated'"),
        ("entityUpdatd == eventType", 1, "put text in quotes: 'entityUpdatd'"),
        ("tier == Tier.Tier1", 9, "unknown field 'Tier'; put text in quotes: 'Tier.Tier1'"),
        ("entityType == table", 15, "put text in quotes: 'table'"),
        ("tier != Gold", 9, "put text in quotes: 'Gold'"),
        ("entity.name == orders", 16, "or the text 'orders'?"),
        ("oldValue('tags') == PII.None", 21, "put text in quotes: 'PII.None'"),
        ("userName in ownrs", 13, "unknown field 'ownrs'; did you mean owners, or the text 'ownrs'?"),
        ("userName == tabel.name", 13, "did you mean table, or the text 'tabel.name'?"),
        ("matchAnyTag(PII.Sensitive)", 13, "matchAnyTag takes texts; put text in quotes: 'PII.Sensitive'"),
        ("newValue(extension.score) > 5", 10, "newValue takes texts; put text in quotes: 'extension.score'"),
        ("user.isMemberOf(team)", 17, "user.isMemberOf takes texts; put text in quotes: 'team'"),
        ("tags.contains(PII.Sensitive)", 15, "put text in quotes: 'PII.Sensitive'"),
        ("userName.toLowerCase() == jane", 27, "put text in quotes: 'jane'"),
        ("matchAnyTag({PII.Sensitive})", 14, "unexpected 'PII'; put text in quotes: 'PII.Sensitive'"),
        ("tier == \u2018Tier.Tier1\u2019", 9, "unexpected '‘'; put text in ' or \""),  # noqa: RUF001
        ("tier == `Tier.Tier1`", 9, "unexpected '`'; put text in ' or \""),
        ("tags.contains(“a”)", 15, "unexpected '“'; put text in ' or \""),
    ],
)
def test_a_text_without_its_quotes_is_named_as_one(text: str, column: int, says: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_and_check(text)
    assert says in caught.value.message
    assert caught.value.column == column


@pytest.mark.parametrize("text", ["timestamp > now", "isBot == ja", "'a' == tgas", "tgas.contains('a')"])
def test_a_name_of_nothing_beside_what_is_no_text_is_no_text(text: str) -> None:
    with pytest.raises(InvalidCondition, match="unknown field") as caught:
        parse_and_check(text)
    assert "quotes" not in caught.value.message


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_every_function_is_right(name: str) -> None:
    parse_and_check(call_of(name))


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_every_method_is_right(name: str) -> None:
    result = {"size": "1", "toLowerCase": "'a'"}.get(name, "true")
    parse_and_check(f"entity.name.{method_of(name)} == {result}")


@pytest.mark.parametrize("name", RELATIONS)
def test_the_example_of_every_relation_is_right(name: str) -> None:
    parse_and_check(relation_of(name))


def test_a_negation_of_what_is_true_or_false_may_be_compared() -> None:
    assert parse_and_check("!isBot == true") == parse_and_check("!(isBot == true)")


@pytest.mark.parametrize(
    ("quoted", "plain"),
    [
        ("""owners == '"dana.whitlock"'""", "owners == 'dana.whitlock'"),
        ("""matchUpdatedBy('"dana.whitlock"')""", "matchUpdatedBy('dana.whitlock')"),
        ("""matchConversationUser({'"dana.whitlock"'})""", "matchConversationUser({'dana.whitlock'})"),
        ("""matchAnyChange('owner','*','*','"dana.whitlock"')""", "matchAnyChange('owner','*','*','dana.whitlock')"),
        (
            """matchAnyChange({'*'},'*','*','"dana.whitlock"')""",
            """matchAnyChange('*','*','*',{'dana.whitlock','"dana.whitlock"'})""",
        ),
        (
            """matchAnyChange('tag','add','*',{'""','"a.b"'})""",
            """matchAnyChange('tag','add','*',{'"a.b"','""'})""",
        ),
        ("""service != '"my.service"'""", "service != 'my.service'"),
        ("""user.isMemberOf('"my.team"')""", "user.isMemberOf('my.team')"),
        ("""'"dana.whitlock"' in owners""", "owners.contains('dana.whitlock')"),
    ],
)
def test_people_teams_and_services_may_be_quoted_as_in_their_fqns(quoted: str, plain: str) -> None:
    assert parse_and_check(quoted) == parse_and_check(plain)


@pytest.mark.parametrize(
    ("text", "equivalent"),
    [
        ("eventType == 'entityLineageAdded'", "eventType == 'entityUpdated' && fieldsAdded.contains('lineage')"),
        ("eventType == 'entityLineageUpdated'", "eventType == 'entityUpdated' && fieldsUpdated.contains('lineage')"),
        ("eventType == 'entityLineageDeleted'", "eventType == 'entityUpdated' && fieldsDeleted.contains('lineage')"),
        ("eventType == 'taskUpdated'", "eventType == 'threadUpdated' && threadType == 'Task'"),
        (
            "!matchAnyEventType({'taskCreated','entityDeleted'})",
            "!(eventType == 'entityDeleted' || (eventType == 'threadCreated' && threadType == 'Task'))",
        ),
    ],
)
def test_types_of_events_that_came_with_2_0_mean_the_events_that_there_are(text: str, equivalent: str) -> None:
    assert parse_and_check(text) == parse_and_check(equivalent)


def test_a_type_of_event_nearly_like_one_of_2_0_is_refused_with_it() -> None:
    with pytest.raises(InvalidCondition) as refusal:
        parse_and_check("eventType == 'entityLineageAddded'")
    assert refusal.value.suggestion == "entityLineageAdded"
