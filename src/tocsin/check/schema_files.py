"""Changes between two folders of message schemas: Avro, Protobuf, JSON Schema. Next: ``check/proposals.py``.

A file's name without its ending is the name of its topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tocsin.check.proposals import FiledProposal
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document

LARGEST_SCHEMA = 2**20
"""Bytes of one file."""

_TYPES = {".avsc": "Avro", ".proto": "Protobuf", ".json": "JSON"}


def schema_proposals(base: Path, head: Path, service: str) -> Iterator[FiledProposal]:
    """Yield what changes between two folders: a schema with another text, or one that is gone.

    Raises
    ------
    InvalidInput : a folder is none, or a file is no text or too large
    """
    old_files, new_files = _files_in(base), _files_in(head)
    for name, old_path in sorted(old_files.items()):
        topic: Document = {"entityType": "topic", "fullyQualifiedName": fqn.join((service, Path(name).stem))}
        new_path = new_files.get(name)
        if new_path is None:
            yield FiledProposal(topic | {"deleted": True}, str(head / name))
            continue
        text = _text_of(new_path)
        if text != _text_of(old_path):
            schema = {"schemaText": text, "schemaType": _TYPES[new_path.suffix]}
            yield FiledProposal(topic | {"messageSchema": schema}, str(new_path))


def _files_in(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", field="--schemas")
    return {path.name: path for path in folder.iterdir() if path.suffix in _TYPES and path.is_file()}


def _text_of(path: Path) -> str:
    if path.stat().st_size > LARGEST_SCHEMA:
        raise InvalidInput(f"{path} has more than {LARGEST_SCHEMA:,} bytes", field="--schemas")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8, at byte {error.start}", field="--schemas") from None
