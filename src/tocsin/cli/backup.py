"""``tocsin backup`` and ``tocsin restore``: the store and everything that belongs to it, to a folder and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli.checkpoint_lock import alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_facts
from tocsin.cli.progress import progress_bar
from tocsin.clock import SystemClock


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder to make the backup in; empty, or not there yet.")],
    *,
    key: Annotated[bool, typer.Option(help="Include secrets.key, which opens the secrets in the store.")] = True,
    lake: Annotated[bool, typer.Option(help="Include the lake; without it, it is made again from the log.")] = True,
    as_json: AsJson = False,
) -> None:
    """Back up the store while everything goes on: database, lake and key, as they were at one moment.

    Whoever can read the backup can read the store, and with the key its secrets. Example: tocsin backup /backups/monday
    """
    settings = settings_of()
    with existing_store(settings) as engine:
        from tocsin.store.backup.making import BackupContents, back_up

        with progress_bar("Backup") as report:
            wanted = BackupContents(with_key=key, with_lake=lake)
            made = back_up(engine, settings, folder, wanted=wanted, clock=SystemClock(), report=report)
    facts = {"folder": str(folder.absolute()), "events": made.log.offset, "key": made.key.value}
    show_facts({**facts, "segments": len(made.segments), "files": len(made.files)}, as_json=as_json)


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Put it in the place of a store that was used.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the store: end server, pipeline and worker first.

    Every file is verified before anything is changed. What the backup had not told is told then; what was sent after it
    was made may be sent again, with the same webhook-id. Example: tocsin restore /backups/monday
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.store.backup.restoring import restore as put_back
    with alone(settings.checkpoint_dir()), progress_bar("Restore") as report:
        restored = put_back(folder, settings, force=force, clock=SystemClock(), report=report)
    made = restored.manifest
    facts = {"store": made.dialect, "events": made.log.offset, "key": made.key.value}
    show_facts({**facts, "kept": ", ".join(map(str, restored.kept)) or "nothing"}, as_json=as_json)
