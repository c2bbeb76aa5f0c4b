# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Working memory of one flock, in a process of its own: what it grows by while it flies, beyond the state before and after a step."""

from __future__ import annotations

from dataclasses import replace

from core import Settings, State, Traits, spawn, steering

from . import measure, sizes, workloads
from .workloads import DEFAULT, DT, PLAIN

OUTPUT = 4 * (3 + 3 + 4 + 1)
"""Bytes of one boid's new state."""

WARM = 2_000
"""Boids that bring all code into memory beforehand."""


def case(name: str, count: int) -> tuple[Settings, State]:
    """Settings and flock of that name, as a step leaves it."""
    if name == "default":
        settings = replace(DEFAULT, count=count)
        return settings, spawn(settings).stored()
    make = {"uniform": workloads.uniform, "stray": workloads.stray}[name]
    return replace(PLAIN, count=count), make(count).stored()


def working_bytes(name: str, count: int, threads: int) -> float:
    """For each boid."""
    effectors = workloads.scenery().at(0)

    def fly(settings: Settings, state: State) -> None:
        stepper = steering.Stepper(settings, Traits(settings), threads)
        for _ in range(2):
            stepper.step(state, effectors, DT / settings.substeps)

    fly(*case(name, WARM))
    settings, state = case(name, count)
    return measure.peak_bytes(lambda: fly(settings, state)) / count - OUTPUT


def main() -> dict:
    options = sizes.worker(__doc__, "name")
    (threads,) = options.threads
    value = working_bytes(options.name, options.sizes.large, threads)
    return {"bytes": {"memory": {options.name: {threads: value}}}}


if __name__ == "__main__":
    measure.answer(main)
