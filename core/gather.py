# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the boids of a chunk gather from those around them: home by home, each with a window of its own.

The next home's window is filled before the boids of one look through theirs: so what was written has reached the cache by then, and
nobody waits for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import hash_grid, pairs, window
from .counters import CROWD, CROWDED
from .hash_grid import CACHED, PADDING
from .lanes import FAR, HUGE, LANES, ONE, TWO, ZERO, F, atomic_add, compiled, inverse_length, joint, lowest_bit, store
from .motion import CHUNK, CUT, ROWS, SUMS
from .pairs import MOST, PART, SLOT
from .state import RECORD

WIDEST = 2048
"""Boids in a window that is looked through for who has not enough of them next to its cell; else larger cells are for it."""

ALMOST = F(1 - 1e-5)
"""Of a distance: what rounding leaves of it for sure."""

WIDER = F(1.4)
"""Of the square of the distance at which the last boid's nearest ended: within it the next one's are looked for first."""

ALIGNED = 256
"""Bytes. Sixteen lanes across two lines of the cache (64 bytes) take twice as long, and across two pages of memory ten times: the first
few of an array, which are written for each boid, must not lie there: they else do in one process of ten, for as long as it lives."""

NEXT = np.uintp(PART)
"""Unsigned: numba lets a negative index count from the end, and looks at each for that."""

OWN, END, BRICK, FIRST, LAST, SIZE, SHIFT = range(7)
"""What is known of a home, a cell or several side by side whose boids share a window: where these begin and end in the grid's order; its
brick, and its first and last cell there; how many are in its window, 0 for none to look through, and how much further up its own boids
stand there than in the order."""

SHARED = LANES
"""Boids of a home of several cells, at most: filling a window takes as long as some of them take to look through it."""


class Scratch(NamedTuple):
    """What one thread writes to on the way. W is the room in a window, K how many of the nearest count."""

    near: np.ndarray
    """float32 (2 * 6 * W,): two windows, one for every other home: see `window`."""
    names: np.ndarray
    """int32 (2 * W,): where those in the windows stand in the grid's order."""
    keys: np.ndarray
    found: np.ndarray
    """float32 (W + 2 * LANES,) and int32 (W + LANES,): squares of the distances, and places in the window, of those that may be among
    one boid's nearest."""
    chosen: np.ndarray
    chosen_keys: np.ndarray
    """int32 and float32 (MOST + LANES,): the same of its nearest."""
    slots: np.ndarray
    """float32 (K * SLOT,): those of all boids of the chunk: see `pairs.weigh_nearest`."""
    sums: np.ndarray
    """float32 (CHUNK * LANES,): what the plain pair loop adds up, boid by boid."""
    rows: np.ndarray
    """float32 (ROWS * CHUNK,): see `motion`."""
    boids: np.ndarray
    stood: np.ndarray
    """int32 (CHUNK,): the boids of the chunk, and where they stand in the grid's order."""
    homes: np.ndarray
    """int64 (CHUNK, 7): its homes, see OWN."""
    places: np.ndarray
    """int64 (CHUNK,): boids of one home that still look."""
    runs: np.ndarray
    around: np.ndarray
    """int64 (128,) and (27,): begins and ends of the runs around one home, and the bricks around one brick."""
    counts: np.ndarray
    """int64 (BRICK,): boids of each cell of a brick."""
    starts: np.ndarray
    ends: np.ndarray
    """int64 (LANES,): the rows and columns of `lanes.transpose`."""


