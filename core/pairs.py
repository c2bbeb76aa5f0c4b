# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled pair loops: what one boid gathers from the boids in its window, in float32 lanes.

There are three: the plain one (hard balls, seen all round, directions alone), the general one (everything else), and the nearest, which
looks for the k nearest first and leaves the weighing to a loop over many boids. Only what a pair has to know is decided here.
"""

from __future__ import annotations

import numpy as np

from .lanes import (
    FAR,
    HAS_COMPRESS,
    LANES,
    ONE,
    THREE,
    TINY,
    TWO,
    ZERO,
    F,
    above,
    added,
    added_where,
    at_most,
    bit_count,
    bits_of,
    both,
    compiled,
    counted_from,
    differs,
    first_lanes,
    first_of,
    inverse,
    inverse_length,
    inverse_root,
    lane_of,
    larger,
    least,
    load,
    lowest_bit,
    minus,
    smaller,
    splat,
    store,
    store_packed,
    times,
    totals,
    where,
)  # fmt: skip
from .motion import CHUNK, CUT, SUMS, VELOCITY

LOOK = np.dtype(
    [(name, np.float32, 3) for name in ("radius", "fade", "inner", "shell", "shell_start", "sight")]
    + [
        (name, np.float32)
        for name in ("slope", "smooth", "widest", "reach", "only", "offset", "direction", "heading", "named")
    ]
    + [("falloff", np.float32, 4)]
)
"""What the weights depend on, for each of the three rules: the square of the radius, and 1 / radius² where the edge is smooth, else 0; the
square of the inner radius where that edge is hard, else how a neighbour fades in, over distance · shell - shell_start; the cosine of half
the view. For all: how steeply one fades in over the cosine; 1 for smooth edges; the widest view's cosine; the largest radius; separation's
factors of the offset over 1, 1 / d, 1 / d² and 1 / d³, and 1 if only the nearest counts; cohesion's over 1 and 1 / d;
1 where headings are aligned, and not velocities; and 1 where ties are broken, for which indices are needed."""

NEAR, MIDDLE, WIDE = np.int64(0), np.int64(1), np.int64(2)
"""The rules: separation, alignment, cohesion."""

TOGETHER = 8
"""Candidates that are compared without asking whether there are so many: loops that end now here, now there, cost more."""

MOST = 64
"""Candidates that are ranked by counting; more are sorted in."""


PLAIN_SUMS = 9
"""Components of the three rules' vectors: all that the plain loop adds up."""


@compiled()
def gather_plain(window, mine, x, y, z, near, middle, wide, constant, inverse_square):
    """The nine components, one in each lane, without the weights' sums: for what goes on with directions alone. Radii are squares.

    One pass without branches; its bits depend on the window alone. Separation is the offset times constant + inverse_square / d².
    """
    xs, ys, zs, us, vs, ws = window
    ax = ay = az = cx = cy = cz = splat(ZERO)
    itself = -ONE if middle >= ZERO else ZERO  # is about to be counted
    bx, by, bz = first_of(itself * us[mine]), first_of(itself * vs[mine]), first_of(itself * ws[mine])
    x, y, z = splat(x), splat(y), splat(z)
    near, middle, wide, constant, inverse_square = (
        splat(near), splat(middle), splat(wide), splat(constant), splat(inverse_square),
    )  # fmt: skip
    guard, nothing = splat(TINY), splat(ZERO)
    for at in range(0, len(xs), LANES):
        dx, dy, dz = minus(load(xs, at), x), minus(load(ys, at), y), minus(load(zs, at), z)
        square = added(added(added(guard, times(dx, dx)), times(dy, dy)), times(dz, dz))
        scale = where(at_most(square, near), added(constant, times(inverse_square, inverse(square))), nothing)
        align, cohere = at_most(square, middle), at_most(square, wide)
        ax, ay, az = minus(ax, times(scale, dx)), minus(ay, times(scale, dy)), minus(az, times(scale, dz))
        bx, by, bz = (
            added_where(align, bx, load(us, at)),
            added_where(align, by, load(vs, at)),
            added_where(align, bz, load(ws, at)),
        )
        cx, cy, cz = added_where(cohere, cx, dx), added_where(cohere, cy, dy), added_where(cohere, cz, dz)
    return totals((ax, ay, az, bx, by, bz, cx, cy, cz))


