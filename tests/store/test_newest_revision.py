"""Tests of the newest revision, which is told without Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory

import tocsin.store.migrations
from tocsin.store.database.schema import newest_revision


def test_the_newest_revision_is_the_one_that_alembic_would_end_with() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(str(tocsin.store.migrations.__path__[0]))))
    assert ScriptDirectory.from_config(config).get_heads() == [newest_revision()]
