"""List of the alerts of a replay.

Between them they use every category, flag and effect, conditions about people and about earlier results. Those that
are changed, switched and dropped midway come from ``midway``. Next: ``truth/expected.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from truth.alerts import BELL, ENDPOINT, HOOK, MAIL, NO_ADDRESSES, Alert, AlertPeople, Destination, Held, Rule
from truth.calls import address_of
from truth.change_requests import ONLY_WHERE_NAMED
from truth.facts import Facts
from truth.job_events import HANDLED
from truth.steps import ADMIN

OWN_ALERTS: tuple[Alert, ...] = (
    Alert(
        "ActivityFeedAlert",
        ("all",),
        (
            Rule("", lambda f, _: f.has_changed_only("followers", "votes"), "exclude"),
            Rule("", lambda f, _: f.has_changed_only("usageSummary", "profile"), "exclude"),
            Rule(
                "",
                lambda f, _: (
                    f.entity_type == "thread" and (f.thread_type != "Announcement" or f.event_type != "threadCreated")
                ),
                "exclude",
            ),
        ),
        (Destination("Followers", BELL), Destination("Owners", BELL)),
    ),
    Alert(
        "ConversationAlert",
        ("conversation", "task", "announcement"),
        (
            Rule(
                "",
                lambda f, _: (
                    f.event_type in ("threadCreated", "postCreated", "taskResolved", "taskClosed")
                    or f.has_changed("task.assignees")
                    or bool(f.mentions)
                ),
            ),
        ),
        (Destination("Mentions", BELL), Destination("Assignees", BELL), Destination("Owners", BELL)),
    ),
    Alert(
        "ChangeRequests",
        ("all",),
        (Rule("", lambda f, _: f.event_type in ("changeRequestUpdated", *ONLY_WHERE_NAMED)),),
        (Destination("Assignees", BELL), Destination("Assignees", MAIL)),
        named_types=ONLY_WHERE_NAMED,
    ),
    Alert(
        "AssignedIncidents",
        ("all",),
        (Rule("", lambda f, _: f.event_type == HANDLED),),
        (Destination("Assignees", BELL), Destination("Assignees", MAIL)),
        named_types=(HANDLED,),
    ),
    Alert(
        "PersonalNotices",
        ("conversation",),
        (Rule("", lambda f, _: f.event_type == "threadCreated" and f.event.actor == "system"),),
        (Destination("Mentions", MAIL),),
    ),
)
"""Tocsin's own alerts, as the API and ``docs/feed.md``, ``change-requests.md`` and ``incidents.md`` describe them."""


def _as_messages(alert: Alert, name: str) -> Alert:
    """Return the alert that mails what an alert shows in the app; people of a replay have no own addresses in chats."""
    channels = (MAIL, *NO_ADDRESSES)
    destinations = (Destination(one.category, channel) for one in alert.destinations for channel in channels)
    return replace(alert, name=name, destinations=tuple(destinations))


def _is_deletion(facts: Facts, _: Held = frozenset()) -> bool:
    return facts.event_type == "entityDeleted"


def _of_columns(facts: Facts, _: Held = frozenset()) -> bool:
    return facts.has_changed("columns")


def _loses_columns(facts: Facts, _: Held) -> bool:
    """Say whether columns are removed, or something of them that is of their schema."""
    words = ("description", "displayName", "tags")
    paths = (one.split(".") for one in facts.event.deleted)
    return any(path[0] == "columns" and path[-1] not in words for path in paths)


MESSAGES = ("MessagesOfAssets", "MessagesOfConversations")
"""Tocsin's own alerts that a replay enables: they send what those of the app show."""

OWN_ALERTS += tuple(_as_messages(alert, name) for alert, name in zip(OWN_ALERTS, MESSAGES, strict=False))

