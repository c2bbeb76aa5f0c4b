# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled motion: from pair sums to velocity, position, rotation and wing beat, in float32, many boids at a time.

The formulas are those of `reference` and `orientation`. Choices that hold for the whole flock are numbers or comparisons here, for which
a loop over lanes costs next to nothing. A chunk of boids lies in one array, quantity by quantity: row R of boid i is `rows[R * CHUNK + i]`.
"""

from __future__ import annotations

import numpy as np

from . import goals, noise, reference
from .lanes import (
    HALF,
    ONE,
    THREE,
    TINY,
    TWO,
    ZERO,
    F,
    angle_of,
    compiled,
    inverse_length,
    root,
    sine_and_cosine,
)  # fmt: skip
from .noise import Purpose
from .orientation import LAG, STEEP

CHUNK = 384
"""Boids at a time: a multiple of four times the lanes, see `kernel.fill_lanes`; and no power of two, since rows that lie so far apart
compete for the same few places in the cache."""

(
    POSITION,
    VELOCITY,
    SUMS,
    SPEED,
    WEIGHT,
    ROTATION,
    FLAP,
    RELEASE,
    NEW_POSITION,
    NEW_VELOCITY,
    WISH,
    GOAL,
    WANDER,
    NEAR,
    CUT,
) = (row * CHUNK for row in (0, 3, 6, 18, 19, 20, 24, 25, 26, 29, 32, 35, 38, 41, 42))
TOTAL = NEW_VELOCITY
"""Where each quantity's first row begins: position, velocity, three rules' vectors and weights, factors of speed and rule weight, w x y z,
flap, release; what comes of them; and in between what other flocks make it want, the pull of the goals, the
wander, and whether an obstacle is near.
Last the square of the distance at which the nearest fade out."""

ROWS = 43

NEXT = np.uintp(CHUNK)

SIMPLE = [
    "max_acceleration", "cruise_speed", "min_speed", "max_speed", "response", "drag", "attraction", "wander", "wander_blend", "level",
    "speed_control", "dt", "time", "kept", "turn", "roll_share", "roll", "bank", "beat_rate", "effort", "average",
]  # fmt: skip

MOTION = np.dtype(
    [(name, np.float32) for name in SIMPLE]
    + [(name, np.float32, 3) for name in ("up", "weight", "sure", "mean")]
    + [("steer", np.int32, 3)]
    + [(name, np.int32) for name in ("heading", "attraction_steer", "priority", "smooth", "counts_self", "prioritised", "constant",
                                     "bounded", "controlled", "position_first", "plane")]
    + [("seed", np.uint64), ("knot", np.uint64)]
)  # fmt: skip
"""The settings of one step as numbers; where a limit is not set it is HUGE. `steer` and `attraction_steer`: see STEER."""

TOP_BITS, UNIT = np.uint64(40), F(2.0**-24)
WANDER_X, WANDER_Y, WANDER_Z = np.uint64(Purpose.WANDER_X), np.uint64(Purpose.WANDER_Y), np.uint64(Purpose.WANDER_Z)

WHEEL, TIGHT, SLOWEST = F(goals.WHEEL), F(reference.TIGHTEN), F(1e-9)
STRAIGHT_SQUARE = F(1e-12)
"""Square of the sine below which two directions are one, or opposite, in float32."""
MOST_LAG, STEEPEST, STEEP_SHARE = F(LAG), F(STEEP[0]), F(1 / (STEEP[1] - STEEP[0]))
LEVEL_BEAT, EFFORT_BEAT, CLIMB_BEAT, LEAST_BEAT = F(0.7), F(0.6), F(1.5), F(0.1)

STEER = {"UNIT": 0, "RAW": 1, "REYNOLDS": 2}


@compiled()
def part(rows, row, lane):
    """One boid's vector of three rows."""
    # unsigned: that an index may be negative, and count from the end, would keep the loop from the lanes
    at = np.uintp(row + lane)
    return rows[at], rows[at + NEXT], rows[at + NEXT + NEXT]


@compiled()
def put(rows, row, lane, vector):
    """Writes what `part` reads."""
    at = np.uintp(row + lane)
    rows[at], rows[at + NEXT], rows[at + NEXT + NEXT] = vector


