"""Checks of roles, policies, teams, users, and what they own and follow."""

from __future__ import annotations

import json

from checks.checking import CheckSetup, check, id_of, text
from checks.every_type import new
from metadata.generated.schema.api.teams.createTeam import CreateTeamRequest
from metadata.generated.schema.api.teams.createUser import CreateUserRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.policies.accessControl.resourceDescriptor import Operation
from metadata.generated.schema.entity.policies.accessControl.rule import Effect, Rule
from metadata.generated.schema.entity.policies.policy import Policy
from metadata.generated.schema.entity.teams.role import Role
from metadata.generated.schema.entity.teams.team import Team, TeamType
from metadata.generated.schema.entity.teams.user import User
from metadata.generated.schema.type.changeEvent import ChangeEvent
from metadata.generated.schema.type.changeEventType import EventType
from metadata.generated.schema.type.entityReferenceList import EntityReferenceList
from metadata.ingestion.ometa.mixins.patch_mixin_utils import PatchOperation
from speaking import put


@check("patch_role_policy patch", "a role gets a policy, and loses it")
def _role(setup: CheckSetup) -> None:
    role, policy = new(setup, "Role", "role"), new(setup, "Policy", "policy")
    patched = setup.metadata.patch_role_policy(role.id, policy.id)
    assert [one.name for one in patched.policies.root] == [text(policy.name), "readers"]
    changed = patched.model_copy(deep=True)
    changed.policies.root = [one for one in changed.policies.root if one.id != policy.id]
    setup.metadata.patch(Role, patched, changed, skip_on_failure=False)
    read = setup.metadata.get_by_id(Role, role.id, fields=["policies"])
    assert [one.name for one in read.policies.root] == ["readers"]


@check("patch_policy_rule", "a policy gets a rule, and loses it")
def _policy(setup: CheckSetup) -> None:
    policy = new(setup, "Policy", "policy")
    rule = Rule(
        name="own", effect=Effect.allow, operations=[Operation.EditAll], resources=["table"], condition="isOwner()"
    )
    patched = setup.metadata.patch_policy_rule(policy.id, rule)
    assert [one.name for one in patched.rules.root] == ["read", "own"]
    setup.metadata.patch_policy_rule(policy.id, rule, operation=PatchOperation.REMOVE)
    assert [one.name for one in setup.metadata.get_by_id(Policy, policy.id).rules.root] == ["read"]


@check("create_or_update get_by_name", "a user in a team, with a role")
def _member(setup: CheckSetup) -> None:
    name = setup.name("user")
    team, role = setup.entities["Team crew"], setup.entities["Role Reader"]
    request = CreateUserRequest(name=name, email=f"{name}@example.org", teams=[team.id.root], roles=[role.id.root])
    user = setup.metadata.create_or_update(request)
    read = setup.metadata.get_by_name(User, name, fields=["teams", "roles"])
    assert {one.name for one in read.teams.root} == {"crew"}
    assert "Reader" in {one.name for one in read.roles.root}
    members = setup.metadata.get_by_name(Team, "crew", fields=["users"]).users.root
    assert id_of(user) in {id_of(one) for one in members}


@check("create_or_update get_by_name", "a team below a department")
def _team(setup: CheckSetup) -> None:
    department, group = setup.name("department"), setup.name("group")
    above = put(setup.metadata, CreateTeamRequest, department, {"teamType": "Department"})
    put(setup.metadata, CreateTeamRequest, group, {"teamType": "Group", "parents": [above.id.root]})
    read = setup.metadata.get_by_name(Team, group, fields=["parents"])
    assert (read.teamType, [one.name for one in read.parents.root]) == (TeamType.Group, [department])


@check("get_user_assets patch_owner", "what a user owns")
def _user_assets(setup: CheckSetup) -> None:
    user, table = new(setup, "User", "owner"), setup.table()
    owners = EntityReferenceList(root=[{"id": user.id.root, "type": "user"}])
    setup.metadata.patch_owner(Table, table, owners)
    listed = setup.metadata.get_user_assets(text(user.name))
    assert [one["id"] for one in listed["data"]] == [id_of(table)]


@check("get_team_assets patch_owner", "what a team owns")
def _team_assets(setup: CheckSetup) -> None:
    team, table = new(setup, "Team", "team"), setup.table()
    setup.metadata.patch_owner(Table, table, EntityReferenceList(root=[{"id": team.id.root, "type": "team"}]))
    listed = setup.metadata.get_team_assets(text(team.name))
    assert [one["id"] for one in listed["data"]] == [id_of(table)]


@check("client get_by_id", "a follower comes and goes; the answers are events that the strict client reads")
def _follower(setup: CheckSetup) -> None:
    table, user = setup.table(), new(setup, "User", "follower")
    api = setup.metadata.client
    added = ChangeEvent.model_validate(api.put(f"/tables/{id_of(table)}/followers", data=json.dumps(id_of(user))))
    assert added.changeDescription.fieldsAdded[0].name.root == "followers"
    followers = setup.metadata.get_by_id(Table, table.id, fields=["followers"]).followers.root
    assert [one.id for one in followers] == [user.id]
    follows = setup.metadata.get_by_id(User, user.id, fields=["follows"]).follows.root
    assert [one.id for one in follows] == [table.id]
    removed = ChangeEvent.model_validate(api.delete(f"/tables/{id_of(table)}/followers/{id_of(user)}"))
    assert removed.eventType is EventType.entityUpdated
    assert setup.metadata.get_by_id(Table, table.id, fields=["followers"]).followers.root == []