@compiled()
def eased(share):
    """Smoothstep: 0 below 0, 1 above 1."""
    share = min(max(share, ZERO), ONE)
    return share * share * (THREE - TWO * share)


@compiled()
def weight(square, distance, cosine, rule, slope):
    """Of one neighbour for one rule, given as the six numbers of LOOK."""
    radius, fade, inner, shell, shell_start, view = rule
    within = ONE if (square < radius) & (square >= inner) else ZERO
    share = ONE - min(square * fade, ONE)
    return within * share * share * eased(distance * shell - shell_start) * eased((cosine - view) * slope)


@compiled()
def rule_of(look, index):
    return (
        look.radius[index],
        look.fade[index],
        look.inner[index],
        look.shell[index],
        look.shell_start[index],
        look.sight[index],
    )


@compiled()
def seen_from(square, dx, dy, dz, heading, all_round):
    """1 / distance, and the cosine of the angle from the heading: 1 for who is in the same place, and for all when the boid rests."""
    inverse = ONE / np.sqrt(max(square, TINY))
    cosine = (dx * heading[0] + dy * heading[1] + dz * heading[2]) * inverse
    return inverse, ONE if square <= ZERO else cosine + all_round


@compiled()
def gather_all(window, x, y, z, heading, all_round, look):
    """The twelve sums in any settings, over all in the window. `all_round` is 1 for a boid at rest, whose heading is zero, else 0."""
    near, middle, wide = rule_of(look, NEAR), rule_of(look, MIDDLE), rule_of(look, WIDE)
    c0, c1, c2, c3 = look.falloff[0], look.falloff[1], look.falloff[2], look.falloff[3]
    slope, offset, direction = look.slope, look.offset, look.direction
    ax = ay = az = an = bx = by = bz = bn = cx = cy = cz = cn = ZERO
    xs, ys, zs, us, vs, ws = window
    for at in range(len(xs)):
        dx, dy, dz = xs[at] - x, ys[at] - y, zs[at] - z
        u, v, w = us[at], vs[at], ws[at]
        square = dx * dx + dy * dy + dz * dz
        inverse, cosine = seen_from(square, dx, dy, dz, heading, all_round)
        separate = weight(square, square * inverse, cosine, near, slope)
        align = weight(square, square * inverse, cosine, middle, slope)
        cohere = weight(square, square * inverse, cosine, wide, slope)
        scale = separate * (c0 + inverse * (c1 + inverse * (c2 + inverse * c3)))
        ax -= scale * dx
        ay -= scale * dy
        az -= scale * dz
        an += separate
        bx += align * u
        by += align * v
        bz += align * w
        bn += align
        scale = cohere * (offset + direction * inverse)
        cx += scale * dx
        cy += scale * dy
        cz += scale * dz
        cn += cohere
    return ax, ay, az, an, bx, by, bz, bn, cx, cy, cz, cn


@compiled()
def nearest_intruder(window, names, order, x, y, z, heading, all_round, look):
    """Separation's vector and weight from the nearest alone that counts, ties by index. `names` int32 (W,): their places in `order`."""
    xs, ys, zs, _, _, _ = window
    best, name, ax, ay, az, an = FAR * FAR, np.int32(0), ZERO, ZERO, ZERO, ZERO
    for at in range(len(xs)):
        dx, dy, dz = xs[at] - x, ys[at] - y, zs[at] - z
        square = dx * dx + dy * dy + dz * dz
        if square < best or (square == best and order[names[at]] < name):
            inverse, cosine = seen_from(square, dx, dy, dz, heading, all_round)
            counts = weight(square, square * inverse, cosine, rule_of(look, NEAR), look.slope)
            if counts > ZERO:
                best, name, an = square, order[names[at]], counts
                ax, ay, az = -counts * inverse * dx, -counts * inverse * dy, -counts * inverse * dz
    return ax, ay, az, an


# the k nearest