_DELETED = Rule("eventType == 'entityDeleted'", _is_deletion)
_COLUMNS = Rule("fieldChanged == 'columns'", _of_columns)
_UPDATED = Rule("eventType == 'entityUpdated'", lambda f, _: f.event_type == "entityUpdated")
_LINEAGE = Rule("fieldChanged == 'lineage'", lambda f, _: f.has_changed("lineage"))
_FAILED = Rule("testStatus == 'Failed'", lambda f, _: f.test_status == "Failed")
_NO_BOT = Rule("isBot()", lambda f, _: f.is_bot, "exclude")


def alerts(cast: AlertPeople) -> Iterator[Alert]:
    """Yield the alerts that are there from the start to the end."""
    yield from _by_category(cast)
    yield from _by_lineage()
    yield from _about_people(cast)
    yield from _about_tests()
    yield from _about_tables_with_tests(cast)
    yield from _about_threads()
    yield from _alerts_to_shared_addresses(cast)
    yield from _of_a_renamed_team(cast)
    yield from _at_other_times()
    yield from _of_announced_changes()
    yield from _asking_for_states()


def _at_other_times() -> Iterator[Alert]:
    """Yield an alert that overrides what people prefer, and one that notifies once a day."""
    yield Alert("CriticalDeletions", ("table",), (_DELETED,), (Destination("Owners", MAIL),), is_critical=True)
    yield Alert(
        "DailyDescriptions",
        ("table", "pipeline"),
        (Rule("fieldChanged == 'description'", lambda f, _: f.has_changed("description")),),
        (
            Destination("Owners", MAIL, flags=("sendToFollowers",)),
            Destination("External", MAIL, ("daily@example.org",)),
        ),
        daily_at=4,
    )


def _of_announced_changes() -> Iterator[Alert]:
    """Yield an alert on changes that requests announced, and on requests that somebody has not answered."""
    yield Alert(
        "Announced",
        ("table",),
        (
            Rule("announced()", lambda f, _: f.is_announced),
            Rule(
                "eventType == 'changeRequestUpdated' && openAnswers > 0",
                lambda f, _: (
                    f.event_type == "changeRequestUpdated" and f.event.request is not None and f.event.request[2] > 0
                ),
                prefix="OR",
            ),
        ),
        (Destination("Admins", BELL), Destination("External", MAIL, ("announced@example.org",))),
    )


def _asking_for_states() -> Iterator[Alert]:
    """Yield alerts that ask, at the same time, for what is still so of assets."""
    for name, resource, state, text in (
        ("RedTests", "testCase", "stillFailing", "stillFailing()"),
        ("StaleTests", "table", "stillStale", "stillStale('10d')"),
        ("Ownerless", "pipeline", "stillWithoutOwner", "stillWithoutOwner()"),
    ):
        people = (Destination("Followers", MAIL, flags=("sendToOwners",)), Destination("Admins", BELL))
        yield Alert(name, (resource,), (Rule(text, lambda _f, _h: False),), people, checks=(state,))


def _of_a_renamed_team(cast: AlertPeople) -> Iterator[Alert]:
    """Yield alerts that name a team by the name that it has at the start."""
    yield Alert("TeamByName", ("table",), (_DELETED,), (Destination("Teams", BELL, (cast.renamed,)),))
    member = f"memberOf:{cast.renamed}"
    yield Alert(
        "MembersByName",
        ("table",),
        (
            Rule(
                f"fieldChanged == 'description' && user.isMemberOf('{cast.renamed}')",
                lambda f, h: f.has_changed("description") and member in h,
            ),
        ),
        (Destination("Users", MAIL),),
        relations=(member,),
    )


