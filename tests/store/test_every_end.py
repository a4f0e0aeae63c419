"""Property test of notifications: whatever people choose, mute and read, and workers lose, each ends exactly once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.test_preferences import CHOICES, NIGHT_MS, company_of, in_app

from tocsin.delivery.dispatch import Dispatch
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.flow.track.attempts import Finished, hold, next_step
from tocsin.model.change_kinds import Frequency
from tocsin.model.message import SUPPRESSED, Attempt, Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteKind, actor_key, kind_key
from tocsin.model.preferences import Absence, Preferences, Weekday
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import message, notification
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.upkeep.fsck.inspection import inspect

_HOUR_MS = 3_600_000
_SUBJECTS = list(MuteKind)
_WEEKS = CHOICES.map(lambda one: one.model_copy(update={"working_days": tuple(Weekday)[:5]}))
_LIMITS = CHOICES.map(lambda one: one.model_copy(update={"most_per_hour": 1}))
_ABSENCES = st.builds(
    lambda one, start, hours: one.model_copy(
        update={"away": Absence(start=NIGHT_MS + start * _HOUR_MS, until=NIGHT_MS + (start + hours) * _HOUR_MS)}
    ),
    CHOICES,
    *(st.integers(0, 60), st.integers(1, 90)),
)
_ONE_AN_HOUR = Preferences(most_per_hour=1)
_AWAY = Preferences(away=Absence(start=NIGHT_MS, until=NIGHT_MS + 90 * _HOUR_MS))
_DAILY = Preferences(frequency=Frequency.DAILY)
_EVENTS = ["change", "send", "fail", "crash", "read", "unmute"]
_STEP = (
    st.sampled_from(_EVENTS)
    | CHOICES
    | _WEEKS
    | _LIMITS
    | _ABSENCES
    | st.tuples(st.sampled_from(_SUBJECTS), st.integers(1, 50))
)
_STEPS = st.lists(st.tuples(_STEP, st.integers(1, 700)), min_size=3, max_size=14)


@dataclass
class _Scenario:
    """A company, workers that may lose what they claimed, and how the mails to Ana ended."""

    engine: Engine
    company: SmallCompany
    sent: Counter[str] = field(default_factory=Counter)
    suppressed: Counter[str] = field(default_factory=Counter)
    explained: set[str] = field(default_factory=set)
    workers: count[int] = field(default_factory=count)

    def keys(self) -> dict[MuteKind, str]:
        ids = self.company.ids
        broad_keys = {MuteKind.EVERYTHING: EVERYTHING_ID, MuteKind.ACTOR: actor_key(ids["dia"])}
        named_keys = {MuteKind.ASSET: ids["orders"], MuteKind.ALERT: ids["all"]}
        return {**broad_keys, **named_keys, MuteKind.KIND: kind_key("description")}

    def work(self, now_ms: int, step: str) -> None:
        """Let another worker send what is due, fail to, or die after it has claimed that."""
        name, messages = f"worker {next(self.workers)}", Messages(self.engine)
        Sessions(self.engine).begin(name, lease_ms=90_000, now_ms=now_ms)
        dispatches = messages.dispatches(messages.claim(name, 1_000, now_ms=now_ms))
        if step != "crash":
            ended_attempts = [self._end_of(one, now_ms, fails=step == "fail") for one in dispatches]
            messages.record(name, ended_attempts, now_ms=now_ms)
        Sessions(self.engine).end(name)

    def _end_of(self, dispatch: Dispatch, now_ms: int, *, fails: bool) -> Finished:
        until_ms = SqlQuietTimes(self.engine).held_until_ms(dispatch, now_ms=now_ms)
        if until_ms is not None:
            return hold(dispatch.message, dispatch.entries, until_ms=until_ms, now_ms=now_ms)
        part, drops = Permitted(self.engine).permitted_part(dispatch, now_ms=now_ms)
        self.explained |= {one.notification_id for one in drops if one.because in SUPPRESSED and one.says}
        outcome: Outcome = Rejected(OutcomeReason.MUTED) if part is None else Delivered()
        if part is not None and fails:
            outcome = Retry(OutcomeReason.MAIL_DEFERRED)
        elif dispatch.message.target == "ana@example.com":
            sent_ids = {entry.notification_id for entry in part.entries} if part else set()
            self.sent.update(sent_ids)
            self.suppressed.update({entry.notification_id for entry in dispatch.entries} - sent_ids)
        attempt = Attempt(dispatch.message.id, dispatch.message.attempt_count + 1, now_ms, 0, outcome)
        return Finished(dispatch.message, attempt, next_step(attempt, retries=99, wait_s=600), dispatch.entries)


@settings(max_examples=150 if SOAK else 10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_STEPS)
@example([("change", 1), (_AWAY, 1), ("send", 1), ("change", 1), ("send", 60), ("send", 100 * 60)])  # held, gathered
@example([("change", 1), ("fail", 1), (_AWAY, 1), ("send", 60), (Preferences(), 60), ("send", 1)])  # a held retry
@example([(_DAILY, 1), ("change", 1), ("change", 1), ("crash", 12 * 60), ("send", 1)])  # a digest
@example([((MuteKind.EVERYTHING, 50), 1), ("change", 1), ("send", 1)])
@example(
    [((MuteKind.ASSET, 50), 1), ("change", 1), ("send", 1), ((MuteKind.ALERT, 1), 1), ("change", 1), ("send", 700)]
)
@example([(_ONE_AN_HOUR, 1), *[("change", 1)] * 4, ("send", 1), ("crash", 60), ("send", 1), ("change", 1), ("fail", 1)])
@example([((MuteKind.KIND, 50), 1), ("change", 1), ("send", 1), (_DAILY, 1), ("change", 1), ("read", 1)])
def test_each_notification_is_sent_once_or_suppressed_with_a_reason(
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str | Preferences | tuple[MuteKind, int], int]],
) -> None:
    path = tmp_path_factory.mktemp("ends") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    scenario, now_ms, change_count = _Scenario(engine, company_of(engine)), NIGHT_MS, 0
    ana = scenario.company.ids["ana"]
    for step, minutes in [*steps, ("unmute", 1), *[("send", 12 * 60)] * 40]:
        now_ms += minutes * 60_000
        match step:
            case Preferences():
                SqlPreferences(engine).put(ana, step, now_ms=now_ms)
            case (MuteKind() as kind, int(hours)):
                until_ms = FOR_GOOD_MS if hours > 40 else now_ms + hours * _HOUR_MS
                Mutes(engine).put(Mute(ana, kind, scenario.keys()[kind], since_ms=now_ms, until_ms=until_ms))
            case "unmute":
                for key in scenario.keys().values():
                    Mutes(engine).remove(ana, key)
            case "change":
                change_count += 1
                scenario.company.clock.advance(now_ms - scenario.company.clock.now_ms())
                scenario.company.describe("orders", f"text {change_count}")
                notify_all(engine, now_ms=now_ms)
            case "read":
                Inbox(engine).mark_all_read(ana, now_ms=now_ms)
            case str():
                scenario.work(now_ms, step)
    with engine.connect() as connection:
        of_ana = (notification.c.recipient == "ana@example.com", notification.c.message_id.is_not(None))
        mail_ids = set(connection.scalars(select(notification.c.id).where(*of_ana)))
        open_states = set(connection.scalars(select(message.c.status).where(message.c.status != "delivered")))
    ends = scenario.sent + scenario.suppressed
    assert (set(ends), max(ends.values(), default=1), len(mail_ids)) == (mail_ids, 1, change_count)
    assert set(scenario.suppressed) <= scenario.explained
    assert open_states <= {"failed"}
    off_count = sum(due_ms == NEVER_MS for due_ms, _ in in_app(engine, ana))
    assert all(choice and " never " in choice for due_ms, choice in in_app(engine, ana) if due_ms == NEVER_MS)
    assert Inbox(engine).counts(ana, now_ms).total_count + off_count == change_count
    assert inspect(engine).findings == []
    engine.dispose()