@compiled()
def plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@compiled()
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled()
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled()
def steered(x, y, z, u, v, w, kind, speed, response, most):
    """See `goals.steered`; `response` is 1 / the response time."""
    size = x * x + y * y + z * z
    scale = ONE / np.sqrt(max(size, TINY))
    dx, dy, dz = x * scale, y * scale, z * scale
    wx, wy, wz = (dx * speed - u) * response, (dy * speed - v) * response, (dz * speed - w) * response
    cut = min(ONE, most * inverse_length(wx, wy, wz))
    cut = cut if size > ZERO else ZERO
    x = x if kind == 1 else dx if kind == 0 else wx * cut
    y = y if kind == 1 else dy if kind == 0 else wy * cut
    z = z if kind == 1 else dz if kind == 0 else wz * cut
    return x, y, z


@compiled()
def wish(vector, weight, own, velocity, share, smooth, sure, kind, mean, cruise, response, most):
    """One rule's steer, weighted: see `reference.raw_steer`, `reference.certainty` and `reference.steers`.

    `mean` is 1 where the mean counts; `own` is what a boid takes from it, `sure` the length from which on it counts in full, inverted.
    """
    scale = ONE / max(weight, TINY) if mean > ZERO else ONE
    x, y, z = vector[0] * scale, vector[1] * scale, vector[2] * scale
    there = weight > ZERO
    x, y, z = x - own[0] if there else x, y - own[1] if there else y, z - own[2] if there else z
    certain = min(ONE, weight) * min(ONE, root(x * x + y * y + z * z) * sure)
    share = share * certain if smooth != 0 else share
    x, y, z = steered(x, y, z, velocity[0], velocity[1], velocity[2], kind, cruise, response, most)
    return x * share, y * share, z * share


@compiled()
def added(total, more, most):
    """The running sum with one more wish, cut to what is left of `most`: see `reference.prioritised`."""
    left = max(ZERO, most - root(dot(total, total)))
    cut = min(ONE, left * inverse_length(more[0], more[1], more[2]))
    return plus(total, (cut * more[0], cut * more[1], cut * more[2]))


@compiled()
def pull(rows, lanes, motion, x, y, z, weight, radius, fade, arrival):
    """Adds one attractor's pull to the goals: see `goals.attracted`.

    `fade` is 1 / radius² for a smooth edge, else 0; `arrival` is 1 / the distance at which the pull eases off, HUGE for never.
    """
    attraction, kind, most, response = (
        motion.attraction * weight,
        motion.attraction_steer,
        motion.max_acceleration,
        motion.response,
    )
    cruise, up_x, up_y, up_z = motion.cruise_speed, motion.up[0], motion.up[1], motion.up[2]
    reach, wheel = radius * radius, WHEEL if motion.controlled != 0 else ZERO
    slows = kind == 2 and motion.controlled == 0
    for lane in range(lanes):
        px, py, pz = part(rows, POSITION, lane)
        dx, dy, dz = x - px, y - py, z - pz
        u, v, w = part(rows, VELOCITY, lane)
        square = dx * dx + dy * dy + dz * dz
        distance, inverse = root(square), ONE / np.sqrt(max(square, TINY))
        ease = min(ONE, distance * arrival)
        share = ONE - min(square * fade, ONE)
        share = attraction * share * share if square < reach else ZERO
        # the further behind a goal lies, the more to the left: see `goals.wheeled`
        scale = inverse_length(u, v, w)
        a, b, c = u * scale, v * scale, w * scale
        p, q, r = up_y * c - up_z * b, up_z * a - up_x * c, up_x * b - up_y * a
        behind = min(max(-(dx * a + dy * b + dz * c) * inverse, ZERO), ONE)
        aside = wheel * behind * behind * (THREE - TWO * behind) * distance * inverse_length(p, q, r)
        speed = cruise * rows[SPEED + lane]
        speed = speed * ease if slows else speed
        share = share if slows else share * ease
        px, py, pz = steered(dx + aside * p, dy + aside * q, dz + aside * r, u, v, w, kind, speed, response, most)
        put(rows, GOAL, lane, plus(part(rows, GOAL, lane), (share * px, share * py, share * pz)))


mixed = compiled()(noise.mix)


@compiled()
def even(key, purpose):
    """`noise.uniform`, where all but the purpose is mixed into the key."""
    return F(np.int32(mixed(key ^ purpose) >> TOP_BITS)) * UNIT


