"""Group commit of consecutive writes, for replays, where nobody waits for a single line.

Writes are committed when ``Together`` ends or after a fixed number of them; each still succeeds or fails on its own.
Next: ``flow/capture/replay.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from tocsin.errors import Unavailable
from tocsin.flow.capture.bulk import CHUNK
from tocsin.flow.capture.ports import BatchedCatalogue, BatchedTransaction, Collision, Transaction


class Together:
    """A catalogue whose write transactions are rows of batches; used by one thread, in a ``with`` statement.

    What was written before an error stays written.
    """

    def __init__(self, catalogue: BatchedCatalogue, *, rows: int = CHUNK) -> None:
        self._catalogue, self._most = catalogue, rows
        self._opened = ExitStack()
        self._batch: BatchedTransaction | None = None
        self._rows = 0

    def __enter__(self) -> Together:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._commit()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin one write, in the batch that is open or in a new one."""
        if self._rows >= self._most:
            self._commit()
        if self._batch is None:
            self._batch = self._opened.enter_context(self._catalogue.batch())
        self._rows += 1
        with self._batch.row():
            yield self._batch

    def _commit(self) -> None:
        self._batch, self._rows = None, 0
        try:
            self._opened.close()
        except Collision as collision:
            raise Unavailable("Somebody else wrote the same things meanwhile. Do it again.") from collision
