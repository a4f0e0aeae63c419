"""Script that starts a process of ours, ``server`` or ``worker``, without PySpark and Java, and prints its answer.

Run in a separate interpreter, without ``JAVA_HOME`` and with an empty ``PATH``, in a folder with a store.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

BLOCKED = ("pyspark", "py4j")


LATE = {"alembic", "mako", "authlib", "aiohttp", "aiosmtplib", "jinja2", "pyarrow"}
"""Libraries that only some requests and messages need."""


class Blocker:
    """Refuses to find PySpark, installed or not."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)
        return None


def refuse_java(event: str, arguments: tuple[object, ...]) -> None:
    """Raise when anything starts a program."""
    if event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec"):
        raise AssertionError(f"a program is started: {arguments!r:.200}")


async def serve() -> tuple[list[str], object]:
    """Start a server on a free port, ask for its version, stop it."""
    import uvicorn

    from tocsin.server.app import build_app
    from tocsin.server.bootstrap import first_start
    from tocsin.settings import Settings
    from tocsin.store.database.engine import open_engine

    settings = Settings(data_dir=Path.cwd(), port=0)
    engine = open_engine(settings.store_url())
    first_start(engine, settings)
    server = uvicorn.Server(uvicorn.Config(build_app(settings, engine), port=0, log_level="error"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if running.done():
            running.result()
    late_names = late_imports()
    import httpx

    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/api/v1/system/version")
    server.should_exit = True
    await running
    engine.dispose()
    return late_names, answer.json()


async def deliver() -> tuple[list[str], object]:
    """Start a worker, and stop it once it has looked for work."""
    from tocsin.delivery.worker.deliver import run
    from tocsin.settings import Settings
    from tocsin.store.database.engine import open_engine
    from tocsin.store.database.schema import migrate

    settings = Settings(data_dir=Path.cwd())
    engine = open_engine(settings.store_url())
    migrate(engine)
    engine.dispose()
    stop = asyncio.Event()
    running = asyncio.create_task(run(settings, stop))
    await asyncio.sleep(0)
    stop.set()
    await running
    return late_imports(), {"stopped": True}


def late_imports() -> list[str]:
    """Return the late libraries that this process has."""
    return sorted(LATE & sys.modules.keys())


def main(process: str) -> None:
    """Start ``process``; print what it answered, as JSON, with modules that must not be there, or not at its start."""
    sys.meta_path.insert(0, Blocker())
    sys.addaudithook(refuse_java)
    late_names, answer = asyncio.run({"server": serve, "worker": deliver}[process]())
    loaded = [name for name in sys.modules if name.split(".")[0] in BLOCKED or name.startswith("tocsin.spark")]
    sys.stdout.write("\n" + json.dumps({"answer": answer, "late": late_names, "loaded": loaded}))


if __name__ == "__main__":
    main(sys.argv[1])
