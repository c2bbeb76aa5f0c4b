# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is near: boids sorted by cell, found through a hash table, so that memory follows their number and not the room they take.

Space is cut into cells, and these into bricks of 32 cells in a row along x. Boids are sorted twice: by the hash of their brick into
buckets, then by brick and cell within each bucket. Boids of one cell stand in the order of their indices: the whole order is a function
of the positions alone. A brick keeps a bit for each of its cells that is not empty, and where each of those ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .lanes import LANES, bit_count, compiled, inverse_length, joint, prefetch, transpose
from .state import RECORD

BRICK = 32
"""Cells in a brick."""

LOAD = 32
"""Boids for each bucket of the hash table."""

ROWS = 16 * 16
"""Rows of bricks in a block, which lie side by side in memory."""

BITS = 21
MIDDLE = 1 << (BITS - 1)
LAST = (1 << BITS) - 1
"""Cells are counted from 0 to LAST along each axis; who is further out shares the outermost, and is found by its distance all the same."""

CACHED = 30_000
"""Boids that the processor keeps at hand; of more, it is told early which come next."""

PADDING = 4 * LANES
"""Room behind the boids in a window."""

NOTHING = np.int64(-1)
"""In place of a brick that is not there: the last of the tables, which has no cells."""

X, Y, Z = np.int64(0), np.int64(1), np.int64(2)
"""The axes, of a type of their own: numba compiles a function again for each literal number."""


class Grid(NamedTuple):
    """The tables of one flock, used for one step after the other: every function here takes them as `grid`."""

    packed: np.ndarray
    """float32 (RECORD * N and some more,): records in the order of the cells, part by part: what is aligned in place of the velocity."""
    following: np.ndarray
    """int32 (R, B): boids of each bucket within each range of boids; then where the next of them goes."""
    start: np.ndarray
    """int32 (B + 1,): where each bucket starts."""
    bricks: np.ndarray
    """int32 (B,): how many bricks each bucket has. What is told of bricks begins where the boids of their bucket do."""
    unsorted: np.ndarray
    """int32 (N,): boids in the order of the buckets."""
    order: np.ndarray
    """int32 (N,): boids in the order of their cells."""
    cell: np.ndarray
    """int64 (N,): each boid's cell, see `cell_key`: in the memory of `packed`, which is filled later."""
    place: np.ndarray
    """int32 (N,): in the order of the buckets each boid's brick among those of its bucket, and its cell in that."""
    brick_key: np.ndarray
    """int64 (N,): each boid's cell in the order of the buckets, then the keys of the bricks."""
    brick_cells: np.ndarray
    """uint32 (N + 1,): a bit for each cell that is not empty; the last one is NOTHING."""
    brick_start: np.ndarray
    """int32 (N + 1,): where the boids of each brick start."""
    brick_first: np.ndarray
    """int32 (N + 1,): where the cells of each brick start in `cell_end`."""
    cell_end: np.ndarray
    """int32 (N,): where the boids of each cell that is not empty end."""


def grid_for(count: int, ranges: int) -> Grid:
    """Room for so many boids; they are counted in so many ranges at a time."""
    buckets = 1 << max(0, int(np.ceil(np.log2(max(1, count / LOAD)))))
    packed = np.zeros(RECORD * (count + PADDING), np.float32)
    # all in one: the system gives large pages to what is large, and looks up places in these faster
    tables = np.zeros((7, count + 1), np.int32)
    unsorted, order, place, cell_end = tables[:4, :count]
    brick_start, brick_first, brick_cells = tables[4:]
    return Grid(
        packed, np.empty((ranges, buckets), np.int32), np.zeros(buckets + 1, np.int32), np.zeros(buckets, np.int32),
        unsorted, order, packed[: 2 * count].view(np.int64), place, np.empty(count, np.int64), brick_cells.view(np.uint32),
        brick_start, brick_first, cell_end,
    )  # fmt: skip


@compiled()
def cell(coordinate, axis, frame):
    """Number of the cell along one axis; in float64, so that no boid strays into a cell that is not its own.

    What is no number is in the first cell.

    `frame` float64 (3, 3): where the middle cells begin; 1 / the cells' sizes; and how many cells make up the period of a periodic box,
    or 0.
    """
    place = (np.float64(coordinate) - frame[0, axis]) * frame[1, axis] + MIDDLE
    return np.int64(min(place, 1.0 * LAST)) if place > 0.0 else np.int64(0)


