"""Property test of notifications: whatever people choose, mute and read, and workers lose, each ends exactly once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.serving import KEY
from tests.soak import SOAK
from tests.store.test_preferences import CHOICES, NIGHT_MS, company_of, in_app
from tests.verified import verify_addresses

from tocsin.delivery.dispatch import Dispatch
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.flow.track.attempts import Finished, hold, next_step
from tocsin.model.change_kinds import Frequency
from tocsin.model.inbox import Mark, Snooze, SnoozeEnd
from tocsin.model.message import SUPPRESSED, Attempt, Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteKind, actor_key, kind_key
from tocsin.model.own_address import own_address_of
from tocsin.model.preferences import Absence, Preferences, Weekday
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.people.own_addresses import OwnAddresses
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import message, notification
from tocsin.store.database.vault import use_vault
from tocsin.store.outbox.inbox import Inbox, PageOf
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
_UNREAD_ONLY = CHOICES.map(lambda one: one.model_copy(update={"leave_out_read": True}))
_ONE_AN_HOUR = Preferences(most_per_hour=1)
_AWAY = Preferences(away=Absence(start=NIGHT_MS, until=NIGHT_MS + 90 * _HOUR_MS))
_DAILY = Preferences(frequency=Frequency.DAILY)
_DAILY_UNREAD = Preferences(frequency=Frequency.DAILY, leave_out_read=True)
_EVENTS = ["change", "send", "fail", "crash", "read", "unmute", "verify", "move", "later", "when it changes"]
"""``verify`` and ``move`` are of Ana's own Slack address, ``later`` and ``when it changes`` snooze what she sees."""
_STEP = (
    st.sampled_from(_EVENTS)
    | CHOICES
    | _WEEKS
    | _LIMITS
    | _UNREAD_ONLY
    | _ABSENCES
    | st.tuples(st.sampled_from(_SUBJECTS), st.integers(1, 50))
)
_STEPS = st.lists(st.tuples(_STEP, st.integers(1, 700)), min_size=3, max_size=14)


@dataclass
class _Scenario:
    """A company, workers that may lose what they claimed, and how the messages to Ana ended.

    Ana hears as an owner by mail and in the app, and as a follower at her own Slack address while that is verified.
    """

    engine: Engine
    company: SmallCompany
    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    suppressed: Counter[tuple[str, str]] = field(default_factory=Counter)
    explained: set[str] = field(default_factory=set)
    workers: count[int] = field(default_factory=count)
    change_count: int = 0
    verified_change_count: int = 0
    address_count: int = 0
    is_verified: bool = False

    def __post_init__(self) -> None:
        self.ana = self.company.ids["ana"]
        self.company.writes.follow("table", self.company.ids["orders"], self.ana, actor=self.company.actor("ana"))
        self.company.alert("own", [{"category": "Followers", "type": "Slack"}], resources=("table",), poll_interval_s=0)
        notify_all(self.engine, now_ms=NIGHT_MS)

    def keys(self) -> dict[MuteKind, str]:
        ids = self.company.ids
        broad_keys = {MuteKind.EVERYTHING: EVERYTHING_ID, MuteKind.ACTOR: actor_key(ids["dia"])}
        named_keys = {MuteKind.ASSET: ids["orders"], MuteKind.ALERT: ids["all"]}
        return {**broad_keys, **named_keys, MuteKind.KIND: kind_key("description")}

    def do(self, step: str | Preferences | tuple[MuteKind, int], now_ms: int) -> None:
        """Do a step at a moment."""
        own_steps = {
            "change": self._change,
            "read": lambda at_ms: Inbox(self.engine).mark_all_read(self.ana, now_ms=at_ms),
            "later": lambda at_ms: self._snooze(Snooze(at_ms + 5 * _HOUR_MS), at_ms),
            "when it changes": lambda at_ms: self._snooze(Snooze(end=SnoozeEnd.CHANGED), at_ms),
            "move": self._move_address,
            "verify": self._verify_address,
            "unmute": self._unmute,
        }
        match step:
            case Preferences():
                SqlPreferences(self.engine).put(self.ana, step, now_ms=now_ms)
            case (MuteKind() as kind, int(hours)):
                until_ms = FOR_GOOD_MS if hours > 40 else now_ms + hours * _HOUR_MS
                Mutes(self.engine).put(Mute(self.ana, kind, self.keys()[kind], since_ms=now_ms, until_ms=until_ms))
            case str() if step in own_steps:
                own_steps[step](now_ms)
            case str():
                self._work(now_ms, step)
        Inbox(self.engine).wake(now_ms)

    def _unmute(self, _now_ms: int) -> None:
        for key in self.keys().values():
            Mutes(self.engine).remove(self.ana, key)

    def _change(self, now_ms: int) -> None:
        self.change_count += 1
        self.verified_change_count += self.is_verified
        self.company.clock.advance(now_ms - self.company.clock.now_ms())
        self.company.describe("orders", f"text {self.change_count}")
        notify_all(self.engine, now_ms=now_ms)

    def _snooze(self, snooze: Snooze, now_ms: int) -> None:
        inbox = Inbox(self.engine)
        ids = [head.id for head in inbox.heads(self.ana, now_ms, limit=100, kind=PageOf()).heads]
        inbox.mark(self.ana, ids, Mark.SNOOZED, now_ms, snooze=snooze)

    def _verify_address(self, _now_ms: int) -> None:
        verify_addresses(self.engine, self.ana, self.ana)
        self.is_verified = self.address_count > 0

    def _move_address(self, _now_ms: int) -> None:
        """Change Ana's own address, which is unverified from then on."""
        self.address_count, self.is_verified = self.address_count + 1, False
        address = {"slack": {"endpoint": f"https://hooks.slack.com/services/T1/B{self.address_count}/secret"}}
        patch = [{"op": "add", "path": "/profile", "value": {"subscription": address}}]
        self.company.writes.patch("user", self.company.key("ana"), patch, actor=self.company.actor("ana"))

    def _work(self, now_ms: int, step: str) -> None:
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
        own_address = own_address_of(dispatch.message.target)
        if part and own_address and OwnAddresses(self.engine).of(own_address, dispatch.message.channel) is None:
            self.explained |= {entry.notification_id for entry in part.entries}
            part, outcome = None, Rejected(OutcomeReason.RECIPIENT_GONE)
        assert part is None or own_address is None or self.is_verified, "sent to an address that is not verified"
        if part is not None and fails:
            outcome = Retry(OutcomeReason.MAIL_DEFERRED)
        elif {entry.recipient_id for entry in dispatch.entries} == {self.ana}:
            carried_ids, sent_ids = (_ids_in(one) if one else set() for one in (dispatch, part))
            self.sent.update(sent_ids)
            self.suppressed.update(carried_ids - sent_ids)
        attempt = Attempt(dispatch.message.id, dispatch.message.attempt_count + 1, now_ms, 0, outcome)
        return Finished(dispatch.message, attempt, next_step(attempt, retries=99, wait_s=600), dispatch.entries)

    def stored_ids(self) -> set[tuple[str, str]]:
        """Return the stored notifications to Ana that messages carry, each with its channel."""
        row = notification.c
        of_ana = row.recipient_id == self.ana, row.message_id.is_not(None)
        with self.engine.connect() as connection:
            return {(one.channel, one.id) for one in connection.execute(select(row.channel, row.id).where(*of_ana))}


