"""Tests of when an idle pipeline's Java gives memory back, on a heap that only counts."""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.jobs.memory import MemoryReturn

MIB = 1 << 20


@dataclass
class CountedHeap:
    bytes_taken: int = 600 * MIB
    runs_a_job: bool = False
    collections: int = 0

    def size(self) -> int:
        return self.bytes_taken

    def is_in_use(self) -> bool:
        return self.runs_a_job

    def give_back(self) -> None:
        self.collections += 1
        self.bytes_taken = 120 * MIB


@dataclass
class GrowingLog:
    end: int = 7

    def readable_end(self) -> int:
        return self.end


def test_memory_is_given_back_twice_when_the_log_stands_still() -> None:
    heap, log = CountedHeap(), GrowingLog()
    memory = MemoryReturn(heap, log)
    assert not memory.look(), "whether the log stands still is not known yet"
    assert memory.look()
    assert memory.look(), "the compiler has gone on after the first time"
    assert [memory.look() for _ in range(3)] == [False] * 3
    log.end += 1
    assert [memory.look() for _ in range(4)] == [False, True, True, False]
    assert heap.collections == 4


def test_a_busy_pipeline_keeps_its_memory() -> None:
    heap, log = CountedHeap(), GrowingLog()
    memory = MemoryReturn(heap, log)
    for log.end in (8, 9, 10):
        assert not memory.look()
    heap.runs_a_job = True
    assert not memory.look()
    heap.runs_a_job = False
    assert memory.look()


def test_memory_that_was_taken_again_is_given_back_again() -> None:
    heap, log = CountedHeap(), GrowingLog()
    memory = MemoryReturn(heap, log)
    for _ in range(3):
        memory.look()
    heap.bytes_taken = 150 * MIB
    assert not memory.look(), "so little is not worth a collection"
    heap.bytes_taken = 400 * MIB
    assert memory.look()
    assert heap.collections == 3
