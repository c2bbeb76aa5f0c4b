# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors (..., 3) and how influences fade, in plain numpy."""

from __future__ import annotations

import numpy as np


def length(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Row by row, of (N, 3): (N,)."""
    return np.einsum("ij,ij->i", one, other)


def cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cross product of (N, 3); numpy's own is many times slower."""
    a, b, c = one.T
    x, y, z = other.T
    return np.stack((b * z - c * y, c * x - a * z, a * y - b * x), axis=1)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Directions; the zero vector has none and stays zero."""
    size = length(vectors)[..., None]
    return np.divide(vectors, size, out=np.zeros_like(vectors), where=size > 0)


def limited(vectors: np.ndarray, most) -> np.ndarray:
    """Vectors cut to a length of at most `most`."""
    size = length(vectors)[..., None]
    return vectors * np.minimum(1.0, np.divide(most, size, out=np.ones_like(size), where=size > 0))


def smoothstep(value: np.ndarray) -> np.ndarray:
    """0 below 0, 1 above 1, smooth between."""
    value = np.clip(value, 0.0, 1.0)
    return value * value * (3.0 - 2.0 * value)


def edge_weight(distance, reach, smooth: bool):
    """Weight of a neighbour over its distance: 1 - (d/R)² squared, or 1 as far as a hard edge."""
    within = distance < reach
    if not smooth:
        return within.astype(float)
    share = np.divide(distance, reach, out=np.ones(np.broadcast(distance, reach).shape), where=within)
    return (1.0 - share**2) ** 2


def any_side(heading: np.ndarray) -> np.ndarray:
    """A direction across each heading (N, 3): to its right, level; where there is no level, along +X."""
    x, y, _ = heading.T
    right = np.stack((y, -x, np.zeros_like(x)), axis=1)
    return np.where((x * x + y * y > 1e-12)[:, None], unit(right), (1.0, 0.0, 0.0))
