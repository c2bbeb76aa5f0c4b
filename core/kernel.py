# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled step: builds the grid, then flies the flock chunk by chunk. Threads share the work through atomic counters.

Every chunk is the same boids, in the same order, whoever flies it: the bits do not depend on the threads.
"""

from __future__ import annotations

import numpy as np

from . import hash_grid, motion, pairs, swerve
from .hash_grid import PADDING
from .lanes import (
    FAR,
    HUGE,
    LANES,
    ONE,
    ZERO,
    F,
    atomic_add,
    called_from_python,
    compiled,
    inverse_length,
    lowest_bit,
    prefetch,
)
from .motion import (
    CHUNK,
    CUT,
    FLAP,
    GOAL,
    NEAR,
    NEW_POSITION,
    NEW_VELOCITY,
    POSITION,
    RELEASE,
    ROTATION,
    SPEED,
    SUMS,
    VELOCITY,
    WEIGHT,
    WISH,
)  # fmt: skip
from .pairs import SLOT

STRIDE = 8
"""Counters stand so far apart that each has a line of the cache to itself."""

COUNT, START, PLACE, SORT, FLY, RESOLVED, CROWDED, CROWD, READY = (number * STRIDE for number in range(9))
"""Counters: the next task of each phase; boids whose nearest are known; those who wait for smaller cells, and the sum of how many share
a cell with each. From READY on, how many tasks of each phase are done."""

COUNTERS = (READY // STRIDE + 4) * STRIDE

SORTS = 16
"""Buckets sorted at a time."""

WIDEST = 2048
"""Boids in a window that is looked through for who has not enough of them next to its cell; else larger cells are for it."""

PHASES = 4
"""Of building the grid."""

PATIENCE = 2000
"""Looks at a counter before a thread lets others run."""

ALMOST = F(1 - 1e-5)
"""Of a distance: what rounding leaves of it for sure."""

WIDER = F(1.4)
"""Of the square of the distance at which the last boid's nearest ended: within it the next one's are looked for first."""


@compiled()
def waits(counters, phase, tasks):
    """Whether the tasks of a phase are still not done, after some patience."""
    patience = PATIENCE
    while patience > 0 and atomic_add(counters, READY + phase, 0) < tasks:
        patience -= 1
    return patience == 0


@called_from_python()
def build(phase, counters, position, aligned, frame, counts, grid):
    """Builds the grid together with the other threads; from `phase` on, 0 at first.

    Returns PHASES when all is done, else the phase to go on with when the others have had a chance to run.
    """
    following = grid[1]
    ranges, buckets = following.shape[0], following.shape[1]
    sorts = (buckets + SORTS - 1) // SORTS
    while phase < PHASES:
        tasks = 1 if phase == 1 else sorts if phase == 3 else ranges
        while True:
            task = atomic_add(counters, phase * STRIDE, 1)
            if task >= tasks:
                break
            if phase == 0:
                hash_grid.count_range(task, ranges, position, frame, grid)
            elif phase == 1:
                hash_grid.start_buckets(ranges, grid)
            elif phase == 2:
                hash_grid.place_range(task, ranges, position, aligned, grid)
            else:
                for bucket in range(task * SORTS, min((task + 1) * SORTS, buckets)):
                    hash_grid.sort_bucket(bucket, frame, counts, grid)
            atomic_add(counters, READY + phase, 1)
        if waits(counters, phase, tasks):
            return phase
        phase += 1
    return phase


@called_from_python()
def fly(counters, pending, todo, scratch, grid, frame, boids_in, boids_out, look, plain, general, nearest, complete, crowded,
        settings, dodging,
        spheres, attractors, sums):  # fmt: skip
    """Flies chunks of the flock until none is left; 0 then, else the size of the window that it needs to go on with.

    What it does with the pairs is compiled apart, for the one of three that is not None: the plain loop, with the five numbers in `plain`;
    the general one; or that for so many of the nearest. It flies the boids that are marked in `todo`; `complete` is 1 where cells are as
    large as the reach. `sums` float32 (N, 12) takes the pair sums and nothing is flown; (0, 12) for a step.
    """
    boids, rows, slots = scratch[8], scratch[9], scratch[7]
    while True:
        chunk = pending[0] if pending[0] >= 0 else atomic_add(counters, FLY, 1)
        pending[0] = -1
        if chunk * CHUNK >= len(todo):
            return 0
        lanes, needed = gather_chunk(
            chunk, counters, todo, scratch, grid, frame, boids_in, look, plain, general, nearest, complete, crowded
        )
        if needed:
            pending[0] = chunk
            return needed
        if lanes == 0:
            continue
        whole = fill_lanes(lanes, boids, rows)
        stage(whole, boids, rows, boids_in)
        if len(sums) == 0:
            expect(lanes, boids, boids_out)
        for lane in range(lanes):
            todo[boids[lane]] = 0
        atomic_add(counters, RESOLVED, lanes)
        if nearest is not None:
            pairs.weigh_nearest(rows, whole, slots, nearest, look)
        if len(sums):
            for lane in range(lanes):
                for part in range(12):
                    sums[boids[lane], part] = rows[SUMS + part * CHUNK + lane]
        else:
            fly_chunk(lanes, whole, boids, rows, boids_in, settings, dodging, spheres, attractors, boids_out)


@compiled()
def fill_lanes(lanes, boids, rows):
    """Fills up with the first boid, so that all go through the same vector code, whatever chunk they are in; how many there are then."""
    whole = (lanes + 4 * LANES - 1) // (4 * LANES) * (4 * LANES)
    for lane in range(lanes, whole):
        boids[lane] = boids[0]
        for row in range(POSITION, SPEED, CHUNK):
            rows[row + lane] = rows[row]
        rows[CUT + lane] = rows[CUT]
    return whole


@compiled()
def stage(lanes, boids, rows, boids_in):
    """Brings the boids' own data into rows, but for the position, and the velocity where the grid has it, which are there."""
    rotation, flap, speed, weight, release, wish = boids_in[2:]
    for lane in range(lanes):
        boid = boids[lane]
        for part in range(4):
            rows[ROTATION + part * CHUNK + lane] = rotation[boid, part]
        rows[FLAP + lane] = flap[boid]
    varied(lanes, boids, rows, np.int64(SPEED), speed)
    varied(lanes, boids, rows, np.int64(WEIGHT), weight)
    varied(lanes, boids, rows, np.int64(RELEASE), release)
    if len(wish):
        for lane in range(lanes):
            for axis in range(3):
                rows[WISH + axis * CHUNK + lane] = wish[boids[lane], axis]