def _by_category(cast: AlertPeople) -> Iterator[Alert]:
    yield Alert("Everything", ("all",), (), (Destination("Users", BELL, (cast.first,)),))
    yield Alert("OwnersOfSchemas", ("table",), (_COLUMNS, _UPDATED), (Destination("Owners", MAIL),))
    yield Alert(
        "FollowersOfImpact",
        ("table",),
        (Rule("tags.contains('impact.tier_1')", lambda f, _: "impact.tier_1" in f.tags),),
        (Destination("Followers", MAIL, flags=("sendToOwners",)),),
    )
    yield Alert("AdminsOfDeletions", ("all",), (_DELETED,), (Destination("Admins", MAIL), Destination("Admins", BELL)))
    yield Alert(
        "NamedUsers",
        ("pipeline", "databaseSchema"),
        (_UPDATED, _NO_BOT),
        (
            Destination("Users", MAIL, (cast.second, "Office@example.org"), flags=("sendToAdmins",)),
            Destination("Users", BELL, (cast.second, cast.reader)),
        ),
    )
    yield Alert(
        "NamedTeams",
        ("table", "storedProcedure"),
        (
            Rule("fieldChanged == 'description'", lambda f, _: f.has_changed("description")),
            Rule(f"matchUpdatedBy('{cast.first}')", lambda f, _: f.event.actor == cast.first, "exclude"),
        ),
        (Destination("Teams", BELL, (cast.division,)), Destination("Teams", MAIL, (cast.group,))),
    )
    yield Alert(
        "Outside",
        ("table",),
        (_DELETED, Rule("fieldChanged == 'tags'", lambda f, _: f.has_changed("tags"), prefix="OR")),
        (
            Destination("External", HOOK, endpoint=f"{ENDPOINT}hook"),
            Destination("External", MAIL, ("lake@example.org",), flags=("sendToFollowers",)),
        ),
    )
    yield Alert(
        "OutsideOfReader",
        ("table",),
        (_COLUMNS,),
        (
            Destination("External", HOOK, endpoint=f"{ENDPOINT}reader"),
            Destination("Owners", BELL, flags=("sendToFollowers",)),
            Destination("Followers", MAIL),
        ),
        maker=cast.reader,
    )
    yield Alert(
        "OwnersAndDomains",
        ("table",),
        (
            Rule("fieldChanged == 'owners'", lambda f, _: f.has_changed("owners")),
            Rule(f"matchAnyDomain('{cast.domain}')", lambda f, _: cast.domain in f.domains, prefix="OR"),
            Rule(f"matchAnyOwnerName('{cast.group}')", lambda f, _: cast.group in f.owners, prefix="OR"),
        ),
        (Destination("Owners", BELL, flags=("sendToFollowers",)), Destination("Admins", MAIL)),
    )
    yield Alert(
        "Shrinking",
        ("table",),
        (Rule("matchAnyChange('schema', 'remove', 'columns')", _loses_columns),),
        (Destination("Owners", MAIL, depth=2), Destination("Admins", BELL)),
    )
    yield Alert(
        "NewFollowers",
        ("all",),
        (Rule("fieldChanged == 'followers'", lambda f, _: f.has_changed("followers")),),
        (Destination("Owners", BELL),),
    )


def _by_lineage() -> Iterator[Alert]:
    yield Alert(
        "DownstreamNear",
        ("table",),
        (_COLUMNS, Rule("eventType == 'entityDeleted'", _is_deletion, prefix="OR")),
        (Destination("Owners", MAIL, flags=("sendToFollowers",), depth=3),),
    )
    yield Alert(
        "DownstreamFar",
        ("table", "storedProcedure"),
        (Rule("matchAnyEventType({'entityDeleted','entitySoftDeleted','entityRestored'})", _is_lifecycle),),
        (Destination("Followers", BELL, flags=("sendToOwners",), depth=None),),
    )
    yield Alert("Edges", ("table",), (_LINEAGE,), (Destination("Owners", MAIL), Destination("Followers", BELL)))


def _is_lifecycle(facts: Facts, _: Held) -> bool:
    return facts.event_type in ("entityDeleted", "entitySoftDeleted", "entityRestored")


