# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is looked through for one home's boids: runs of the grid's order, copied side by side into a window.

A window is float32 (6 W,): positions and aligned quantities, part by part as in `hash_grid.Grid.packed`. The home run, in which these
boids lie, comes first and is copied whole. Behind the last there is padding, far away and at rest, as wide as the lanes.
"""

from __future__ import annotations

import numpy as np

from .lanes import (
    FAR,
    HAS_COMPRESS,
    LANES,
    ZERO,
    F,
    added,
    at_most,
    bit_count,
    bits_of,
    both,
    compiled,
    counted_from,
    first_lanes,
    lane_of,
    larger,
    least,
    load,
    minus,
    smaller,
    splat,
    store,
    store_packed,
    times,
    where,
)  # fmt: skip
from .state import RECORD

WIDER = F(1 + 1e-5)
"""Of a square: what rounding may add to it, and more."""

USUAL = 2 * LANES
"""Boids of a run that are looked at in any case, without a branch: few runs have more."""


@compiled()
def bring_home_first(own, number, runs):
    """Swaps the run with the place `own` to the front; how far into it that is."""
    for index in range(number):
        begin, end = runs[2 * index], runs[2 * index + 1]
        if begin <= own < end:
            runs[2 * index], runs[2 * index + 1] = runs[0], runs[1]
            runs[0], runs[1] = begin, end
            return own - begin
    return 0


@compiled()
def box_around(begin, end, packed):
    """The least box around some boids: the lower x, y, z and the upper ones, these with the other sign, in six lanes."""
    stride = len(packed) // RECORD
    far, nothing = splat(FAR), splat(ZERO)
    ax = ay = az = bx = by = bz = far
    for block in range(begin, end, LANES):
        there = first_lanes(end - block)
        x, y, z = load(packed, block), load(packed, stride + block), load(packed, 2 * stride + block)
        ax, bx = smaller(ax, where(there, x, far)), smaller(bx, where(there, minus(nothing, x), far))
        ay, by = smaller(ay, where(there, y, far)), smaller(by, where(there, minus(nothing, y), far))
        az, bz = smaller(az, where(there, z, far)), smaller(bz, where(there, minus(nothing, z), far))
    return least((ax, ay, az, bx, by, bz))


@compiled()
def copy_run(begin, end, at, window, packed):
    """Copies one run, in whole lanes: what is too much is written over by what follows."""
    width, stride = len(window) // 6, len(packed) // RECORD
    for block in range(begin, end, LANES):
        for part in range(6):
            store(window, part * width + at, load(packed, part * stride + block))
        at += LANES


@compiled()
def fill_whole(window, names, number, runs, packed, named, box=None, around=ZERO):
    """Copies all of the runs; how many boids these are."""
    at = 0
    for index in range(number):
        begin, end = runs[2 * index], runs[2 * index + 1]
        copy_run(begin, end, at, window, packed)
        if named:
            for place in range(begin, end):
                names[at + place - begin] = place
        at += end - begin
    pad(at, window)
    return at


@compiled()
def fill_near(window, names, number, runs, packed, named, box, around):
    """Copies the home run, and of the others who is no further than `around` from the box; how many boids these are.

    Their places in the grid's order go to `names` int32 (W,) where `named`.
    """
    width, stride = len(window) // 6, len(packed) // RECORD
    lx, ly, lz = splat(lane_of(box, 0)), splat(lane_of(box, 1)), splat(lane_of(box, 2))
    hx, hy, hz = splat(-lane_of(box, 3)), splat(-lane_of(box, 4)), splat(-lane_of(box, 5))
    most, nothing = splat(around * around * WIDER), splat(ZERO)
    copy_run(runs[0], runs[1], 0, window, packed)
    at = runs[1] - runs[0]
    if named:
        for place in range(runs[0], runs[1]):
            names[place - runs[0]] = place
    for index in range(1, number):
        begin, end = runs[2 * index], runs[2 * index + 1]
        for block in range(begin, max(end, begin + USUAL), LANES):
            x, y, z = load(packed, block), load(packed, stride + block), load(packed, 2 * stride + block)
            dx = larger(larger(minus(lx, x), minus(x, hx)), nothing)
            dy = larger(larger(minus(ly, y), minus(y, hy)), nothing)
            dz = larger(larger(minus(lz, z), minus(z, hz)), nothing)
            square = added(added(times(dx, dx), times(dy, dy)), times(dz, dz))
            mask = both(at_most(square, most), first_lanes(end - block))
            store_packed(mask, x, window, at)
            store_packed(mask, y, window, width + at)
            store_packed(mask, z, window, 2 * width + at)
            for part in range(3, 6):
                store_packed(mask, load(packed, part * stride + block), window, part * width + at)
            if named:
                store_packed(mask, counted_from(block), names, at)
            at += bit_count(bits_of(mask))
    pad(at, window)
    return at


fill = fill_near if HAS_COMPRESS else fill_whole


@compiled()
def pad(at, window):
    """Writes the padding behind the last boid."""
    width = len(window) // 6
    for part in range(6):
        store(window, part * width + at, splat(FAR if part < 3 else ZERO))


@compiled()
def bring_near(window, size, x, y, z, frame):
    """Moves those in the window to where they are nearest to a boid, by whole periods."""
    width = len(window) // 6
    for axis in range(3):
        place = x if axis == 0 else y if axis == 1 else z
        period = F(frame[2, axis] / frame[1, axis])
        part = window[axis * width : axis * width + size]
        for at in range(size):
            part[at] -= period * np.rint((part[at] - place) / period)
