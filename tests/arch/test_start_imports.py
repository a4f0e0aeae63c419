"""What a server and a worker do not import at their start: libraries that only some requests and messages need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

_LATE = {"alembic", "mako", "authlib", "aiohttp", "aiosmtplib", "jinja2", "pyspark", "pyarrow"}
_STARTS = {
    "server": "from tocsin.server.app import build_app; from tocsin.server.bootstrap import first_start;"
    "first_start(engine, settings); build_app(settings, engine)",
    "worker": "import tocsin.delivery.worker.deliver; from tocsin.store.database.schema import migrate;migrate(engine)",
}
_PROGRAM = """
import sys
from pathlib import Path
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
settings = Settings(data_dir=Path(sys.argv[1]))
engine = open_engine(settings.store_url())
{start}
print(*sorted({late} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("process", "needs"), [("server", set()), ("worker", {"aiohttp", "aiosmtplib", "jinja2"})], ids=["server", "worker"]
)
def test_a_start_on_a_store_of_this_release_imports_no_library_that_only_some_requests_need(
    tmp_path: Path, process: str, needs: set[str]
) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'tocsin.db'}")
    migrate(engine)
    engine.dispose()
    program = _PROGRAM.format(start=_STARTS[process], late=_LATE - needs)
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == []
