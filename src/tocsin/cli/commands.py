"""Table of all commands: where each is, and what the overview of ``tocsin --help`` says of it.

A command imports what it needs when it is the one that runs; the overview needs only this table.
Next: ``cli/overview.py``, ``cli/app.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

RUN, USE, TEND = "Run", "Follow and watch", "Maintain"
"""The panels of the overview."""


@dataclass(frozen=True)
class Command:
    """A command or group: its name, its module in ``cli``, its panel, and the first paragraph of its help.

    A command is the function of that name in its module, a group the module's ``app``.
    """

    name: str
    module: str
    panel: str
    summary: str
    is_group: bool = False


COMMANDS = (
    Command(
        "up",
        "up",
        RUN,
        "Start server, pipeline, worker and a development receiver for mails and webhooks on this machine.",
    ),
    Command("serve", "processes", RUN, "Run the server: REST API, web page, live notifications."),
    Command(
        "pipeline",
        "processes",
        RUN,
        "Run the pipeline: read the log, match alerts, find recipients, write notifications.",
    ),
    Command("deliver", "processes", RUN, "Run a worker: claim due messages, send them, record the outcome."),
    Command(
        "relay",
        "processes",
        RUN,
        "Run a relay: write the change events that a bot may view to Kafka or Pulsar, once and in order per entity.",
    ),
    Command(
        "ingest",
        "processes",
        RUN,
        "Apply the events of a Kafka topic: changes by other systems, each once, with the rights of a bot.",
    ),
    Command(
        "receive",
        "processes",
        RUN,
        "Run a development receiver: a mail server and a webhook endpoint that print what arrives.",
    ),
    Command(
        "broker",
        "processes",
        RUN,
        "Run a Kafka broker for trying out the relay, with its data in the data folder. Requires Java 17 or newer.",
    ),
    Command("login", "personal", USE, "Log in and print a token: export TOCSIN_TOKEN=$(tocsin login you@example.com)."),
    Command("follow", "follows", USE, "Follow assets: you are notified in the app of each of their changes."),
    Command(
        "unfollow",
        "follows",
        USE,
        "Stop following assets, or a column of each, also where you follow them by default of a team.",
    ),
    Command(
        "follows", "follows", USE, "List what you follow: since when, its last change, and how often it has told you."
    ),
    Command(
        "recommendations", "recommendations", USE, "List assets that you may like to follow, the best first, and why."
    ),
    Command(
        "searches",
        "searches",
        USE,
        "Save searches, share them by their ids, and follow what they find.",
        is_group=True,
    ),
    Command("inbox", "inbox", USE, "List your notifications, unread first."),
    Command(
        "activity",
        "activity",
        USE,
        "List what happened to what you follow and own, and what else you were told, newest first.",
    ),
    Command("feeds", "feeds", USE, "Make, list and revoke addresses of Atom feeds, for feed readers.", is_group=True),
    Command(
        "mark",
        "inbox",
        USE,
        "Mark notifications: read, done, saved or snoozed; back: unread, undone, unsaved, unsnoozed.",
    ),
    Command(
        "mute",
        "personal",
        USE,
        "Mute an asset, an alert, a kind of change, a person or bot, or everything, for a time or permanently.",
    ),
    Command(
        "substitute",
        "substitutes",
        USE,
        "Show or name who takes the incidents that are assigned to you while you are away.",
    ),
    Command("unmute", "personal", USE, "Unmute what `tocsin mute` takes."),
    Command("mutes", "personal", USE, "List what is muted."),
    Command("kinds", "preferences", USE, "List the kinds of change, or choose how often you are notified of some."),
    Command("preferences", "preferences", USE, "Show or set when you are notified by mail and direct message."),
    Command(
        "addresses",
        "addresses",
        USE,
        "Set and verify where your chat and webhook messages go, or those of a team.",
        is_group=True,
    ),
    Command("defaults", "preferences", USE, "Show or set the preferences that hold where people have chosen nothing."),
    Command(
        "audience",
        "audience",
        USE,
        "List who was told of a change, by what channel, and who has read it, as far as you may know.",
    ),
    Command(
        "digest",
        "digest",
        USE,
        "Show your next digest by mail or chat, as it would be sent now; nothing is sent, and nothing changes.",
    ),
    Command(
        "summary",
        "digest",
        USE,
        "Show your health summary of the last seven days: incidents, failing tests, what changed most.",
    ),
    Command("impact", "impact", USE, "Show everything downstream of an asset, with owners."),
    Command(
        "check",
        "check",
        USE,
        "Check what a pull request changes: what breaks, what reads it, which tests, who would be notified and why.",
    ),
    Command(
        "explain",
        "explain",
        USE,
        "Explain who was notified of a change or not, and why: rule by rule, person by person.",
    ),
    Command(
        "history",
        "history",
        USE,
        "List the versions of an entity, newest first, with their reasons and breaking changes.",
    ),
    Command("diff", "history", USE, "Show the differences between two versions, field by field."),
    Command(
        "rollback",
        "history",
        USE,
        "Return an entity to an earlier version. This creates a new version; history is never rewritten.",
    ),
    Command(
        "health",
        "health",
        TEND,
        "Show the health of server, pipeline, worker and disk; the exit code is 0 only if all is well.",
    ),
    Command(
        "lag",
        "lag",
        TEND,
        "Show how far the readers of the event log are behind: pipeline, lake, relays, queues, Kafka consumer groups.",
    ),
    Command(
        "backup", "maintenance", TEND, "Back up database, lake and key as of one moment, without stopping anything."
    ),
    Command("restore", "maintenance", TEND, "Replace the store with a backup. Stop server, pipeline and worker first."),
    Command("replay", "loading", TEND, "Load recorded entity states, each with its original timestamp."),
    Command(
        "fsck", "maintenance", TEND, "Check the store: events, versions, references, names, derived rows and offsets."
    ),
    Command(
        "audit",
        "maintenance",
        TEND,
        "Check that each match led to exactly one notification per recipient. The pipeline also does this regularly.",
    ),
    Command(
        "erase",
        "erasure",
        TEND,
        "Erase a user: delete it, and replace its names and addresses by a pseudonym in all stored data.",
    ),
    Command("settings", "settings", TEND, "Show all settings with variable, current value and meaning."),
    Command(
        "events", "events", USE, "Watch and consume change events, and send those of other systems.", is_group=True
    ),
    Command(
        "consumers",
        "consumers",
        USE,
        "Register consumers of change events, and show their positions.",
        is_group=True,
    ),
    Command("alerts", "alerts", USE, "Create, update and inspect alerts.", is_group=True),
    Command(
        "deliveries",
        "deliveries",
        USE,
        "Dead letters: messages whose retries are used up or that failed for good.",
        is_group=True,
    ),
    Command("changes", "changes", USE, "Announce changes of assets, and answer announcements.", is_group=True),
    Command("conversations", "conversations", USE, "Conversations about assets.", is_group=True),
    Command("tasks", "tasks", USE, "Tasks about assets: describe it, tag it, approve it.", is_group=True),
    Command("incidents", "incidents", USE, "List, assign and resolve incidents.", is_group=True),
    Command(
        "queue",
        "queue",
        USE,
        "Events in the queue of an alert, a destination of type GovernanceWorkflowChangeEvent.",
        is_group=True,
    ),
    Command("conditions", "conditions", USE, "Check conditions and alerts without saving them.", is_group=True),
    Command("templates", "templates", USE, "Preview notification templates.", is_group=True),
    Command("admin", "admin", TEND, "Create users and bots, reset passwords, migrate the store.", is_group=True),
    Command("sample", "loading", TEND, "Load the sample company.", is_group=True),
    Command("lake", "lake", TEND, "Keep the event history as Parquet files and query it with SQL.", is_group=True),
    Command("search", "search", TEND, "Rebuild the search index.", is_group=True),
    Command("retention", "retention", TEND, "Show and set what is removed and when; legal holds.", is_group=True),
    Command("source", "source", TEND, "Bring metadata from OpenMetadata or dbt.", is_group=True),
)
"""All commands in the order of the overview, groups last."""