@compiled()
def within(window, block, place, sight, limit):
    """Squares of the distances of sixteen in the window, and a mask of those within `limit` who are seen.

    `sight` is the heading, 1 for a boid at rest, who sees all round, and the cosine that a neighbour must exceed to take anybody's place
    among the nearest, below -1 for no such edge.
    """
    xs, ys, zs, _, _, _ = window
    dx, dy, dz = minus(load(xs, block), place[0]), minus(load(ys, block), place[1]), minus(load(zs, block), place[2])
    square = added(added(times(dx, dx), times(dy, dy)), times(dz, dz))
    mask = at_most(square, splat(limit))
    u, v, w, all_round, edge = sight
    if edge >= -ONE:
        ahead = added(added(times(dx, splat(u)), times(dy, splat(v))), times(dz, splat(w)))
        cosine = added(times(ahead, inverse_root(larger(square, splat(TINY)))), splat(all_round))
        mask = both(mask, above(where(at_most(square, splat(ZERO)), splat(ONE), cosine), splat(edge)))
    return square, mask


@compiled()
def pick_bit_by_bit(window, x, y, z, sight, limit, mine, keys, found):
    """Those within `limit`, but for the boid itself at `mine`: squares into `keys`, places in the window into `found`; how many."""
    number, place = 0, (splat(x), splat(y), splat(z))
    for block in range(0, len(window[0]), LANES):
        squares, mask = within(window, block, place, sight, limit)
        spare = number + LANES  # behind all that may be found in this block
        store(keys, spare, squares)
        bits = bits_of(mask)
        while bits:
            lane = lowest_bit(bits)
            keys[number], found[number] = keys[spare + lane], block + lane
            number += block + lane != mine
            bits &= bits - 1
    return number


@compiled()
def pick_packed(window, x, y, z, sight, limit, mine, keys, found):
    """As `pick_bit_by_bit`, without branches."""
    number, place = 0, (splat(x), splat(y), splat(z))
    for block in range(0, len(window[0]), LANES):
        squares, mask = within(window, block, place, sight, limit)
        places = counted_from(block)
        mask = both(mask, differs(places, mine))
        store_packed(mask, squares, keys, number)
        store_packed(mask, places, found, number)
        number += bit_count(bits_of(mask))
    return number


pick = pick_packed if HAS_COMPRESS else pick_bit_by_bit


@compiled()
def choose(number, neighbours, keys, found, chosen):
    """The nearest of those found into `chosen`, in the order in which they were found, by counting for each how many are no further.

    Returns whether that was possible: not if two at the edge are equally far, or very many were found; and the square of the distance
    of the next one, FAR * FAR if there is none.
    """
    if number > MOST:
        return False, FAR * FAR
    store(keys, number, splat(FAR * FAR))
    taken, cut, enough, one = 0, splat(FAR * FAR), splat(F(neighbours)), splat(ONE)
    for block in range(0, number, LANES):
        there, numbers = first_lanes(number - block), load(keys, block)
        even = odd = splat(ZERO)  # how many are no further
        for some in range(0, number, TOGETHER):
            for index in range(some, some + TOGETHER, 2):  # two sums: an addition waits for the one before
                even = added_where(at_most(splat(keys[index]), numbers), even, one)
                odd = added_where(at_most(splat(keys[index + 1]), numbers), odd, one)
        near = both(at_most(added(even, odd), enough), there)
        taken = pack_places(near, found, block, chosen, taken)
        cut = smaller(cut, where(near, splat(FAR * FAR), numbers))
    return taken == min(number, neighbours), lane_of(least((cut,)), np.int32(0))


@compiled()
def pack_bit_by_bit(near, found, block, chosen, taken):
    """Those of 16 places that the mask names, to `chosen` from `taken` on; how many there are then."""
    bits = bits_of(near)
    while bits:
        chosen[taken] = found[block + lowest_bit(bits)]
        taken += 1
        bits &= bits - 1
    return taken


@compiled()
def pack_lanes(near, found, block, chosen, taken):
    """As `pack_bit_by_bit`, without branches."""
    store_packed(near, load(found, block), chosen, taken)
    return taken + bit_count(bits_of(near))


