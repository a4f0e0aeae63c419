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
    folder: Annotated[Path, typer.Argument(help="Folder for the backup; must be empty or not exist.")],
    *,
    key: Annotated[bool, typer.Option(help="Include secrets.key, which decrypts the secrets in the store.")] = True,
    lake: Annotated[
        bool, typer.Option(help="Include the lake; otherwise it is rebuilt from the log after a restore.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Back up database, lake and key as of one moment, without stopping anything.

    Keep the backup safe: whoever can read it can read the store, and with the key also its secrets.

    Example: tocsin backup /backups/monday
    """
    settings = settings_of()
    with existing_store(settings) as engine:
        from tocsin.store.upkeep.backup.making import BackupContents, back_up

        with progress_bar("Backup") as report:
            contents = BackupContents(with_key=key, with_lake=lake)
            manifest = back_up(engine, settings, folder, contents=contents, clock=SystemClock(), report=report)
    facts = {"folder": str(folder.absolute()), "events": manifest.log.offset, "key": manifest.key.value}
    show_facts({**facts, "segments": len(manifest.segments), "files": len(manifest.files)}, as_json=as_json)


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder with the backup.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a store that already has data.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replace the store with a backup. Stop server, pipeline and worker first.

    All files are verified before anything changes. Events without notifications at the time of the backup get them now;
    messages sent after the backup may be repeated, with the same webhook-id. Example: tocsin restore /backups/monday
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.store.upkeep.backup.restoring import restore as put_back
    with alone(settings.checkpoint_dir()), progress_bar("Restore") as report:
        restored = put_back(folder, settings, force=force, clock=SystemClock(), report=report)
    manifest = restored.manifest
    facts = {"store": manifest.dialect, "events": manifest.log.offset, "key": manifest.key.value}
    show_facts({**facts, "kept": ", ".join(map(str, restored.previous)) or "nothing"}, as_json=as_json)
