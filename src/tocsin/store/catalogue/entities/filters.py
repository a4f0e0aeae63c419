"""Table of list filters: one row per query parameter, with the entities that it selects.

Unknown parameters are ignored, as upstream does. Source: OpenMetadata's ``ListFilter`` and its resources.
Next: ``store/catalogue/entities/listing.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import and_, exists, func, not_, or_, select, true

from tocsin.access.subject import ORGANIZATION
from tocsin.errors import InvalidInput
from tocsin.model.people import PRINCIPALS
from tocsin.model.shapes import enumeration
from tocsin.model.status import RESULT_STATUSES
from tocsin.store.catalogue.access.visibility import Scopes, visible
from tocsin.store.catalogue.entities.write import lies_under
from tocsin.store.catalogue.people.teams import under_the_root
from tocsin.store.catalogue.relations.inheritance_filters import DOMAINS, ids_reached
from tocsin.store.database import tables
from tocsin.store.database.dialects import json_text, per_store
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.observation_tables import suite_member

Condition = Any  # Any: SQLAlchemy's condition
NONE = "null"
"""The word that stands for a domain to find entities without one."""


@dataclass(frozen=True)
class FilterQuestion:
    """What one parameter asks for, of which type, and what the other parameters say.

    ``scopes`` says per type what the requester may see, of all types that they do not see whole.
    """

    value: str
    entity_type: str
    parameters: Mapping[str, str]
    scopes: Scopes = field(default_factory=dict)

    def ids_named(self, *types: str, by: str = "fqn") -> Any:  # Any: SQLAlchemy's select of one column
        """Return a query for the ids of entities of these types that the value names, by id or by another column.

        What the requester may not see is not found, as if there were none: an answer must not confirm its name.
        """
        row = tables.entity.alias("named")
        conditions = [_is_visible_as(one, self.scopes, row.c) for one in types]
        return select(row.c.id).where(or_(row.c.id == self.value, row.c[by] == self.value), or_(*conditions))


Filter = Callable[[FilterQuestion], Condition]

_ENTITY = tables.entity.c
_LABELS = ("tag", "glossaryTerm")
_LINK = re.compile(r"<#E::\w+::(?P<fqn>.+?)(?:::columns::(?P<column>.+?))?>")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _within(question: FilterQuestion) -> Condition:
    if not _ID.fullmatch(question.value):
        return lies_under(question.value)
    above = tables.entity.alias("above")
    fqn = select(above.c.fqn).where(above.c.id == question.value.lower()).scalar_subquery()
    return and_(_ENTITY.fqn > fqn + ".", _ENTITY.fqn < fqn + "/")


def _directly_under(question: FilterQuestion) -> Condition:
    above = tables.entity.alias()
    is_it = or_(above.c.fqn == question.value, above.c.id == question.value)
    return _ENTITY.parent_id.in_(select(above.c.id).where(is_it))


def _on_top(question: FilterQuestion) -> Condition:
    above = tables.entity.alias()
    has_one = exists().where(above.c.id == _ENTITY.parent_id, above.c.entity_type == question.entity_type)
    return not_(has_one) if _truth(question) else true()


def _under_a(question: FilterQuestion) -> Condition:
    above = tables.entity.alias()
    return _ENTITY.parent_id.in_(select(above.c.id).where(above.c.entity_type.in_(_words(question.value))))


def _filter_by_names(name: str, *types: str) -> Filter:
    def condition(question: FilterQuestion) -> Condition:
        refers, ids = entity_reference.c, question.ids_named(*types)
        return _ENTITY.id.in_(select(refers.entity_id).where(refers.field == name, refers.target_id.in_(ids)))

    return condition


def _in_domain(question: FilterQuestion) -> Condition:
    if question.value == NONE:
        return belongs_to_none(question.entity_type)
    return belongs(question.entity_type, question.ids_named("domain"))


def _with_tag(question: FilterQuestion) -> Condition:
    return has_tags([question.value], question.scopes)


def _by_value(key: str) -> Filter:
    """Return the filter by a text or a boolean in the document."""

    def condition(question: FilterQuestion) -> Condition:
        is_truth, value = question.value in ("true", "false"), json_text(_ENTITY.document, key)
        return per_store(
            sqlite=func.coalesce(value, 0) == _truth(question) if is_truth else value == question.value,
            postgresql=func.coalesce(value, "false" if is_truth else "") == question.value,
        )

    return condition


def _one_of(key: str) -> Filter:
    """Return the filter by one of several texts, given as a comma list."""

    def condition(question: FilterQuestion) -> Condition:
        return json_text(_ENTITY.document, key).in_(_words(question.value))

    return condition


def _results(question: FilterQuestion) -> Condition:
    """Return the filter by one of several results of tests; another word is refused."""
    for status in _words(question.value):
        if status not in RESULT_STATUSES:
            raise InvalidInput(f"must be one of {', '.join(RESULT_STATUSES)}, not {status!r}", field="testCaseStatus")
    return _one_of("testCaseStatus")(question)


def _word(key: str) -> Filter:
    """Return the filter by a word that the type's schema lists; another one is refused."""

    def condition(question: FilterQuestion) -> Condition:
        words = enumeration(question.entity_type, key)
        if question.value not in words:
            raise InvalidInput(f"{key} must be one of {', '.join(words)}, not {question.value!r}", field=key)
        return _by_value(key)(question)

    return condition


