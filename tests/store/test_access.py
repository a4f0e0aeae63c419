"""Tests of subjects and visibility: by key, by row and by document the result is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy import event as events
from tests.drafts import EVENT, draft, reason
from tests.prefilled import Ids, fill
from tests.store.catalogues import Company, add_tags, company
from tests.store.rows import some_id
from tests.store.test_subscriptions import counted_statements
from tests.unit.access.people import rule

from tocsin.access.decide import Permissions
from tocsin.access.language import parse_condition
from tocsin.access.nodes import Condition
from tocsin.access.permission_cache import PermissionCache
from tocsin.delivery.dispatch import Dispatch
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.resolve.only_visible import only_visible
from tocsin.logic import ALWAYS
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.change_kinds import Frequency
from tocsin.model.message import CarriedEvent, Entry, Message, OutcomeReason
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import reasons_of
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.preferences import Preferences
from tocsin.model.stored import Key
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.access.visibility import visible
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.catalogue.relations import inheritance_filters
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import entity
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.mutes import Mutes

_LABEL = {"source": "Classification", "labelType": "Manual", "state": "Confirmed"}


class Small:
    """A company of two teams, three people, some policies and tables."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.company: Company = company(engine)
        self.subjects = SqlSubjects(engine)
        self.ids: dict[str, str] = {}
        self.ids |= fill(engine, "people with policies", self._write)

    def _write(self) -> Ids:
        self.policy("Everybody", rule("allow", "ViewAll"))
        self.policy("Describe", rule("allow", "EditDescription"))
        self.policy("OnlyUs", rule("deny", "All", on="table", when="!matchTeam()"))
        self.make("role", "Describer", policies=["Describe"])
        self.make("team", "Organization", teamType="Organization", policies=["Everybody"], defaultRoles=["Describer"])
        self.make("team", "Shop", teamType="Department", policies=["OnlyUs"])
        self.make("team", "Tills", parents=["Shop"])
        self.make("user", "anna", email="anna@example.org", teams=["Tills"])
        self.make("user", "bert", email="bert@example.org")
        self.make("user", "droid", email="droid@example.org", isBot=True)
        return self.ids

    def make(self, entity_type: str, name: str, **fields: Any) -> str:
        written = self.company.writes.create(entity_type, {"name": name, **fields}, actor=SYSTEM)
        self.ids[name] = written.document["id"]
        return self.ids[name]

    def policy(self, name: str, *rules: Any) -> None:
        self.make("policy", name, rules=list(rules))

    def alert(self, maker: str) -> str:
        """An alert of somebody's; returns its id."""
        request = {"name": "hook", "alertType": "Notification", "destinations": []}
        actor = Actor(self.ids[maker], maker)
        return str(self.company.writes.create("eventsubscription", request, actor=actor).document["id"])

    def permissions(self, name: str) -> Permissions:
        return PermissionCache(self.subjects).current_policies().of(self.ids[name])

    def table(self, name: str, **fields: Any) -> None:
        self.company.writes.create("table", self.company.table(name, **fields), actor=SYSTEM)


@pytest.fixture
def small(store_engine: Engine) -> Small:
    return Small(store_engine)


def test_people_have_the_policies_of_their_roles_their_teams_and_all_teams_above(small: Small) -> None:
    subjects = small.subjects.subjects([small.ids["anna"], small.ids["bert"], small.ids["droid"], "nobody"])
    anna, bert, robot = (subjects[small.ids[name]] for name in ("anna", "bert", "droid"))
    assert "nobody" not in subjects
    assert anna.team_names == {"Tills", "Shop", "Organization"}
    assert anna.role_names == {"Describer"}
    assert {(grant.policy.name, grant.is_foreign) for grant in anna.grants} == {
        ("Everybody", False),
        ("Describe", False),
        ("OnlyUs", False),
    }
    assert bert.team_names == {"Organization"}
    assert {(grant.policy.name, grant.is_foreign) for grant in bert.grants} == {
        ("Everybody", False),
        ("Describe", False),
        ("OnlyUs", True),
    }
    assert not any(grant.policy.name in ("Everybody", "Describe") for grant in robot.grants)


