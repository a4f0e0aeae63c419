"""Spark session of the pipeline: the only place that starts the JVM.

Next: ``spark/sources.py``.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from tocsin.errors import Unavailable
from tocsin.settings import PipelineSettings
from tocsin.spark.class_archive import ClassArchive, archive_in
from tocsin.spark.jvm import start_jvm

_ON_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_AUTHENTICATED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
"""Connections to Spark's ports need a secret. Spark makes one at each start; on a cluster of its own the cluster's
administrator does."""

_ENCRYPTED_BLOCKS = {"spark.io.encryption.enabled": "true"}
"""Executors keep blocks in folders that the umask of their machine may open to others."""

_WITHOUT_EXECUTORS = {
    # By default a page has 16 MB, and each broadcast of a few alerts keeps one for as long as its plan is kept.
    "spark.buffer.pageSize": "1m",
}
"""Settings of a Spark that is this machine's alone."""

BACKGROUND = "background"
"""The scheduler pool of background jobs, which must not delay notifications; also the name of their Spark jobs."""

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark records the line of our code for each Column, which doubles what making one takes.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Re-planning between stages costs a small micro-batch more than a better plan gains.
    "spark.sql.adaptive.enabled": "false",
    # A micro-batch is small by design: 200 shuffle partitions would be 198 empty tasks.
    "spark.sql.shuffle.partitions": "4",
    # Empty micro-batches would only delay the next full one.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Sources wait for new events themselves (``spark/sources.LogReader``), so that Spark need not.
    "spark.sql.streaming.pollingDelay": "10ms",
    # Progress of every micro-batch is kept in memory; the last few are enough.
    "spark.sql.streaming.numRecentProgressUpdates": "8",
    # What one job may bring to the driver: more would be a good part of its memory.
    "spark.driver.maxResultSize": "256m",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.python.filterPushdown.enabled": "false",
    # The lake has a folder per day: a task that lists one costs ten times as much as the driver's look into it.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    # Background jobs wait for cores (pools.xml); threads that set BESIDE are such jobs.
    "spark.scheduler.mode": "FAIR",
    # Python workers outlive their task, so that a micro-batch does not pay for starting one.
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "tocsin.jobs.worker_daemon",
    # Python workers are shared by tasks whose environment is the same; this would be a difference between two kinds.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Over TCP, Nagle's algorithm and delayed acknowledgements add 40 ms to each task that reads the log.
    "spark.python.unix.domain.socket.enabled": "true",
}

_ALWAYS = {
    # Else Spark replaces ``${…}`` in texts by settings, environment variables and Java's properties.
    "spark.sql.variable.substitute": "false",
}
"""Settings that no others override."""

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For large expressions over few rows: generated code is slower than interpreting, and takes seconds to compile."""

_FAST_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Files are created as Java creates them; those of other file systems (HDFS, S3) as before."""

_ON_THIS_MACHINE = ("local", "local-cluster")
_PATH_OF_EXECUTORS = "spark.executorEnv.PYTHONPATH"
_SECRET_BYTES = 32
_ENDED = "stopped SparkContext"
_LOOKUP = "pyspark.sql.worker.lookup_data_sources"

_END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""A JVM that has run out of memory goes on with threads that have ended; a new process resumes from the checkpoint."""

_GIVE_MEMORY_BACK = "-XX:G1PeriodicGCInterval=60000 -XX:MinHeapFreeRatio=5 -XX:MaxHeapFreeRatio=15"
"""An idle JVM collects nothing and keeps what its busiest minute took; this returns it once a minute has been quiet."""

_COMPILER = "-XX:-DontCompileHugeMethods -XX:MaxNodeLimit=20000"
"""Java leaves methods of more than 8,000 bytes to its interpreter; the one Spark makes of matching is larger. Its first
compiler alone compiles that one: the second, which works for seconds on it, gives up on what exceeds the limit."""

_MEMORY = "spark.driver.memory"
_READ_BY_JAVA = (_MEMORY, "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
"""Settings that say how Java starts: later they would change nothing."""


def open_session(
    *, master: str, driver_memory: str = "1g", conf: Mapping[str, str] | None = None, py_files: str | None = None
) -> SparkSession:
    """Return the session of this process, started if need be.

    Parameters
    ----------
    master : where Spark runs: ``local[2]``, ``local-cluster[…]``, ``spark://…``, ``yarn``, ``k8s://…``
    driver_memory : heap of the driver, in Spark's notation
    conf : further Spark settings; they win over ours, except those that protect this machine
    py_files : the wheel or zip of Tocsin that executors on other machines import

    Raises
    ------
    Unavailable : the cluster does not answer
    """
    # Python workers run what we run in, at the same path on all machines, unless ``spark_conf`` says otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if is_on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = _settings_for(master, {_MEMORY: driver_memory, **(conf or {})})
    if py_files and not runs_tasks_here(master):
        _let_daemons_import(py_files, settings)
    start_jvm(settings)
    builder = SparkSession.builder
    for key, value in settings.items():
        if key not in _READ_BY_JAVA:
            builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Py4JError as error:
        if _ENDED not in str(error):
            raise
        raise Unavailable(f"Spark has no connection to {master} or lost it. {no_cluster(master)}") from error
    if py_files:
        session.sparkContext.addPyFile(py_files)
    return session


def _let_daemons_import(py_files: str, configured: dict[str, str]) -> None:
    """Let what forks Python workers import ``py_files``, which reach an executor's working folder with its first task.

    Workers would see them by themselves. Tasks are also planned by Pythons on this machine.
    """
    paths = [Path(py_files).name, configured.get(_PATH_OF_EXECUTORS, "")]
    configured[_PATH_OF_EXECUTORS] = os.pathsep.join(filter(None, paths))
    if Path(py_files).is_file():
        paths = [str(Path(py_files).absolute()), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def runs_tasks_here(master: str) -> bool:
    """Return whether tasks run in the driver's own process, with the Python workers that it starts."""
    return _kind_of(master) == "local"


