"""Checks of answers that are change events: to votes, usage, members of teams and uses of queries, read strictly."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from checks.checking import CheckSetup, check, id_of, text
from checks.every_type import new
from metadata.generated.schema.api.teams.createTeam import CreateTeamRequest
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.teams.team import Team, TeamType
from metadata.generated.schema.type.changeEvent import ChangeEvent
from metadata.generated.schema.type.changeEventType import EventType
from metadata.generated.schema.type.entityUsage import EntityUsage


def _changed_fields(answer: Any) -> list[str]:
    """Return the fields that an answer says were changed; it must be an event of an update with no other keys."""
    event = ChangeEvent.model_validate(answer)
    assert event.eventType is EventType.entityUpdated
    change = event.changeDescription
    changes = [*(change.fieldsAdded or ()), *(change.fieldsUpdated or ()), *(change.fieldsDeleted or ())]
    return [text(one.name) for one in changes]


@check("client get_by_id", "a vote is given, changed and taken back")
def _votes(setup: CheckSetup) -> None:
    table, api = setup.table(), setup.metadata.client
    for vote, counts in (("votedUp", (1, 0)), ("votedDown", (0, 1)), ("unVoted", (0, 0))):
        answer = api.put(f"/tables/{id_of(table)}/vote", data=json.dumps({"updatedVoteType": vote}))
        assert _changed_fields(answer) == ["votes"], answer
        votes = setup.metadata.get_by_id(Table, table.id, fields=["votes"]).votes
        assert (votes.upVotes, votes.downVotes) == counts


@check("client get_suffix", "everything that the client's models say has votes can be voted on")
def _votable(setup: CheckSetup) -> None:
    voted = [entity for entity in setup.entities.values() if "votes" in type(entity).model_fields]
    assert voted
    for entity in voted:
        path = f"{setup.metadata.get_suffix(type(entity))}/{id_of(entity)}/vote"
        for vote in ("votedUp", "unVoted"):
            answer = setup.metadata.client.put(path, data=json.dumps({"updatedVoteType": vote}))
            assert _changed_fields(answer) == ["votes"], answer


@check("client", "usage is set, added to, by id and by name, and read")
def _usage(setup: CheckSetup) -> None:
    table, api, today = setup.table(), setup.metadata.client, datetime.now(UTC).date().isoformat()
    day = json.dumps({"date": today, "count": 4})
    paths = (f"/usage/table/{id_of(table)}", f"/usage/table/name/{text(table.fullyQualifiedName)}")
    for path in paths:
        assert _changed_fields(api.post(path, data=day)) == ["usageSummary"]
        assert _changed_fields(api.put(path, data=day)) == ["usageSummary"]
        usage = EntityUsage.model_validate(api.get(path))
        assert [one.dailyStats.count for one in usage.usage] == [8]


@check("client create_or_update get_by_id", "members of a team come and go")
def _members(setup: CheckSetup) -> None:
    api, user = setup.metadata.client, new(setup, "User", "member")
    team = setup.metadata.create_or_update(CreateTeamRequest(name=setup.name("team"), teamType=TeamType.Group))
    members = json.dumps([{"id": id_of(user), "type": "user"}])
    assert _changed_fields(api.put(f"/teams/{id_of(team)}/users", data=members)) == ["users"]
    read = setup.metadata.get_by_id(Team, team.id, fields=["users"])
    assert [one.id for one in read.users.root] == [user.id]
    assert _changed_fields(api.delete(f"/teams/{id_of(team)}/users/{id_of(user)}")) == ["users"]
    assert setup.metadata.get_by_id(Team, team.id, fields=["users"]).users.root == []


@check("client get_by_id", "a query gets a table, and loses it")
def _query(setup: CheckSetup) -> None:
    api, table, query = setup.metadata.client, setup.table(), new(setup, "Query", "query")
    uses = json.dumps([{"id": id_of(table), "type": "table"}])
    assert _changed_fields(api.put(f"/queries/{id_of(query)}/usage", data=uses)) == ["queryUsedIn"]
    read = setup.metadata.get_by_id(Query, query.id, fields=["queryUsedIn"])
    assert id_of(table) in {str(one.id.root) for one in read.queryUsedIn.root}