@compiled()
def cell_in_period(coordinate, axis, frame):
    """As `cell`, in a periodic box."""
    place = (np.float64(coordinate) - frame[0, axis]) * frame[1, axis]
    place -= np.floor(place / frame[2, axis]) * frame[2, axis]
    return MIDDLE + (min(np.int64(place), np.int64(frame[2, axis]) - 1) if place > 0.0 else np.int64(0))


@compiled()
def cell_of(boid, boids, frame):
    """The cell in which a boid is, see `cell_key`. `boids` float32 (RECORD * N,): records one after the other."""
    x, y, z = boids[RECORD * boid], boids[RECORD * boid + 1], boids[RECORD * boid + 2]
    if frame[2, X] > 0.0:
        return cell_key(cell_in_period(x, X, frame), cell_in_period(y, Y, frame), cell_in_period(z, Z, frame))
    return cell_key(cell(x, X, frame), cell(y, Y, frame), cell(z, Z, frame))


@compiled()
def cell_key(x, y, z):
    """A cell as one number: that of its brick, and behind it five bits for its place in that."""
    return ((z << BITS) | y) << BITS | x


@compiled()
def brick_key(x, y, z):
    """The brick of a cell, as one number."""
    return cell_key(x, y, z) >> 5


@compiled()
def bucket_of(key, buckets):
    """A number below `buckets`, a power of two: blocks of 16 rows by 16 are hashed (Knuth 6.4), and keep their rows side by side.

    So what is near in space is mostly near in memory: three layers of a block, which are looked through for one, fit into the cache.
    Each block begins with another row, so that a line of bricks fills the whole table.
    """
    x, y, z = key & (LAST >> 5), (key >> (BITS - 5)) & LAST, key >> (2 * BITS - 5)
    block = np.uint64((((z >> 4) << BITS) | (y >> 4)) << BITS | x) * np.uint64(0x9E3779B97F4A7C15)
    begin, row = np.int64(block >> np.uint64(56)), (z & 15) << 4 | (y & 15)
    return (np.int64(block >> np.uint64(40)) << 8 | (begin + row) & (ROWS - 1)) & (buckets - 1)


@compiled()
def count_range(at, ranges, boids, frame, grid):
    """Buckets of one of the `ranges` of the boids, and how many it has in each."""
    following, cells = grid.following, grid.cell
    buckets = following.shape[1]
    for index in range(buckets):
        following[at, index] = 0
    begin, end = at * len(cells) // ranges, (at + 1) * len(cells) // ranges
    for boid in range(begin, end):
        cells[boid] = cell_of(boid, boids, frame)
    for boid in range(begin, end):
        following[at, bucket_of(cells[boid] >> 5, buckets)] += 1


@compiled()
def start_buckets(ranges, grid):
    """Where each bucket starts, and where in it each range puts its boids: the ranges one after the other, so that indices keep rising."""
    following, start = grid.following, grid.start
    total = 0
    for index in range(following.shape[1]):
        start[index] = total
        for at in range(ranges):
            total, following[at, index] = total + following[at, index], total
    start[following.shape[1]] = total


