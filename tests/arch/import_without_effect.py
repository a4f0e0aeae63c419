"""Script that imports every module of ours and prints the side effects of the imports as JSON.

Run in a separate interpreter. A side effect counts if our module's body caused it: on the way from the effect to that
body there is no import of a third-party module, whose effects are its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import threading
from types import FrameType

WATCHED = (
    "ftplib.",
    "http.client.",
    "os.",
    "open",
    "pathlib.",
    "shutil.",
    "smtplib.",
    "socket.",
    "sqlite3.connect",
    "subprocess.Popen",
    "tempfile.",
    "urllib.Request",
)
PACKAGES = ("tocsin", "openmetadata")
RUN_BY_ALEMBIC = "tocsin.store.migrations.env"
OTHERS_BUSINESS = ("importlib._bootstrap", "pydantic.plugin")  # an import; what pydantic does at its first model

effects: list[str] = []


def culprit() -> str | None:
    """Return the module of ours whose body caused what just happened, if it is not somebody else's business."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(OTHERS_BUSINESS):
            return None
        if frame.f_code.co_name == "<module>" and name.split(".")[0] in PACKAGES:
            return name
        frame = frame.f_back
    return None


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note an effect caused by a module of ours."""
    if event.startswith(WATCHED) and (module := culprit()):
        effects.append(f"{module}: {event} {arguments!r:.120}")


def watch_what_has_no_hook(owner: type, method: str, effect: str) -> None:
    """Record calls of a method for which the interpreter raises no audit event."""
    original = getattr(owner, method)

    def note_call(*arguments: object, **keywords: object) -> object:
        if module := culprit():
            effects.append(f"{module}: {effect} {arguments[1:]!r:.120}")
        return original(*arguments, **keywords)

    setattr(owner, method, note_call)


def module_names() -> list[str]:
    """Return the name of every module of ours that can be imported here."""
    without_spark = importlib.util.find_spec("pyspark") is None
    names = []
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names += [package, *(module.name for module in pkgutil.walk_packages(path, f"{package}."))]
    return [
        name
        for name in names
        if name != RUN_BY_ALEMBIC and not (without_spark and name.startswith(("tocsin.spark.", "tocsin.jobs.")))
    ]


def main() -> None:
    """Import everything, then say what happened."""
    sys.addaudithook(watch)
    watch_what_has_no_hook(threading.Thread, "start", "starts a thread")
    watch_what_has_no_hook(os._Environ, "__getitem__", "reads the environment variable")
    imported = module_names()
    for name in imported:
        importlib.import_module(name)
    json.dump({"imported": imported, "effects": effects}, sys.stdout)


if __name__ == "__main__":
    main()
