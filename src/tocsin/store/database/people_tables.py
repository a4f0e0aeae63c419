"""Tables of tokens, log-ins and preferences, in addition to ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text, true

from tocsin.store.database.tables import ID, METADATA, progress_of_job

issued_token = Table(
    "issued_token",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("user_id", ID, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("name", Text, nullable=False, default=""),
    Column("issued_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger),
    Column("parent_id", ID),
    Index(None, "user_id"),
    Index(None, "expires_at_ms"),
    Index(None, "parent_id"),
)
"""One row per token that works: who it is for and until when. Without its row a token opens nothing.

``parent_id`` is the token it was made with; it is revoked with that one.
"""

login_attempt = Table(
    "login_attempt",
    METADATA,
    Column("key", String(330), primary_key=True),
    Column("attempt_count", Integer, nullable=False),
    Column("last_at_ms", BigInteger, nullable=False),
    Column("next_at_ms", BigInteger, nullable=False),
    Index(None, "last_at_ms"),
)
"""One row per account, per source and per both: log-ins tried without success, and when the next may come."""

login_source = Table(
    "login_source",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("source", String(64), primary_key=True),
    Column("last_at_ms", BigInteger, nullable=False),
)
"""One row per person and source (address, or network of an IPv6 address) that they have logged in from."""

openid_identity = Table(
    "openid_identity",
    METADATA,
    Column("issuer", String(500), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("user_id", ID, nullable=False),
    Index(None, "user_id"),
)
"""One row per identity of an OpenID Connect provider that has logged in: whose it is from then on."""

name_look = Table(
    "name_look",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("look", Text, nullable=False),
    Index(None, "look"),
)
"""One row per user, team and bot: what their name looks like (``model/look_alikes.look_of``)."""

notification_preference = Table(
    "notification_preference",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("document", Text, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("follows", Text),
)
"""One row per person who prefers something: ``model/preferences.Preferences`` as JSON; and that of ``EVERYBODY``.

``follows`` are their choices for single follows, ``model/follow_choices.FollowChoices`` as JSON by ``follow_key``.
"""

NO_DOCUMENT = ""
"""The document of a person who has choices for follows, but no preferences."""

EVERYBODY = "everybody"
"""In place of a person: the defaults of the server."""

team_preference = Table(
    "team_preference",
    METADATA,
    Column("team_id", ID, primary_key=True),
    Column("document", Text, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)
"""One row per team with defaults for its members, as ``notification_preference``; few, so all are read at once."""

hourly_message = Table(
    "hourly_message",
    METADATA,
    Column("message_id", ID, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("channel", String(40), nullable=False),
    Column("hour_ms", BigInteger, nullable=False),
    Index(None, "user_id", "channel", "hour_ms"),
)
"""One row per (message, person who wants at most so many in an hour): the hour in which it has its place; for a day."""

substitute = Table(
    "substitute",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("substitute_id", ID, nullable=False),
    Column("is_accepted", Boolean, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Index(None, "substitute_id"),
)
"""One row per person who has named a substitute for their absences; it counts once that one has accepted."""

inbox_change = Table(
    "inbox_change",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Index(None, "sequence"),
)
"""One row per person who has marked a notification; ``sequence`` grows with each change, among all people."""

erasure = Table(
    "erasure",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("user_id", ID, nullable=False),
    Column("requested_by", ID, nullable=False),
    Column("requested_at_ms", BigInteger, nullable=False),
    Column("is_dry", Boolean, nullable=False),
    Column("identity", Text),
    *progress_of_job(),
    Index(None, "state", "requested_at_ms"),
    Index(None, "user_id", "requested_at_ms"),
)
"""One row per requested erasure of a user: what identifies them (encrypted, until it is done) and the certificate."""

personal_notice = Table(
    "personal_notice",
    METADATA,
    Column("thread_id", ID, primary_key=True),
    Column("user_id", ID, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("is_begun", Boolean, nullable=False, default=True, server_default=true()),
    Index(None, "user_id", "kind", "until_ms"),
)
"""One row per notice to a person (``model/personal_notice.py``): it is about what happened from ``since_ms`` on, before
``until_ms``. It ``is_begun`` when its thread is, or if it has nothing to say and so no thread.
"""

push_browser = Table(
    "push_browser",
    METADATA,
    Column("session_id", ID, primary_key=True),
    Column("user_id", ID, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Index(None, "user_id"),
)
"""One row per session in whose browser a person takes push messages: where and with which keys, sealed.

It counts for as long as its session, a row of ``issued_token``, does.
"""