@compiled()
def wander(rows, lanes, boids, motion):
    """The push of the wander: see `reference.wander`."""
    scale, blend, seed, first, second = (
        motion.wander,
        motion.wander_blend,
        motion.seed,
        motion.knot,
        motion.knot + np.uint64(1),
    )
    key = mixed(seed)
    for lane in range(lanes):
        boid = mixed(key ^ np.uint64(boids[lane]))
        one, other = mixed(boid ^ first), mixed(boid ^ second)
        x, y, z = even(one, WANDER_X), even(one, WANDER_Y), even(one, WANDER_Z)
        x += blend * (even(other, WANDER_X) - x)
        y += blend * (even(other, WANDER_Y) - y)
        z += blend * (even(other, WANDER_Z) - z)
        put(rows, WANDER, lane, (scale * (TWO * x - ONE), scale * (TWO * y - ONE), scale * (TWO * z - ONE)))


@compiled()
def accelerate(rows, lanes, motion):
    """All wishes in one, bounded, and the velocity that comes of it: see `reference.Stepper`."""
    weigh(rows, lanes, motion)
    if motion.prioritised != 0:
        prioritise(rows, lanes, motion)
    change_velocity(rows, lanes, motion)


@compiled()
def weigh(rows, lanes, motion):
    """What each rule wants instead of its sums, and in TOTAL all that is wanted, but for level flight and the speed control."""
    near, middle, wide = motion.weight[0], motion.weight[1], motion.weight[2]
    sure, sure_1, sure_2 = motion.sure[0], motion.sure[1], motion.sure[2]
    steer, steer_1, steer_2 = motion.steer[0], motion.steer[1], motion.steer[2]
    mean_1, mean_2, smooth, heads, counts_self = (
        motion.mean[1],
        motion.mean[2],
        motion.smooth,
        motion.heading,
        motion.counts_self,
    )
    minus_own = ONE if mean_1 > ZERO and steer_1 == 1 else ZERO
    most, cruise_speed, response, priority = (
        motion.max_acceleration,
        motion.cruise_speed,
        motion.response,
        motion.priority,
    )
    nothing = (ZERO, ZERO, ZERO)
    for lane in range(lanes):
        u, v, w = velocity = part(rows, VELOCITY, lane)
        inverse = inverse_length(u, v, w)
        size = inverse if heads != 0 else ONE
        own = (u * size, v * size, w * size)
        cruise, share, crowd = cruise_speed * rows[SPEED + lane], rows[WEIGHT + lane], rows[SUMS + 3 * CHUNK + lane]
        calm = ONE - min(ONE, crowd) if priority != 0 else ONE
        weight = rows[SUMS + 7 * CHUNK + lane]
        joins = min(ONE, weight) if counts_self != 0 else ZERO
        separation = wish(part(rows, SUMS, lane), crowd, nothing, velocity,
                          near * share, smooth, sure, steer, ZERO, cruise, response, most)  # fmt: skip
        x, y, z = part(rows, SUMS + 4 * CHUNK, lane)
        alignment = wish((x + joins * own[0], y + joins * own[1], z + joins * own[2]), weight + joins,
                         (minus_own * own[0], minus_own * own[1], minus_own * own[2]), velocity,
                         middle * share * calm, smooth, sure_1, steer_1, mean_1, cruise, response, most)  # fmt: skip
        cohesion = wish(part(rows, SUMS + 8 * CHUNK, lane), rows[SUMS + 11 * CHUNK + lane], nothing, velocity,
                        wide * share * calm, smooth, sure_2, steer_2, mean_2, cruise, response, most)  # fmt: skip
        put(rows, SUMS, lane, separation)
        put(rows, SUMS + 4 * CHUNK, lane, alignment)
        put(rows, SUMS + 8 * CHUNK, lane, cohesion)
        total = plus(plus(plus(part(rows, WISH, lane), separation), cohesion), alignment)
        put(rows, TOTAL, lane, plus(plus(total, part(rows, GOAL, lane)), part(rows, WANDER, lane)))


@compiled()
def prioritise(rows, lanes, motion):
    """In TOTAL all that is wanted, one after the other, up to the max acceleration: see `reference.prioritised`."""
    limit, cruise, control, level = motion.max_acceleration, motion.cruise_speed, motion.speed_control, motion.level
    up = (motion.up[0], motion.up[1], motion.up[2])
    for lane in range(lanes):
        u, v, w = velocity = part(rows, VELOCITY, lane)
        missing = control * (cruise * rows[SPEED + lane] * inverse_length(u, v, w) - ONE)
        climb = -level * dot(velocity, up)
        total = added((ZERO, ZERO, ZERO), part(rows, WISH, lane), limit)
        total = added(total, part(rows, SUMS, lane), limit)
        total = added(total, part(rows, SUMS + 8 * CHUNK, lane), limit)
        total = added(total, part(rows, SUMS + 4 * CHUNK, lane), limit)
        total = added(total, part(rows, GOAL, lane), limit)
        total = added(total, part(rows, WANDER, lane), limit)
        total = added(total, (climb * up[0], climb * up[1], climb * up[2]), limit)
        put(rows, TOTAL, lane, added(total, (missing * u, missing * v, missing * w), limit))


