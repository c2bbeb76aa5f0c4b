# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What boids see of another flock, compiled: `flocks.look`, but only over those who are near along x."""

from __future__ import annotations

import numba
import numpy as np

from .flocks import Seen


@numba.njit(nogil=True, cache=True)
def sum_range(place, there, velocity, radius, smooth, power, toward, speed, weight):
    """Into the rows of `toward` and `speed` (N, 3) and `weight` (N,); `there` (M, 3) is sorted by x. All float64."""
    for boid in range(len(place)):
        x, y, z = place[boid, 0], place[boid, 1], place[boid, 2]
        for other in range(np.searchsorted(there[:, 0], x - radius), len(there)):
            dx, dy, dz = there[other, 0] - x, there[other, 1] - y, there[other, 2] - z
            if dx >= radius:
                break
            distance = np.sqrt(dx * dx + dy * dy + dz * dz)
            if not distance < radius:
                continue
            share = distance / radius
            counts = (1.0 - share * share) ** 2 if smooth else 1.0
            scale = counts * distance ** (power - 1.0) if distance > 0.0 else 0.0
            toward[boid, 0] += scale * dx
            toward[boid, 1] += scale * dy
            toward[boid, 2] += scale * dz
            for axis in range(3):
                speed[boid, axis] += counts * velocity[other, axis]
            weight[boid] += counts


def look(place, there, velocity, radius: float, smooth: bool, power: float) -> Seen:
    """As `flocks.look`."""
    order = np.argsort(there[:, 0], kind="stable")
    seen = Seen(np.zeros(place.shape), np.zeros(place.shape), np.zeros(len(place)))
    sum_range(place, there[order], velocity[order], radius, smooth, power, seen.toward, seen.velocity, seen.weight)
    return seen
