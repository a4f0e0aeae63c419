"""Java process of the Spark driver, started so that no other account of the machine reads or reaches what it holds.

Settings travel in a file, not on the command line; temporary files and sockets lie in a private folder; and what Java
calls back in Python carries a token. Next: ``spark/session.py``.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shlex
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaClass, JavaGateway, JavaMember, JavaObject, JVMView
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway

from tocsin.spark.class_archive import ClassArchive, link_home

PRIVATE_UMASK = 0o077
"""The umask of the Java process and the Python workers it starts: what they make is for their own account alone."""

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_HOME = "SPARK_HOME"
_OPTIONS = "spark.driver.extraJavaOptions"
_SOCKETS = "spark.python.unix.domain.socket.dir"
_PREFIX = "tocsin-spark-"
_LONGEST_PLACE = 40
"""A socket's whole path has room for 104 characters, and its name takes 64."""
_MINIMUM_CONNECTION_S = 30
_LOOKED_UP_OFTEN = {
    "PythonSQLUtils": "org.apache.spark.sql.api.python.PythonSQLUtils",
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
    "SimplePythonFunction": "org.apache.spark.api.python.SimplePythonFunction",
    "functions": "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession": "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.classic.SparkSession$": "org.apache.spark.sql.classic.SparkSession$",
    "org.apache.spark.sql.functions": "org.apache.spark.sql.functions",
    "org.apache.spark.sql.internal.SQLConf": "org.apache.spark.sql.internal.SQLConf",
}
"""Names by which PySpark asks Java for a class, for each column, each query, each error; and that class."""
_STARTING = threading.Lock()
"""Held while Java starts: a process has one, whichever threads want it."""


def start_jvm(conf: Mapping[str, str], archive: ClassArchive | None = None) -> None:
    """Start the driver's Java process with these Spark settings, unless this process has one already.

    If it does not start from ``archive``, the archive goes, and it starts without.
    """
    with _STARTING:
        if SparkContext._gateway is not None:
            return
        folder = _private_folder()
        if _HOME not in os.environ:
            os.environ[_HOME] = str(archive.home if archive else _home_without_python(folder))
        try:
            gateway = _launch(conf, folder, archive)
        except PySparkRuntimeError:
            if archive is None or not archive.discard():
                raise
            gateway = _launch(conf, folder, archive)
        _keep_classes(gateway.jvm)
        _authenticate_callbacks(gateway)
        SparkContext._ensure_initialized(gateway=gateway)


def _launch(conf: Mapping[str, str], folder: Path, archive: ClassArchive | None) -> JavaGateway:
    options = archive.options() if archive else []
    with _properties_file(conf, folder, options) as properties, _submit_arguments(properties):
        return launch_gateway(None, {"umask": PRIVATE_UMASK})  # type: ignore[no-untyped-call]  # PySpark's


def write_archive(archive: ClassArchive, stopping: threading.Event) -> bool:
    """Write ``archive`` for the Java process of this driver; return whether it is there now.

    One that Java has not started from goes, so that the next start begins another.
    """
    gateway = SparkContext._gateway
    if gateway is None:
        return False
    properties = gateway.jvm.java.lang.System
    if not archive.is_mapped_in(Path(f"/proc/{gateway.jvm.java.lang.ProcessHandle.current().pid()}/maps")):
        archive.discard()
    java = Path(properties.getProperty("java.home")) / "bin" / "java"
    return archive.write(java, properties.getProperty("java.class.path"), stopping)


class _KeptClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """Class of Java that learns once of each static method that it has one."""

    def __getattr__(self, name: str) -> Any:  # Any: what the class has by that name
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


def _keep_classes(java: JVMView) -> None:
    """Let Python keep the classes of Java that PySpark looks up again and again.

    Java looks for a name without dots, or for the first part of another, in each of Spark's 280 archives before it
    looks in the packages that it imports: a good part of all processor time of a small micro-batch.
    """
    for name, class_name in _LOOKED_UP_OFTEN.items():
        setattr(java, name, _KeptClass(class_name, java._gateway_client))
    package = java.py4j
    package.reflection = package.reflection
    package.reflection.TypeUtil = package.reflection.TypeUtil
    java.py4j = package