@compiled()
def change_velocity(rows, lanes, motion):
    """The velocity that comes of TOTAL, of level flight and of the speed control, which are in it where all is prioritised."""
    most, cruise_speed, least, fastest = (
        motion.max_acceleration,
        motion.cruise_speed,
        motion.min_speed,
        motion.max_speed,
    )
    up_x, up_y, up_z, average, dt = motion.up[0], motion.up[1], motion.up[2], motion.average, motion.dt
    constant, bounded, controlled, slowed = (
        motion.constant,
        motion.bounded,
        motion.controlled,
        ONE / (ONE + motion.drag * dt),
    )
    level = motion.level if motion.prioritised == 0 else ZERO
    control = motion.speed_control if motion.prioritised == 0 else ZERO
    for lane in range(lanes):
        u, v, w = part(rows, VELOCITY, lane)
        before = u * u + v * v + w * w
        pace, inverse = root(before), inverse_length(u, v, w)
        a, b, c = u * inverse, v * inverse, w * inverse
        cruise, slow, fast = cruise_speed * rows[SPEED + lane], least * rows[SPEED + lane], fastest * rows[SPEED + lane]
        climb, missing = -level * (u * up_x + v * up_y + w * up_z), control * (cruise - pace)
        x, y, z = part(rows, TOTAL, lane)
        x = (x + climb * up_x + missing * a) * average
        y = (y + climb * up_y + missing * b) * average
        z = (z + climb * up_z + missing * c) * average
        # who controls its speed turns rather than brakes: see `reference.turned`
        along = x * a + y * b + z * c
        free = min(max((pace - slow) / max(cruise - slow, SLOWEST), ZERO), ONE)
        kept = along * free * free * (THREE - TWO * free) if along < ZERO else along
        p, q, r = x - along * a, y - along * b, z - along * c
        square = p * p + q * q + r * r
        gain = min(root(max(square + along * along - kept * kept, ZERO)) * (ONE / np.sqrt(max(square, TINY))), TIGHT)
        x = gain * p + kept * a if controlled != 0 else x
        y = gain * q + kept * b if controlled != 0 else y
        z = gain * r + kept * c if controlled != 0 else z
        scale = most * inverse_length(x, y, z)
        scale = (scale if constant != 0 else min(ONE, scale) if bounded != 0 else ONE) * dt
        x, y, z = (u + scale * x) * slowed, (v + scale * y) * slowed, (w + scale * z) * slowed
        # within the speed limits; who rests and must fly sets out along its last heading, or +Y
        square = x * x + y * y + z * z
        speed, moving, moved = root(square), square > ZERO, before > ZERO
        x, y, z = (x if moving else u), (y if moving else v if moved else ONE), (z if moving else w)
        scale = min(max(speed, slow), fast) * inverse_length(x, y, z)
        scale = ONE if moving and slow <= speed and speed <= fast else scale
        put(rows, NEW_VELOCITY, lane, (x * scale, y * scale, z * scale))


@compiled()
def move(rows, lanes, motion):
    """The new position, from the velocity that steering has left."""
    dt, time, first, plane = motion.dt, motion.time, motion.position_first, motion.plane
    flat = ZERO if plane != 0 else ONE
    for lane in range(lanes):
        u, v, w = part(rows, VELOCITY, lane)
        x, y, z = part(rows, NEW_VELOCITY, lane)
        resting = time < rows[RELEASE + lane]
        x, y, z = (u if resting else x), (v if resting else y), (w if resting else flat * z)
        step = ZERO if resting else dt
        put(rows, NEW_VELOCITY, lane, (x, y, z))
        x, y, z = (u if first != 0 else x), (v if first != 0 else y), (w if first != 0 else z)
        put(rows, NEW_POSITION, lane, plus(part(rows, POSITION, lane), (step * x, step * y, step * z)))