def _about_people(cast: AlertPeople) -> Iterator[Alert]:
    yield Alert(
        "WhoFollows",
        ("table", "pipeline"),
        (
            Rule(
                "user.follows(entity) && eventType == 'entityUpdated' && fieldChanged != 'followers'",
                lambda f, h: "follows" in h and f.event_type == "entityUpdated" and not f.has_changed("followers"),
            ),
        ),
        (Destination("Users", MAIL), Destination("External", HOOK, endpoint=f"{ENDPOINT}followed")),
        relations=("follows",),
        owner=cast.first,
    )
    yield Alert(
        "OwnersWhoDoNotFollow",
        ("table",),
        (
            Rule(
                "fieldChanged == 'description' && !user.follows(entity)",
                lambda f, h: f.has_changed("description") and "follows" not in h,
            ),
        ),
        (Destination("Owners", MAIL),),
        relations=("follows",),
    )
    member = f"memberOf:{cast.division}"
    yield Alert(
        "Division",
        ("table", "databaseSchema"),
        (
            Rule(
                f"eventType == 'entityDeleted' && user.isMemberOf('{cast.division}')",
                lambda f, h: _is_deletion(f) and member in h,
            ),
            Rule(
                "fieldChanged == 'owners' && user.owns(entity)",
                lambda f, h: f.has_changed("owners") and "owns" in h,
                prefix="OR",
            ),
        ),
        (Destination("Followers", MAIL, flags=("sendToOwners",)),),
        relations=(member, "owns"),
    )
    yield Alert(
        "DatasetMembers",
        ("table",),
        (
            Rule(
                f"user.isMemberOf('{cast.group}') && matchAnyEntityFqn('{cast.dataset}')",
                lambda f, h: f"memberOf:{cast.group}" in h and f.fqn.startswith(f"{cast.dataset}."),
            ),
        ),
        (Destination("Users", BELL),),
        relations=(f"memberOf:{cast.group}",),
    )


def _about_tests() -> Iterator[Alert]:
    yield Alert(
        "FailedTests",
        ("testCase",),
        (_FAILED,),
        (Destination("Owners", BELL, flags=("sendToAdmins",)), Destination("Followers", BELL)),
        opens_incidents=True,
        repeat_days=0.25,
    )
    yield Alert(
        "FollowedFailures",
        ("testCase",),
        (
            Rule(
                "testStatus == 'Failed' && user.follows(entity)",
                lambda f, h: f.test_status == "Failed" and "follows" in h,
            ),
        ),
        (Destination("Users", MAIL),),
        relations=("follows",),
        opens_incidents=True,
        repeat_days=10,
        reminded=lambda _, h: "follows" in h,
    )
    yield Alert(
        "FirstFailures",
        ("testCase",),
        (Rule("firstFailure()", lambda f, _: f.test_status == "Failed" and f.earlier[-1:] != ("Failed",)),),
        (Destination("Owners", MAIL),),
        opens_incidents=True,
    )
    yield Alert(
        "SecondFailures",
        ("testCase",),
        (
            Rule(
                "matchStatusInARow('Failed', 2)",
                lambda f, _: f.test_status == "Failed" and _last_failures(f.earlier) == 1,
            ),
        ),
        (Destination("External", MAIL, ("tests@example.org",)),),
        opens_incidents=True,
    )


