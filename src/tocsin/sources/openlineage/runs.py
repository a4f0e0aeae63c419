"""State of the runs of a pipeline, as events tell it in any order and more than once.

The pipeline is the job whose run began all others; jobs below it are its tasks. A run that has failed stays failed:
Spark says of a failed statement that it completed, too, with the same run id, and of the application always. So the
failure of a task is one of its pipeline's run. The states of a run can only be joined: which event comes first, or
twice, makes no difference. Next: ``sources/openlineage/writing.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tocsin.model.entity import Document
from tocsin.sources.openlineage.events import Identifier, LineageEvent, RunEventType

RUNS = "openLineageRuns"
"""As what it is attached to a pipeline: its newest runs by id."""

MOST_RUNS = 20
"""Runs of a pipeline whose state is kept, those that came last."""

MOST_TASKS = 100
"""Tasks whose state is kept within a run: those that failed first, then those that began last."""

MOST_TRIES = 3
"""Runs of one task that are kept within a run of its pipeline: the last ones decide."""

_PENDING, _SUCCESSFUL, _FAILED = "Pending", "Successful", "Failed"
_RANKS = {_PENDING: 0, _SUCCESSFUL: 1, _FAILED: 2}
_STATES = {
    RunEventType.COMPLETE: _SUCCESSFUL,
    RunEventType.FAIL: _FAILED,
    RunEventType.ABORT: _FAILED,
}
_ABORTED = "aborted"
_LONGEST_ERROR = 500


@dataclass(frozen=True)
class RunPlace:
    """Whose run an event is about: the pipeline's, or that of one of its tasks.

    Attributes
    ----------
    pipeline : the job that began all others
    run_id : its run
    task : the name of the job below it that the event is about; None if the event is about the pipeline's own
    task_run_id : the run of that job
    """

    pipeline: Identifier
    run_id: str
    task: str | None = None
    task_run_id: str | None = None


def place_of(event: LineageEvent) -> RunPlace | None:
    """Return whose run an event is about; None if it is about none."""
    if event.run is None or event.job is None:
        return None
    parent = event.run.parent
    origin = (parent.root or parent) if parent else None
    if origin is None or origin.job.identifier == event.job.identifier:
        return RunPlace(event.job.identifier, str(event.run.run_id))
    task = event.job.name.removeprefix(f"{origin.job.name}.") or event.job.name
    return RunPlace(origin.job.identifier, str(origin.run.run_id), task, str(event.run.run_id))


def has_failed(runs: Document, place: RunPlace) -> bool:
    """Return whether an earlier event said that this very run failed, whatever later ones say."""
    run = runs.get(place.run_id) or {}
    if place.task is not None and place.task_run_id is not None:
        state = run.get("tasks", {}).get(place.task, {}).get(place.task_run_id)
    else:
        state = run.get("own")
    return state is not None and state["state"] == _FAILED


def with_event(runs: Document, place: RunPlace, event: LineageEvent, *, now_ms: int) -> Document:
    """Return the runs of a pipeline with what an event says of one; a time ahead of ``now_ms`` counts as that."""
    at_ms = min(event.at_ms, now_ms)
    run = runs.get(place.run_id) or {"at": _free_moment(runs, at_ms), "place": _next_place(runs), "tasks": {}}
    state = _state_of(event, at_ms)
    if place.task is None or place.task_run_id is None:
        run = run | {"own": _join_states(run.get("own"), state)}
    else:
        tries = run["tasks"].get(place.task, {})
        tries = tries | {place.task_run_id: _join_states(tries.get(place.task_run_id), state)}
        newest_ids = sorted(tries, key=lambda one: (tries[one]["start"], one))[-MOST_TRIES:]
        tasks = run["tasks"] | {place.task: {one: tries[one] for one in newest_ids}}
        run = run | {"tasks": _most_telling(tasks)}
    all_runs = runs | {place.run_id: run}
    kept_ids = sorted(all_runs, key=lambda one: int(all_runs[one]["place"]))[-MOST_RUNS:]
    return {one: all_runs[one] for one in kept_ids}


def status_of(run_id: str, run: Document) -> Document:
    """Return the run as a pipeline's status: ``timestamp``, ``executionStatus``, and the states of its tasks."""
    own_state = run.get("own") or {"state": _PENDING}
    tasks = {
        name: max(tries.items(), key=lambda one: (one[1]["start"], one[0])) for name, tries in run["tasks"].items()
    }
    failed_tasks = [(name, state) for name, (_, state) in sorted(tasks.items()) if state["state"] == _FAILED]
    status: Document = {
        "timestamp": run["at"],
        "executionStatus": _FAILED if failed_tasks else own_state["state"],
        "executionId": run_id,
    }
    if tasks:
        status["taskStatus"] = [_task_status(name, *tasks[name]) for name in sorted(tasks)]
    if "end" in own_state:
        status["endTime"] = own_state["end"]
    if error := _error_of(own_state, failed_tasks):
        status["error"] = error
    return status


