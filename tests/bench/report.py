# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table, the same for a program, and the plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .measure import Missing
from .sizes import Sizes
from .targets import Measured, Row

CURVES = {
    "plain": "plain step, uniform", "C++": "C++ step, uniform", "default": "default, flying", "stray": "plain step, stray",
    "scipy": "scipy and numpy, uniform", "reference": "reference.py, uniform",
}  # fmt: skip
"""Runs of one count that are drawn, and their names."""

CROWDS = {"uniform": "7 nearest, uniform", "clumped": "7 nearest, clumped", "half clumped": "7 nearest, half clumped"}


def table(rows: Sequence[Row]) -> str:
    """In Markdown, and readable as it is."""
    cells = [("what", "boids", "measured", "target", "")]
    cells += [
        (row.what, f"{row.count:,}" if row.count else "", _measured(row), _target(row), row.verdict) for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _measured(row: Row) -> str:
    if set(row.measured) == {"any"}:
        return _quantity(row.measured["any"], row.unit)
    unit = "" if row.unit == "×" else f" {row.unit}"
    words = [
        f"{_number(value)}{unit} ({threads} thread{'s' * (threads != '1')})" for threads, value in row.measured.items()
    ]
    return ", ".join(words)


def _target(row: Row) -> str:
    stretch = f" (stretch {_number(row.stretch)})" if row.stretch is not None else ""
    return f"{'≥' if row.at_least else '≤'} {_quantity(row.target, row.unit)}{stretch}"


def _quantity(value: float, unit: str) -> str:
    return _number(value) if unit == "×" else f"{_number(value)} {unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def for_programs(file: Path, machine: str, measured: Measured, rows: Sequence[Row], missing: Sequence[str]) -> None:
    """Writes all that is known, as JSON."""
    lines = [asdict(row) | {"met": row.met} for row in rows]
    content = {"machine": machine, "rows": lines, "missing": list(missing)} | measured.figures
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def plot(file: Path, machine: str, measured: Measured, size: Sizes) -> None:
    """Draws time per boid against count, a panel for each number of threads.

    Raises:
        Missing: there is no matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Missing("the plot: there is no matplotlib") from error
    curves = _curves(measured, size)
    threads = sorted({number for _, number in curves}, key=int)
    figure = Figure(figsize=(5 * len(threads), 5.5), layout="constrained")
    panels = figure.subplots(1, len(threads), sharey=True, squeeze=False)[0]
    labels = list(dict.fromkeys(label for label, _ in curves))
    for axes, number in zip(panels, threads, strict=True):
        _draw(axes, {label: curves.get((label, number), []) for label in labels})
        axes.set_title(f"{number} thread{'s' * (number != '1')}", fontsize="medium")
        axes.set_xlabel("boids")
    panels[0].set_ylabel("nanoseconds for each boid and step")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    figure.suptitle(machine, fontsize="small")
    figure.savefig(file, dpi=100)


def _curves(measured: Measured, size: Sizes) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Points of each curve, by its name and number of threads."""
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for prefix, labels in (("", CURVES), ("nearest ", CROWDS)):
        for name, label in labels.items():
            for count in sorted({*size.counts, size.crowd}):
                for threads, value in measured.values("milliseconds", f"{prefix}{count}", name).items():
                    found.setdefault((label, threads), []).append((count, value * 1e6 / count))
    return found


def _draw(axes: Any, curves: dict[str, list[tuple[int, float]]]) -> None:
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    for label, points in curves.items():
        counts, times = zip(*points, strict=True) if points else ([], [])
        axes.plot(counts, times, marker="o", markersize=4, label=label, linestyle="--" if "nearest" in label else "-")
