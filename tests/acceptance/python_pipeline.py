"""Pipeline of a replay without Spark: the Python engine takes the whole log through the stages, once.

``sitecustomize_for`` puts it in the place of ``tocsin pipeline``: one start of Java less, for tests that ask what is
written, found and explained, and not how the pipeline comes to it.
"""

from __future__ import annotations

import signal
from pathlib import Path

from tests.notifying import notify_all

from tocsin.clock import SystemClock
from tocsin.flow.eventlog.readers import STREAK_STREAM
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

_IN_PLACE_OF_THE_PIPELINE = """
import sys
if sys.orig_argv[-1] == "pipeline":
    from tests.acceptance.python_pipeline import main
    main()
"""


def main() -> None:
    """Notify of everything in the store that the environment names, then wait until killed."""
    settings = Settings()
    engine = open_engine(settings.store_url())
    use_vault(engine, settings)
    notify_all(engine)
    Notifications(engine).advance(STREAK_STREAM, EventLog(engine).readable_end(), now_ms=SystemClock().now_ms())
    signal.pause()


def sitecustomize_for(folder: Path) -> Path:
    """Write into ``folder`` what Python imports at its start; return the folder, which comes first on the path."""
    (folder / "sitecustomize.py").write_text(_IN_PLACE_OF_THE_PIPELINE)
    return folder
