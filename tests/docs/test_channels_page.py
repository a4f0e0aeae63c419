"""Tests that docs/channels.md lists the channels as the table has them."""

from __future__ import annotations

from pathlib import Path

from tocsin.delivery.channels.table import CHANNELS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "channels.md"


def test_the_page_lists_every_channel_and_whom_it_can_address() -> None:
    lines_of_channels = [
        f"| {row.channel.value} | {', '.join(sorted(category.value for category in row.categories))} | {row.phrase} |"
        for row in CHANNELS.values()
    ]
    lines = PAGE.read_text().splitlines()
    start = lines.index("| type | recipients | |") + 2
    assert lines[start : lines.index("", start)] == lines_of_channels
