# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the start of a process to the first step of the default flock, with what numba compiled before and without it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from . import measure
from .sizes import Sizes

ALONE = "import sys; sys.modules['scipy'] = None\n"
"""Blender has no scipy, and numba brings it in where there is one."""

IMPORT = ALONE + "import numba"

FIRST_STEP = (
    ALONE
    + """
from dataclasses import replace
from core import Effectors, Settings, Simulation, attractor, spheres

effectors = Effectors(attractors=attractor((0, 60, 0)), spheres=spheres([[0, 30, 0]], [5]))
first = next(iter(Simulation(Settings(count=1000, pre_roll=1 / 48), effectors, engine="NUMBA")))
assert first.state.step == 1
"""
)


def process(script: str, cache: str) -> None:
    """Runs a script whose compiled code is kept in that folder; its bytecode is kept as well, as Blender does, and as numba's own is."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, "-c", script], cwd=measure.ROOT, env=environment, check=True)


def times(size: Sizes) -> dict[str, float]:
    """Milliseconds: without the cache, with it, and for `import numba` alone."""
    with tempfile.TemporaryDirectory(prefix="flock-bench-") as folder:
        caches = [f"{folder}/{number}" for number in range(size.cold_starts)]
        cold = statistics.median(measure.seconds(lambda cache=cache: process(FIRST_STEP, cache)) for cache in caches)
        warm = {
            "first step": lambda: process(FIRST_STEP, caches[0]),
            "import numba": lambda: process(IMPORT, caches[0]),
        }
        return {"without cache": cold * 1e3} | measure.interleaved(warm, size.patience)
