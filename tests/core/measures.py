# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a flock is like, in numbers: how near its boids are, whether it is one, how well they agree."""

import numpy as np


def distances(position) -> np.ndarray:
    """Between all boids, float64 (N, N), inf from each to itself."""
    position = np.asarray(position, float)
    square = (position**2).sum(axis=1)
    apart = np.sqrt(np.maximum(square[:, None] + square[None] - 2 * position @ position.T, 0.0))
    np.fill_diagonal(apart, np.inf)
    return apart


def nearest(position) -> np.ndarray:
    """Of each boid, how far the nearest other is, (N,)."""
    return distances(position).min(axis=1)


def clusters(position, reach: float) -> list[int]:
    """Sizes of the clusters, the largest first: boids nearer than `reach` are in one (single linkage)."""
    near = distances(position) < reach
    left, sizes = np.ones(len(position), bool), []
    while left.any():
        front = np.zeros(len(position), bool)
        front[np.argmax(left)] = True
        left &= ~front
        size = 0
        while front.any():
            size += int(front.sum())
            front = near[front].any(axis=0) & left
            left &= ~front
        sizes.append(size)
    return sorted(sizes, reverse=True)


def headings(velocity) -> np.ndarray:
    """Unit vectors (N, 3)."""
    velocity = np.asarray(velocity, float)
    return velocity / np.maximum(np.linalg.norm(velocity, axis=-1, keepdims=True), 1e-12)


def polarisation(velocity) -> float:
    """|Σ unit(v)| / N: 1 where all fly the same way, near 0 where each flies its own."""
    return float(np.linalg.norm(headings(velocity).mean(axis=0)))


def rotation(position, velocity) -> float:
    """|Σ unit(x - centroid) × unit(v)| / N: 1 where all circle about their middle (Couzin et al. 2002)."""
    spokes = headings(np.asarray(position, float) - np.mean(position, axis=0))
    return float(np.linalg.norm(np.cross(spokes, headings(velocity)).mean(axis=0)))