def _private_folder() -> Path:
    """Make the folder of temporary files, which goes with this process; those of killed processes go now."""
    place = Path(tempfile.gettempdir())
    place = place if len(str(place)) <= _LONGEST_PLACE else Path("/tmp")  # noqa: S108  mkdtemp makes it private
    for leftover in place.glob(f"{_PREFIX}*/lock"):
        with suppress(OSError), leftover.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    alive = (folder / "lock").open("w")
    fcntl.flock(alive, fcntl.LOCK_EX)
    atexit.register(alive.close)  # the last to go: it holds the lock as long as this process lives
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _home_without_python(folder: Path) -> Path:
    """Make a home of Spark in ``folder`` that lacks its zipped Python library; return it.

    Spark puts that zip before the library that is installed. It holds no compiled modules, so each Python process that
    Spark starts would compile 60 of them: half a second of processor time.
    """
    installed, home = Path(pyspark.__file__).parent, folder / "home"
    home.mkdir()
    link_home(installed, home)
    return home


@contextmanager
def _properties_file(conf: Mapping[str, str], folder: Path, java_options: Sequence[str]) -> Iterator[Path]:
    """Yield a private file of Spark's settings; Java's options are in a second one, which Java itself reads."""
    arguments, properties = folder / "java.options", folder / "spark.properties"
    options = [f"-Djava.io.tmpdir={folder}", *java_options, *shlex.split(conf.get(_OPTIONS, ""))]
    settings = {_SOCKETS: str(folder), **conf, _OPTIONS: f"@{arguments}"}
    lines = [
        f"{_escape_property(key)}={_escape_property(value)}"
        for key, value in settings.items()
        if key.startswith("spark.")
    ]
    try:
        _write_private(arguments, "\n".join(map(_java_argument, options)))
        _write_private(properties, "\n".join(lines))
        yield properties
    finally:
        arguments.unlink(missing_ok=True)
        properties.unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    path.touch(0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _java_argument(text: str) -> str:
    """Return one argument as files of arguments hold it. *Source:* the ``java`` command, "@argfiles"."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escape_property(text: str) -> str:
    """Return a key or value of a file of properties. *Source:* ``java.util.Properties.load``."""
    return "".join(
        char if char.isascii() and char.isalnum() else "".join(f"\\u{unit:04x}" for unit in _utf16(char))
        for char in text
    )


def _utf16(char: str) -> Iterator[int]:
    encoded = char.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))


@contextmanager
def _submit_arguments(properties: Path) -> Iterator[None]:
    """Let PySpark start Java with the settings of a file, beside those of ``spark-defaults.conf``."""
    before = os.environ.get(_ARGUMENTS)
    file = f"--load-spark-defaults --properties-file {shlex.quote(str(properties))}"
    os.environ[_ARGUMENTS] = f"{file} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = before


def _authenticate_callbacks(gateway: JavaGateway) -> None:
    """Start the server through which Java calls Python so that it serves only callers with the gateway's token.

    PySpark starts it without one, and any account of the machine could call. py4j has the token on both sides, but
    drops it when Java learns the server's port, so Java gets a client that is made with the token and the port.
    """
    token = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = token
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # PySpark's
    java, server = gateway.jvm, JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    java_gateway = server.getGateway()
    client = java.py4j.PythonClient(
        java_gateway,
        None,
        gateway._callback_server.port,
        java_gateway.getCallbackClient().getAddress(),
        _MINIMUM_CONNECTION_S,
        java.java.util.concurrent.TimeUnit.SECONDS,
        java.javax.net.SocketFactory.getDefault(),
        server,
        True,
        0,
        token,
    )
    field = java_gateway.getClass().getDeclaredField("cbClient")
    field.setAccessible(True)
    field.set(java_gateway, client)
