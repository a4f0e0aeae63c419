"""Program that runs the checks of OpenMetadata's own client against a server of their own, and prints each.

Usage: ``make client-checks``. The last line says how many of how many passed; the exit code is 1 if one failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pydantic import SecretStr
from tests.acceptance.official_client.conftest import FLOWS, MISSING, PYTHON, bot_token, version_of_client
from tests.acceptance.official_client.indexing import following_index
from tests.founded import found
from tests.serving import KEY, running_server, server_settings

from tocsin.settings import Settings
from tocsin.store.engine import open_engine
from tocsin.store.schema import migrate
from tocsin.store.vault import use_vault


def main() -> int:
    """Serve an empty SQLite store and run the checks; return their exit code."""
    if not PYTHON.exists():
        print(MISSING, file=sys.stderr)  # noqa: T201
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return _checked(Path(folder) / "tocsin.db")


def _checked(path: Path) -> int:
    url = f"sqlite:///{path}"
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    founded = found(path)
    engine = open_engine(url, pool_size=20)
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    settings = server_settings(event_format="openmetadata", api_version=version_of_client())
    with (
        running_server(engine, settings, password=founded.password, token=founded.token) as served,
        following_index(engine),
    ):
        token = bot_token(served, is_admin=True)
        environment = {"TOCSIN_SERVER": served.url, "TOCSIN_TOKEN": token}
        command = [str(PYTHON), "-W", "ignore", "flow_checks.py"]
        environment |= {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        return subprocess.run(command, cwd=FLOWS, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