def test_a_team_that_keeps_to_itself_is_seen_by_its_own_alone(small: Small) -> None:
    small.table("tills", owners=[{"type": "team", "id": small.ids["Tills"]}])
    small.table("hers", owners=[{"type": "user", "id": small.ids["anna"]}])
    small.table("nobodys")
    names = ["hers", "nobodys", "tills"]
    visible_names_by_person = {who: [name for name in names if _may(small, who, name)] for who in ("anna", "bert")}
    assert visible_names_by_person == {"anna": ["hers", "tills"], "bert": ["hers", "nobodys"]}
    assert {
        who: [n for n in visible_names(small, small.permissions(who)) if n in names] for who in ("anna", "bert")
    } == visible_names_by_person


def test_teams_that_keep_to_themselves_do_not_stand_in_each_others_way(small: Small) -> None:
    small.make("team", "Lab", teamType="Department", policies=["OnlyUs"])
    small.table("tills", owners=[{"type": "team", "id": small.ids["Tills"]}])
    small.table("lab", owners=[{"type": "team", "id": small.ids["Lab"]}])
    small.table("nobodys")
    assert set(visible_names(small, small.permissions("bert"))) == {"nobodys", "orders"}
    _patch(small, ("user", "bert"), "/teams", [{"type": "team", "id": small.ids[name]} for name in ("Shop", "Lab")])
    assert visible_names(small, small.permissions("bert")) == []


@pytest.mark.parametrize(
    "condition",
    [
        "isOwner()",
        "noOwner()",
        "!isOwner() && !noOwner()",
        "hasDomain()",
        "noDomain()",
        "matchAnyTag('PII.Sensitive')",
        "matchAllTags('PII.Sensitive', 'Tier.Tier1')",
        "!matchAnyTag('PII.Sensitive') || isOwner()",
        "matchAnyCertification('Certification.Gold')",
        "!matchAnyCertification('Certification.Gold')",
        "inAnyTeam('Shop')",
        "isBot()",
        "true",
    ],
)
def test_rows_and_documents_answer_alike(small: Small, condition: str) -> None:
    small.policy("Asked", rule("allow", "Trigger", when=condition))
    small.make("role", "Asking", policies=["Asked"])
    anna = small.ids["anna"]
    for key, value in (("roles", "role Asking"), ("domains", "domain Sales")):
        kind, _, name = value.partition(" ")
        if kind == "domain":
            small.make("domain", name, domainType="Aggregate", description="x")
        patch = [{"op": "add", "path": f"/{key}", "value": [{"type": kind, "id": small.ids[name]}]}]
        small.company.writes.patch("user", Key.by_id(anna), patch, actor=SYSTEM)
    add_tags(small.company.writes, "Certification.Gold", "Tier.Tier1", "PII.Sensitive")
    certification = {"tagLabel": {"tagFQN": "Certification.Gold", **_LABEL}, "appliedDate": 1, "expiryDate": 2}
    small.table("plain")
    small.table("hers", owners=[{"type": "user", "id": anna}])
    small.table("theirs", owners=[{"type": "team", "id": small.ids["Shop"]}], tags=[{"tagFQN": "Tier.Tier1"}])
    small.table("sold", domains=["Sales"], tags=[{"tagFQN": "PII.Sensitive"}, {"tagFQN": "Tier.Tier1"}])
    small.table("gold", certification=certification)
    permissions = small.permissions("anna")
    scope = permissions.scope("table", Operation.TRIGGER)
    documents = small.company.catalogue.list_entities("table", _long_listing()).documents
    by_document = sorted(one["name"] for one in documents if permissions.may(Operation.TRIGGER, "table", one))
    assert sorted(_rows(small, "table", scope)) == by_document


