# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clip's numbers, without Blender: what is flown, kept meanwhile, and written into the mesh."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

WIDTHS = {"rotation": 4, "velocity": 3, "position": 3, "flap": 1}
"""Floats of each array; the widest is written first, while the mesh is still small, to keep the peak of memory low."""


def array_shape(name: str, frames: int, count: int) -> tuple[int, ...]:
    """Of one of the arrays."""
    return (frames, count) if WIDTHS[name] == 1 else (frames, count, WIDTHS[name])


@dataclass(frozen=True)
class ClipArrays:
    """All frames of a clip, float32; parts of a memory map will do."""

    position: np.ndarray
    """(frames, count, 3), lengths, in the flock's space."""
    velocity: np.ndarray
    """(frames, count, 3), lengths per second."""
    rotation: np.ndarray
    """(frames, count, 4), unit quaternions w x y z: +Y flies forward, +Z is the boid's up."""
    flap: np.ndarray
    """(frames, count), wing beats, turns, never wrapped."""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.position.shape[0]

    @property
    def count(self) -> int:
        """Number of boids."""
        return self.position.shape[1]

    @classmethod
    def zeros(cls, frames: int, count: int) -> Self:
        """Arrays in memory, to be filled."""
        return cls(**{name: np.zeros(array_shape(name, frames, count), np.float32) for name in WIDTHS})

    def set_frame(self, index: int, state: Any) -> None:
        """Stores one moment (core's `State`) as frame `index`."""
        for entry in fields(self):
            getattr(self, entry.name)[index] = getattr(state, entry.name)