pack_places = pack_lanes if HAS_COMPRESS else pack_bit_by_bit


@compiled()
def rank(number, most, names, order, keys, found, chosen, chosen_keys):
    """The `most` nearest of those found, by distance, ties by index, into `chosen` and `chosen_keys` (MOST and more,)."""
    for index in range(number):
        key, at = keys[index], found[index]
        into = min(index, most)
        while into > 0 and (
            key < chosen_keys[into - 1]
            or (key == chosen_keys[into - 1] and order[names[at]] < order[names[chosen[into - 1]]])
        ):
            chosen_keys[into], chosen[into] = chosen_keys[into - 1], chosen[into - 1]
            into -= 1
        if into < most:
            chosen_keys[into], chosen[into] = key, at


PART = CHUNK + LANES
SLOT = 6 * PART
"""Numbers for one of the nearest of each boid of a chunk: offset and aligned quantity, part by part. The parts lie a line further apart
than they need, since what lies apart by a power of two competes for the same few places in the cache."""


@compiled()
def weigh_nearest(rows, lanes, slots, number, look):
    """The twelve sums from the `number` nearest, who lie in `slots` float32 (number * SLOT,), for all boids of a chunk at once."""
    near, middle, wide = rule_of(look, NEAR), rule_of(look, MIDDLE), rule_of(look, WIDE)
    c0, c1, c2, c3 = look.falloff[0], look.falloff[1], look.falloff[2], look.falloff[3]
    slope, smooth, only, offset, direction = look.slope, look.smooth, look.only, look.offset, look.direction
    for index in range(SUMS, SUMS + 12 * CHUNK):
        rows[index] = ZERO
    for place in range(number):
        slot = slots[place * SLOT : (place + 1) * SLOT]
        for lane in range(lanes):
            u, v, w = rows[VELOCITY + lane], rows[VELOCITY + CHUNK + lane], rows[VELOCITY + 2 * CHUNK + lane]
            dx, dy, dz = slot[lane], slot[PART + lane], slot[2 * PART + lane]
            a, b, c = slot[3 * PART + lane], slot[4 * PART + lane], slot[5 * PART + lane]
            square = dx * dx + dy * dy + dz * dz
            scale = inverse_length(u, v, w)
            all_round = ONE if u * u + v * v + w * w <= ZERO else ZERO
            inverse, cosine = seen_from(square, dx, dy, dz, (u * scale, v * scale, w * scale), all_round)
            distance = square * inverse
            cut = rows[CUT + lane]
            fade = smooth / max(cut, TINY)
            separate = weight(square, distance, cosine, faded(near, cut, fade), slope)
            align = weight(square, distance, cosine, faded(middle, cut, fade), slope)
            cohere = weight(square, distance, cosine, faded(wide, cut, fade), slope)
            taken = only if rows[SUMS + 3 * CHUNK + lane] > ZERO else ZERO
            separate = separate * (ONE - taken)
            scale = separate * (c0 + inverse * (c1 + inverse * (c2 + inverse * c3)))
            rows[SUMS + lane] -= scale * dx
            rows[SUMS + CHUNK + lane] -= scale * dy
            rows[SUMS + 2 * CHUNK + lane] -= scale * dz
            rows[SUMS + 3 * CHUNK + lane] += separate
            rows[SUMS + 4 * CHUNK + lane] += align * a
            rows[SUMS + 5 * CHUNK + lane] += align * b
            rows[SUMS + 6 * CHUNK + lane] += align * c
            rows[SUMS + 7 * CHUNK + lane] += align
            scale = cohere * (offset + direction * inverse)
            rows[SUMS + 8 * CHUNK + lane] += scale * dx
            rows[SUMS + 9 * CHUNK + lane] += scale * dy
            rows[SUMS + 10 * CHUNK + lane] += scale * dz
            rows[SUMS + 11 * CHUNK + lane] += cohere


@compiled()
def faded(rule, cut, fade):
    """The rule, with its radius and where it fades out no further than the next of the nearest."""
    return min(rule[0], cut), max(rule[1], fade), rule[2], rule[3], rule[4], rule[5]