def _task_status(name: str, run_id: str, state: Document) -> Document:
    times = {"startTime": state["start"]} | ({"endTime": state["end"]} if "end" in state else {})
    return {"name": name, "executionStatus": state["state"], "taskId": run_id, **times}


def _error_of(own_state: Document, failed_tasks: list[tuple[str, Document]]) -> Document:
    """Return why a run failed: what it says itself, else what the first of its tasks says that does."""
    speaking_task = next(((name, state) for name, state in failed_tasks if state.get("error")), None)
    error: Document = {}
    if own_state.get("error"):
        error["errorMessage"] = own_state["error"]
    elif speaking_task:
        error["errorMessage"] = speaking_task[1]["error"]
    if failed_tasks:
        error["failedTask"] = (speaking_task or failed_tasks[0])[0]
    return error


def _state_of(event: LineageEvent, at_ms: int) -> Document:
    state = _STATES.get(event.event_type, _PENDING) if event.event_type else _PENDING
    new_state: Document = {"state": state, "start": at_ms}
    if state != _PENDING:
        new_state["end"] = at_ms
    if state == _FAILED:
        reason = event.run.error if event.run else None
        new_state["error"] = (reason or (_ABORTED if event.event_type is RunEventType.ABORT else ""))[:_LONGEST_ERROR]
    return new_state


def _join_states(before: dict[str, Any] | None, new_state: Document) -> Document:
    """Return two states of one run as one: it began at the earlier moment, and the worse of its ends is its end."""
    if before is None:
        return new_state
    states = (before, new_state)
    worst = max((one["state"] for one in states), key=_RANKS.__getitem__)
    joined: Document = {"state": worst, "start": min(one["start"] for one in states)}
    if ends := [one["end"] for one in states if "end" in one]:
        joined["end"] = max(ends)
    if worst == _FAILED:
        joined["error"] = max(one["error"] for one in states if one["state"] == _FAILED)
    return joined


def _last_try(tries: Document) -> tuple[str, Document]:
    """Return the run of a task that began last, by its id and state."""
    return max(tries.items(), key=lambda one: (one[1]["start"], one[0]))


def _most_telling(tasks: Document) -> Document:
    """Return as many tasks as are kept: those that failed before others, of these those that began last."""

    def weight(name: str) -> tuple[bool, int, str]:
        _, state = _last_try(tasks[name])
        return state["state"] == _FAILED, state["start"], name

    return {name: tasks[name] for name in sorted(tasks, key=weight)[-MOST_TASKS:]}


def _next_place(runs: Document) -> int:
    """Return the place of a new run behind all others, in the order in which they came."""
    return 1 + max((int(run["place"]) for run in runs.values()), default=0)


def _free_moment(runs: Document, at_ms: int) -> int:
    """Return the moment of a new run: two runs of a pipeline never share one."""
    used_moments = {run["at"] for run in runs.values()}
    while at_ms in used_moments:
        at_ms += 1
    return at_ms