def _write_domains(small: Small) -> Ids:
    """Give a service a domain, and another to a schema and a table below it; return all ids."""
    writes = small.company.writes
    writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    sales, _ = (small.make("domain", name, domainType="Aggregate", description="x") for name in ("Sales", "Web"))
    _patch(small, ("user", "anna"), "/domains", [{"type": "domain", "id": sales}])
    _patch(small, ("databaseService", "pg"), "/domains", [{"type": "domain", "id": sales}])
    writes.create("databaseSchema", {"name": "web", "database": "pg.shop", "domains": ["Web"]}, actor=SYSTEM)
    writes.create("databaseService", {"name": "other", "serviceType": "Postgres"}, actor=SYSTEM)
    small.table("sold")
    small.table("own", domains=["Web"])
    small.table("shown", databaseSchema="pg.shop.web")
    for table, column in (("sold", ""), ("own", "::columns::email"), ("shown", "")):
        fqn = f"pg.shop.{'web' if table == 'shown' else 'public'}.{table}"
        link = f"<#E::table::{fqn}{column}>"
        definition = "notNull" if column else "hasRows"
        writes.create("testCase", {"name": table, "entityLink": link, "testDefinition": definition}, actor=SYSTEM)
    return small.ids


@pytest.mark.parametrize("condition", ["hasDomain()", "noDomain()", "!hasDomain()", "!noDomain() || isOwner()"])
def test_a_domain_counts_that_comes_from_above(small: Small, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small.ids |= fill(small.engine, "domains from above", lambda: _write_domains(small))
    small.policy("Asked", rule("allow", "Trigger", when=condition))
    small.make("role", "Asking", policies=["Asked"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Asking"]}])
    kinds = ("databaseService", "database", "databaseSchema", "table", "testSuite", "testCase")
    names_by_kind = names_however_many(small, kinds, monkeypatch)
    if condition == "hasDomain()":
        assert names_by_kind["table"] == ["orders", "sold"]
        assert (names_by_kind["database"], names_by_kind["databaseSchema"], names_by_kind["testCase"]) == (
            ["shop"],
            ["public"],
            ["sold"],
        )
        assert names_by_kind["testSuite"] == ["pg.shop.public.sold.testSuite"]
    if condition == "noDomain()":
        assert (names_by_kind["databaseService"], names_by_kind["table"], names_by_kind["testCase"]) == (
            ["other"],
            [],
            [],
        )


def _write_owners(small: Small) -> Ids:
    """Give a service an owner, and another to a schema and a table below it; return all ids."""
    writes = small.company.writes
    writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    tills = [{"type": "team", "id": small.ids["Tills"]}]
    _patch(small, ("databaseService", "pg"), "/owners", tills)
    berts = [{"type": "user", "id": small.ids["bert"]}]
    writes.create("databaseSchema", {"name": "web", "database": "pg.shop", "owners": berts}, actor=SYSTEM)
    writes.create("databaseService", {"name": "other", "serviceType": "Postgres"}, actor=SYSTEM)
    small.table("sold")
    small.table("own", owners=berts)
    small.table("shown", databaseSchema="pg.shop.web")
    for table, column in (("sold", "::columns::email"), ("own", "")):
        request = {"name": table, "entityLink": f"<#E::table::pg.shop.public.{table}{column}>"}
        writes.create("testCase", request | {"testDefinition": "notNull" if column else "hasRows"}, actor=SYSTEM)
    return small.ids


@pytest.mark.parametrize(
    "condition", ["isOwner()", "noOwner()", "!isOwner()", "!noOwner() && !isOwner()", "matchTeam()"]
)
def test_an_owner_counts_who_comes_from_above(small: Small, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small.ids |= fill(small.engine, "owners from above", lambda: _write_owners(small))
    small.policy("Asked", rule("allow", "Trigger", when=condition))
    _patch(small, ("team", "Shop"), "/policies", [{"type": "policy", "id": small.ids["Asked"]}])
    kinds = ("databaseService", "database", "databaseSchema", "table", "testSuite", "testCase", "user")
    names_by_kind = names_however_many(small, kinds, monkeypatch)
    if condition == "isOwner()":
        assert (names_by_kind["databaseService"], names_by_kind["databaseSchema"], names_by_kind["table"]) == (
            ["pg"],
            ["public"],
            ["orders", "sold"],
        )
        assert (names_by_kind["testCase"], names_by_kind["user"]) == (["sold"], ["anna"])
        assert names_by_kind["testSuite"] == ["pg.shop.public.sold.testSuite"]
    if condition == "noOwner()":
        assert (names_by_kind["databaseService"], names_by_kind["table"], names_by_kind["testCase"]) == (
            ["other"],
            [],
            [],
        )


_SHUT = "matchAnyTag('PII.Sensitive')"


@pytest.mark.parametrize("when", [_SHUT, f"{_SHUT} && (noDomain() || !isOwner()) && (noOwner() || !hasDomain())"])
def test_a_test_a_suite_and_a_query_are_as_visible_as_what_they_are_about(small: Small, when: str) -> None:
    add_tags(small.company.writes, "PII.Sensitive")
    writes = small.company.writes
    writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    small.table("open")
    small.table("shut", tags=[{"tagFQN": "PII.Sensitive"}])
    for name in ("open", "shut"):
        link = f"<#E::table::pg.shop.public.{name}::columns::email>"
        writes.create("testCase", {"name": name, "entityLink": link, "testDefinition": "notNull"}, actor=SYSTEM)
    small.make("testSuite", "mixed")
    tables = {one: _reference(small, f"pg.shop.public.{one}") for one in ("open", "shut")}
    for name, table_names in (("none", []), ("open", ["open"]), ("both", ["open", "shut"])):
        request = {
            "name": name,
            "service": "pg",
            "query": f"select {name}",
            "queryUsedIn": [tables[one] for one in table_names],
        }
        writes.create("query", request, actor=SYSTEM)
    small.policy("Shut", rule("deny", "ViewAll", on="table dashboard pipeline storedProcedure", when=when))
    small.make("role", "Kept", policies=["Shut"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Kept"]}])
    kinds = ("table", "testCase", "testSuite", "query")
    names_by_kind = {kind: names_alike(small, kind, Operation.VIEW_BASIC) for kind in kinds}
    assert names_by_kind["testCase"] == ["open"]
    assert names_by_kind["testSuite"] == ["mixed", "pg.shop.public.open.testSuite"]
    assert names_by_kind["query"] == ["none", "open"]
    assert "shut" not in names_by_kind["table"]
    assert names_alike(small, "testCase", Operation.VIEW_TESTS) == ["open"]
    writes.delete("table", Key.by_name("pg.shop.public.shut"), actor=SYSTEM, recursive=True, hard=True)
    former_state = SqlEntityStates(small.engine).of([tables["shut"]["id"]])[tables["shut"]["id"]]
    assert not small.permissions("anna").may(Operation.VIEW_BASIC, *former_state), "it is as it was last"


def test_a_test_that_went_with_its_table_is_as_visible_as_the_table_was(small: Small) -> None:
    """Its table is known by name alone, which another table has taken since."""
    writes = small.company.writes
    writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    small.policy("Shut", rule("deny", "ViewAll", on="table", when="matchAnyTag('PII.Sensitive')"))
    add_tags(writes, "PII.Sensitive")
    small.make("role", "Kept", policies=["Shut"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Kept"]}])
    ids = {}
    for name, tags in (("open", []), ("shut", [{"tagFQN": "PII.Sensitive"}])):
        small.table(name, tags=tags)
        link = f"<#E::table::pg.shop.public.{name}::columns::email>"
        case = {"name": "rows", "entityLink": link, "testDefinition": "notNull"}
        ids[name] = writes.create("testCase", case, actor=SYSTEM).document["id"]
    for name, tags in (("open", [{"tagFQN": "PII.Sensitive"}]), ("shut", [])):
        writes.delete("table", Key.by_name(f"pg.shop.public.{name}"), actor=SYSTEM, recursive=True, hard=True)
        small.table(name, tags=tags)
    states = SqlEntityStates(small.engine).of(ids.values())
    visible_names = [name for name in ids if small.permissions("anna").may(Operation.VIEW_BASIC, *states[ids[name]])]
    assert visible_names == ["open"]


def test_what_is_hidden_before_it_is_sent_is_not_sent(small: Small) -> None:
    """Days may pass between an event and its mail: the table's state at sending counts."""
    writes = small.company.writes
    writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    add_tags(writes, "PII.Sensitive")
    small.policy("Shut", rule("deny", "ViewAll", on="table", when="matchAnyTag('PII.Sensitive')"))
    small.make("role", "Kept", policies=["Shut"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Kept"]}])
    small.table("sold", description="Sold.")
    alerts = {name: small.alert(name) for name in ("anna",)}
    table_event = small.company.log.read(0, 1_000)[-2].event
    assert table_event.entity_fully_qualified_name == "pg.shop.public.sold"
    to_anna, to_bert = (_dispatch_of(table_event, "", small.ids[name]) for name in ("anna", "bert"))
    to_hook = _dispatch_of(table_event, alerts["anna"], None)
    permissions = Permitted(small.engine)
    by_bot = replace(
        to_bert, message=replace(to_bert.message, channel="Slack"), entries=_of_alert(to_bert, alerts["anna"])
    )
    everything = (to_anna, to_bert, to_hook, by_bot)
    assert [remainder_of(permissions, one) for one in everything] == [(one, []) for one in everything]
    _patch(small, ("table", "pg.shop.public.sold"), "/tags", [{"tagFQN": "PII.Sensitive"}])
    refusal = (None, [OutcomeReason.MAY_NOT_VIEW])
    assert [remainder_of(permissions, one) for one in everything] == [refusal, (to_bert, []), refusal, refusal], (
        "by anna's bot"
    )
    writes.delete("table", Key.by_name("pg.shop.public.sold"), actor=SYSTEM, hard=True)
    refusal = (None, [OutcomeReason.MAY_NOT_VIEW])
    assert [remainder_of(permissions, one) for one in everything] == [refusal, (to_bert, []), refusal, refusal]


def test_who_made_a_change_has_no_display_name_in_messages_to_who_may_not_see_them(small: Small) -> None:
    small.company.writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    small.policy("NoPeople", rule("deny", "ViewAll", on="user"))
    small.make("role", "Alone", policies=["NoPeople"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Alone"]}])
    small.table("sold", description="Sold.")
    event = small.company.log.read(0, 1_000)[-1].event
    author = {"user_id": small.ids["bert"], "user_name": "Bert Kanarienvogel"}
    for name, shown_name in (("anna", "bert"), ("bert", "Bert Kanarienvogel")):
        message = _dispatch_of(event.model_copy(update=author), "", small.ids[name])
        part, _ = Permitted(small.engine).permitted_part(message, now_ms=0)
        assert part is not None
        assert [entry.event.user_name for entry in part.entries] == [shown_name]


def test_the_authors_of_many_changes_are_judged_by_as_many_statements_as_of_one(small: Small) -> None:
    small.company.writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    small.policy("NoPeople", rule("deny", "ViewAll", on="user", when="isOwner()"))
    small.make("role", "Alone", policies=["NoPeople"])
    _patch(small, ("user", "anna"), "/roles", [{"type": "role", "id": small.ids["Alone"]}])
    small.table("sold", description="Sold.")
    event = small.company.log.read(0, 1_000)[-1].event
    message = _dispatch_of(event, "", small.ids["anna"])
    counts = []
    for number in (1, 20):
        entries = tuple(
            message.first.with_event(event.model_copy(update={"user_id": some_id(f"author {at}")}))
            for at in range(number)
        )
        permissions = Permitted(small.engine)
        permissions.visible_part(message)
        with counted_statements(small.engine) as statements:
            permissions.visible_part(replace(message, entries=entries))
        counts.append(len(statements))
    assert counts[0] == counts[1] > 0


def test_a_message_to_nobody_in_particular_needs_no_look_for_a_second_after_everybody_could_view_everything(
    store_engine: Engine,
) -> None:
    now_s = [0.0]
    permissions = Permitted(store_engine, steady=lambda: now_s[0])
    shop = company(store_engine)
    event = shop.writes.create("domain", {"name": "shop", "description": "", "domainType": "Aggregate"}, actor=SYSTEM)
    assert event.event is not None
    hook = _dispatch_of(event.event, "", None, target="https://hooks.example.org")
    assert not permissions.is_certain(hook)
    assert remainder_of(permissions, hook) == (hook, [])
    assert permissions.is_certain(hook)
    assert not permissions.is_certain(_dispatch_of(event.event, "", "somebody", target="https://hooks.example.org"))
    assert not permissions.is_certain(_dispatch_of(event.event, "", None))
    now_s[0] = 1.0
    assert not permissions.is_certain(hook)


def test_what_many_messages_may_show_is_asked_ahead_in_few_statements_and_holds_for_a_second(
    store_engine: Engine,
) -> None:
    now_s = [0.0]
    permissions = Permitted(store_engine, steady=lambda: now_s[0])
    shop = company(store_engine)
    event = shop.writes.create("domain", {"name": "shop", "description": "", "domainType": "Aggregate"}, actor=SYSTEM)
    assert event.event is not None
    messages = {name: _dispatch_of(event.event, "", name) for name in ("ann", "bert", "carl", "dana", "emil")}
    Mutes(store_engine).put(Mute("bert", MuteKind.ASSET, event.event.entity_id))
    preferences = SqlPreferences(store_engine)
    preferences.put("carl", Preferences(frequency=Frequency.NEVER), now_ms=0)
    preferences.put("emil", Preferences(categories={"description": Frequency.NEVER}), now_ms=0)
    preferences.put("dana", Preferences(frequency=Frequency.DAILY), now_ms=0)
    permissions.permitted_part(messages["ann"], now_ms=0)  # the policies are known
    many_messages = [*messages.values()] * 10
    quiet_times = SqlQuietTimes(store_engine, steady=lambda: now_s[0])
    statements: list[str] = []
    listener = ("before_cursor_execute", lambda _connection, _cursor, sql, *_values: statements.append(sql))
    events.listen(store_engine, *listener)
    recent = quiet_times.look_ahead(many_messages)
    permissions.look_ahead(many_messages, recent)
    events.remove(store_engine, *listener)
    assert len(statements) <= 5, "preferences, those of teams, mutes, kinds of events, whether policies have changed"
    assert [name for name, message in messages.items() if permissions.is_certain(message)] == ["ann", "dana", "emil"]
    assert remainder_of(permissions, messages["bert"]) == (None, [OutcomeReason.MUTED])
    assert remainder_of(permissions, messages["ann"]) == (messages["ann"], [])
    Mutes(store_engine).put(Mute("ann", MuteKind.ASSET, event.event.entity_id))
    now_s[0] = 1.0
    assert not permissions.is_certain(messages["ann"])
    assert remainder_of(permissions, messages["ann"]) == (None, [OutcomeReason.MUTED])


def test_a_message_is_looked_at_where_not_everybody_may_view_everything(small: Small) -> None:
    permitted = Permitted(small.engine)
    creation = small.company.writes.create(
        "domain", {"name": "d", "description": "", "domainType": "Aggregate"}, actor=SYSTEM
    )
    assert creation.event is not None
    hook = _dispatch_of(creation.event, "", None, target="https://hooks.example.org")
    permitted.permitted_part(hook, now_ms=0)
    assert not permitted.is_certain(hook)


def _dispatch_of(
    event: ChangeEvent, subscription_id: str, recipient_id: str | None, *, target: str = "x@example.org"
) -> Dispatch:
    message = Message("d", subscription_id, "to", "Email", target, 0, 0, 0)
    kind = ReasonKind.OWNER if recipient_id else ReasonKind.EXTERNAL
    reason = Reason(kind=kind, subscription_id=subscription_id, subscription_name="hook", destination_id="to")
    return Dispatch(message, (Entry("n", 1, CarriedEvent.of(event), (reason,), recipient_id),))


def _of_alert(dispatch: Dispatch, alert: str) -> tuple[Entry, ...]:
    """The entries of a dispatch as those of an alert."""
    (entry,) = dispatch.entries
    return (replace(entry, reasons=tuple(one.model_copy(update={"subscription_id": alert}) for one in entry.reasons)),)


def remainder_of(permitted: Permitted, dispatch: Dispatch) -> tuple[Dispatch | None, list[OutcomeReason]]:
    remainder, dropped = permitted.permitted_part(dispatch, now_ms=0)
    return remainder, [one.because for one in dropped]


def _reference(small: Small, fqn: str) -> dict[str, Any]:
    reference = small.company.catalogue.reference("table", Key.by_name(fqn))
    assert reference is not None
    return reference


def names_alike(small: Small, kind: str, operation: Operation = Operation.TRIGGER) -> list[str]:
    """The names of a type with which Anna may do this: by document, by row and by list the same."""
    permissions, catalogue = small.permissions("anna"), small.company.catalogue
    scope = permissions.scope(kind, operation)
    documents = catalogue.list_entities(kind, _long_listing()).documents
    standing = SqlEntityStates(small.engine)
    entities_asked_about = [standing.as_asked(permissions, operation, kind, one) for one in documents]
    names = sorted(one["name"] for one in entities_asked_about if permissions.may(operation, kind, one))
    assert sorted(_rows(small, kind, scope)) == names
    listed = catalogue.list_entities(kind, Listing(limit=100, visible=scope))
    assert sorted(one["name"] for one in listed.documents) == names
    return names


def names_however_many(small: Small, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The names of each of these types: whether somebody or a domain has little or much, they are the same."""
    names_by_few = []
    for few in (1_000, 2, 0):
        monkeypatch.setattr(inheritance_filters, "_FEW", few)
        names_by_few.append({kind: names_alike(small, kind) for kind in kinds})
    assert names_by_few[1:] == names_by_few[:1] * 2
    return names_by_few[0]


def _patch(small: Small, subject: tuple[str, str], path: str, value: Any) -> None:
    patch = [{"op": "add", "path": path, "value": value}]
    small.company.writes.patch(subject[0], Key.by_name(subject[1]), patch, actor=SYSTEM)


def test_a_view_of_the_user_rows_agrees_with_their_documents(small: Small) -> None:
    anna = small.permissions("anna").subject
    assert _rows(small, "user", ALWAYS) != []
    for condition in ("isOwner()", "noOwner()"):
        small.policy(condition[:-2], rule("allow", "Kill", on="user", when=condition))
        small.make("role", condition, policies=[condition[:-2]])
    roles = [{"type": "role", "id": small.ids["isOwner()"]}]
    patch = [{"op": "add", "path": "/roles", "value": roles}]
    small.company.writes.patch("user", Key.by_id(anna.id), patch, actor=SYSTEM)
    assert _rows(small, "user", small.permissions("anna").scope("user", Operation.KILL)) == ["anna"]


def test_only_what_rules_depend_on_raises_the_revision(small: Small) -> None:
    def after(entity_type: str, name: str, path: str, value: Any) -> bool:
        before = small.subjects.revision()
        patch = [{"op": "add", "path": path, "value": value}]
        small.company.writes.patch(entity_type, Key.by_id(small.ids[name]), patch, actor=SYSTEM)
        return small.subjects.revision() > before

    assert not after("user", "bert", "/description", "hello")
    assert not after("team", "Shop", "/displayName", "Shop!")
    assert after("user", "bert", "/teams", [{"type": "team", "id": small.ids["Shop"]}])
    assert after("team", "Tills", "/defaultRoles", [{"type": "role", "id": small.ids["Describer"]}])
    assert after("policy", "Everybody", "/enabled", False)
    before = small.subjects.revision()
    small.make("user", "new", email="new@example.org")
    small.table("new")
    assert small.subjects.revision() == before
    small.company.writes.delete("user", Key.by_id(small.ids["new"]), actor=SYSTEM)
    assert small.subjects.revision() > before


def test_views_follow_every_change(small: Small) -> None:
    permission_cache = PermissionCache(small.subjects)
    assert permission_cache.current_policies().of(small.ids["bert"]).may(Operation.EDIT_DESCRIPTION, "table", {})
    assert not permission_cache.current_policies().is_open("table")
    small.company.writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    small.company.writes.delete("role", Key.by_id(small.ids["Describer"]), actor=SYSTEM)
    assert not permission_cache.current_policies().of(small.ids["bert"]).may(Operation.EDIT_DESCRIPTION, "table", {})
    assert permission_cache.current_policies().is_open("table")


def test_a_policy_that_cannot_be_understood_is_not_kept(small: Small) -> None:
    with pytest.raises(InvalidCondition) as refused:
        small.policy("Bad", rule("allow", "All", when="isOwner() ||\n noOwnr()"))
    assert (refused.value.line, refused.value.column, refused.value.field) == (2, 2, "rules[0].condition")
    with pytest.raises(InvalidInput, match="unknown team 'Nowhere'"):
        small.policy("Bad", rule("allow", "All", when="inAnyTeam('Nowhere')"))
    patch = [{"op": "add", "path": "/rules/0/operations/0", "value": "Fly"}]
    with pytest.raises(InvalidInput, match="unknown operation 'Fly'"):
        small.company.writes.patch("policy", Key.by_id(small.ids["Everybody"]), patch, actor=SYSTEM)
    assert parse_condition("inAnyTeam('Nowhere')") is not None


def test_who_may_not_see_an_asset_is_not_notified_of_it(small: Small) -> None:
    small.table("tills", owners=[{"type": "team", "id": small.ids["Tills"]}])
    small.table("free")
    offsets = {logged.event.entity_fully_qualified_name: logged.offset for logged in small.company.log.read(0, 10_000)}
    owner_reason, by_address = reason("a", ReasonKind.OWNER), reason(small.alert("bert"))
    drafts = [
        draft(
            "Email", why, event=EVENT._replace(offset=offsets[f"pg.shop.public.{name}"]), key=who, recipient_id=user_id
        )
        for name in ("tills", "free")
        for who, user_id, why in (
            ("anna", small.ids["anna"], owner_reason),
            ("bert", small.ids["bert"], owner_reason),
            ("hook of bert", None, by_address),
        )
    ]
    tills, free = (offsets[f"pg.shop.public.{name}"] for name in ("tills", "free"))
    permission_cache, events = PermissionCache(small.subjects), SqlEvents(small.engine)
    visible = only_visible(drafts, permission_cache.current_policies(), events)
    assert [(one.event.offset, one.key) for one in visible] == [
        (tills, "anna"),
        (free, "bert"),
        (free, "hook of bert"),
    ]
    small.company.writes.delete("policy", Key.by_id(small.ids["OnlyUs"]), actor=SYSTEM)
    assert len(only_visible(drafts, permission_cache.current_policies(), events)) == 6


def test_every_reason_is_judged_by_who_answers_for_it(small: Small) -> None:
    """An address that belongs to a user is sent what this person may see, and what an alert's editors may show it."""
    small.table("tills", owners=[{"type": "team", "id": small.ids["Tills"]}])
    offset = small.company.log.readable_end()
    alert = small.alert("bert")
    owner_reason, by_address = reason("a", ReasonKind.OWNER), reason(alert)
    event = EVENT._replace(offset=offset)
    to_anna, to_bert = (
        draft("Email", owner_reason, by_address, event=event, key=name, recipient_id=small.ids[name])
        for name in ("anna", "bert")
    )
    permission_cache, events = PermissionCache(small.subjects), SqlEvents(small.engine)
    (visible,) = only_visible([to_anna, to_bert], permission_cache.current_policies(), events)
    assert visible == to_anna._replace(reasons=reasons_of((owner_reason,)))
    assert visible.reasons.destination_ids == {"a": "d"}
    small.company.writes.patch(
        "user", Key.by_id(small.ids["bert"]), [{"op": "add", "path": "/isAdmin", "value": True}], actor=SYSTEM
    )
    small.company.writes.delete("user", Key.by_id(small.ids["anna"]), actor=SYSTEM)
    assert only_visible([to_anna, to_bert], permission_cache.current_policies(), events) == [
        to_anna._replace(recipient_id=None, reasons=reasons_of((by_address,))),
        to_bert,
    ]


def _long_listing() -> Any:

    return Listing(limit=1_000)


def _may(small: Small, who: str, name: str) -> bool:
    document = small.company.get("table", f"pg.shop.public.{name}")
    return small.permissions(who).may(Operation.VIEW_BASIC, "table", document)


def visible_names(small: Small, permissions: Permissions) -> list[str]:
    return sorted(_rows(small, "table", permissions.scope("table", Operation.VIEW_BASIC)))


def _rows(small: Small, entity_type: str, scope: Condition) -> list[str]:
    with reading(small.engine) as connection:
        sql = visible(scope)
        return list(connection.execute(select(entity.c.name).where(entity.c.entity_type == entity_type, sql)).scalars())
