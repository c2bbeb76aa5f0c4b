# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled step: builds the grid, then flies the flock chunk by chunk. Threads share the work through atomic counters.

One thread leads, the others help. They keep looking out for the next step for a moment, since to wake one takes as long as many a step.

Every chunk is the same boids, in the same order, whoever flies it: the bits do not depend on the threads.
"""

from __future__ import annotations

import numpy as np

from . import hash_grid, motion, pairs, swerve
from .counters import (
    AFTER,
    ASLEEP,
    AWAKE,
    BEFORE,
    BUILT,
    CALLED,
    COMPLETE,
    COUNT,
    FLY,
    HANDS,
    HELPERS,
    PLACE,
    READY,
    RESOLVED,
    SORT,
    START,
    STRIDE,
    THICKEST,
    WORKING,
)  # fmt: skip
from .gather import gather_chunk
from .hash_grid import CACHED
from .lanes import (
    LANES,
    ZERO,
    atomic_add,
    atomic_change,
    atomic_read,
    called_from_python,
    compiled,
    joint,
    linger,
    load,
    numbers_at,
    store,
    transpose,
)
from .motion import (
    CHUNK,
    CUT,
    GOAL,
    NEAR,
    NEW_POSITION,
    POSITION,
    RELEASE,
    ROTATION,
    SPEED,
    SUMS,
    VELOCITY,
    WEIGHT,
    WISH,
)  # fmt: skip
from .state import RECORD

SORTS = 16
"""Buckets sorted at a time."""

PATIENCE = 10_000
"""Looks at a number before a thread lets others run."""

MOMENT = 30_000
"""Looks, each with a pause, for the lead's next call before a helper goes to sleep: to be woken takes as long as many a step."""

LEAD = 0
"""The number of the thread that calls the others."""

CHUNK_AT, PHASE = 0, 1
"""What a thread has in hand, int64 (2,): its chunk, -1 for none, and its phase."""

DONE, LATER = 0, -1
"""What Python hears: that all is done; or to let other threads run, which may wait for this one's core, and to call again."""


@called_from_python()
def work(me, board, in_hand, scratch, grid, frame, todo, traits, touched, look, plain, general, nearest, settings, dodging, spheres,
         attractors, sums):  # fmt: skip
    """Builds the grid and flies those marked in `todo`, together with the other threads: the lead once, a helper whenever it is called.

    Returns DONE, LATER, or the size of the window that is needed to go on. What is done with the pairs is compiled apart, for the one of
    three that is not None: the plain loop, with the five numbers in `plain`; the general one; or that for so many of the nearest.
    `sums` float32 (N, 12) takes the pair sums and nothing is flown; (0, 12) for a step.
    """
    numbers, mail = RECORD * len(todo), HELPERS + me * STRIDE
    while me == LEAD or is_called(board, mail):
        if me == LEAD:
            call(board)
        before, after = numbers_at(board[BEFORE], numbers), numbers_at(board[AFTER], numbers)
        if in_hand[PHASE] < BUILT:
            in_hand[PHASE] = build(in_hand[PHASE], board, before, look.heading != ZERO, frame, scratch, grid)
            if in_hand[PHASE] < BUILT:
                return LATER
        needed = fly(board, in_hand, todo, scratch, grid, frame, before, traits, after, touched, look, plain, general, nearest,
                     settings, dodging, spheres, attractors, sums)  # fmt: skip
        if needed:
            return needed
        if me == LEAD and is_anybody_at_work(board):
            return LATER
        in_hand[PHASE] = COUNT
        if me == LEAD:
            break
        atomic_change(board, mail, WORKING, AWAKE)
    return DONE


@compiled()
def is_called(board, mail):
    """Whether the lead calls this helper within a moment; if not, it is asleep. Who is at work already has been called."""
    patience = MOMENT
    while True:
        state = atomic_read(board, mail)
        if state == WORKING or (state == CALLED and atomic_change(board, mail, CALLED, WORKING)):
            return True
        patience -= 1
        if patience <= 0 and atomic_change(board, mail, AWAKE, ASLEEP):
            return False
        linger()


@compiled()
def call(board):
    """Calls the helpers that are to fly now and are awake."""
    for mail in range(HELPERS + STRIDE, HELPERS + board[HANDS] * STRIDE, STRIDE):
        atomic_change(board, mail, AWAKE, CALLED)