@compiled()
def turned(axis, angle, rotation):
    """The quaternion, turned on by an angle about an axis: see `orientation.multiply` and `orientation.about`."""
    sine, a = sine_and_cosine(angle * HALF)
    b, c, d = axis[0] * sine, axis[1] * sine, axis[2] * sine
    w, x, y, z = rotation
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


@compiled()
def forward_of(rotation):
    w, x, y, z = rotation
    return TWO * (x * y - w * z), ONE - TWO * (x * x + z * z), TWO * (y * z + w * x)


@compiled()
def up_of(rotation):
    w, x, y, z = rotation
    return TWO * (x * z + w * y), TWO * (y * z - w * x), ONE - TWO * (x * x + y * y)


@compiled()
def turn(rows, lanes, motion):
    """The new rotation and flap: see `orientation.turn` and `orientation.beat`."""
    up = (motion.up[0], motion.up[1], motion.up[2])
    dt, kept, most, roll_share, most_roll, bank = (
        motion.dt,
        motion.kept,
        motion.turn,
        motion.roll_share,
        motion.roll,
        motion.bank,
    )
    beat_rate, effort = motion.beat_rate, motion.effort
    rate = ONE / dt
    for lane in range(lanes):
        a, b, c = part(rows, ROTATION, lane)
        rotation = (a, b, c, rows[ROTATION + 3 * CHUNK + lane])
        u, v, w = part(rows, NEW_VELOCITY, lane)
        acceleration = ((u - rows[VELOCITY + lane]) * rate, (v - rows[VELOCITY + CHUNK + lane]) * rate,
                        (w - rows[VELOCITY + 2 * CHUNK + lane]) * rate)  # fmt: skip
        size = inverse_length(u, v, w)
        heading = (u * size, v * size, w * size)
        # towards the heading, without roll
        forward = forward_of(rotation)
        x, y, z = cross(forward, heading)
        square = x * x + y * y + z * z
        angle = angle_of(root(square), dot(forward, heading))
        scale = ONE / np.sqrt(max(square, TINY))
        sidewards = up_of(rotation)
        straight = square < STRAIGHT_SQUARE
        axis = ((sidewards[0] if straight else x * scale), (sidewards[1] if straight else y * scale),
                (sidewards[2] if straight else z * scale))  # fmt: skip
        angle = min(angle - min(angle * kept, MOST_LAG), most)
        angle = angle if u * u + v * v + w * w > ZERO else ZERO
        rotation = turned(axis, angle, rotation)
        # roll towards the bank of the turn
        forward = forward_of(rotation)
        climb = dot(forward, up)
        flat = (up[0] - climb * forward[0], up[1] - climb * forward[1], up[2] - climb * forward[2])
        scale = inverse_length(flat[0], flat[1], flat[2])
        level = root(dot(flat, flat))
        flat = (flat[0] * scale, flat[1] * scale, flat[2] * scale)
        right = cross(forward, flat)
        slope = bank * dot(acceleration, right)
        cosine = ONE / np.sqrt(ONE + slope * slope)
        sine = slope * cosine
        wanted = (
            cosine * flat[0] + sine * right[0],
            cosine * flat[1] + sine * right[1],
            cosine * flat[2] + sine * right[2],
        )
        means = min(max((level - STEEPEST) * STEEP_SHARE, ZERO), ONE)
        means = means * means * (THREE - TWO * means)
        above = up_of(rotation)
        sine, cosine = dot(cross(above, wanted), forward), dot(above, wanted)
        error = angle_of(sine, cosine)
        inverse = inverse_length(sine, cosine, ZERO)
        share = roll_share * means * (ONE + cosine * inverse) * HALF
        a, b, c, d = turned(forward, min(max(error * share, -most_roll), most_roll), rotation)
        scale = ONE / np.sqrt(a * a + b * b + c * c + d * d)
        put(rows, ROTATION, lane, (a * scale, b * scale, c * scale))
        rows[ROTATION + 3 * CHUNK + lane] = d * scale
        # and the wings
        hard = min(root(dot(acceleration, acceleration)) * effort, ONE)
        pace = min(max(LEVEL_BEAT + EFFORT_BEAT * hard + CLIMB_BEAT * dot(heading, up), LEAST_BEAT), TWO)
        rows[FLAP + lane] += beat_rate * pace * dt


ATTRACTOR = np.dtype(
    [("place", np.float32, 3)] + [(name, np.float32) for name in ("weight", "radius", "fade", "arrival")]
)
"""See `pull`."""
