# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled motion: from pair sums to velocity, position, rotation and wing beat, in float32, many boids at a time.

The formulas are those of `reference` and `orientation`. Choices that hold for the whole flock are numbers or comparisons here, for which
a loop over lanes costs next to nothing. A chunk of boids lies in one array, quantity by quantity: row R of boid i is `rows[R * CHUNK + i]`.
"""

from __future__ import annotations

import numpy as np

from . import goals, reference
from .lanes import (
    HALF,
    HUGE,
    ONE,
    THREE,
    TINY,
    TWO,
    ZERO,
    F,
    angle_of,
    compiled,
    inverse_length,
    sine_and_cosine,
)  # fmt: skip
from .noise import Purpose
from .orientation import LAG, STEEP

CHUNK = 256
"""Boids at a time."""

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
"""Where each quantity's first row begins: position, velocity, three rules' vectors and weights, factors of speed and rule weight, w x y z,
flap, release; what comes of them; and in between what other flocks make it want, the pull of the goals, the
wander, and whether an obstacle is near.
Last the square of the distance at which the nearest fade out."""

ROWS = 43

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

GAMMA, MUL_1, MUL_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S40, UNIT = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(40), F(2.0**-24)
WANDER_X, WANDER_Y, WANDER_Z = np.uint64(Purpose.WANDER_X), np.uint64(Purpose.WANDER_Y), np.uint64(Purpose.WANDER_Z)

WHEEL, TIGHT, SLOWEST = F(goals.WHEEL), F(reference.TIGHTEN), F(1e-9)
STRAIGHT_SQUARE = F(1e-12)
"""Square of the sine below which two directions are one, or opposite, in float32."""
MOST_LAG, STEEPEST, STEEP_SHARE = F(LAG), F(STEEP[0]), F(1 / (STEEP[1] - STEEP[0]))
LEVEL_BEAT, EFFORT_BEAT, CLIMB_BEAT, LEAST_BEAT = F(0.7), F(0.6), F(1.5), F(0.1)

STEER = {"UNIT": 0, "RAW": 1, "REYNOLDS": 2}


@compiled(forceinline=True)
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


@compiled(forceinline=True)
def wish(vector, weight, own, velocity, share, smooth, sure, kind, mean, cruise, response, most):
    """One rule's steer, weighted: see `reference.raw_steer`, `reference.certainty` and `reference.steers`.

    `mean` is 1 where the mean counts; `own` is what a boid takes from it, `sure` the length from which on it counts in full, inverted.
    """
    scale = ONE / max(weight, TINY) if mean > ZERO else ONE
    x, y, z = vector[0] * scale, vector[1] * scale, vector[2] * scale
    there = weight > ZERO
    x, y, z = x - own[0] if there else x, y - own[1] if there else y, z - own[2] if there else z
    certain = min(ONE, weight) * min(ONE, np.sqrt(x * x + y * y + z * z) * sure)
    share = share * certain if smooth != 0 else share
    x, y, z = steered(x, y, z, velocity[0], velocity[1], velocity[2], kind, cruise, response, most)
    return x * share, y * share, z * share


@compiled(forceinline=True)
def added(total, part, most):
    """The running sum with one more part, cut to what is left of `most`: see `reference.prioritised`."""
    x, y, z = total
    length = x * x + y * y + z * z
    left = max(ZERO, most - np.sqrt(length))
    cut = min(ONE, left * inverse_length(part[0], part[1], part[2]))
    return x + cut * part[0], y + cut * part[1], z + cut * part[2]


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
        dx, dy, dz = x - rows[POSITION + lane], y - rows[POSITION + CHUNK + lane], z - rows[POSITION + 2 * CHUNK + lane]
        u, v, w = rows[VELOCITY + lane], rows[VELOCITY + CHUNK + lane], rows[VELOCITY + 2 * CHUNK + lane]
        square = dx * dx + dy * dy + dz * dz
        distance, inverse = np.sqrt(square), ONE / np.sqrt(max(square, TINY))
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
        rows[GOAL + lane] += share * px
        rows[GOAL + CHUNK + lane] += share * py
        rows[GOAL + 2 * CHUNK + lane] += share * pz


@compiled(forceinline=True)
def scrambled(value):
    """`noise.mix`."""
    value = value + GAMMA
    value = (value ^ (value >> S30)) * MUL_1
    value = (value ^ (value >> S27)) * MUL_2
    return value ^ (value >> S31)


@compiled(forceinline=True)
def even(key, purpose):
    """`noise.uniform`, its first three scrambles done."""
    return F(np.int32(scrambled(key ^ purpose) >> S40)) * UNIT


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
    key = scrambled(seed)
    for lane in range(lanes):
        boid = scrambled(key ^ np.uint64(boids[lane]))
        one, other = scrambled(boid ^ first), scrambled(boid ^ second)
        x, y, z = even(one, WANDER_X), even(one, WANDER_Y), even(one, WANDER_Z)
        x += blend * (even(other, WANDER_X) - x)
        y += blend * (even(other, WANDER_Y) - y)
        z += blend * (even(other, WANDER_Z) - z)
        rows[WANDER + lane] = scale * (TWO * x - ONE)
        rows[WANDER + CHUNK + lane] = scale * (TWO * y - ONE)
        rows[WANDER + 2 * CHUNK + lane] = scale * (TWO * z - ONE)


@compiled()
def accelerate(rows, lanes, motion):
    """All wishes in one, bounded, and the velocity that comes of it: see `reference.Stepper`."""
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
    most, cruise_speed, least, fastest = (
        motion.max_acceleration,
        motion.cruise_speed,
        motion.min_speed,
        motion.max_speed,
    )
    priority, prioritised, constant, bounded = motion.priority, motion.prioritised, motion.constant, motion.bounded
    up_x, up_y, up_z, level, average, dt = (
        motion.up[0],
        motion.up[1],
        motion.up[2],
        motion.level,
        motion.average,
        motion.dt,
    )
    control, controlled, response, slowed = (
        motion.speed_control,
        motion.controlled,
        motion.response,
        ONE / (ONE + motion.drag * dt),
    )
    nothing = (ZERO, ZERO, ZERO)
    limit = most if prioritised != 0 else HUGE
    for lane in range(lanes):
        u, v, w = rows[VELOCITY + lane], rows[VELOCITY + CHUNK + lane], rows[VELOCITY + 2 * CHUNK + lane]
        velocity = (u, v, w)
        before = u * u + v * v + w * w
        pace, inverse = np.sqrt(before), inverse_length(u, v, w)
        a, b, c = u * inverse, v * inverse, w * inverse
        own = (a if heads != 0 else u, b if heads != 0 else v, c if heads != 0 else w)
        cruise, slow, fast = cruise_speed * rows[SPEED + lane], least * rows[SPEED + lane], fastest * rows[SPEED + lane]
        share, crowd = rows[WEIGHT + lane], rows[SUMS + 3 * CHUNK + lane]
        calm = ONE - min(ONE, crowd) if priority != 0 else ONE
        weight = rows[SUMS + 7 * CHUNK + lane]
        joins = min(ONE, weight) if counts_self != 0 else ZERO
        separation = wish((rows[SUMS + lane], rows[SUMS + CHUNK + lane], rows[SUMS + 2 * CHUNK + lane]), crowd, nothing, velocity,
                          near * share, smooth, sure, steer, ZERO, cruise, response, most)  # fmt: skip
        alignment = wish((rows[SUMS + 4 * CHUNK + lane] + joins * own[0], rows[SUMS + 5 * CHUNK + lane] + joins * own[1],
                          rows[SUMS + 6 * CHUNK + lane] + joins * own[2]), weight + joins,
                         (minus_own * own[0], minus_own * own[1], minus_own * own[2]), velocity,
                         middle * share * calm, smooth, sure_1, steer_1, mean_1, cruise, response, most)  # fmt: skip
        cohesion = wish((rows[SUMS + 8 * CHUNK + lane], rows[SUMS + 9 * CHUNK + lane], rows[SUMS + 10 * CHUNK + lane]),
                        rows[SUMS + 11 * CHUNK + lane], nothing, velocity,
                        wide * share * calm, smooth, sure_2, steer_2, mean_2, cruise, response, most)  # fmt: skip
        climb, missing = -level * (u * up_x + v * up_y + w * up_z), control * (cruise - pace)
        total = (rows[WISH + lane], rows[WISH + CHUNK + lane], rows[WISH + 2 * CHUNK + lane])
        total = added(nothing, total, limit)
        total = added(added(added(total, separation, limit), cohesion, limit), alignment, limit)
        total = added(total, (rows[GOAL + lane], rows[GOAL + CHUNK + lane], rows[GOAL + 2 * CHUNK + lane]), limit)
        total = added(total, (rows[WANDER + lane], rows[WANDER + CHUNK + lane], rows[WANDER + 2 * CHUNK + lane]), limit)
        total = added(total, (climb * up_x, climb * up_y, climb * up_z), limit)
        total = added(total, (missing * a, missing * b, missing * c), limit)
        x, y, z = total[0] * average, total[1] * average, total[2] * average
        # who controls its speed turns rather than brakes: see `reference.turned`
        along = x * a + y * b + z * c
        free = min(max((pace - slow) / max(cruise - slow, SLOWEST), ZERO), ONE)
        kept = along * free * free * (THREE - TWO * free) if along < ZERO else along
        p, q, r = x - along * a, y - along * b, z - along * c
        square = p * p + q * q + r * r
        gain = min(np.sqrt(max(square + along * along - kept * kept, ZERO)) * (ONE / np.sqrt(max(square, TINY))), TIGHT)
        x = gain * p + kept * a if controlled != 0 else x
        y = gain * q + kept * b if controlled != 0 else y
        z = gain * r + kept * c if controlled != 0 else z
        scale = most * inverse_length(x, y, z)
        scale = (scale if constant != 0 else min(ONE, scale) if bounded != 0 else ONE) * dt
        x, y, z = (u + scale * x) * slowed, (v + scale * y) * slowed, (w + scale * z) * slowed
        # within the speed limits; who rests and must fly sets out along its last heading, or +Y
        square = x * x + y * y + z * z
        speed, moving, moved = np.sqrt(square), square > ZERO, before > ZERO
        x, y, z = (x if moving else u), (y if moving else v if moved else ONE), (z if moving else w)
        scale = min(max(speed, slow), fast) * inverse_length(x, y, z)
        scale = ONE if moving and slow <= speed and speed <= fast else scale
        rows[NEW_VELOCITY + lane] = x * scale
        rows[NEW_VELOCITY + CHUNK + lane] = y * scale
        rows[NEW_VELOCITY + 2 * CHUNK + lane] = z * scale


@compiled()
def move(rows, lanes, motion):
    """The new position, from the velocity that steering has left."""
    dt, time, first, plane = motion.dt, motion.time, motion.position_first, motion.plane
    flat = ZERO if plane != 0 else ONE
    for lane in range(lanes):
        u, v, w = rows[VELOCITY + lane], rows[VELOCITY + CHUNK + lane], rows[VELOCITY + 2 * CHUNK + lane]
        x, y, z = (
            rows[NEW_VELOCITY + lane],
            rows[NEW_VELOCITY + CHUNK + lane],
            flat * rows[NEW_VELOCITY + 2 * CHUNK + lane],
        )
        resting = time < rows[RELEASE + lane]
        x, y, z = (u if resting else x), (v if resting else y), (w if resting else z)
        step = ZERO if resting else dt
        rows[NEW_VELOCITY + lane] = x
        rows[NEW_VELOCITY + CHUNK + lane] = y
        rows[NEW_VELOCITY + 2 * CHUNK + lane] = z
        x, y, z = (u if first != 0 else x), (v if first != 0 else y), (w if first != 0 else z)
        rows[NEW_POSITION + lane] = rows[POSITION + lane] + step * x
        rows[NEW_POSITION + CHUNK + lane] = rows[POSITION + CHUNK + lane] + step * y
        rows[NEW_POSITION + 2 * CHUNK + lane] = rows[POSITION + 2 * CHUNK + lane] + step * z


@compiled(forceinline=True)
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


@compiled(forceinline=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled(forceinline=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled(forceinline=True)
def forward_of(rotation):
    w, x, y, z = rotation
    return TWO * (x * y - w * z), ONE - TWO * (x * x + z * z), TWO * (y * z + w * x)


@compiled(forceinline=True)
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
        rotation = (rows[ROTATION + lane], rows[ROTATION + CHUNK + lane], rows[ROTATION + 2 * CHUNK + lane],
                    rows[ROTATION + 3 * CHUNK + lane])  # fmt: skip
        u, v, w = rows[NEW_VELOCITY + lane], rows[NEW_VELOCITY + CHUNK + lane], rows[NEW_VELOCITY + 2 * CHUNK + lane]
        acceleration = ((u - rows[VELOCITY + lane]) * rate, (v - rows[VELOCITY + CHUNK + lane]) * rate,
                        (w - rows[VELOCITY + 2 * CHUNK + lane]) * rate)  # fmt: skip
        size = inverse_length(u, v, w)
        heading = (u * size, v * size, w * size)
        # towards the heading, without roll
        forward = forward_of(rotation)
        x, y, z = cross(forward, heading)
        square = x * x + y * y + z * z
        angle = angle_of(np.sqrt(square), dot(forward, heading))
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
        level = np.sqrt(flat[0] * flat[0] + flat[1] * flat[1] + flat[2] * flat[2])
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
        rows[ROTATION + lane] = a * scale
        rows[ROTATION + CHUNK + lane] = b * scale
        rows[ROTATION + 2 * CHUNK + lane] = c * scale
        rows[ROTATION + 3 * CHUNK + lane] = d * scale
        # and the wings
        hard = min(np.sqrt(dot(acceleration, acceleration)) * effort, ONE)
        pace = min(max(LEVEL_BEAT + EFFORT_BEAT * hard + CLIMB_BEAT * dot(heading, up), LEAST_BEAT), TWO)
        rows[FLAP + lane] += beat_rate * pace * dt


ATTRACTOR = np.dtype(
    [("place", np.float32, 3)] + [(name, np.float32) for name in ("weight", "radius", "fade", "arrival")]
)
"""See `pull`."""
