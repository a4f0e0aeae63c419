"""Meaning of Slack's answers: the outcome of a message, by the error that the answer names.

Slack says what is wrong in a word, in the body of a 4xx or in the ``error`` of a 200 with ``"ok": false``. Source:
Slack's "Handling errors" of incoming webhooks and the errors of ``chat.postMessage`` and ``users.lookupByEmail``.
Next: ``delivery/channels/slack/sender.py``.
"""

from __future__ import annotations

import orjson

from tocsin.delivery.transport.outcome import of_reason
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry

_GONE = frozenset(
    "account_inactive action_prohibited channel_is_archived channel_not_found invalid_auth invalid_token is_archived"
    " missing_scope no_active_hooks no_permission no_service no_service_id no_team not_allowed_token_type not_authed"
    " not_in_channel org_login_required posting_to_general_channel_denied restricted_action team_access_not_granted"
    " team_disabled team_not_found token_expired token_revoked user_not_found".split()
)
"""Errors that every message will meet until a person changes the alert or Slack."""

_UNKNOWN = frozenset(
    "cannot_dm_bot channel_not_found messages_tab_disabled user_disabled user_not_found users_not_found".split()
)
"""Errors of a message to one person, which say nothing about messages to others."""

_REFUSED = frozenset(
    "as_user_not_supported invalid_arguments invalid_attachments invalid_blocks invalid_blocks_format"
    " invalid_payload markdown_text_conflict msg_blocks_too_long msg_too_long no_text"
    " too_many_attachments".split()
)
"""Errors of one message: it will never go through."""

_RATE_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})


def judge_answer(outcome: Outcome, *, to_person: bool = False) -> Outcome:
    """Return what an answer of Slack's means, by the error that its body names; of a message ``to_person`` as well."""
    error = _error_of(outcome.detail)
    if not error or isinstance(outcome, Rejected):
        return outcome
    status, detail = outcome.status_code, outcome.detail
    if error in _RATE_LIMITED:
        after_s = outcome.after_s if isinstance(outcome, Retry) else None
        return of_reason(OutcomeReason.RATE_LIMITED, status_code=status, detail=detail, after_s=after_s)
    if to_person and error in _UNKNOWN:
        return of_reason(OutcomeReason.RECIPIENT_UNKNOWN, status_code=status, detail=detail)
    if error in _GONE:
        return of_reason(OutcomeReason.GONE, status_code=status, detail=detail)
    if error in _REFUSED:
        return Rejected(OutcomeReason.CLIENT_ERROR, status_code=status, detail=detail)
    if isinstance(outcome, Delivered):
        return of_reason(OutcomeReason.SERVER_ERROR, status_code=status, detail=detail)
    return outcome


def _error_of(body: str) -> str:
    """Return the word for what went wrong; empty if nothing did, or the body does not say."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        word = body.strip()
        return word if word in _GONE | _REFUSED | _RATE_LIMITED else ""
    if not isinstance(answer, dict) or answer.get("ok", True):
        return ""
    return str(answer.get("error") or "unknown")