@compiled()
def is_anybody_at_work(board):
    """Whether one of the helpers still is, after some patience. Who has not begun is called back."""
    patience = PATIENCE
    for mail in range(HELPERS + STRIDE, len(board), STRIDE):
        atomic_change(board, mail, CALLED, AWAKE)
        while atomic_read(board, mail) == WORKING:
            patience -= 1
            if patience <= 0:
                return True
            linger()
    return False


@compiled()
def waits(board, phase, tasks):
    """Whether the tasks of a phase are still not done, after some patience."""
    patience = PATIENCE
    while patience > 0 and atomic_read(board, READY + phase) < tasks:
        patience -= 1
        linger()
    return patience == 0


@joint()
def build(phase, board, boids, headings, frame, scratch, grid):
    """Builds the grid together with the other threads; from `phase` on, COUNT at first.

    Returns BUILT when all is done, else the phase to go on with when the others have had a chance to run.
    """
    following = grid.following
    ranges, buckets = following.shape[0], following.shape[1]
    sorts = (buckets + SORTS - 1) // SORTS
    while phase < BUILT:
        tasks = 1 if phase == START else sorts if phase == SORT else ranges
        while True:
            task = atomic_add(board, phase * STRIDE, 1)
            if task >= tasks:
                break
            if phase == COUNT:
                hash_grid.count_range(task, ranges, boids, frame, grid)
            elif phase == START:
                hash_grid.start_buckets(ranges, grid)
            elif phase == PLACE:
                hash_grid.place_range(task, ranges, grid)
            else:
                for bucket in range(task * SORTS, min((task + 1) * SORTS, buckets)):
                    hash_grid.sort_bucket(bucket, boids, headings, scratch, grid)
            atomic_add(board, READY + phase, 1)
        if waits(board, phase, tasks):
            return phase
        phase += 1
    return phase


@joint()
def fly(board, in_hand, todo, scratch, grid, frame, boids_in, traits, boids_out, touched, look, plain, general, nearest, settings,
        dodging, spheres, attractors, sums):  # fmt: skip
    """Flies chunks of the flock until none is left; 0 then, else the size of the window that it needs to go on with.

    `boids_in` and `boids_out` float32 (RECORD * N,) are records; the rest is as for `work`.
    """
    boids, rows, slots = scratch.boids, scratch.rows, scratch.slots
    complete, crowded = board[COMPLETE], board[THICKEST]
    while True:
        chunk = in_hand[CHUNK_AT] if in_hand[CHUNK_AT] >= 0 else atomic_add(board, FLY, 1)
        in_hand[CHUNK_AT] = -1
        if chunk * CHUNK >= len(todo):
            return 0
        lanes, needed = gather_chunk(
            chunk, board, todo, scratch, grid, frame, boids_in, look, plain, general, nearest, complete, crowded
        )
        if needed:
            in_hand[CHUNK_AT] = chunk
            return needed
        if lanes == 0:
            continue
        if plain is not None:
            part_sums(lanes, scratch)
        whole = fill_lanes(lanes, scratch)
        stage(whole, scratch, grid.packed, boids_in, traits, look.heading != ZERO)
        if len(sums) == 0 and len(todo) > CACHED:
            hash_grid.expect(0, lanes, boids_out, boids)
        atomic_add(board, RESOLVED, lanes)
        if nearest is not None:
            for lane in range(lanes):
                todo[boids[lane]] = 0
            pairs.weigh_nearest(rows, whole, slots, nearest, look)
        if len(sums):
            for lane in range(lanes):
                for part in range(12):
                    sums[boids[lane], part] = rows[SUMS + part * CHUNK + lane]
        else:
            fly_chunk(lanes, whole, scratch, settings, dodging, spheres, attractors, boids_out, touched)