def is_on_this_machine(master: str) -> bool:
    """Return whether driver and executors are on one machine."""
    return _kind_of(master) in _ON_THIS_MACHINE


def no_cluster(master: str) -> str:
    """Return what to check where the cluster at ``master`` does not answer, or gives no executors."""
    return (
        f"Check that {master} (TOCSIN_SPARK_MASTER) runs and has workers with free cores and memory; that"
        " spark.authenticate.secret is that of the cluster; and that the workers reach the driver at spark.driver.host."
        " TOCSIN_SPARK_CONF has Spark's settings."
    )


def _kind_of(master: str) -> str:
    return master.partition("[")[0]


def _settings_for(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Return all settings of Spark for ``master``: ours, those of ``conf``, and what no ``conf`` changes."""
    logging_option = f"-Dlog4j2.configurationFile={files('tocsin.spark') / 'log4j2.properties'}"
    options = {
        "spark.driver.extraJavaOptions": f"{logging_option} {_COMPILER}",
        "spark.executor.extraJavaOptions": _COMPILER,
        # Before those of ``extraJavaOptions``, which settings of an administrator may replace.
        "spark.driver.defaultJavaOptions": f"{_END_WITHOUT_MEMORY} {_GIVE_MEMORY_BACK}",
        "spark.executor.defaultJavaOptions": _END_WITHOUT_MEMORY,
    }
    pools = Path(str(files("tocsin.spark") / "pools.xml"))
    # Run from a wheel that is not unpacked there is no such file to read; Spark then shares its cores evenly.
    shares = {"spark.scheduler.allocation.file": pools.as_uri()} if pools.is_file() else {}
    local = _ON_LOOPBACK if is_on_this_machine(master) else {}
    embedded_settings = _WITHOUT_EXECUTORS if runs_tasks_here(master) else _ENCRYPTED_BLOCKS
    names = {"spark.app.name": "tocsin", "spark.master": master}
    own_settings = {**names, **_DEFAULTS, **shares, **options, **local, **embedded_settings, **_AUTHENTICATED}
    settings = {**own_settings, **conf, **_ALWAYS}
    if is_on_this_machine(master):
        settings |= _AUTHENTICATED
    if _kind_of(master) == "local-cluster":
        settings["spark.authenticate.secret"] = secrets.token_hex(_SECRET_BYTES)
    return settings


def session_of(settings: PipelineSettings) -> SparkSession:
    """Return the session that ``settings`` ask for, started if need be."""
    return open_session(
        master=settings.spark_master,
        driver_memory=settings.spark_driver_memory,
        conf=settings.spark_conf,
        py_files=settings.spark_py_files,
    )


def start_java_early(settings: PipelineSettings, data_dir: Path) -> ClassArchive | None:
    """Start the Java of ``session_of(settings)`` beside this thread; return the archive of classes it starts from.

    It does so where tasks run in the driver; elsewhere, or where no archive can be kept, the answer is None. What keeps
    Java from starting is raised by ``session_of``, which tries again.
    """
    if not runs_tasks_here(settings.spark_master):
        return None
    archive = archive_in(data_dir)
    conf = _settings_for(settings.spark_master, {_MEMORY: settings.spark_driver_memory, **settings.spark_conf})
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

    def start() -> None:
        with suppress(PySparkRuntimeError, Py4JError, OSError):
            start_jvm(conf, archive)

    # No daemon: a process that ends at once waits for its Java, which would print what it misses.
    threading.Thread(target=start, name="tocsin-java").start()
    return archive


def interpreting_session(session: SparkSession) -> SparkSession:
    """Return a session of the same Spark that runs large expressions as they are."""
    return configure(session.newSession(), _INTERPRETED)


def with_fast_checkpoints(session: SparkSession) -> SparkSession:
    """Return a session of the same Spark whose queries write small checkpoint files in a quarter of the time.

    By default, Hadoop starts a ``chmod`` process for each file and for its checksum. A query that keeps state needs
    those checksums; the checkpoint of one that keeps none is checked against the log (``jobs/checkpoint.py``).
    """
    return configure(session.newSession(), _FAST_CHECKPOINTS)


def configure(session: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Return ``session`` with these settings."""
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def work_in_background(session: SparkSession, group: str) -> None:
    """Run this thread's later Spark work at lower priority than the streaming queries; ``group`` can cancel it."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", BACKGROUND)
    session.sparkContext.setJobGroup(group, group, interruptOnCancel=True)


def register_source(session: SparkSession, source: type[DataSource]) -> None:
    """Let ``session`` read from ``source``, whichever other sessions of this Spark can already.

    Spark refuses a name that the *active* session knows and ``session`` does not; making a frame makes it active.
    """
    session.createDataFrame([], StructType())
    session.dataSource.register(source)
    _end_lookup(session)


def _end_lookup(session: SparkSession) -> None:
    """End the processes in which Spark has looked for data sources in Python's path; it does so once, before the first.

    They would wait for more until Spark closes their connection, and print a traceback then.
    """
    processes = getattr(session.sparkContext._jvm, "java.lang.ProcessHandle")  # by one name: Java looks up each part
    for process in processes.current().children().toArray():
        if _LOOKUP in process.info().commandLine().orElse(""):
            process.destroy()
