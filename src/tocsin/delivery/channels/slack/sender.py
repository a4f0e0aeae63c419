"""Slack sender: a bot where a destination has a bot token, else its incoming webhook.

Next: ``delivery/channels/slack/api.py`` and ``delivery/channels/incoming_webhook.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from tocsin.delivery.channels.incoming_webhook import IncomingWebhook
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.channels.slack.answers import judge_answer
from tocsin.delivery.channels.slack.api import Answer, Members, SlackApi, SlackCall
from tocsin.delivery.channels.slack.interactions import MEMBER, MESSAGE_BYTES, ActionButton, buttons_block
from tocsin.delivery.channels.slack.render import Block, add_block, links_block, render_message
from tocsin.delivery.dispatch import CauseThread, Dispatch, Sender
from tocsin.delivery.links.mute import MUTE_TEXT, MUTED_FOR_MS, MuteLink, link_of, token_of
from tocsin.delivery.transport.request import Transport
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected
from tocsin.model.subscription import Destination

_CHANGED = ("text", "blocks", "attachments")
"""What a message is changed to, all of it: what is left out would stay. Source: Slack's ``chat.update``."""


class SlackSender:
    """Sends change events as blocks. ``base_url`` is where their links lead, ``api_url`` where bots post to.

    ``link_key`` signs links to mute; without one there are none.
    """

    def __init__(self, requests: Transport, *, base_url: str, api_url: str, link_key: bytes = b"") -> None:
        self._webhook = IncomingWebhook(requests, base_url=base_url, render=render_message, judge=judge_answer)
        self._bot = SlackBot(SlackApi(requests, api_url), base_url=base_url, link_key=link_key)

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        sender = self._bot if destination.config.bot_token else self._webhook
        return await sender.send(dispatch, destination, now_ms=now_ms)