@compiled()
def place_range(at, ranges, grid):
    """Puts the boids of one range into their buckets."""
    following, cells, unsorted, keys = grid.following, grid.cell, grid.unsorted, grid.brick_key
    buckets = following.shape[1]
    for boid in range(at * len(cells) // ranges, (at + 1) * len(cells) // ranges):
        home = bucket_of(cells[boid] >> 5, buckets)
        slot = following[at, home]
        following[at, home] = slot + 1
        unsorted[slot] = boid
        keys[slot] = cells[boid]


@joint()
def sort_bucket(home, boids, headings, scratch, grid):
    """Sorts one bucket by brick and cell, and packs it.

    `headings`: not the velocities but their directions are packed.
    """
    start, brick_start, brick_first, cells = grid.start, grid.brick_start, grid.brick_first, grid.brick_cells
    begin, end = np.int64(start[home]), np.int64(start[home + 1])
    if len(boids) > CACHED * RECORD:
        expect(end, np.int64(start[min(home + 2, len(start) - 1)]), boids, grid.unsorted)
    found = _name_bricks(begin, end, grid)
    grid.bricks[home] = found
    following, first = begin, begin
    for brick in range(begin, begin + found):
        brick_start[brick], brick_first[brick] = following, first
        following, cells[brick] = _sort_brick(brick - begin, begin, end, following, scratch.counts, grid)
        first += bit_count(np.int64(cells[brick]))
    _pack(begin, end, boids, headings, scratch, grid)


@compiled()
def _pack(begin, end, boids, headings, scratch, grid):
    """The records of some boids, part by part."""
    packed, order, rows, columns = grid.packed, grid.order, scratch.starts, scratch.ends
    stride = len(packed) // RECORD
    for block in range(begin, end, LANES):
        number = min(end - block, LANES)
        for lane in range(number):
            rows[lane] = RECORD * np.int64(order[block + lane])
        for part in range(RECORD):
            columns[part] = part * stride + block
        transpose(boids, rows, packed, columns, number, RECORD)
        if headings:
            x, y, z = columns[3], columns[4], columns[5]
            for lane in range(number):
                scale = inverse_length(packed[x + lane], packed[y + lane], packed[z + lane])
                packed[x + lane] *= scale
                packed[y + lane] *= scale
                packed[z + lane] *= scale


@compiled()
def expect(begin, end, boids, order):
    """Asks for the records of those who are soon to be read or written: in `order` they lie all over the memory."""
    for slot in range(begin, end):
        boid = np.int64(order[slot])
        prefetch(boids, RECORD * boid)
        prefetch(boids, RECORD * boid + RECORD - 1)


@compiled()
def _name_bricks(begin, end, grid):
    """Lists the different bricks of a bucket, and writes down the brick and the cell in it of each boid; how many bricks there are."""
    place, keys = grid.place, grid.brick_key
    found, brick = 0, 0
    for slot in range(begin, end):
        key, along = keys[slot] >> 5, keys[slot] & (BRICK - 1)
        if found == 0 or keys[begin + brick] != key:
            brick = 0
            while brick < found and keys[begin + brick] != key:
                brick += 1
            if brick == found:
                keys[begin + brick] = key  # the list never overtakes the boids whose keys it is written over
                found += 1
        place[slot] = brick * BRICK + along
    return found


@compiled()
def _sort_brick(brick, begin, end, following, counts, grid):
    """Counting sort of one brick's boids; where the next brick starts, and the bits of the cells that are not empty."""
    unsorted, order, place, cell_end = grid.unsorted, grid.order, grid.place, grid.cell_end
    first = np.int64(grid.brick_first[begin + brick])
    for index in range(BRICK):
        counts[index] = 0
    for slot in range(begin, end):
        if place[slot] >> 5 == brick:
            counts[place[slot] & (BRICK - 1)] += 1
    cells = np.int64(0)
    for index in range(BRICK):
        size = counts[index]
        counts[index] = following
        following += size
        if size:
            cells |= np.int64(1) << index
            cell_end[first] = following
            first += 1
    for slot in range(begin, end):
        if place[slot] >> 5 == brick:
            at = counts[place[slot] & (BRICK - 1)]
            counts[place[slot] & (BRICK - 1)] += 1
            order[at] = unsorted[slot]
    return following, np.uint32(cells)


@compiled()
def find_brick(x, y, z, start, bricks, keys):
    """Where in the tables the brick of a cell is, or -1: nobody there."""
    if min(x, y, z) < 0 or max(x, y, z) > LAST:
        return NOTHING
    key = brick_key(x, y, z)
    home = bucket_of(key, len(bricks))
    begin = np.int64(start[home])
    for brick in range(begin, begin + bricks[home]):
        if keys[brick] == key:
            return brick
    return NOTHING


@compiled()
def add_run(brick, low, high, number, size, runs, grid):
    """Adds the boids in the cells `low` to `high` of a brick, if there are any, to the runs: see `runs_around`.

    Without branches: at the border of a flock many bricks are not there, which nobody can foresee.
    """
    cells, brick_start, brick_first, cell_end = grid.brick_cells, grid.brick_start, grid.brick_first, grid.cell_end
    bits, first = np.int64(cells[brick]), np.int64(brick_first[brick])
    before = first + bit_count(bits & ((np.int64(1) << low) - 1))
    after = first + bit_count(bits & ((np.int64(2) << high) - 1))
    begin = np.int64(cell_end[before - 1]) if before > first else np.int64(brick_start[brick])
    end = np.int64(cell_end[after - 1]) if after > first else begin
    runs[2 * number], runs[2 * number + 1] = begin, end
    return number + (end > begin), size + end - begin


@compiled()
def bricks_around(brick, around, start, bricks, keys):
    """The bricks whose cells may touch a brick's, into `around` int64 (27,): x fastest, then y, then z."""
    key = keys[brick] << 5
    x, y, z = key & LAST, (key >> BITS) & LAST, key >> (2 * BITS)
    for index in range(27):
        around[index] = find_brick(
            x + BRICK * (index % 3 - 1), y + index // 3 % 3 - 1, z + index // 9 - 1, start, bricks, keys
        )


@compiled()
def expect_above(around, grid):
    """Asks for the boids of three bricks around one, those in the next layer: of the others most have been looked through just before."""
    cells, brick_first, packed = grid.brick_cells, grid.brick_first, grid.packed
    stride = len(packed) // RECORD
    for row in range(6, 9):
        brick = around[3 * row + 1]
        if brick != NOTHING:
            last = np.int64(brick_first[brick]) + bit_count(np.int64(cells[brick])) - 1
            for slot in range(grid.brick_start[brick], grid.cell_end[last], LANES):
                for part in range(6):
                    prefetch(packed, part * stride + slot)


@compiled()
def runs_around(first, last, around, runs, grid):
    """The boids in the cells `first` to `last` of a brick and those around, 27 for one, as runs: begin and end of each, into `runs`.

    `runs` int64 (2 * 19,). Returns how many runs, and how many boids, there are.
    """
    number, size = 0, 0
    for row in range(9):
        for side in range(1 if first > 0 else 0, 2 if last < BRICK - 1 else 3):
            brick = around[3 * row + side]
            low = max(first - 1 - BRICK * (side - 1), 0)
            high = min(last + 1 - BRICK * (side - 1), BRICK - 1)
            number, size = add_run(brick, low, high, number, size, runs, grid)
    return number, size


@compiled()
def runs_further(key, first, last, runs, grid):
    """As `runs_around`, two cells far, 125 for one."""
    cell = key << 5
    x, y, z = cell & LAST, (cell >> BITS) & LAST, cell >> (2 * BITS)
    begin, end = x + first - 2, x + last + 2
    number, size = 0, 0
    for row in range(25):
        for part in range(begin >> 5, (end >> 5) + 1):
            brick = find_brick(part * BRICK, y + row % 5 - 2, z + row // 5 - 2, grid.start, grid.bricks, grid.brick_key)
            low, high = max(begin - part * BRICK, 0), min(end - part * BRICK, BRICK - 1)
            number, size = add_run(brick, low, high, number, size, runs, grid)
    return number, size


@compiled()
def _steps(number):
    """The neighbouring cells to visit along one axis, each once, also where a periodic box is narrower than three."""
    return (0, number) if number < 3 else (-1, 2)


@compiled()
def runs_in_period(key, along, frame, runs, grid):
    """As `runs_around`, in a periodic box: cell by cell, the short way round."""
    first = key << 5
    x, y, z = (first & LAST) + along - MIDDLE, ((first >> BITS) & LAST) - MIDDLE, (first >> (2 * BITS)) - MIDDLE
    nx, ny, nz = np.int64(frame[2, 0]), np.int64(frame[2, 1]), np.int64(frame[2, 2])
    number, size = 0, 0
    low_x, high_x = _steps(nx)
    low_y, high_y = _steps(ny)
    low_z, high_z = _steps(nz)
    for dz in range(low_z, high_z):
        for dy in range(low_y, high_y):
            for dx in range(low_x, high_x):
                place = MIDDLE + (x + dx) % nx
                brick = find_brick(
                    place, MIDDLE + (y + dy) % ny, MIDDLE + (z + dz) % nz, grid.start, grid.bricks, grid.brick_key
                )
                at = place & (BRICK - 1)
                number, size = add_run(brick, at, at, number, size, runs, grid)
    return number, size