def scratch_for(neighbours: int, room: int, kept: Scratch | None = None) -> Scratch:
    """With windows for so many boids; the rest is `kept` where there is one."""
    room = -(-room // LANES) * LANES
    near, names = zeros(12 * room, np.float32), zeros(2 * room, np.int32)
    keys, found = zeros(room + 2 * LANES, np.float32), zeros(room + LANES, np.int32)
    if kept:
        return kept._replace(near=near, names=names, keys=keys, found=found)
    return Scratch(
        near, names, keys, found, zeros(MOST + LANES, np.int32), zeros(MOST + LANES, np.float32),
        zeros(neighbours * SLOT, np.float32), zeros(CHUNK * LANES, np.float32), zeros(ROWS * CHUNK, np.float32),
        zeros(CHUNK, np.int32), zeros(CHUNK, np.int32), zeros(7 * CHUNK, np.int64).reshape(CHUNK, 7), zeros(CHUNK, np.int64),
        zeros(128, np.int64), zeros(27, np.int64), zeros(hash_grid.BRICK, np.int64), zeros(LANES, np.int64), zeros(LANES, np.int64),
    )  # fmt: skip


def zeros(count: int, kind: type) -> np.ndarray:
    """Where sixteen lanes are read and written fast: see ALIGNED."""
    size = count * np.dtype(kind).itemsize
    room = np.zeros(size + ALIGNED, np.uint8)
    begin = -room.ctypes.data % ALIGNED
    return room[begin : begin + size].view(kind)


@joint()
def gather_chunk(chunk, board, todo, scratch, grid, frame, boids_in, look, plain, general, nearest, complete, crowded):
    """The pair sums of a chunk of boids, into rows; or, of the nearest, who they are, into slots.

    How many boids there are, and 0, or the size of the window that they need. Who has more than `crowded` boids in the window waits.
    """
    start, bricks, keys, packed = grid.start, grid.bricks, grid.brick_key, grid.packed
    near, names, runs, around, homes = scratch.near, scratch.names, scratch.runs, scratch.around, scratch.homes
    room = len(names) // 2
    reach = reach_of(1, frame, look, complete)
    lanes, limit, brick = np.int64(0), ZERO, np.int64(-1)
    waiting, crowd, periodic = 0, 0, frame[2, 0] > 0.0
    number = homes_of(chunk, 0 if periodic else SHARED, todo, grid, homes)
    for index in range(number + 1):
        if index < number:
            home, side = homes[index], index & 1
            if periodic:
                home[SIZE] = 1
            else:
                if home[BRICK] != brick:
                    brick = home[BRICK]
                    hash_grid.bricks_around(brick, around, start, bricks, keys)
                    if len(todo) > CACHED:
                        hash_grid.expect_above(around, grid)
                count, size = hash_grid.runs_around(home[FIRST], home[LAST], around, runs, grid)
                begin, end = looked_for(home, chunk)
                home[SIZE] = 0
                if size > crowded:
                    waiting += end - begin
                    crowd += (end - begin) * (home[END] - home[OWN])
                elif size + PADDING > room:
                    return 0, size + PADDING
                else:
                    home[SHIFT] = window.bring_home_first(home[OWN], count, runs) - home[OWN]
                    home[SIZE] = window.fill(
                        near[6 * room * side : 6 * room * (side + 1)], names[room * side : room * (side + 1)], count, runs, packed,
                        look.named != ZERO, window.box_around(begin, end, packed), reach,
                    )  # fmt: skip
        if index > 0 and homes[index - 1, SIZE] > 0:
            lanes, limit, needed = look_around(
                homes[index - 1], (index - 1) & 1, lanes, limit, chunk, todo, scratch, grid, frame, boids_in, look, plain,
                general, nearest, complete,
            )  # fmt: skip
            if needed:
                return 0, needed
    if waiting:  # told at the end alone: this may have to begin anew
        atomic_add(board, CROWDED, waiting)
        atomic_add(board, CROWD, crowd)
    return lanes, 0


@compiled()
def reach_of(steps, frame, look, complete):
    """How far from each boid all are in its window, which holds the cells up to so many `steps` away."""
    return look.reach if complete != 0 else min(look.reach, F(1.0 / frame[1, 0]) * F(steps))


@compiled()
def looked_for(home, chunk):
    """Which boids of a home belong to a chunk."""
    return max(home[OWN], chunk * CHUNK), min(home[END], (chunk + 1) * CHUNK)


@compiled()
def homes_of(chunk, shared, todo, grid, homes):
    """The homes of a chunk in which somebody still looks, into `homes` int64 (CHUNK, 7), of several cells for up to `shared` boids.

    Returns how many there are.
    """
    start, bricks, order, cells, brick_start, brick_first, cell_end = (
        grid.start, grid.bricks, grid.order, grid.brick_cells, grid.brick_start, grid.brick_first, grid.cell_end,
    )  # fmt: skip
    slot, end = chunk * CHUNK, min((chunk + 1) * CHUNK, len(order))
    bucket, number = bucket_at(slot, start), 0
    while slot < end:
        while start[bucket + 1] <= slot:
            bucket += 1
        brick, last = np.int64(start[bucket]), np.int64(start[bucket]) + bricks[bucket] - 1
        while brick < last and brick_start[brick + 1] <= slot:
            brick += 1
        bits, at, own = np.int64(cells[brick]), np.int64(brick_first[brick]), np.int64(brick_start[brick])
        while bits != 0 and slot < end:
            own_end = np.int64(cell_end[at])
            if own_end > slot and any_left(slot, min(own_end, end), order, todo):
                along, home = lowest_bit(bits), homes[max(number - 1, 0)]
                if number and home[BRICK] == brick and home[LAST] == along - 1 and own_end - home[OWN] <= shared:
                    home[END], home[LAST] = own_end, along
                else:
                    home = homes[number]
                    home[OWN], home[END], home[BRICK], home[FIRST], home[LAST] = own, own_end, brick, along, along
                    number += 1
            bits &= bits - 1
            at += 1
            slot = max(slot, min(own_end, end))
            own = own_end
    return number


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
def any_left(begin, end, order, todo):
    """Whether one of a cell's boids in the chunk still looks for its nearest; the cell's others may be flown by others meanwhile."""
    while begin < end and todo[order[begin]] == 0:
        begin += 1
    return begin < end


@joint()
def look_around(
    home, side, lanes, limit, chunk, todo, scratch, grid, frame, boids_in, look, plain, general, nearest, complete
):
    """What the boids of one home find in its window, from lane `lanes` on.

    Returns how many lanes are taken then, the square within which to look first for the next one's nearest, and 0, or the size of the
    window that is needed. Who does not find enough of them next to its cell looks once more, twice as far.
    """
    order, keys, packed = grid.order, grid.brick_key, grid.packed
    boids, runs, places, stood = scratch.boids, scratch.runs, scratch.places, scratch.stood
    room, stride, count = len(scratch.names) // 2, len(packed) // RECORD, np.int64(0)
    near, names = scratch.near[6 * room * side : 6 * room * (side + 1)], scratch.names[room * side : room * (side + 1)]
    periodic = frame[2, 0] > 0.0
    size, shift = home[SIZE], home[SHIFT]
    begin, end = looked_for(home, chunk)
    left = end - begin
    for index in range(left):
        places[index] = begin + index
    if periodic:
        count, size = hash_grid.runs_in_period(keys[home[BRICK]], home[FIRST], frame, runs, grid)
        shift = window.bring_home_first(home[OWN], count, runs) - home[OWN]
        if size + PADDING > room:
            return 0, limit, size + PADDING
    for steps in range(1, 2 if complete != 0 else 3):
        if left == 0:
            break
        within = reach_of(steps, frame, look, complete)
        if steps == 2:
            count, size = hash_grid.runs_further(keys[home[BRICK]], home[FIRST], home[LAST], runs, grid)
            if size > WIDEST:
                break
            shift = window.bring_home_first(home[OWN], count, runs) - home[OWN]
            box = window.box_around(begin, end, packed)
            size = window.fill(near, names, count, runs, packed, look.named != ZERO, box, within)
        whole = (size + LANES - 1) // LANES * LANES
        view = (near[:whole], near[room : room + whole], near[2 * room : 2 * room + whole], near[3 * room : 3 * room + whole],
                near[4 * room : 4 * room + whole], near[5 * room : 5 * room + whole])  # fmt: skip
        looking, left = left, 0
        for index in range(looking):
            place = places[index]
            boid, mine = order[place], place + shift
            if todo[boid] == 0:
                continue
            x, y, z = packed[place], packed[stride + place], packed[2 * stride + place]
            if periodic:
                window.fill_whole(near, names, count, runs, packed, look.named != ZERO)
                window.bring_near(near, size, x, y, z, frame)
            resolved = True
            if plain is not None:
                sums = pairs.gather_plain(view, mine, x, y, z, plain[0], plain[1], plain[2], plain[3], plain[4])
                store(scratch.sums, LANES * lanes, sums)
            if general is not None:
                near[mine] = FAR  # the boid itself is out of its own sight
                general_sums(scratch, lanes, view, names, order, x, y, z, boids_in, boid, look)
                near[mine] = x
            if nearest is not None:
                inner = within * ALMOST if within < look.reach else HUGE
                resolved, limit = nearest_slots(
                    lanes, mine, view, scratch, names, order, x, y, z, boids_in, boid, look, nearest, limit, inner
                )
            if resolved:
                boids[lanes], stood[lanes] = boid, place
                lanes += 1
            else:
                places[left] = place
                left += 1
    return lanes, limit, 0


@joint()
def nearest_slots(lane, mine, view, scratch, names, order, x, y, z, boids_in, boid, look, neighbours, limit, inner):
    """Looks up the nearest of one boid and writes them into slots. `inner` is how far the window reaches.

    Returns whether they are known, and the square within which to look first for those of the next boid.
    """
    keys, found, chosen, chosen_keys, slots, rows = (
        scratch.keys, scratch.found, scratch.chosen, scratch.chosen_keys, scratch.slots, scratch.rows,
    )  # fmt: skip
    sight = (ZERO, ZERO, ZERO, ZERO, -TWO)
    if look.smooth == ZERO and look.widest >= -ONE:
        u, v, w = velocity_of(boid, boids_in)
        scale = inverse_length(u, v, w)
        all_round = ONE if u * u + v * v + w * w <= ZERO else ZERO
        sight = (u * scale, v * scale, w * scale, all_round, look.widest)
    most = neighbours + 1
    bound = min(inner, look.reach)
    bound = bound * bound
    limit = min(limit, bound)
    number = pairs.pick(view, x, y, z, sight, limit, mine, keys, found) if limit > ZERO else 0
    if number < most and limit < bound:
        number = pairs.pick(view, x, y, z, sight, bound, mine, keys, found)
    if number < most and inner < look.reach:
        return False, limit
    known, cut = pairs.choose(number, neighbours, keys, found, chosen)
    if not known or look.only != ZERO:
        pairs.rank(number, most, names, order, keys, found, chosen, chosen_keys)
        cut = chosen_keys[neighbours] if number >= most else FAR * FAR
    copy_slots(min(number, neighbours), neighbours, np.uintp(lane), view, x, y, z, chosen, slots)
    rows[CUT + lane] = cut if look.smooth != ZERO else FAR * FAR
    return True, cut * WIDER if number >= most else bound


@compiled()
def velocity_of(boid, boids_in):
    """From its record."""
    at = RECORD * np.int64(boid)
    return boids_in[at + 3], boids_in[at + 4], boids_in[at + 5]


@compiled()
def copy_slots(number, neighbours, lane, view, x, y, z, chosen, slots):
    """Offsets and aligned quantities of the `number` nearest of one boid; far away and at rest are those who are missing."""
    xs, ys, zs, us, vs, ws = view
    for place in range(number):
        at, slot = np.uintp(chosen[place]), np.uintp(place * SLOT) + lane
        slots[slot] = xs[at] - x
        slots[slot + NEXT] = ys[at] - y
        slots[slot + NEXT + NEXT] = zs[at] - z
        slots[slot + NEXT + NEXT + NEXT] = us[at]
        slots[slot + NEXT + NEXT + NEXT + NEXT] = vs[at]
        slots[slot + NEXT + NEXT + NEXT + NEXT + NEXT] = ws[at]
    for place in range(number, neighbours):
        for part in range(6):
            slots[place * SLOT + part * PART + np.int64(lane)] = FAR if part < 3 else ZERO


@joint()
def general_sums(scratch, lane, view, names, order, x, y, z, boids_in, boid, look):
    """Into rows."""
    rows = scratch.rows
    u, v, w = velocity_of(boid, boids_in)
    scale = inverse_length(u, v, w)
    heading = (u * scale, v * scale, w * scale)
    all_round = ONE if u * u + v * v + w * w <= ZERO else ZERO
    sums = pairs.gather_all(view, x, y, z, heading, all_round, look)
    for part in range(12):
        rows[SUMS + part * CHUNK + lane] = sums[part]
    if look.only != ZERO:
        nearest = pairs.nearest_intruder(view, names, order, x, y, z, heading, all_round, look)
        for part in range(4):
            rows[SUMS + part * CHUNK + lane] = nearest[part]