def _ids_in(dispatch: Dispatch) -> set[tuple[str, str]]:
    """Return the notifications in a message, each with the channel that it goes out by."""
    return {(dispatch.message.channel, entry.notification_id) for entry in dispatch.entries}


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
@example([("move", 1), ("change", 1), ("verify", 1), ("change", 1), ("move", 1), ("send", 1), ("verify", 1)])
@example([("move", 1), ("verify", 1), ("change", 1), (_AWAY, 1), ("send", 1), ("send", 100 * 60)])
@example([(_DAILY_UNREAD, 1), ("change", 1), ("later", 1), ("change", 1), ("read", 1), ("send", 700)])
def test_each_notification_is_sent_once_or_suppressed_with_a_reason(
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str | Preferences | tuple[MuteKind, int], int]],
) -> None:
    path = tmp_path_factory.mktemp("ends") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    scenario, now_ms = _Scenario(engine, company_of(engine)), NIGHT_MS
    for step, minutes in [*steps, ("unmute", 1), *[("send", 12 * 60)] * 40]:
        now_ms += minutes * 60_000
        scenario.do(step, now_ms)
    ana, stored_ids = scenario.ana, scenario.stored_ids()
    with engine.connect() as connection:
        open_states = set(connection.scalars(select(message.c.status).where(message.c.status != "delivered")))
    ends, change_counts = scenario.sent + scenario.suppressed, (scenario.change_count, scenario.verified_change_count)
    stored_counts = Counter(channel for channel, _ in stored_ids)
    assert (set(ends), max(ends.values(), default=1)) == (stored_ids, 1)
    assert (stored_counts[Channel.EMAIL], stored_counts[Channel.SLACK]) == change_counts
    assert {one for _, one in scenario.suppressed} <= scenario.explained
    assert open_states <= {"failed"}
    off_count = sum(due_ms == NEVER_MS for due_ms, _ in in_app(engine, ana))
    assert all(choice and " never " in choice for due_ms, choice in in_app(engine, ana) if due_ms == NEVER_MS)
    counts = Inbox(engine).counts(ana, now_ms)
    assert counts.total_count + counts.snoozed_count + off_count == scenario.change_count
    assert inspect(engine).findings == []
    engine.dispose()


def test_what_is_snoozed_unread_is_sent_to_who_leaves_out_what_they_have_read(sqlite_engine: Engine) -> None:
    scenario = _Scenario(sqlite_engine, company_of(sqlite_engine))
    scenario.do(_DAILY_UNREAD, NIGHT_MS)
    for minutes, step in enumerate(("change", "later", "change", "read"), start=1):
        scenario.do(step, NIGHT_MS + minutes * 60_000)
    scenario.do("send", NIGHT_MS + 12 * _HOUR_MS)
    assert (len(scenario.sent), len(scenario.suppressed)) == (1, 1)
