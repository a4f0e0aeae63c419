"""Calls to the API for the steps of a script, by whoever makes them, with the ids that the API answered.

Next: ``truth/ways.py``.
"""

from __future__ import annotations

import csv
import io
import time
from datetime import UTC, datetime
from functools import singledispatchmethod
from typing import Any

import httpx

from truth.change_requests import DATE_DAYS
from truth.history import Json, Key
from truth.steps import (
    ADMIN,
    BULK,
    PUT,
    SHEET,
    Acknowledge,
    Announce,
    Answer,
    Change,
    Choose,
    DropAlert,
    Edge,
    EditPost,
    EndTask,
    Follow,
    Make,
    MakeMany,
    Members,
    MoveTeam,
    MuteAlert,
    MuteAsset,
    MuteBroadly,
    Post,
    Prefer,
    Principal,
    Reassign,
    Remove,
    RemoveUser,
    RenameTag,
    RenameTeam,
    Report,
    Restore,
    SetAlert,
    StartThread,
    Step,
    SwitchAlert,
    TeamFollow,
    Withdraw,
)

COLLECTIONS = {
    "databaseService": "services/databaseServices",
    "database": "databases",
    "databaseSchema": "databaseSchemas",
    "table": "tables",
    "storedProcedure": "storedProcedures",
    "pipelineService": "services/pipelineServices",
    "pipeline": "pipelines",
    "testCase": "dataQuality/testCases",
    "user": "users",
    "team": "teams",
    "role": "roles",
    "policy": "policies",
    "classification": "classifications",
    "tag": "tags",
    "domain": "domains",
    "type": "metadata/types",
}
_ALERTS = "events/subscriptions"
DAY_MS = 86_400_000
CHECK_DAY = 16
"""The day of the one check of the schedules that ask for the state of assets (``check_ms``)."""

_MONTH_MS = DATE_DAYS * DAY_MS


class Refused(Exception):
    """The API did not do what a step asks for."""