@compiled()
def expect(lanes, boids, boids_out):
    """Has the cache ready for what is written to places all over it, a chunk later."""
    position, velocity, rotation, flap, _ = boids_out
    for lane in range(lanes):
        boid = np.int64(boids[lane])
        prefetch(position, 3 * boid)
        prefetch(position, 3 * boid + 2)
        prefetch(velocity, 3 * boid)
        prefetch(velocity, 3 * boid + 2)
        prefetch(rotation, 4 * boid)
        prefetch(flap, boid)


@compiled()
def varied(lanes, boids, rows, row, trait):
    """One trait of each boid; a trait of one number is the same for all."""
    if len(trait) == 1:
        for lane in range(lanes):
            rows[row + lane] = trait[0]
    else:
        for lane in range(lanes):
            rows[row + lane] = trait[boids[lane]]


@compiled()
def fly_chunk(lanes, whole, boids, rows, boids_in, settings, dodging, spheres, attractors, boids_out):
    """From the pair sums in rows to the new state of `lanes` boids; `whole` counts those that fill up."""
    position, velocity, rotation, flap, touched = boids_out
    for index in range(GOAL, GOAL + 3 * CHUNK):
        rows[index] = ZERO
    for index in range(len(attractors)):
        one = attractors[index]
        motion.pull(
            rows,
            whole,
            settings,
            one.place[0],
            one.place[1],
            one.place[2],
            one.weight,
            one.radius,
            one.fade,
            one.arrival,
        )
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
    for lane in range(lanes):
        boid = boids[lane]
        for axis in range(3):
            position[boid, axis] = rows[NEW_POSITION + axis * CHUNK + lane]
            velocity[boid, axis] = rows[NEW_VELOCITY + axis * CHUNK + lane]
        for part in range(4):
            rotation[boid, part] = rows[ROTATION + part * CHUNK + lane]
        flap[boid] = rows[FLAP + lane]


@compiled()
def bucket_at(slot, start):
    """The bucket of the boid at a place in the grid's order."""
    low, high = 0, len(start) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= slot:
            low = middle
        else:
            high = middle
    return low


