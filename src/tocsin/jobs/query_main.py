"""Process that answers the queries of people on the lake, one at a time, on a Spark of its own.

A query that needs too much memory ends this process alone, not the pipeline, which starts and stops it
(``jobs/query_process.py``). Lines of JSON come by standard input, answers go by standard output.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from dataclasses import dataclass
from typing import TextIO

import orjson
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.errors import TocsinError
from tocsin.flow.eventlog.lake import Cut
from tocsin.jobs.intervals import FAILURES, brief
from tocsin.jobs.lake import LakeParts
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.jobs.visible_history import visibility_of
from tocsin.lake_files.port import S3Access
from tocsin.model.entity import Document
from tocsin.model.query_answer import QueryAnswer
from tocsin.spark.lake import HistoryLocation, register_history
from tocsin.spark.session import open_session
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

_NICE = 10
"""Notifications go first."""


@dataclass(frozen=True)
class QueryPlace:
    """Where the history is, and what Spark may use: what this process is started with."""

    url: str
    root: str
    master: str
    memory: str
    conf: dict[str, str]
    py_files: str | None
    scratch: str
    """Folder for Spark's files, which goes with the process."""
    access: dict[str, str | None] | None = None
    """How the bucket of the lake is reached; None for a folder."""


def main() -> None:
    """Answer the questions on standard input until it ends."""
    os.nice(_NICE)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints is no answer
    place = QueryPlace(**json.loads(sys.stdin.readline()))
    questions = _questions_of(sys.stdin)
    engine = open_engine(place.url)
    parts = _lake_at(place, engine)
    _say(answers, {"ready": True})
    while True:
        question = questions.get()
        _say(answers, _reply(parts, engine, question))
        _free(parts.session)


def _questions_of(lines: TextIO) -> queue.Queue[Document]:
    """Return the next request; the process ends with its parent, even amid a query."""
    questions: queue.Queue[Document] = queue.Queue()

    def read() -> None:
        for line in lines:
            questions.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, name="questions", daemon=True).start()
    return questions


def _lake_at(place: QueryPlace, engine: Engine) -> LakeParts:
    conf = {**place.conf, "spark.local.dir": place.scratch}
    session = open_session(master=place.master, driver_memory=place.memory, conf=conf, py_files=place.py_files)
    access = None if place.access is None else S3Access(**place.access)
    location = HistoryLocation(place.root, place.url, access)
    return LakeParts(session, EventLog(engine), Lake(engine), location, SystemClock())


def _reply(parts: LakeParts, engine: Engine, question: Document) -> Document:
    session = parts.session.newSession()  # nothing is left of the query before
    register_history(session)
    queries = LakeQueries(parts.in_session(session))
    try:
        is_whole = visibility_of(engine, question["viewer"]).is_whole
        answer = _answer(queries, question, is_whole=is_whole)
    except TocsinError as error:
        return {"reason": error.message, "code": error.code}
    except FAILURES as error:
        _end_without_java(parts.session)
        return {"reason": brief(str(error)), "code": getattr(error, "code", "UNAVAILABLE")}
    return {"columns": answer.columns, "rows": answer.records}


def _answer(queries: LakeQueries, question: Document, *, is_whole: bool) -> QueryAnswer:
    cut = Cut(question["through"], question["untilMs"], question["sinceMs"])
    limits = QueryLimits(question["rows"], question["seconds"])
    if is_whole:
        return queries.answer(question["sql"], limits, cut=cut)
    return queries.answer_from_visible(question["viewer"], question["sql"], limits, cut=cut)


def _end_without_java(session: SparkSession) -> None:
    """End this process if Java has, or is about to: it ran out of memory, or of stack."""
    try:
        is_stopped = session.sparkContext._jsc.sc().isStopped()
    except (Py4JError, OSError):
        is_stopped = True
    if is_stopped:
        os._exit(1)


def _free(session: SparkSession) -> None:
    """Drop the rows that were made for a query."""
    for rdd in dict(session.sparkContext._jsc.getPersistentRDDs()).values():
        rdd.unpersist()


def _say(answers: TextIO, message: Document) -> None:
    answers.write(orjson.dumps(message).decode() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
