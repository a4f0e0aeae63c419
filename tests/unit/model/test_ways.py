"""What beats what of choices for follows, roles, kinds, teams and the server, beside a simple calculation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.change_kinds import CHANGE_KINDS, EventKind, Frequency
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.notification import Followed, Reason, ReasonKind, follow_key, followed_mark
from tocsin.model.preferences import (
    DefaultPreferences,
    FrequencyChoice,
    Layer,
    Layers,
    NamedTeam,
    Preferences,
    TeamPreferences,
)
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel
from tocsin.model.ways import choose_among, told_because, ways_of

ORDERS, MAIL = "orders", Channel.EMAIL
SCHEMA = Followed(type="databaseSchema", id="schema", fully_qualified_name="pg.store.public")
DOMAIN = Followed(type="domain", id="domain", fully_qualified_name="Shop")
COLUMN = Followed(type="table", id=ORDERS, fully_qualified_name="pg.store.public.orders.id", relation="column")


def because_of(kind: ReasonKind, **fields: Any) -> Reason:
    return Reason(kind=kind, subscription_id="alert", subscription_name="All", destination_id="mail", **fields)


OWNER, OWNER_BELOW = because_of(ReasonKind.OWNER), because_of(ReasonKind.OWNER, hops=2, via="below")
FOLLOWER = because_of(ReasonKind.FOLLOWER)
BY_SCHEMA, BY_DOMAIN = (because_of(ReasonKind.FOLLOWER, through=one) for one in (SCHEMA, DOMAIN))
BY_COLUMN = because_of(ReasonKind.FOLLOWER, through=COLUMN, follow="orders/id")
FOLLOWER_BELOW = because_of(ReasonKind.FOLLOWER, hops=1, via="pg.store.public.revenue", follow="revenue")
OTHER_BELOW = because_of(ReasonKind.FOLLOWER, hops=1, via="pg.store.public.refunds", follow="refunds")
OF_TABLE = because_of(ReasonKind.FOLLOWER, of_subject=True, follow="table")
COLUMN_OF_TABLE = because_of(ReasonKind.FOLLOWER, of_subject=True, through=COLUMN, follow="table/id")
SCHEMA_OF_TABLE = because_of(ReasonKind.FOLLOWER, of_subject=True, through=SCHEMA)
BY_SEARCH, NAMED = because_of(ReasonKind.USER, search="mine"), because_of(ReasonKind.USER)
MET = because_of(ReasonKind.USER, met="follows")
NEAREST_FIRST = ((BY_COLUMN, "orders/id"), (FOLLOWER, ORDERS), (BY_SCHEMA, "schema"), (BY_DOMAIN, "domain"))
"""The follows of the asset itself, each with the key of its choices."""

FREQUENCIES = st.sampled_from([one.value for one in Frequency])
KINDS = st.sampled_from(["description", "tag", "testFailure", "breaking", "bot"])
TABLES = st.dictionaries(KINDS, st.fixed_dictionaries({MAIL: FREQUENCIES}), max_size=3)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={"kinds": TABLES, "roles": st.dictionaries(st.sampled_from(AssetRole), TABLES), "frequency": FREQUENCIES},
)
CHOICES = st.fixed_dictionaries({}, optional={"kinds": TABLES, "channels": st.fixed_dictionaries({MAIL: FREQUENCIES})})


def choice_of(
    reasons: Sequence[Reason], choices: Mapping[str, Any], layers: Layers, kinds: Sequence[EventKind]
) -> FrequencyChoice:
    by_key = {key: FollowChoices.model_validate(document) for key, document in choices.items()}
    return choose_among(ways_of(told_because(reasons), ORDERS, by_key), layers, kinds, MAIL)


def own_layer(document: Mapping[str, Any]) -> Layers:
    return ((Layer.OWN, Preferences.model_validate(document)),)


EVERYTHING: dict[str, Any] = {"channels": {"Email": "immediate"}}
NOTHING: dict[str, Any] = {"channels": {"Email": "never"}}
WEEKLY: dict[str, Any] = {"frequency": "weekly", "kinds": {"description": {"Email": "weekly"}}}
DESCRIPTION = [EventKind("description", "description")]


@pytest.mark.parametrize(
    ("reasons", "choices", "expected"),
    [
        ([FOLLOWER], {ORDERS: EVERYTHING}, "immediate"),
        ([FOLLOWER], {"other": EVERYTHING}, "weekly"),
        ([FOLLOWER, OWNER], {ORDERS: NOTHING}, "weekly"),  # what arrives through ownership is as it was
        ([FOLLOWER], {ORDERS: NOTHING}, "never"),
        ([FOLLOWER, BY_SCHEMA], {ORDERS: NOTHING, "schema": EVERYTHING}, "never"),  # the nearest follow decides
        ([FOLLOWER, BY_SCHEMA], {ORDERS: NOTHING}, "never"),  # a wider follow without choices does not undo it
        ([FOLLOWER, BY_SCHEMA], {"schema": NOTHING}, "weekly"),  # a nearer follow without choices counts as ever
        ([FOLLOWER, BY_SCHEMA], {"schema": EVERYTHING}, "immediate"),
        ([BY_DOMAIN, BY_SCHEMA], {"domain": EVERYTHING, "schema": {"kinds": {}}}, "immediate"),
        ([BY_DOMAIN, BY_SCHEMA], {"domain": EVERYTHING, "schema": NOTHING}, "never"),
        ([FOLLOWER, BY_COLUMN], {"orders/id": EVERYTHING, ORDERS: NOTHING}, "immediate"),
        ([FOLLOWER_BELOW], {"revenue": EVERYTHING}, "immediate"),
        ([FOLLOWER_BELOW, FOLLOWER], {"revenue": EVERYTHING, ORDERS: NOTHING}, "never"),
        ([FOLLOWER_BELOW, OTHER_BELOW], {"revenue": EVERYTHING, "refunds": NOTHING}, "never"),
        ([FOLLOWER, OF_TABLE], {ORDERS: EVERYTHING, "table": NOTHING}, "immediate"),
        ([FOLLOWER, OF_TABLE], {"table": NOTHING}, "weekly"),
        ([FOLLOWER, COLUMN_OF_TABLE], {ORDERS: EVERYTHING, "table/id": NOTHING}, "immediate"),
        ([OF_TABLE, SCHEMA_OF_TABLE], {"schema": EVERYTHING, "table": NOTHING}, "never"),
        ([BY_SEARCH], {"alert": EVERYTHING}, "immediate"),
        ([MET], {ORDERS: EVERYTHING}, "immediate"),
        ([NAMED], {ORDERS: EVERYTHING}, "weekly"),
    ],
)
def test_the_nearest_follow_with_a_choice_decides_for_what_arrives_through_follows(
    reasons: list[Reason], choices: dict[str, Any], expected: str
) -> None:
    assert choice_of(reasons, choices, own_layer(WEEKLY), DESCRIPTION).frequency == expected
    assert choice_of(reasons[::-1], choices, own_layer(WEEKLY), DESCRIPTION).frequency == expected


@pytest.mark.parametrize(
    ("reason", "role"),
    [
        (OWNER, "owned"),
        (OWNER_BELOW, "aboveOwned"),
        (because_of(ReasonKind.OWNER, team="shop"), "owned"),
        (FOLLOWER, "followed"),
        (BY_SCHEMA, "followed"),
        (FOLLOWER_BELOW, "aboveFollowed"),
        (BY_SEARCH, "followed"),
        (MET, "followed"),
        (because_of(ReasonKind.USER, met="owns"), "owned"),
        (NAMED, None),
        (because_of(ReasonKind.USER, met="isMemberOf:shop"), None),
        (because_of(ReasonKind.MENTION), None),
        (because_of(ReasonKind.ASKED), None),
    ],
)
def test_a_choice_for_a_role_counts_for_what_is_told_in_it(reason: Reason, role: str | None) -> None:
    for chosen_role in AssetRole:
        own_document = {"roles": {chosen_role: {"description": {"Email": "daily"}}}, **WEEKLY}
        choice = choice_of([reason], {}, own_layer(own_document), DESCRIPTION)
        expected = ("daily", role) if chosen_role == role else ("weekly", "")
        assert (choice.frequency, choice.role) == expected
        assert FrequencyChoice.from_text(choice.to_text()) == choice


def test_the_soonest_of_ones_roles_counts() -> None:
    own_document = {
        "roles": {"owned": {"description": {"Email": "hourly"}}, "followed": {"description": {"Email": "never"}}}
    }
    assert choice_of([OWNER, FOLLOWER], {}, own_layer(own_document), DESCRIPTION).frequency == "hourly"
    assert choice_of([FOLLOWER], {}, own_layer(own_document), DESCRIPTION).frequency == "never"


def test_of_roles_alike_the_same_is_said_each_time() -> None:
    daily = {"description": {"Email": "daily"}}
    own_document = {"roles": {"aboveOwned": daily, "owned": daily}}
    for reasons in ([OWNER, OWNER_BELOW, NAMED], [NAMED, OWNER_BELOW, OWNER]):
        assert choice_of(reasons, {}, own_layer(own_document | {"frequency": "daily"}), DESCRIPTION).role == "owned"


def test_a_choice_for_a_follow_is_kept_with_what_is_followed() -> None:
    choice = choice_of(
        [BY_COLUMN], {"orders/id": {"kinds": {"description": {"Email": "daily 08:30"}}}}, (), DESCRIPTION
    )
    assert choice.to_text() == f"follow daily description {followed_mark('orders/id')}"
    assert FrequencyChoice.from_text(choice.to_text()) == choice._replace(moment="")
    assert " " not in followed_mark("orders/a column/of a column")
    assert len({followed_mark(key) for key in ("orders", "orders/id", "orders/a", "refunds/id")}) == 4
    for_all = choice_of([FOLLOWER], {ORDERS: EVERYTHING}, (), DESCRIPTION)
    assert FrequencyChoice.from_text(for_all.to_text()) == for_all


@pytest.mark.parametrize("event_kind", ["breaking", "columns", "description"])
def test_a_follow_of_breaking_changes_only_tells_of_nothing_else(event_kind: str) -> None:
    choices = FollowChoices.only(["breaking"], [MAIL], "immediate").to_stored()
    plain = [EventKind("columns", "schema")] if event_kind != "description" else DESCRIPTION
    kinds = [EventKind("breaking", ""), *plain] if event_kind == "breaking" else plain
    expected = "immediate" if event_kind == "breaking" else "never"
    assert choice_of([FOLLOWER], {ORDERS: choices}, own_layer({}), kinds).frequency == expected


def test_what_bots_change_comes_through_a_follow_of_everything() -> None:
    kinds = [EventKind("description", "description"), EventKind("bot", "")]
    own_document = {"kinds": {"bot": {"Email": "weekly"}}}
    assert choice_of([FOLLOWER], {}, own_layer(own_document), kinds).frequency == "weekly"
    assert choice_of([FOLLOWER], {ORDERS: EVERYTHING}, own_layer(own_document), kinds).frequency == "immediate"


@given(
    reasons=st.sets(st.sampled_from(range(9)), min_size=1),
    choices=st.dictionaries(st.sampled_from(["orders/id", ORDERS, "schema", "domain", "revenue", "alert"]), CHOICES),
    own_document=st.none() | DOCUMENTS,
    teams=st.lists(DOCUMENTS, max_size=2),
    server=DOCUMENTS,
    mandatory=st.sets(KINDS, max_size=1),
    mandatory_roles=st.dictionaries(st.sampled_from([*AssetRole]), st.sets(KINDS, max_size=2), max_size=3),
    kinds=st.lists(KINDS, min_size=1, unique=True),
)
def test_any_choices_give_what_a_simple_calculation_says(
    reasons: set[int],
    choices: dict[str, Any],
    own_document: dict[str, Any] | None,
    teams: list[dict[str, Any]],
    server: dict[str, Any],
    mandatory: set[str],
    mandatory_roles: dict[AssetRole, set[str]],
    kinds: list[str],
) -> None:
    every_reason = (OWNER, OWNER_BELOW, NAMED, BY_SEARCH, FOLLOWER, BY_SCHEMA, BY_DOMAIN, BY_COLUMN, FOLLOWER_BELOW)
    own_reasons = [every_reason[place] for place in sorted(reasons)]
    by_role = {role.value: sorted(names) for role, names in mandatory_roles.items()}
    must = {"mandatory": sorted(mandatory), "mandatoryRoles": by_role}
    named_teams = [NamedTeam(f"t{at}", f"t{at}", Preferences.model_validate(one)) for at, one in enumerate(teams)]
    layers = (
        *(own_layer(own_document) if own_document is not None else ()),
        *([(Layer.TEAM, TeamPreferences.of(named_teams))] if teams else ()),
        (Layer.SERVER, DefaultPreferences.model_validate(server | must)),
    )
    event_kinds = [EventKind(one, "" if one in ("breaking", "bot") else one) for one in kinds]
    documents = (
        [[one] for one in ([] if own_document is None else [own_document])] + ([teams] if teams else []) + [[server]]
    )
    frequency = simple_frequency(own_reasons, choices, documents, kinds, {"": sorted(mandatory), **by_role})
    assert choice_of(own_reasons, choices, layers, event_kinds).frequency == frequency


ORDER = ["immediate", "hourly", "daily", "weekly", "never"]


def soonest(frequencies: Iterator[str | None]) -> str | None:
    return min((one for one in frequencies if one), key=ORDER.index, default=None)


def in_document(document: dict[str, Any], kind: str, role: str | None) -> str | None:
    by_role = document.get("roles", {}).get(role, {}).get(kind, {}).get(MAIL)
    by_kind = by_role or document.get("kinds", {}).get(kind, {}).get(MAIL)
    return by_kind or (None if kind in ("breaking", "bot") else document.get("frequency"))


def in_documents(together: list[dict[str, Any]], role: str | None, kind: str) -> str | None:
    return soonest(in_document(one, kind, role) for one in together)


def in_follow(document: dict[str, Any], kind: str) -> str | None:
    by_kind = document.get("kinds", {}).get(kind, {}).get(MAIL)
    return by_kind or (None if kind in ("breaking", "bot") else document.get("channels", {}).get(MAIL))


def simple_frequency(
    reasons: list[Reason],
    choices: dict[str, Any],
    documents: list[list[dict[str, Any]]],
    kinds: list[str],
    mandatory: dict[str, list[str]],
) -> str:
    """Return how often something comes; ``documents`` are one's own, those of teams and the server's, as far as set."""
    plain = [one for one in kinds if one not in ("breaking", "bot")]
    is_urgent = any(CHANGE_KINDS[one].is_urgent for one in kinds)
    crossing = "breaking" if "breaking" in kinds else "bot" if "bot" in kinds and not is_urgent else None

    def by(role: str | None, follows: list[dict[str, Any]], *also: str) -> str:
        levels: list[Callable[[str], str | None]] = [partial(in_follow, one) for one in follows]
        levels += [partial(in_documents, together, role) for together in documents]
        result = None
        kinds_or_none = plain or [""]
        for level in levels:
            result = level(crossing) if crossing else None
            if not crossing or result or any(level(one) for one in kinds_or_none):
                break
        if not result:
            per_kind = [next(filter(None, (level(one) for level in levels)), "immediate") for one in kinds_or_none]
            result = min(per_kind, key=ORDER.index)
        roles = dict.fromkeys(["", role or "", *also])
        must = [(one, at) for at in roles for one in kinds if one in mandatory.get(at, ())]
        if result == "never" and must:
            by_server = in_document(documents[-1][0], must[0][0], must[0][1] or role)
            result = "immediate" if by_server in (None, "never") else by_server
        return result

    roles: list[str | None] = [role for one, role in ((OWNER, "owned"), (OWNER_BELOW, "aboveOwned")) if one in reasons]
    roles += [None] if NAMED in reasons else []
    nearest_first = [*NEAREST_FIRST, (BY_SEARCH, "alert"), (FOLLOWER_BELOW, "revenue")]
    present = [(one, key) for one, key in nearest_first if one in reasons]
    with_choice = [at for at, (_, key) in enumerate(present) if key in choices]
    results = [by(role, []) for role in roles]
    plain_follows = present if not with_choice else present[: with_choice[0]]
    results += [by("aboveFollowed" if one is FOLLOWER_BELOW else "followed", []) for one, _ in plain_follows]
    if with_choice:
        first = present[with_choice[0]][0]
        role = "aboveFollowed" if first is FOLLOWER_BELOW else "followed"
        also = ["aboveFollowed" if one is FOLLOWER_BELOW else "followed" for one, _ in present]
        results.append(by(role, [choices[present[at][1]] for at in with_choice], *also))
    return min(results, key=ORDER.index)


def test_a_key_names_the_column() -> None:
    assert (follow_key("orders"), follow_key("orders", "a.b")) == ("orders", "orders/a.b")
