"""Plots of lines as SVG: panels side by side, each with its axes, on a page of documentation.

Without a library: those that draw bring numpy along, which Spark's Python workers import wherever it is installed.
Next: ``bench/history.py``, ``bench/growth.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

_WIDTH, _HEIGHT, _COLUMN_COUNT = 300, 190, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 34, 30
_TICK_COUNT = 4
_STYLE = (
    "text{font:11px sans-serif;fill:#57606a}.title{font-size:12px;font-weight:600;fill:#24292f}"
    ".axis{stroke:#d0d7de;fill:none}.line{stroke:#0969da;fill:none;stroke-width:1.6}.dot{fill:#0969da}"
    ".guide{stroke:#8c959f;fill:none;stroke-dasharray:3 3}"
)


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes
    ----------
    points : x and y of each, in the order of x; on a logarithmic axis above 0
    guide : points of a dashed line to compare with
    x_label : text of a value of x at the axis
    """

    title: str
    points: Sequence[tuple[float, float]]
    guide: Sequence[tuple[float, float]] = ()
    x_label: Callable[[float], str] = str
    is_logarithmic: bool = False


def svg_of(panels: Sequence[Panel]) -> str:
    """Return the panels as one SVG, three in a row."""
    row_count = -(-len(panels) // _COLUMN_COUNT)
    width, height = min(len(panels), _COLUMN_COUNT) * _WIDTH, row_count * _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, _COLUMN_COUNT)
        parts += [f'<g transform="translate({column * _WIDTH},{row * _HEIGHT})">', *_draw(panel), "</g>"]
    return "\n".join((*parts, "</svg>", ""))


def _draw(panel: Panel) -> list[str]:
    points = [*panel.points, *panel.guide]
    x_axis = _Axis.around([x for x, _ in points], _LEFT, _WIDTH - _RIGHT, is_logarithmic=panel.is_logarithmic)
    y_axis = _Axis.around([y for _, y in points], _HEIGHT - _BOTTOM, _TOP, is_logarithmic=panel.is_logarithmic)
    if not panel.is_logarithmic:
        y_axis = _Axis.around([0, *(y for _, y in points)], _HEIGHT - _BOTTOM, _TOP, is_logarithmic=False)
    parts = [
        f'<text class="title" x="8" y="16">{escape(panel.title)}</text>',
        f'<path class="axis" d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}"/>',
    ]
    for value in y_axis.ticks():
        at = y_axis.place(value)
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:,.4g}</text>')
    first, last = panel.points[0][0], panel.points[-1][0]
    for value, anchor in ((first, "start"), (last, "end")):
        label = escape(panel.x_label(value))
        parts.append(f'<text x="{x_axis.place(value):.1f}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{label}</text>')
    for style, line in (("guide", panel.guide), ("line", panel.points)):
        if line:
            path = " ".join(f"{x_axis.place(x):.1f},{y_axis.place(y):.1f}" for x, y in line)
            parts.append(f'<polyline class="{style}" points="{path}"/>')
    for x, y in panel.points:
        parts.append(f'<circle class="dot" cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="2.5"/>')
    return parts


@dataclass(frozen=True)
class _Axis:
    """Values from ``low`` to ``high`` on pixels from ``begin`` to ``end``."""

    low: float
    high: float
    begin: float
    end: float
    is_logarithmic: bool

    @classmethod
    def around(cls, values: Sequence[float], begin: float, end: float, *, is_logarithmic: bool) -> _Axis:
        """Return the axis on which the values have room."""
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if is_logarithmic else (low - 1, high + 1)
        return cls(low, high, begin, end, is_logarithmic)

    def place(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high = (log10(self.low), log10(self.high)) if self.is_logarithmic else (self.low, self.high)
        value = log10(value) if self.is_logarithmic else value
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Return round values on the axis, few enough for their labels."""
        if self.is_logarithmic:
            powers = [10.0**power for power in range(floor(log10(self.low)), floor(log10(self.high)) + 1)]
            inside = [power for power in powers if self.low <= power <= self.high]
            return inside[:: -(-len(inside) // _TICK_COUNT)] if inside else [self.low, self.high]
        step = 10.0 ** floor(log10((self.high - self.low) / _TICK_COUNT))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= _TICK_COUNT)
        return [number * step for number in range(round(self.low / step), int(self.high / step) + 1)]