class SlackBot:
    """Sends change events as the app whose bot token a destination has."""

    def __init__(self, api: SlackApi, *, base_url: str, link_key: bytes = b"") -> None:
        self._api, self._base_url, self._link_key = api, base_url, link_key
        self._members = Members(api)

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        target = dispatch.message.target
        call = SlackCall(destination, now_ms)
        if "@" not in target:
            return await self._post(dispatch, destination.config.channel or target, call)
        call = replace(call, to_person=True)
        member = await self._members.id_of(target, call)
        if not isinstance(member, str):
            return member
        outcome = await self._post(dispatch, member, call)
        if isinstance(outcome, Rejected) and outcome.reason is OutcomeReason.RECIPIENT_UNKNOWN:
            self._members.forget(target, call)
        return outcome

    async def _post(self, dispatch: Dispatch, channel: str, call: SlackCall) -> Outcome:
        thread = dispatch.cause_thread
        if thread is not None and thread.is_in_place:
            answer = await self._change(dispatch, thread, call)
            is_final = isinstance(answer.outcome, Delivered) or answer.reason is OutcomeReason.RATE_LIMITED
            if is_final or not answer.values.get("error"):
                return answer.outcome
            dispatch = _as_further_message(dispatch, thread)
        place = _place_of(dispatch, channel)
        message = await self._message(dispatch, call)
        answer = await self._api.ask("chat.postMessage", orjson.dumps({**place, **message}), call)
        if thread is not None and "thread_ts" in place and isinstance(answer.outcome, Delivered):
            return replace(answer.outcome, remote_id=thread.remote_id)
        return answer.outcome

    async def _change(self, dispatch: Dispatch, thread: CauseThread, call: SlackCall) -> Answer:
        """Change the message that this one continues, so that it tells of both; return the answer."""
        channel, _, at = (thread.remote_id or "").partition("/")
        message = await self._message(dispatch, call)
        changed = {key: message.get(key, []) for key in _CHANGED}
        return await self._api.ask("chat.update", orjson.dumps({"channel": channel, "ts": at, **changed}), call)

    async def _message(self, dispatch: Dispatch, call: SlackCall) -> Block:
        members = await self._owners(dispatch, call)
        is_known = dispatch.reaches_recipient and call.destination.config.signing_secret
        if is_known and len(dispatch.entries) == 1:
            return self._with_buttons(dispatch, members, call)
        message: Block = orjson.loads(render_message(dispatch, base_url=self._base_url, members=members))
        if request := self._mute_request(dispatch, call):
            add_block(message, links_block((link_of(request, self._link_key, self._base_url), MUTE_TEXT)))
        return message

    def _with_buttons(self, dispatch: Dispatch, members: Mapping[str, str], call: SlackCall) -> Block:
        """Return the message about one event with buttons, whose requests Slack signs, in place of links."""
        plain = replace(dispatch, buttons={})
        text = render_message(plain, base_url=self._base_url, members=members, most_bytes=MESSAGE_BYTES)
        message: Block = orjson.loads(text)
        buttons = dispatch.buttons.get(dispatch.first.notification_id, ())
        choices: list[ActionButton] = []
        for at, button in enumerate(buttons, start=1):
            if button.token:
                choices.append(ActionButton(f"acknowledge_{at}", button.text, button.token))
                continue
            names = (f"answer_{at}_{number}" for number in range(1, len(button.choices) + 1))
            choices += [ActionButton(name, *choice) for name, choice in zip(names, button.choices, strict=True)]
            add_block(message, links_block((button.address, button.text)))
        if request := self._mute_request(dispatch, call):
            choices.append(ActionButton("mute", MUTE_TEXT, token_of(request, self._link_key)))
        if choices:
            add_block(message, buttons_block(choices))
        return message

    def _mute_request(self, dispatch: Dispatch, call: SlackCall) -> MuteLink | None:
        """Return what mutes the asset for a day for a person; None where others read the message as well."""
        first, is_personal = dispatch.first, dispatch.reaches_recipient and call.to_person
        if not (self._link_key and is_personal and first.recipient_id) or len(dispatch.entries) > 1:
            return None
        return MuteLink(first.notification_id, call.now_ms + MUTED_FOR_MS)

    async def _owners(self, dispatch: Dispatch, call: SlackCall) -> dict[str, str]:
        """Return those owners of the asset who are members of the workspace; whom it does not name is not mentioned."""
        member_ids: dict[str, str] = {}
        for user_id, address in dispatch.addresses.items():
            member = await self._members.id_of(address, replace(call, to_person=True))
            if isinstance(member, str) and MEMBER.fullmatch(member):
                member_ids[user_id] = member
        return member_ids


def _place_of(dispatch: Dispatch, channel: str) -> dict[str, str | bool]:
    """Return where a message goes: below the one that it answers, where Slack has said which that is.

    A further message of a cause is seen in the channel as well: it may need attention.
    """
    answered = dispatch.answers or dispatch.cause_thread
    where, _, at = (answered.remote_id or "" if answered else "").partition("/")
    if not at:
        return {"channel": channel}
    in_thread: dict[str, str | bool] = {"channel": where, "thread_ts": at}
    return in_thread if dispatch.answers else in_thread | {"reply_broadcast": True}


def _as_further_message(dispatch: Dispatch, thread: CauseThread) -> Dispatch:
    """Return a message that Slack does not let change the earlier one: by itself, without what that shows."""
    earlier_ids = {entry.notification_id for entry in thread.earlier or ()}
    entries = tuple(entry for entry in dispatch.entries if entry.notification_id not in earlier_ids)
    return replace(dispatch, entries=entries, cause_thread=CauseThread(thread.message_id))


def build_sender(requests: Transport, setup: SenderSetup) -> Sender:
    """Return the sender."""
    base_url, api_url = setup.settings.base_url(), setup.settings.slack_api_url
    return SlackSender(requests, base_url=base_url, api_url=api_url, link_key=setup.link_key)