def _in_list(key: str, *, or_none: bool = False) -> Filter:
    """Return the filter by a text in a list of the document; ``or_none``: an empty list means every text."""

    def condition(question: FilterQuestion) -> Condition:
        text = json_text(_ENTITY.document, key)
        quoted = '"' + question.value.replace('"', "") + '"'
        contains = text.contains(quoted, autoescape=True)
        return or_(contains, func.coalesce(text, "[]") == "[]") if or_none else func.coalesce(contains, False)

    return condition


def _member(own_column: str, other_column: str) -> Filter:
    def condition(question: FilterQuestion) -> Condition:
        member, teams = tables.membership.c, question.ids_named("team", by="name")
        return _ENTITY.id.in_(select(member[own_column]).where(member[other_column].in_(teams)))

    return condition


def _under_team(question: FilterQuestion) -> Condition:
    return under_the_root() if question.value == ORGANIZATION else _member("member_id", "team_id")(question)


def _tests_this(question: FilterQuestion) -> Condition:
    """Return the condition that a test tests this; with ``includeAllTests`` a column of it counts, too."""
    link = _LINK.fullmatch(question.value)
    tested = question.value if link is None else link["fqn"] + (f".{link['column']}" if link["column"] else "")
    if question.parameters.get("includeAllTests") == "true":
        return lies_under(tested)
    return and_(lies_under(tested), json_text(_ENTITY.document, "entityFQN") == tested)


def _tests_a(question: FilterQuestion) -> Condition:
    if question.value not in ("table", "column", "all"):
        raise InvalidInput("must be table, column or all", field="testCaseType")
    of_column = json_text(_ENTITY.document, "entityLink").contains("::columns::", autoescape=True)
    return {"table": not_(of_column), "column": of_column}.get(question.value, true())


def _in_suite(question: FilterQuestion) -> Condition:
    suites, suite = suite_member.c, tables.entity.alias()
    suite_fqn = (
        select(suite.c.fqn).where(suite.c.id == question.value, suite.c.entity_type == "testSuite").scalar_subquery()
    )
    table = func.substr(suite_fqn, 1, func.length(suite_fqn) - len(".testSuite"))
    of_its_table = and_(suite_fqn.like("%.testSuite"), _ENTITY.fqn > table + ".", _ENTITY.fqn < table + "/")
    return or_(_ENTITY.id.in_(select(suites.test_case_id).where(suites.suite_id == question.value)), of_its_table)


def _suite_kind(question: FilterQuestion) -> Condition:
    if question.value not in ("basic", "executable", "logical"):
        raise InvalidInput("must be basic or logical", field="testSuiteType")
    is_basic = "false" if question.value == "logical" else "true"
    return _by_value("basic")(replace(question, value=is_basic))


def _even_empty(question: FilterQuestion) -> Condition:
    return true() if _truth(question) else exists().where(suite_member.c.suite_id == _ENTITY.id)


def _even_untested(question: FilterQuestion) -> Condition:
    suite = tables.entity.alias("suite")
    member = suite_member.c
    has_tests = exists().where(
        suite.c.entity_type == "testSuite", suite.c.fqn == _ENTITY.fqn + ".testSuite", member.suite_id == suite.c.id
    )
    return true() if _truth(question) else has_tests


def _without_owner(question: FilterQuestion) -> Condition:
    """Return the condition that the requester sees no owner of an alert of people that has had one.

    An owner whom the requester may not see is as one who is gone.
    """
    row, ownership, past = tables.entity.alias("owner"), tables.ownership.c, tables.past_relation.c
    kinds = or_(*(_is_visible_as(one, question.scopes, row.c) for one in PRINCIPALS))
    has_owner = exists().where(ownership.entity_id == _ENTITY.id, row.c.id == ownership.owner_id, kinds)
    had_owner = or_(
        exists().where(ownership.entity_id == _ENTITY.id),
        exists().where(past.entity_id == _ENTITY.id, past.relation == "owner"),
    )
    is_by_tocsin = func.coalesce(json_text(_ENTITY.document, "provider"), "") == "system"
    is_ownerless = and_(had_owner, not_(or_(has_owner, is_by_tocsin)))
    return is_ownerless if _truth(question) else not_(is_ownerless)