def _about_tables_with_tests(cast: AlertPeople) -> Iterator[Alert]:
    """Yield alerts on tables that must hear of tests by their results, or not at all (``docs/alerts.md``)."""
    schema = cast.dataset.rpartition(".")[2]
    in_schema = f"matchAnySchema('{schema}')"

    def lies_in_schema(facts: Facts, _: Held = frozenset()) -> bool:
        return facts.entity_type != "thread" and facts.fqn.split(".")[2:3] == [schema]

    yield Alert(
        "FollowersInSchema",
        ("table",),
        (
            Rule(f"{in_schema} && user.follows(entity)", lambda f, h: lies_in_schema(f) and "follows" in h),
            Rule("fieldChanged == 'followers'", lambda f, _: f.has_changed("followers"), "exclude"),
        ),
        (Destination("Users", MAIL),),
        relations=("follows",),
    )
    yield Alert(
        "FailuresInSchema",
        ("table",),
        (Rule(in_schema, lies_in_schema), _FAILED),
        (Destination("Followers", BELL), Destination("External", MAIL, ("failures@example.org",))),
        covers_results=True,
        opens_incidents=True,
        repeat_days=10,
    )
    yield Alert(
        "SchemaOrFailures",
        ("table",),
        (Rule(in_schema, lambda f, _: lies_in_schema(f) and f.entity_type == "table"), replace(_FAILED, prefix="OR")),
        (Destination("External", MAIL, ("mart@example.org",)),),
        covers_results=True,
        opens_incidents=True,
    )
    yield Alert(
        "PlacesOfTests",
        ("table",),
        (
            Rule(f"matchAnyEntityFqn('{cast.dataset}')", lambda f, _: f.fqn.startswith(f"{cast.dataset}.")),
            Rule(f"testedEntityFqn.startsWith('{cast.dataset}.')", lambda _f, _: False, prefix="OR"),
            Rule("entityType == 'testCase'", lambda _f, _: False, prefix="OR"),
        ),
        (Destination("External", MAIL, ("places@example.org",)),),
    )


def _last_failures(earlier: tuple[str, ...]) -> int:
    return next((at for at, one in enumerate(reversed(earlier)) if one != "Failed"), len(earlier))


def _about_threads() -> Iterator[Alert]:
    yield Alert("Tasks", ("task",), (), (Destination("Assignees", MAIL, flags=("sendToOwners",)),))
    yield Alert("Talk", ("conversation",), (), (Destination("Mentions", MAIL), Destination("Owners", MAIL)))
    yield Alert("News", ("announcement",), (), (Destination("Followers", MAIL, flags=("sendToOwners",), depth=2),))


SHARED = "office@example.org"
"""Address of nobody, to which alerts of people with different rights send."""

_SHARED_RULES = (_COLUMNS, Rule("fieldChanged == 'tags'", lambda f, _: f.has_changed("tags"), prefix="OR"))


def _shared_destination(cast: AlertPeople) -> Destination:
    """Return a destination that names the addresses of people, whom other alerts reach by themselves."""
    people = (address_of(one) for one in (cast.reader, cast.other_reader, cast.first, cast.second))
    return Destination("External", MAIL, (SHARED, *people))


def _alerts_to_shared_addresses(cast: AlertPeople) -> Iterator[Alert]:
    """Yield alerts that send to the same addresses, by people who may see everything and by some who may not."""
    yield Alert(
        "SharedByAdmin",
        ("table",),
        _SHARED_RULES,
        (_shared_destination(cast), Destination("Followers", MAIL, flags=("sendToOwners",))),
    )
    yield Alert("SharedByReader", ("table",), _SHARED_RULES, (_shared_destination(cast),), maker=cast.reader)


def midway(cast: AlertPeople) -> Iterator[tuple[Alert, Alert]]:
    """Yield alerts that come later, each with what it is changed into before anything happened to it."""
    near = Destination("Owners", BELL, flags=("sendToFollowers",), depth=1)
    yield (
        Alert("Later", ("pipeline",), (_DELETED,), (Destination("Admins", BELL),)),
        Alert("Later", ("table", "pipeline"), (_UPDATED, _NO_BOT), (near,)),
    )
    both = (Destination("Owners", MAIL), Destination("External", MAIL, ("later@example.org",)))
    yield (
        Alert("Switched", ("table",), (_COLUMNS,), (Destination("Admins", BELL),)),
        Alert("Switched", ("table",), (_COLUMNS,), both),
    )
    yield (
        Alert("Dropped", ("table",), (_DELETED,), (Destination("Admins", BELL),)),
        Alert("Dropped", ("table",), (_UPDATED,), (Destination("Followers", MAIL),)),
    )
    yield (
        Alert("SharedEdited", ("table",), (_DELETED,), (_shared_destination(cast),)),
        Alert(
            "SharedEdited",
            ("table",),
            _SHARED_RULES,
            (_shared_destination(cast),),
            maker=cast.other_reader,
            editors=(ADMIN,),
        ),
    )