@compiled()
def part_sums(lanes, scratch):
    """The plain pair loop's sums, boid by boid as they come, into rows."""
    rows, sums, boids, parts = scratch.rows, scratch.sums, scratch.starts, scratch.ends
    for block in range(0, lanes, LANES):
        for lane in range(LANES):
            boids[lane] = LANES * (block + lane)
        for part in range(pairs.PLAIN_SUMS):
            parts[part] = SUMS + (part + part // 3) * CHUNK + block
        transpose(sums, boids, rows, parts, LANES, pairs.PLAIN_SUMS)


@compiled()
def fill_lanes(lanes, scratch):
    """Fills up with the first boid, so that all go through the same vector code, whatever chunk they are in; how many there are then."""
    boids, rows, stood = scratch.boids, scratch.rows, scratch.stood
    whole = (lanes + 4 * LANES - 1) // (4 * LANES) * (4 * LANES)
    for lane in range(lanes, whole):
        boids[lane], stood[lane] = boids[0], stood[0] + lane
        for row in range(SUMS, SPEED, CHUNK):
            rows[row + lane] = rows[row]
        rows[CUT + lane] = rows[CUT]
    return whole


@joint()
def stage(lanes, scratch, packed, boids_in, traits, headings):
    """Brings the boids' own data into rows: most of it as it stood in the grid, and velocities if it has their `headings` there."""
    boids, rows, stood = scratch.boids, scratch.rows, scratch.stood
    speed, weight, release, wish = traits
    bring(lanes, 0, 6, np.int64(POSITION), rows, stood, packed)
    bring(lanes, 6, RECORD, np.int64(ROTATION), rows, stood, packed)
    if headings:
        for lane in range(lanes):
            for axis in range(3):
                rows[VELOCITY + axis * CHUNK + lane] = boids_in[RECORD * np.int64(boids[lane]) + 3 + axis]
    varied(lanes, boids, rows, np.int64(SPEED), speed)
    varied(lanes, boids, rows, np.int64(WEIGHT), weight)
    varied(lanes, boids, rows, np.int64(RELEASE), release)
    if len(wish):
        for lane in range(lanes):
            for axis in range(3):
                rows[WISH + axis * CHUNK + lane] = wish[boids[lane], axis]
    else:  # the rows may be those of a step that had wishes
        for index in range(WISH, WISH + 3 * CHUNK):
            rows[index] = ZERO


@compiled()
def bring(lanes, begin, end, row, rows, stood, packed):
    """Parts of the boids' records from the grid, where most stand side by side."""
    stride, first, together = len(packed) // RECORD, np.int64(stood[0]), True
    for lane in range(lanes):
        together &= stood[lane] == first + lane
    for part in range(begin, end):
        at = part * stride
        if together:
            for lane in range(0, lanes, LANES):
                store(rows, row + lane, load(packed, at + first + lane))
        else:
            for lane in range(lanes):
                rows[row + lane] = packed[at + stood[lane]]
        row += CHUNK


@compiled()
def varied(lanes, boids, rows, row, trait):
    """One trait of each boid; a trait of one number is the same for all."""
    if len(trait) == 1:
        for lane in range(lanes):
            rows[row + lane] = trait[0]
    else:
        for lane in range(lanes):
            rows[row + lane] = trait[boids[lane]]


@joint()
def fly_chunk(lanes, whole, scratch, settings, dodging, spheres, attractors, boids_out, touched):
    """From the pair sums in rows to the new state of `lanes` boids; `whole` counts those that fill up."""
    boids, rows = scratch.boids, scratch.rows
    for index in range(GOAL, GOAL + 3 * CHUNK):
        rows[index] = ZERO
    for index in range(len(attractors)):
        one = attractors[index]
        x, y, z = one.place[0], one.place[1], one.place[2]
        motion.pull(rows, whole, settings, x, y, z, one.weight, one.radius, one.fade, one.arrival)
    if settings.wander != ZERO:
        motion.wander(rows, whole, boids, settings)
    motion.accelerate(rows, whole, settings)
    if len(spheres):
        swerve.steer_all(rows, whole, spheres, dodging)
    motion.move(rows, whole, settings)
    if len(spheres):
        for lane in range(lanes):
            if rows[NEAR + lane] > ZERO and not swerve.kept_out(lane, rows, spheres, dodging):
                touched[boids[lane]] = 1
    motion.turn(rows, whole, settings)
    write(lanes, boids, rows, scratch.starts, scratch.ends, boids_out)


@compiled()
def write(lanes, boids, rows, parts, places, boids_out):
    """The boids' new records. `parts` and `places` int64 (16,) are scratch."""
    for block in range(0, lanes, LANES):
        number = min(lanes - block, LANES)
        for part in range(6):
            parts[part] = NEW_POSITION + part * CHUNK + block
        for part in range(5):
            parts[6 + part] = ROTATION + part * CHUNK + block
        for lane in range(number):
            places[lane] = RECORD * np.int64(boids[block + lane])
        transpose(rows, parts, boids_out, places, RECORD, number)
