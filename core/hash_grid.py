# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is near: boids sorted by the hash of their cell, so that memory follows their number and not the room they take."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def bucket(x, y, z, mask):
    """The hash of a cell (three primes after Teschner et al. 2003)."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) & mask


@numba.njit(nogil=True, cache=True)
def wrapped(offset, period):
    """The short way round; a period of 0 is open space."""
    return offset - period * np.round(offset / period) if period > 0.0 else offset


@numba.njit(nogil=True, cache=True)
def build(position, cell_size, box):
    """Sorts boids (N, 3) into cells: their order by bucket, where each bucket starts, their cells (N, 3), and the cells' size (3,).

    In a periodic box a whole number of cells, no smaller than asked for, makes up its period.
    """
    count = len(position)
    size = np.empty(3)
    number = np.zeros(3, np.int64)
    for axis in range(3):
        number[axis] = max(1, int(box[axis] / cell_size)) if box[axis] > 0.0 else 0
        size[axis] = box[axis] / number[axis] if number[axis] else cell_size
    mask = 1
    while mask < 2 * count:
        mask *= 2
    mask -= 1
    cells = np.empty((count, 3), np.int64)
    table = np.zeros(mask + 2, np.int64)
    for boid in range(count):
        for axis in range(3):
            # a boid that flew off beyond all bounds shares the outermost cell, and is found by its distance all the same
            cell = np.int64(min(max(np.floor(position[boid, axis] / size[axis]), -4e15), 4e15))
            cells[boid, axis] = cell % number[axis] if number[axis] else cell
        table[bucket(cells[boid, 0], cells[boid, 1], cells[boid, 2], mask) + 1] += 1
    for index in range(mask + 1):
        table[index + 1] += table[index]
    following = table[:-1].copy()
    order = np.empty(count, np.int64)
    for boid in range(count):
        home = bucket(cells[boid, 0], cells[boid, 1], cells[boid, 2], mask)
        order[following[home]] = boid
        following[home] += 1
    return order, table, cells, size


@numba.njit(nogil=True, cache=True)
def within(boid, reach, position, box, order, table, cells, size, found):
    """Writes the boids nearer than `reach` to `found`, int64 (N,), without the boid itself; how many there are."""
    mask = len(table) - 2
    count = 0
    number = np.zeros(3, np.int64)
    for axis in range(3):
        number[axis] = np.int64(np.round(box[axis] / size[axis]))
    for dz in _steps(number[2]):
        for dy in _steps(number[1]):
            for dx in _steps(number[0]):
                x, y, z = cells[boid, 0] + dx, cells[boid, 1] + dy, cells[boid, 2] + dz
                x = x % number[0] if number[0] else x
                y = y % number[1] if number[1] else y
                z = z % number[2] if number[2] else z
                home = bucket(x, y, z, mask)
                for place in range(table[home], table[home + 1]):
                    other = order[place]
                    # other cells share the bucket: only this one's boids are meant, and each once
                    if other == boid or cells[other, 0] != x or cells[other, 1] != y or cells[other, 2] != z:
                        continue
                    square = 0.0
                    for axis in range(3):
                        offset = wrapped(position[other, axis] - position[boid, axis], box[axis])
                        square += offset * offset
                    if np.sqrt(square) < reach:
                        found[count] = other
                        count += 1
    return count


@numba.njit(nogil=True, cache=True)
def _steps(number):
    """The cells to visit along one axis, each once, also where a periodic box is narrower than three."""
    if number == 1:
        return range(1)
    if number == 2:
        return range(2)
    return range(-1, 2)
