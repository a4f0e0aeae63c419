"""Program that runs the checks of each of OpenMetadata's own clients against a server of its version, and prints them.

Usage: ``make client-checks``. For each client the last line says how many of how many passed; the exit code is 1 if a
check failed or a client is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pydantic import SecretStr
from tests.acceptance.official_client.conftest import (
    ENVIRONMENTS,
    FLOWS,
    MISSING,
    bot_token,
    python_of,
    version_of_client,
)
from tests.acceptance.official_client.indexing import following_index
from tests.serving import KEY, running_server, server_settings
from tests.startedstore import first_started

from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault


def main() -> int:
    """Run the checks of every client; return the exit code."""
    return max([_exit_code_of(environment) for environment in ENVIRONMENTS])


def _exit_code_of(environment: Path) -> int:
    """Serve an empty SQLite store and run the checks of one client; return their exit code."""
    if not python_of(environment).exists():
        print(MISSING.format(environment.name), file=sys.stderr)  # noqa: T201
        return 1
    print(f"{environment.name}: OpenMetadata {version_of_client(environment)}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        return _exit_code_on(Path(folder) / "tocsin.db", environment)


def _exit_code_on(path: Path, environment: Path) -> int:
    url = f"sqlite:///{path}"
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    started_store = first_started(path)
    engine = open_engine(url, most_connections=40)
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    settings = server_settings(api_version=version_of_client(environment))
    with (
        running_server(engine, settings, password=started_store.password, token=started_store.token) as server,
        following_index(engine),
    ):
        token = bot_token(server, is_admin=True)
        variables = {"TOCSIN_SERVER": server.url, "TOCSIN_TOKEN": token}
        command = [str(python_of(environment)), "-W", "ignore", "flow_checks.py"]
        variables |= {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        return subprocess.run(command, cwd=FLOWS, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