@compiled()
def gather_chunk(
    chunk, counters, todo, scratch, grid, frame, boids_in, look, plain, general, nearest, complete, crowded
):
    """The pair sums of a chunk of boids, into rows; or, of the nearest, who they are, into slots.

    How many boids there are, and 0, or the size of the window that they need. Who has more than `crowded` boids in the window waits.
    """
    _, _, start, bricks, _, order, _, keys, cells, brick_start, brick_first, cell_end, packed = grid
    window, names, boids, rows, runs, around, places = (scratch[0], scratch[1], scratch[8], scratch[9], scratch[10], scratch[11],
                                                        scratch[12])  # fmt: skip
    velocity, rotation, flap = boids_in[1], boids_in[2], boids_in[3]
    width, stride = len(window) // 6, len(packed) // 6
    slot, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(order))
    lanes, limit = np.int64(0), ZERO
    home = bucket_at(slot, start)
    while slot < end:
        while start[home + 1] <= slot:
            home += 1
        brick, last = np.int64(start[home]), np.int64(start[home]) + bricks[home] - 1
        while brick < last and brick_start[brick + 1] <= slot:
            brick += 1
        hash_grid.bricks_around(brick, around, start, bricks, keys)
        bits, at, own = np.int64(cells[brick]), np.int64(brick_first[brick]), np.int64(brick_start[brick])
        while bits != 0 and slot < end:
            along = lowest_bit(bits)
            bits &= bits - 1
            own_end = np.int64(cell_end[at])
            at += 1
            if own_end > slot and any_left(own, own_end, order, todo):
                corner = hash_grid.corner_of(keys[brick], along, frame)
                first, left = max(own, slot), min(own_end, end) - max(own, slot)
                for index in range(left):
                    places[index] = first + index
                # who does not find enough of them next to its cell looks once more, twice as far
                for steps in range(1, 2 if complete != 0 else 3):
                    if left == 0:
                        break
                    if frame[2, 0] > 0.0:
                        number, size = hash_grid.runs_in_period(keys[brick], along, frame, runs, start, bricks, keys, cells, brick_start,
                                                                brick_first, cell_end)  # fmt: skip
                    elif steps == 1:
                        number, size = hash_grid.runs_around(
                            along, around, runs, cells, brick_start, brick_first, cell_end
                        )
                    else:
                        number, size = hash_grid.runs_further(keys[brick], along, runs, start, bricks, keys, cells, brick_start,
                                                              brick_first, cell_end)  # fmt: skip
                    if steps == 2 and size > WIDEST:
                        break
                    if steps == 1 and size > crowded:
                        atomic_add(counters, CROWDED, left)
                        atomic_add(counters, CROWD, left * (own_end - own))
                        break
                    if size + PADDING > width:
                        return 0, size + PADDING
                    hash_grid.fill(window, number, size, runs, packed)
                    shift = hash_grid.place_of(own, number, runs) - own
                    whole = (size + LANES - 1) // LANES * LANES
                    view = (window[:whole], window[width : width + whole], window[2 * width : 2 * width + whole],
                            window[3 * width : 3 * width + whole], window[4 * width : 4 * width + whole],
                            window[5 * width : 5 * width + whole])  # fmt: skip
                    if look.named != ZERO:
                        hash_grid.fill_names(names, number, runs, order)
                    looking, left = left, 0
                    for index in range(looking):
                        place = places[index]
                        boid, mine = order[place], place + shift
                        if todo[boid] == 0:
                            continue
                        if frame[2, 0] > 0.0:
                            x, y, z = packed[place], packed[stride + place], packed[2 * stride + place]
                            hash_grid.fill(window, number, size, runs, packed)
                            hash_grid.bring_near(window, size, x, y, z, frame)
                        x, y, z = window[mine], window[width + mine], window[2 * width + mine]
                        window[mine] = FAR  # the boid itself is out of its own sight
                        resolved = True
                        if plain is not None:
                            plain_sums(rows, lanes, view, x, y, z, plain)
                        if general is not None:
                            general_sums(rows, lanes, view, names, x, y, z, velocity, boid, look)
                        if nearest is not None:
                            inner = guard(x, y, z, steps, corner, frame) if complete == 0 else HUGE
                            resolved, limit = nearest_slots(
                                lanes, view, scratch, x, y, z, velocity, boid, look, nearest, limit, inner
                            )
                        window[mine] = x
                        if resolved:
                            boids[lanes] = boid
                            prefetch(rotation, 4 * np.int64(boid))
                            prefetch(flap, np.int64(boid))
                            (
                                rows[POSITION + lanes],
                                rows[POSITION + CHUNK + lanes],
                                rows[POSITION + 2 * CHUNK + lanes],
                            ) = x, y, z
                            for axis in range(3):
                                own_velocity = velocity[boid, axis] if look.heading != ZERO else view[3 + axis][mine]
                                rows[VELOCITY + axis * CHUNK + lanes] = own_velocity
                            lanes += 1
                        else:
                            places[left] = place
                            left += 1
            slot = max(slot, min(own_end, end))
            own = own_end
    return lanes, 0


