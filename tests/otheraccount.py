"""What another account of this machine sees and reaches of our processes: command lines, ports, files."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RPC_REQUEST, RPC_RESPONSE = 3, 4
"""Types of frames of Spark's protocol. *Source:* ``org.apache.spark.network.protocol.Message.Type``."""
_OPEN_BLOCKS = 0
_WITHIN_S = 2


def processes_under(pid: int) -> list[int]:
    """Return the ids of a process and of everything it has started, directly or not."""
    children = [child for task in _entries(Path(f"/proc/{pid}/task")) for child in _children(task)]
    return [pid, *(one for child in children for one in processes_under(child))]


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):  # the process ended meanwhile
        return list(folder.iterdir())
    return []


def _children(task: Path) -> list[int]:
    with contextlib.suppress(OSError):  # the thread ended meanwhile
        return [int(child) for child in (task / "children").read_text().split()]
    return []


def command_lines(pid: int) -> Iterator[str]:
    """Yield what ``ps`` shows of each process under this one."""
    for process_id in processes_under(pid):
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{process_id}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def listening_ports(pid: int) -> set[int]:
    """Return the TCP ports on which processes under this one listen."""
    socket_links = {link for one in processes_under(pid) for link in _links(Path(f"/proc/{one}/fd"))}
    sockets = [
        row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {
        int(row[1].rpartition(":")[2], 16) for row in sockets if row[3] == "0A" and f"socket:[{row[9]}]" in socket_links
    }


def _links(folder: Path) -> Iterator[str]:
    for entry in _entries(folder):
        with contextlib.suppress(OSError):
            yield str(entry.readlink())


def answer_to(port: int, request: bytes) -> bytes:
    """Return what a port answers to a stranger's request; nothing if it closes the connection or does not answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=_WITHIN_S) as stranger:
        stranger.sendall(request)
        try:
            return stranger.recv(65_536)
        except OSError:
            return b""


def answers_to(ports: Iterable[int], *requests: bytes) -> dict[tuple[int, bytes], bytes]:
    """Return what each port answers to each request, asked all at once: those that do not answer take their time."""
    questions = [(port, request) for port in ports for request in requests]
    with ThreadPoolExecutor(max_workers=len(questions)) as strangers:
        return dict(zip(questions, strangers.map(lambda question: answer_to(*question), questions), strict=True))


def open_blocks_request() -> bytes:
    """Return Spark's request to open a block of a broadcast, as an executor sends it, without any authentication."""
    texts = b"".join(_text(part) for part in ("app", "driver"))
    return rpc_request(bytes([_OPEN_BLOCKS]) + texts + struct.pack(">i", 1) + _text("broadcast_0_piece0"))


def rpc_request(body: bytes) -> bytes:
    """Return a frame with a request. *Source:* ``org.apache.spark.network.protocol.RpcRequest``."""
    header = struct.pack(">bqi", RPC_REQUEST, 7, len(body))
    return struct.pack(">q", 8 + len(header) + len(body)) + header + body


def type_of(frame: bytes) -> int | None:
    """Return the type of a frame of Spark's protocol, None for anything shorter."""
    return frame[8] if len(frame) > 8 else None


def _text(text: str) -> bytes:
    return struct.pack(">i", len(text)) + text.encode()
