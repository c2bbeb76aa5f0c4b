# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counter-based random numbers: a hash of (seed, boid, step, purpose), so that nothing depends on order or threads.

`mix` works on numpy uint64 arrays, and, compiled by numba, on uint64 scalars; the others on arrays.
"""

from enum import IntEnum

import numpy as np

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MUL_1 = np.uint64(0xBF58476D1CE4E5B9)
_MUL_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S40 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(40)
_UNIT = 2.0**-24


class Purpose(IntEnum):
    """What a random number is for; each purpose has a stream of its own."""

    SPAWN_X = 0
    SPAWN_Y = 1
    SPAWN_Z = 2
    HEADING_X = 3
    HEADING_Y = 4
    WANDER_X = 5
    WANDER_Y = 6
    WANDER_Z = 7
    NOISE_ANGLE = 8
    NOISE_AXIS = 9
    NOISE_RADIUS = 10
    SPEED = 11
    SIZE = 12
    WEIGHT = 13
    SOURCE_X = 14
    SOURCE_Y = 15
    SOURCE_Z = 16
    RELEASE = 17
    PHASE = 18
    START_SPEED = 19


def mix(value):
    """Scrambles uint64 to uint64 (the finaliser of splitmix64: Steele, Lea and Flood 2014)."""
    value = value + _GAMMA
    value = (value ^ (value >> _S30)) * _MUL_1
    value = (value ^ (value >> _S27)) * _MUL_2
    return value ^ (value >> _S31)


def uniform(seed, boid, step, purpose):
    """Number in [0, 1), from four uint64; 24 bits, so that it is exact in float32."""
    return (mix(mix(mix(mix(seed) ^ boid) ^ step) ^ purpose) >> _S40) * _UNIT


def stream(seed: int, count: int, step: int, purpose: Purpose) -> np.ndarray:
    """`uniform` for boids 0 to count - 1: float64 (count,)."""
    key = np.full(count, seed, np.int64).view(np.uint64)
    return uniform(key, np.arange(count, dtype=np.uint64), np.uint64(step), np.uint64(purpose))