class Caller:
    """Sends the steps of one replay to a server.

    Attributes
    ----------
    ids : the id of each entity that is or was last at a key
    started_ms : from when announcements hold (epoch ms)
    ahead_ms : how far the clock of the product is ahead of this machine's
    """

    def __init__(self, url: str, token: str) -> None:
        self._client = httpx.Client(base_url=f"{url}/api/v1", timeout=60, trust_env=False)
        self._tokens = {ADMIN: token}
        self._threads: dict[str, tuple[str, int]] = {}
        self._posts: dict[tuple[str, str], tuple[str, tuple[Principal, ...]]] = {}
        self.ids: dict[Key, str] = {}
        self.started_ms = int(time.time() * 1000)
        self.ahead_ms = 0

    @staticmethod
    def token(url: str, password: str) -> str:
        """Log the first administrator in."""
        login = {"email": address_of(ADMIN), "password": password}
        answer = httpx.post(f"{url}/api/v1/users/login", json=login, trust_env=False)
        return str(answer.raise_for_status().json()["accessToken"])

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def ask(self, method: str, path: str, actor: str = ADMIN, *, kind: str = "", **content: Any) -> Any:
        """Return the API's answer; ``kind`` is the content's type where it is not JSON.

        Raises
        ------
        Refused : it answers anything but 2xx.
        """
        headers = {"Authorization": f"Bearer {self._tokens[actor]}"}
        if kind or method == "PATCH":
            headers["Content-Type"] = kind or "application/json-patch+json"
        answer = self._client.request(method, path, headers=headers, **content)
        if not answer.is_success:
            raise Refused(f"{method} {path} by {actor}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

    def log_in(self, name: str, password: str) -> None:
        """Let somebody make calls from now on."""
        login = {"email": address_of(name), "password": password}
        self._tokens[name] = self._client.post("/users/login", json=login).raise_for_status().json()["accessToken"]

    def token_of(self, name: str) -> str:
        """Return the token of somebody who makes calls."""
        return self._tokens[name]

    def let_bot_in(self, name: str) -> None:
        """Let a bot make calls from now on."""
        token = self.ask("PUT", f"/users/generateToken/{self.ids['user', name]}", json={"JWTTokenExpiry": "Unlimited"})
        self._tokens[name] = token["JWTToken"]

    def reference(self, principal: Principal) -> Json:
        """Return a reference to a user or team."""
        return {"type": principal[0], "id": self.ids[principal]}

    def learn(self, key: Key) -> None:
        """Ask for the id of an entity that no step made."""
        self.ids[key] = self.ask("GET", f"/{COLLECTIONS[key[0]]}/name/{key[1]}")["id"]

    @singledispatchmethod
    def do(self, step: Step) -> None:
        """Make the call of a step."""
        raise TypeError(step)

    @do.register
    def _make(self, step: Make) -> None:
        entity = self.ask("POST", f"/{COLLECTIONS[step.key[0]]}", step.actor, json=self._request(step))
        self.ids[step.key] = entity["id"]

    @do.register
    def _make_many(self, step: MakeMany) -> None:
        path = f"/{COLLECTIONS[step.makes[0].key[0]]}"
        self._check_accepted(
            self.ask("POST", f"{path}/bulk", step.actor, json=[self._request(make) for make in step.makes])
        )
        for make in step.makes:
            self.learn(make.key)

    @staticmethod
    def _check_accepted(answer: Json) -> None:
        if answer["numberOfRowsFailed"]:
            raise Refused(str(answer["failedRequest"])[:500])

    def _request(self, step: Make) -> Json:
        entity_type, fqn = step.key
        place, _, name = fqn.rpartition(".")
        document = {"name": name or fqn, **self._with_ids(step.document)}
        match entity_type:
            case "table":
                return {"columns": [], **document, "databaseSchema": place}
            case "storedProcedure":
                return document | {"databaseSchema": place, "storedProcedureCode": {"code": "SELECT 1"}}
            case "databaseSchema":
                return document | {"database": place}
            case "database" | "pipeline":
                return document | {"service": place}
            case "domain":
                return document | {"domainType": "Aggregate", "description": "Of the history."}
            case "tag":
                return document | {"classification": place, "description": "Of the history."}
            case "classification":
                return document | {"description": "Of the history."}
            case "testCase":
                return document | {"entityLink": f"<#E::table::{place}>", "testDefinition": "tableRowCountToEqual"}
            case _:
                return document

    def _with_ids(self, document: Json) -> Json:
        with_ids = dict(document)
        for key in ("owners", "users", "parents"):
            if key in with_ids:
                with_ids[key] = [self.reference((one["type"], one["name"])) for one in with_ids[key]]
        if "users" in with_ids:
            with_ids["users"] = [one["id"] for one in with_ids["users"]]
        if "parents" in with_ids:
            with_ids["parents"] = [one["id"] for one in with_ids["parents"]]
        if "domains" in with_ids:
            with_ids["domains"] = [one["name"] for one in with_ids["domains"]]
        return with_ids

    @do.register
    def _change(self, step: Change) -> None:
        collection = f"/{COLLECTIONS[step.key[0]]}"
        columns = {"columns": list(step.columns)} if step.columns else {}
        make = Make(step.actor, step.key, {**step.values, **columns})
        if step.by == PUT:
            self.ask("PUT", collection, step.actor, json=self._request(make))
        elif step.by == BULK:
            self._check_accepted(self.ask("PUT", f"{collection}/bulk", step.actor, json=[self._request(make)]))
        elif step.by == SHEET:
            self._import(step)
        else:
            patch = [self._operation(step.key, key, value) for key, value in step.values.items()]
            self.ask("PATCH", f"{collection}/{self.ids[step.key]}", step.actor, json=patch)

    def _import(self, step: Change) -> None:
        """Import a sheet of the schema of a table, with one row."""
        schema, _, name = step.key[1].rpartition(".")
        sheet = io.StringIO()
        csv.writer(sheet).writerows([["name*", *step.values], [name, *step.values.values()]])
        path = f"/databaseSchemas/name/{schema}/import"
        result = self.ask(
            "PUT", path, step.actor, content=sheet.getvalue(), params={"dryRun": "false"}, kind="text/plain"
        )
        if result["status"] != "success":
            raise Refused(str(result)[:500])

    def _operation(self, at: Key, key: str, value: Any) -> Json:
        if value is None and key == "columns":
            value = []
        if value is None:
            return {"op": "remove", "path": f"/{key}"}
        if key in ("owners", "domains"):
            value = [self.reference((one["type"], one["name"])) for one in value]
        return {"op": "add", "path": f"/{key}", "value": value}

    @do.register
    def _remove(self, step: Remove) -> None:
        how = {"hardDelete": str(step.is_hard).lower(), "recursive": "true"}
        self.ask("DELETE", f"/{COLLECTIONS[step.key[0]]}/{self.ids[step.key]}", step.actor, params=how)

    @do.register
    def _restore(self, step: Restore) -> None:
        self.ask("PUT", f"/{COLLECTIONS[step.key[0]]}/restore", step.actor, json={"id": self.ids[step.key]})

    @do.register
    def _follow(self, step: Follow) -> None:
        path = f"/{COLLECTIONS[step.key[0]]}/{self.ids[step.key]}/followers/{self.ids['user', step.user]}"
        params = {"column": step.column} if step.column else {}
        self.ask("PUT" if step.begins else "DELETE", path, step.actor, params=params)

    @do.register
    def _choose(self, step: Choose) -> None:
        path = f"/users/{self.ids['user', step.user]}/following/{self.ids[step.key]}/preferences"
        self.ask("PUT", path, json=step.choices, params={"column": step.column} if step.column else {})

    @do.register
    def _team_follow(self, step: TeamFollow) -> None:
        path = f"/teams/{self.ids['team', step.team]}/{'follows' if step.begins else 'unfollow'}"
        answer = self.ask("POST", path, step.actor, json={"ids": [self.ids[step.key]]})
        self._check_accepted(answer)

    @do.register
    def _edge(self, step: Edge) -> None:
        source, product = ({"type": one[0], "id": self.ids[one]} for one in (step.source, step.product))
        if step.is_there:
            self.ask("PUT", "/lineage", step.actor, json={"edge": {"fromEntity": source, "toEntity": product}})
        else:
            path = f"/lineage/{source['type']}/{source['id']}/{product['type']}/{product['id']}"
            self.ask("DELETE", path, step.actor)

    @do.register
    def _members(self, step: Members) -> None:
        users = [self.reference(("user", one)) for one in step.users]
        self.ask("PUT", f"/teams/{self.ids['team', step.team]}/users", step.actor, json=users)

    @do.register
    def _rename_tag(self, step: RenameTag) -> None:
        tag = self.ids["tag", step.new_fqn] = self.ids.pop(("tag", step.tag))
        self.ask("PATCH", f"/tags/{tag}", step.actor, json=[{"op": "replace", "path": "/name", "value": step.name}])

    @do.register
    def _move_team(self, step: MoveTeam) -> None:
        patch = [{"op": "replace", "path": "/parents", "value": [self.reference(("team", step.above))]}]
        self.ask("PATCH", f"/teams/{self.ids['team', step.team]}", step.actor, json=patch)

    @do.register
    def _rename_team(self, step: RenameTeam) -> None:
        team = self.ids["team", step.name] = self.ids.pop(("team", step.team))
        self.ask("PATCH", f"/teams/{team}", step.actor, json=[{"op": "replace", "path": "/name", "value": step.name}])

    @do.register
    def _remove_user(self, step: RemoveUser) -> None:
        how = {"hardDelete": str(step.is_hard).lower()}
        self.ask("DELETE", f"/users/{self.ids['user', step.user]}", step.actor, params=how)

    @do.register
    def _prefer(self, step: Prefer) -> None:
        self.ask("PUT", f"/users/{self.ids['user', step.user]}/preferences", json=step.preferences)

    @do.register
    def _mute_asset(self, step: MuteAsset) -> None:
        mute = {"kind": "asset", "type": step.key[0], "id": self.ids[step.key]}
        self._mute(step.user, mute | ({"channel": step.channel} if step.channel else {}))

    @do.register
    def _mute_alert(self, step: MuteAlert) -> None:
        self._mute(step.user, {"kind": "alert", "id": self.ids["alert", step.alert]})

    @do.register
    def _mute_broadly(self, step: MuteBroadly) -> None:
        mute: Json = {"kind": "actor", "id": self.ids["user", step.author]} if step.author else {"kind": "everything"}
        self._mute(step.user, mute | {"until": self.started_ms + step.days * DAY_MS})

    def _mute(self, user: str, mute: Json) -> None:
        self.ask("PUT", f"/users/{self.ids['user', user]}/mutes", json=mute)

    @do.register
    def _start_thread(self, step: StartThread) -> None:
        request: Json = {"about": f"<#E::{step.key[0]}::{step.key[1]}>", "message": _message(step.mentions)}
        request["type"] = step.kind
        if step.kind == "Task":
            assignees = [self.reference(one) for one in step.assignees]
            request["taskDetails"] = {"type": "UpdateDescription", "assignees": assignees, "suggestion": "Better."}
        if step.kind == "Announcement":
            start_ms = self.started_ms - DAY_MS  # it begins at once; an asset has one, as they may not overlap
            request["announcementDetails"] = {"startTime": start_ms, "endTime": start_ms + 365 * DAY_MS}
        thread = self.ask("POST", "/feed", step.actor, json=request)
        self._threads[step.thread] = thread["id"], thread.get("task", {}).get("id", 0)

    @do.register
    def _post(self, step: Post) -> None:
        path = f"/feed/{self._threads[step.thread][0]}/posts"
        thread = self.ask("POST", path, step.actor, json={"message": _message(step.mentions)})
        self._posts[step.thread, step.actor] = (thread["posts"][-1]["id"], step.mentions)

    @do.register
    def _edit_post(self, step: EditPost) -> None:
        post, mentions = self._posts[step.thread, step.actor]
        patch = [{"op": "replace", "path": "/message", "value": _message((*mentions, *step.mentions))}]
        self.ask("PATCH", f"/feed/{self._threads[step.thread][0]}/posts/{post}", step.actor, json=patch)
        self._posts[step.thread, step.actor] = (post, (*mentions, *step.mentions))

    @do.register
    def _reassign(self, step: Reassign) -> None:
        assignees = [self.reference(one) for one in step.assignees]
        patch = [{"op": "replace", "path": "/task/assignees", "value": assignees}]
        self.ask("PATCH", f"/feed/{self._threads[step.thread][0]}", step.actor, json=patch)

    @do.register
    def _end_task(self, step: EndTask) -> None:
        path = f"/feed/tasks/{self._threads[step.thread][1]}"
        if step.description is None:
            self.ask("PUT", f"{path}/close", step.actor, json={"comment": "Not now."})
        else:
            self.ask("PUT", f"{path}/resolve", step.actor, json={"newValue": step.description})

    @do.register
    def _report(self, step: Report) -> None:
        result = {"timestamp": int(time.time() * 1000) + self.ahead_ms, "testCaseStatus": step.status}
        self.ask("POST", f"/dataQuality/testCases/testCaseResults/{step.key[1]}", step.actor, json=result)

    @do.register
    def _announce(self, step: Announce) -> None:
        asset = {"type": step.key[0], "id": self.ids[step.key]}
        request = {"entity": asset, "kind": step.kind, "date": self.started_ms + _MONTH_MS, "why": "Of a replay."}
        name = self.ask("POST", "/changes", step.actor, json=request)["name"]
        if name != step.request:
            raise Refused(f"{step.request} is called {name}")

    @do.register
    def _answer(self, step: Answer) -> None:
        answer: Json = {"answer": step.verdict}
        if step.verdict == "objects":
            answer["comment"] = "Not yet."
        if step.verdict == "needsTime":
            answer["until"] = self.started_ms + _MONTH_MS
        self.ask("PUT", f"/changes/{step.request}/answer", step.actor, json=answer)

    @do.register
    def _withdraw(self, step: Withdraw) -> None:
        self.ask("PUT", f"/changes/{step.request}/withdraw", step.actor, json={})

    @do.register
    def _acknowledge(self, step: Acknowledge) -> None:
        which = {"asset": self.ids[step.key], "status": "open"}
        (incident,) = self.ask("GET", "/incidents", params=which)["data"]
        self.ask("PUT", f"/incidents/{incident['name']}/acknowledge", step.actor, json={})

    @do.register
    def _set_alert(self, step: SetAlert) -> None:
        request = {"name": step.alert, "alertType": "Notification", **step.definition}
        if trigger := step.definition.get("trigger"):
            request["trigger"] = trigger | self._at_the_check(trigger)
        self.ids["alert", step.alert] = self.ask("PUT", f"/{_ALERTS}", step.actor, json=request)["id"]

    def _at_the_check(self, trigger: Json) -> Json:
        """Return the expression of a trigger with the time of the check, if it is one that is completed by that."""
        expression = trigger.get("cronExpression")
        moment = datetime.fromtimestamp(check_ms(self.started_ms) / 1000, UTC)
        return {"cronExpression": moment.strftime(expression)} if expression else {}

    @do.register
    def _switch_alert(self, step: SwitchAlert) -> None:
        patch = [{"op": "replace", "path": "/enabled", "value": step.enabled}]
        self.ask("PATCH", f"/{_ALERTS}/{self.ids['alert', step.alert]}", step.actor, json=patch)

    @do.register
    def _drop_alert(self, step: DropAlert) -> None:
        self.ask("DELETE", f"/{_ALERTS}/{self.ids['alert', step.alert]}", step.actor)


def address_of(name: str) -> str:
    """Return the mail address of somebody of the script, or of the first administrator."""
    return "admin@tocsin.example.org" if name == ADMIN else f"{name}@history.example.org"


def check_ms(started_ms: int) -> int:
    """Return when a replay that started at a time asks for the state of assets: some minutes before the day is full."""
    minutes = (started_ms + CHECK_DAY * DAY_MS) // 60_000 - 5
    return minutes * 60_000


def _message(mentions: tuple[Principal, ...]) -> str:
    return " ".join(["Look at this.", *(f"<#E::{kind}::{name}>" for kind, name in mentions)])