@compiled()
def any_left(begin, end, order, todo):
    """Whether one of the boids of a cell still looks for its nearest."""
    while begin < end and todo[order[begin]] == 0:
        begin += 1
    return begin < end


@compiled()
def guard(x, y, z, steps, corner, frame):
    """How far the window, `steps` cells around the one that begins at `corner`, reaches at least from a place in it."""
    sizes = (ONE / F(frame[1, 0]), ONE / F(frame[1, 1]), ONE / F(frame[1, 2]))
    a, b, c = x - corner[0], y - corner[1], z - corner[2]
    far = F(steps)
    least = min(
        min(a, sizes[0] - a) + far * sizes[0],
        min(b, sizes[1] - b) + far * sizes[1],
        min(c, sizes[2] - c) + far * sizes[2],
    )
    return max(least, ZERO) * ALMOST


@compiled()
def nearest_slots(lane, view, scratch, x, y, z, velocity, boid, look, neighbours, limit, inner):
    """Looks up the nearest of one boid and writes them into slots. `inner` is how far the window reaches.

    Returns whether they are known, and the square within which to look first for those of the next boid.
    """
    _, names, squares, keys, found, chosen, chosen_keys, slots, _, rows, _, _, _ = scratch
    xs, ys, zs, us, vs, ws = view
    pairs.measure(view, x, y, z, squares)
    if look.smooth == ZERO and look.widest >= -ONE:
        u, v, w = velocity[boid, 0], velocity[boid, 1], velocity[boid, 2]
        scale = inverse_length(u, v, w)
        all_round = ONE if u * u + v * v + w * w <= ZERO else ZERO
        pairs.hide(view, x, y, z, (u * scale, v * scale, w * scale), all_round, look.widest, squares)
    most = neighbours + 1
    bound = min(inner, look.reach)
    bound = bound * bound
    limit = min(limit, bound)
    number = pairs.pick(len(xs), limit, squares, keys, found) if limit > ZERO else 0
    if number < most and limit < bound:
        number = pairs.pick(len(xs), bound, squares, keys, found)
    if number < most and inner < look.reach:
        return False, limit
    pairs.rank(number, most, names, keys, found, chosen, chosen_keys)
    for place in range(neighbours):
        slot = place * SLOT + lane
        if place < number:
            at = chosen[place]
            slots[slot], slots[slot + CHUNK], slots[slot + 2 * CHUNK] = xs[at] - x, ys[at] - y, zs[at] - z
            slots[slot + 3 * CHUNK], slots[slot + 4 * CHUNK], slots[slot + 5 * CHUNK] = us[at], vs[at], ws[at]
        else:
            slots[slot], slots[slot + CHUNK], slots[slot + 2 * CHUNK] = FAR, FAR, FAR
            slots[slot + 3 * CHUNK], slots[slot + 4 * CHUNK], slots[slot + 5 * CHUNK] = ZERO, ZERO, ZERO
    rows[CUT + lane] = chosen_keys[neighbours] if number >= most and look.smooth != ZERO else FAR * FAR
    return True, chosen_keys[neighbours] * WIDER if number >= most else bound


@compiled()
def plain_sums(rows, lane, view, x, y, z, plain):
    """Into rows."""
    ax, ay, az, bx, by, bz, cx, cy, cz = pairs.gather_plain(
        view, x, y, z, plain[0], plain[1], plain[2], plain[3], plain[4]
    )
    rows[SUMS + lane], rows[SUMS + CHUNK + lane], rows[SUMS + 2 * CHUNK + lane] = ax, ay, az
    rows[SUMS + 4 * CHUNK + lane], rows[SUMS + 5 * CHUNK + lane], rows[SUMS + 6 * CHUNK + lane] = bx, by, bz
    rows[SUMS + 8 * CHUNK + lane], rows[SUMS + 9 * CHUNK + lane], rows[SUMS + 10 * CHUNK + lane] = cx, cy, cz


@compiled()
def general_sums(rows, lane, view, names, x, y, z, velocity, boid, look):
    """Into rows."""
    u, v, w = velocity[boid, 0], velocity[boid, 1], velocity[boid, 2]
    scale = inverse_length(u, v, w)
    heading = (u * scale, v * scale, w * scale)
    all_round = ONE if u * u + v * v + w * w <= ZERO else ZERO
    sums = pairs.gather_all(view, x, y, z, heading, all_round, look)
    for part in range(12):
        rows[SUMS + part * CHUNK + lane] = sums[part]
    if look.only != ZERO:
        nearest = pairs.nearest_intruder(view, names, x, y, z, heading, all_round, look)
        for part in range(4):
            rows[SUMS + part * CHUNK + lane] = nearest[part]
