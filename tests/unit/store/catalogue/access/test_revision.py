"""Tests of the revision counter shared by a server's processes."""

from __future__ import annotations

import os

from tocsin.store.catalogue.access.revision import PeopleRevision


def test_each_change_moves_the_count() -> None:
    revision = PeopleRevision()
    counts = [revision.number()]
    for _ in range(3):
        revision.note()
        counts.append(revision.number())
    assert counts == sorted(set(counts))


def test_what_another_process_notes_is_seen_here() -> None:
    revision = PeopleRevision(2)
    revision.note()
    before = revision.number()
    pid = os.fork()
    if pid == 0:
        revision.count_as(1)
        revision.note()
        os._exit(0)
    os.waitpid(pid, 0)
    assert revision.number() == before + 1