def _modifier(question: FilterQuestion) -> Condition:
    """Return no filter: the parameter changes the meaning of another one."""
    _truth(question)
    return true()


def _truth(question: FilterQuestion) -> bool:
    if question.value not in ("true", "false"):
        raise InvalidInput(f"{question.value!r} must be true or false")
    return question.value == "true"


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


_OF_ALL: dict[str, Filter] = {
    "service": _within,
    "database": _within,
    "databaseSchema": _within,
    "domain": _in_domain,
    "dataProduct": _filter_by_names("dataProducts", "dataProduct"),
    "serviceType": _by_value("serviceType"),
    "provider": _by_value("provider"),
    "tier": _with_tag,
    "entityStatus": _one_of("entityStatus"),
    "directChildrenOf": _directly_under,
}

_OF_TYPE: dict[str, dict[str, Filter]] = {
    "apiEndpoint": {"apiCollection": _within},
    "classification": {"disabled": _by_value("disabled")},
    "container": {"root": _on_top},
    "domain": {"parent": _within, "domainType": _by_value("domainType")},
    "eventsubscription": {
        "alertType": _word("alertType"),
        "ownerless": _without_owner,
        "notificationTemplate": _filter_by_names("notificationTemplate", "notificationTemplate"),
    },
    "glossaryTerm": {"glossary": _within, "parent": _within},
    "ingestionPipeline": {
        "pipelineType": _one_of("pipelineType"),
        "serviceType": _under_a,
        "applicationType": _by_value("applicationType"),
    },
    "query": {"entityId": _filter_by_names("queryUsedIn", "table", "dashboard", "pipeline", "storedProcedure")},
    "table": {"includeEmptyTestSuite": _even_untested},
    "tag": {"parent": _within, "disabled": _by_value("disabled")},
    "team": {"parentTeam": _under_team, "isJoinable": _by_value("isJoinable")},
    "testCase": {
        "entityLink": _tests_this,
        "entityFQN": _tests_this,
        "includeAllTests": _modifier,
        "testSuiteId": _in_suite,
        "testCaseStatus": _results,
        "testCaseType": _tests_a,
        "createdBy": _by_value("createdBy"),
    },
    "testDefinition": {
        "entityType": _by_value("entityType"),
        "testPlatform": _in_list("testPlatforms"),
        "supportedDataType": _in_list("supportedDataTypes"),
        "supportedService": _in_list("supportedServices", or_none=True),
    },
    "testSuite": {"testSuiteType": _suite_kind, "includeEmptyTestSuites": _even_empty},
    "type": {"category": _by_value("category")},
    "user": {"team": _member("member_id", "team_id"), "isAdmin": _by_value("isAdmin"), "isBot": _by_value("isBot")},
}


REPEATABLE = frozenset({"entityStatus", "pipelineType", "testCaseStatus"})
"""Filters by one of several values, given as a comma list or by repeating the parameter."""


def has_tags(tags: Sequence[str], scopes: Scopes) -> Condition:
    """Return the condition that an entity or one of its members has one of these tags that may be seen."""
    label, row = tables.entity_tag.c, tables.entity.alias("named")
    carriers = select(label.entity_id).where(label.tag_fqn.in_(tags))
    if not scopes.keys().isdisjoint(_LABELS):
        conditions = [_is_visible_as(one, scopes, row.c) for one in _LABELS]
        carriers = carriers.where(exists().where(row.c.fqn == label.tag_fqn, or_(*conditions)))
    return _ENTITY.id.in_(carriers)


def _is_visible_as(entity_type: str, scopes: Scopes, columns: Any) -> Condition:  # Any: those of an alias
    is_it = columns.entity_type == entity_type
    scope = scopes.get(entity_type)
    return is_it if scope is None else and_(is_it, visible(scope, row=columns))


def filters_of(entity_type: str) -> dict[str, Filter]:
    """Return the filters of a type by the parameter that asks for them."""
    return _OF_ALL | _OF_TYPE.get(entity_type, {})


def belongs(entity_type: str, domain_ids: Any) -> Condition:  # Any: SQLAlchemy's select of one column
    """Return the condition that an entity of this type belongs to one of these domains."""
    return _ENTITY.id.in_(ids_reached(entity_type, DOMAINS, DOMAINS.target.in_(domain_ids)))


def belongs_to_none(entity_type: str) -> Condition:
    """Return the condition that an entity of this type belongs to no domain."""
    # PostgreSQL asks NOT IN of so many row by row.
    members = ids_reached(entity_type, DOMAINS).subquery()
    return ~exists().where(members.c.id == _ENTITY.id)
