"""Table of all writes on threads with the exact events of each: rows for ``test_paths.py``."""

from __future__ import annotations

import json
from typing import Any

from tests.store.catalogues import JANE, ORDERS, Company
from tests.store.paths import Row, Step

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key

_ABOUT = f"<#E::table::{ORDERS}>"
_TASK = "message task.assignees task.status"
_DONE = "posts task.closedAt task.closedBy task.newValue task.status"


def _writer(shop: Company) -> tuple[FeedWrites, Actor]:
    return FeedWrites(shop.writes), Actor(shop.ids["jane"], JANE.name)


def _begin(**fields: Any) -> Step:
    def step(shop: Company) -> None:
        writes, jane = _writer(shop)
        request = {"about": _ABOUT, "message": "Hello <#E::user::robot>"} | fields
        shop.ids["thread"] = writes.create(request, actor=jane).document["id"]

    return step


def _task(kind: str, about: str = _ABOUT) -> Step:
    details = {"type": kind, "assignees": [{"type": "team", "name": "sales"}]}
    return _begin(type="Task", taskDetails=details, about=about)


def _with_post(shop: Company) -> None:
    _begin()(shop)
    writes, jane = _writer(shop)
    shop.ids["post"] = writes.reply(shop.ids["thread"], {"message": "Yes"}, actor=jane).document["posts"][0]["id"]


def _do(method: str, *arguments: Any) -> Step:
    def step(shop: Company) -> None:
        writes, jane = _writer(shop)
        getattr(writes, method)(shop.ids["thread"], *arguments, actor=jane)

    return step


def _to_post(method: str, *arguments: Any) -> Step:
    return lambda shop: _do(method, shop.ids["post"], *arguments)(shop)


def _replace(path: str, value: Any) -> list[Document]:
    return [{"op": "replace", "path": path, "value": value}]


def _react(shop: Company) -> None:
    reaction = {"reactionType": "heart", "user": {"id": shop.ids["jane"], "type": "user"}}
    _do("patch", [{"op": "add", "path": "/reactions/-", "value": reaction}])(shop)


def _announce(start: int) -> Step:
    return _begin(type="Announcement", announcementDetails={"startTime": start, "endTime": 9_000_000_000_000})


_LATER = {"startTime": 900_000_000_000, "endTime": 9_000_000_010_000}
_TAGS = json.dumps([{"tagFQN": "PII.Contact", "source": "Classification"}])

FEED_ROWS: tuple[Row, ...] = (
    Row("conversation", _begin(), (f"threadCreated thread {ORDERS} [message] None",)),
    Row("task", _task("Generic"), (f"threadCreated thread {ORDERS} [{_TASK}] None",)),
    Row(
        "announcement",
        _announce(900_000_000_000),
        (f"threadCreated thread {ORDERS} [announcement.endTime announcement.startTime message] None",),
    ),
    Row("post", _do("reply", {"message": "Yes"}), (f"postCreated thread {ORDERS} [posts] None",), before=_begin()),
    Row(
        "edit of a message",
        _do("patch", _replace("/message", "Hi")),
        (f"threadUpdated thread {ORDERS} [message] None",),
        before=_begin(),
    ),
    Row("reaction", _react, (f"threadUpdated thread {ORDERS} [reactions] None",), before=_begin()),
    Row("patch of a thread that changes nothing", _do("patch", _replace("/resolved", False)), (), before=_begin()),
    Row(
        "thread marked as resolved",
        _do("patch", _replace("/resolved", True)),
        (f"threadUpdated thread {ORDERS} [resolved] None",),
        before=_begin(),
    ),
    Row(
        "announcement put off",
        _do("patch", _replace("/announcement", _LATER)),
        (f"threadUpdated thread {ORDERS} [announcement.endTime announcement.startTime] None",),
        before=_announce(800_000_000_000),
    ),
    Row(
        "task handed on",
        _do("patch", _replace("/task/assignees", [{"type": "user", "name": "jane"}])),
        (f"threadUpdated thread {ORDERS} [task.assignees] None",),
        before=_task("Generic"),
    ),
    Row(
        "delete of a post",
        _to_post("delete_post"),
        (f"threadUpdated thread {ORDERS} [posts] None",),
        before=_with_post,
    ),
    Row("delete of a thread", _do("delete"), (f"entityDeleted thread {ORDERS} [] None",), before=_with_post),
    Row("delete of a task", _do("delete"), (f"entityDeleted thread {ORDERS} [] None",), before=_task("Generic")),
    Row(
        "resolve of a task that describes",
        _do("resolve", {"newValue": "All orders."}),
        (f"entityUpdated table {ORDERS} [description] 0.2>0.3", f"taskResolved thread {ORDERS} [{_DONE}] None"),
        before=_task("RequestDescription"),
    ),
    Row(
        "resolve of a task that tags a column",
        _do("resolve", {"newValue": _TAGS}),
        (f"entityUpdated table {ORDERS} [columns.email.tags] 0.2>0.3", f"taskResolved thread {ORDERS} [{_DONE}] None"),
        before=_task("UpdateTag", f"{_ABOUT[:-1]}::columns::email::tags>"),
    ),
    Row(
        "resolve of a task that writes nothing",
        _do("resolve", {"newValue": "done"}),
        (f"taskResolved thread {ORDERS} [{_DONE}] None",),
        before=_task("Generic"),
    ),
    Row(
        "close of a task",
        _do("close", {"comment": "No."}),
        (f"taskClosed thread {ORDERS} [{_DONE.replace('task.newValue ', '')}] None",),
        before=_task("RequestTag"),
    ),
    Row(
        "hard delete of what a thread is about",
        lambda shop: shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, hard=True),
        (f"entityDeleted table {ORDERS} [entity] 0.2>",),
        before=_task("Generic"),
    ),
)
"""Every way to write on threads but the edit of a post, whose event names the post's id (``test_feed.py``)."""
