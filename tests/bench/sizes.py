# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much is measured: what the targets speak of, or a little of everything, to see that all of it still runs."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from .measure import Patience


@dataclass(frozen=True)
class Sizes:
    """Numbers of boids, unless it is said otherwise."""

    counts: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    """What the plot shows; there are targets for all but the first."""
    flying: int = 100_000
    """The largest flock that flies with the default."""
    slow: int = 10_000
    """Where peers in numpy stop, and what Blender's are measured with."""
    crowd: int = 20_000
    """The largest clump."""
    settled: int = 300
    """Steps that the flying flock has behind it."""
    frames: int = 250
    """Of the clip that is baked."""
    played: int = 20_000
    polygons: int = 5_000_000
    """Of the scene that is sampled."""
    bits: int = 10_000
    cold_starts: int = 3
    """How often all is compiled anew."""
    patience: Patience = Patience()

    @property
    def large(self) -> int:
        """The largest flock."""
        return self.counts[-1]


FULL = Sizes()
QUICK = Sizes(
    counts=(200, 500, 1_000, 2_000), flying=1_000, slow=500, crowd=800, settled=10, frames=4, played=500, polygons=20_000,
    bits=700, cold_starts=1, patience=Patience(turns=2, at_least=0.0, at_most=1.0),
)  # fmt: skip


def worker(description: str, *words: str) -> argparse.Namespace:
    """The command line of a process that measures a part; `sizes` is what it asks for."""
    parser = argparse.ArgumentParser(description=description)
    for word in words:
        parser.add_argument(word)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--folder", type=Path, help="for what several processes need")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int)
    options = parser.parse_args()
    options.sizes = chosen(options.quick, options.turns)
    return options


def chosen(quick: bool, turns: int | None) -> Sizes:
    """What the command line asks for; turns are by default the sizes' own."""
    size = QUICK if quick else FULL
    return replace(size, patience=replace(size.patience, turns=turns or size.patience.turns))


def words(quick: bool, turns: int | None, folder: Path) -> list[object]:
    """What such a process is started with, beside its threads."""
    asked = [*(["--quick"] if quick else []), *(["--turns", turns] if turns else [])]
    return ["--folder", folder, *asked]
