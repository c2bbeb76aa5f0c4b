# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled avoidance of spheres: `avoidance.steer` for the boids of a chunk, and who has to be looked at by `avoidance.resolve`.

The guarantee is kept by `avoidance`: here it is decided, on the safe side, for whom there is nothing to do, and done for those who slide
along one sphere.
"""

from __future__ import annotations

import numpy as np

from .avoidance import BOUNCES, NEARLY, OFF_MIDDLE, ROUNDING, STEEPEST
from .lanes import HALF, ONE, THREE, TINY, TWO, ZERO, F, compiled, inverse_length, joint
from .motion import CHUNK, NEAR, NEW_POSITION, NEW_VELOCITY, POSITION, VELOCITY, dot

SPHERE = np.dtype(
    [(name, np.float32, 3) for name in ("first", "last", "moves")]
    + [(name, np.float32) for name in ("radius", "last_radius", "growth", "strength", "reach")]
)
"""A sphere over one step: its centre at the begin and the end, and per second; radius at both, and per second; strength; and how far it
reaches from the middle of its way, with how far it comes in the look-ahead."""

SWERVE = np.dtype(
    [(name, np.float32) for name in ("ahead", "look_ahead", "room", "clearance", "most", "dt", "frame", "rounding")]
    + [(name, np.int32) for name in ("steers", "brakes", "slides")]
)
"""How far ahead obstacles can matter, seconds; the look-ahead; clearance with and without a body length; max acceleration; the step and
the frame, seconds; what float32 may lose, as a share; whether boids steer around, whether they brake, and whether sliding is
all that they do at a hit."""

ASIDE, GRAZES = F(OFF_MIDDLE), F(NEARLY)
NO_LENGTH = F(1e-18)
BRAKE = F(0.9997 * STEEPEST)
"""As in `avoidance.braked`, on the safe side."""


@compiled()
def vector_at(rows, index):
    """A vector that stands in three rows."""
    return rows[index], rows[index + CHUNK], rows[index + 2 * CHUNK]


@compiled()
def put(rows, index, vector):
    """See `vector_at`."""
    rows[index], rows[index + CHUNK], rows[index + 2 * CHUNK] = F(vector[0]), F(vector[1]), F(vector[2])


@compiled()
def mark_near(rows, lanes, sphere, swerve):
    """Counts for each boid the spheres that may matter to it: those it may come to while it looks ahead, or within a step and a frame."""
    x, y, z = (
        (sphere.first[0] + sphere.last[0]) * HALF,
        (sphere.first[1] + sphere.last[1]) * HALF,
        (sphere.first[2] + sphere.last[2]) * HALF,
    )
    reach, ahead = sphere.reach + swerve.room, swerve.ahead
    for lane in range(lanes):
        dx, dy, dz = rows[POSITION + lane] - x, rows[POSITION + CHUNK + lane] - y, rows[POSITION + 2 * CHUNK + lane] - z
        u, v, w = rows[NEW_VELOCITY + lane], rows[NEW_VELOCITY + CHUNK + lane], rows[NEW_VELOCITY + 2 * CHUNK + lane]
        a, b, c = rows[VELOCITY + lane], rows[VELOCITY + CHUNK + lane], rows[VELOCITY + 2 * CHUNK + lane]
        far = reach + ahead * np.sqrt(max(u * u + v * v + w * w, a * a + b * b + c * c))
        rows[NEAR + lane] += ONE if dx * dx + dy * dy + dz * dz <= far * far else ZERO


@compiled()
def side_of(x, y, z):
    """See `vectors.any_side`."""
    square = x * x + y * y
    scale = ONE / np.sqrt(max(square, TINY))
    return (y * scale, -x * scale, ZERO) if square > F(1e-12) else (ONE, ZERO, ZERO)


@compiled()
def direction(x, y, z):
    """Of a vector; the zero vector has none."""
    square = x * x + y * y + z * z
    scale = ONE / np.sqrt(max(square, TINY)) if square > NO_LENGTH else ZERO
    return x * scale, y * scale, z * scale


@compiled()
def push_of(x, y, z, u, v, w, sphere, swerve):
    """How hard, and to which side, one sphere turns one boid: see `avoidance.Sphere.turn` and `avoidance.steered`."""
    radius = sphere.radius + swerve.room
    x, y, z = x - sphere.first[0], y - sphere.first[1], z - sphere.first[2]
    u, v, w = u - sphere.moves[0], v - sphere.moves[1], w - sphere.moves[2]
    square = u * u + v * v + w * w
    a, b, c = direction(u, v, w)
    along = -(x * a + y * b + z * c)
    mx, my, mz = x + along * a, y + along * b, z + along * c
    passing = np.sqrt(mx * mx + my * my + mz * mz)
    if not (along > ZERO and passing < radius and square > ZERO):
        return ZERO, ZERO, ZERO, ZERO
    reach = max(along - np.sqrt(max(radius * radius - passing * passing, ZERO)), ZERO)
    onset = min(max((ONE - reach / np.sqrt(square) / swerve.look_ahead) * TWO, ZERO), ONE)
    apart = max(x * x + y * y + z * z - radius * radius, GRAZES * swerve.room * radius)
    curvature = TWO * (radius - passing) / apart * min(along / swerve.room, ONE)
    push = sphere.strength * min(square * curvature * onset * onset * (THREE - TWO * onset), swerve.most)
    middle = max(ASIDE * radius - passing, ZERO)
    sx, sy, sz = side_of(a, b, c)
    sx, sy, sz = direction(mx + middle * sx, my + middle * sy, mz + middle * sz)
    return push, push * sx, push * sy, push * sz


@joint()
def steer(lane, rows, spheres, swerve):
    """Turns one boid's new velocity away from the spheres ahead: see `avoidance.steered`."""
    x, y, z = vector_at(rows, POSITION + lane)
    u, v, w = vector_at(rows, NEW_VELOCITY + lane)
    strongest = a = b = c = ZERO
    for index in range(len(spheres)):
        push, px, py, pz = push_of(x, y, z, u, v, w, spheres[index], swerve)
        strongest = max(strongest, push)
        a, b, c = a + px, b + py, c + pz
    if not strongest > ZERO:
        return
    hx, hy, hz = direction(u, v, w)
    square = a * a + b * b + c * c
    size = np.sqrt(square)
    sx, sy, sz = direction(a, b, c) if square > NO_LENGTH else side_of(hx, hy, hz)
    ox, oy, oz = direction(sy * hz - sz * hy, sz * hx - sx * hz, sx * hy - sy * hx)
    over = max(strongest - size, ZERO)
    a, b, c = a + over * ox, b + over * oy, c + over * oz
    scale = min(ONE, strongest * inverse_length(a, b, c)) * swerve.dt
    a, b, c = a * scale, b * scale, c * scale
    step, speed = np.sqrt(a * a + b * b + c * c), np.sqrt(u * u + v * v + w * w)
    speed = max(speed, HALF * step)
    scale = min(ONE, speed / max(step, TINY))
    u, v, w = direction(u + scale * a, v + scale * b, w + scale * c)
    put(rows, NEW_VELOCITY + lane, (u * speed, v * speed, w * speed))


@joint()
def steer_all(rows, lanes, spheres, swerve):
    """Turns those away that fly at a sphere, and marks who is near one."""
    for index in range(NEAR, NEAR + lanes):
        rows[index] = ZERO
    for index in range(len(spheres)):
        mark_near(rows, lanes, spheres[index], swerve)
    if swerve.steers != 0:
        for lane in range(lanes):
            if rows[NEAR + lane] > ZERO:
                steer(lane, rows, spheres, swerve)


@compiled()
def touches(lane, rows, sphere, swerve, aside):
    """Whether the guarantee may have to do something about one boid: near its way, or in the way of its brakes, is the sphere.

    `aside`: how far from the straight way it may have come.
    """
    x, y, z = vector_at(rows, POSITION + lane)
    p, q, r = vector_at(rows, NEW_POSITION + lane)
    u, v, w = vector_at(rows, NEW_VELOCITY + lane)
    bx, by, bz = x - sphere.first[0], y - sphere.first[1], z - sphere.first[2]
    ex, ey, ez = p - sphere.last[0], q - sphere.last[1], r - sphere.last[2]
    dx, dy, dz = ex - bx, ey - by, ez - bz
    share = min(max(-(bx * dx + by * dy + bz * dz) / max(dx * dx + dy * dy + dz * dz, TINY), ZERO), ONE)
    nx, ny, nz = bx + share * dx, by + share * dy, bz + share * dz
    skin = swerve.rounding * (
        abs(p) + abs(q) + abs(r) + abs(sphere.last[0]) + abs(sphere.last[1]) + abs(sphere.last[2])
    )
    near = max(sphere.radius, sphere.last_radius) * (ONE + swerve.rounding) + swerve.clearance + skin + aside
    if nx * nx + ny * ny + nz * nz < near * near:
        return True
    distance = np.sqrt(ex * ex + ey * ey + ez * ez)
    inward = ((sphere.moves[0] - u) * ex + (sphere.moves[1] - v) * ey + (sphere.moves[2] - w) * ez) / max(
        distance, TINY
    )
    return (
        swerve.brakes != 0 and (inward + sphere.growth) * swerve.frame > (distance - sphere.last_radius - skin) * BRAKE
    )


@joint()
def kept_out(lane, rows, spheres, swerve):
    """Keeps one boid out of the one sphere that it touches; False where that is a matter for `avoidance.resolve`.

    That is so for several spheres, for who starts inside one, for reflection, and in the plane.
    """
    touched, number = 0, 0
    for index in range(len(spheres)):
        if touches(lane, rows, spheres[index], swerve, ZERO):
            touched, number = index, number + 1
    if number == 0:
        return True
    if number > 1 or swerve.slides == 0:
        return False
    end, velocity = vector_at(rows, NEW_POSITION + lane), vector_at(rows, NEW_VELOCITY + lane)
    aside = slide(lane, rows, spheres[touched], swerve)
    if aside < ZERO:
        return False
    for index in range(len(spheres)):
        if index != touched and touches(lane, rows, spheres[index], swerve, aside):
            # along the one it has come to another: `avoidance.resolve` begins where it was before it slid
            put(rows, NEW_POSITION + lane, end)
            put(rows, NEW_VELOCITY + lane, velocity)
            return False
    return True


@compiled()
def in_float64(a):
    return np.float64(a[0]), np.float64(a[1]), np.float64(a[2])


@compiled()
def plus(a, scale, b):
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@compiled()
def unit_and_length(a):
    size = np.sqrt(dot(a, a))
    return (a[0] / size, a[1] / size, a[2] / size) if size > 1e-12 else (0.0, 1.0, 0.0), size


@compiled()
def slide(lane, rows, sphere, swerve):
    """`avoidance.swept`, `avoidance.freed` and `avoidance.braked` for one boid and one sphere, in float64.

    Returns how far it was pushed aside, no less; -1 for who starts inside, and is left as it was.
    """
    start = in_float64(vector_at(rows, POSITION + lane))
    end, velocity = in_float64(vector_at(rows, NEW_POSITION + lane)), in_float64(vector_at(rows, NEW_VELOCITY + lane))
    first, last = in_float64(sphere.first), in_float64(sphere.last)
    moves = plus((0.0, 0.0, 0.0), 1.0 / swerve.dt, plus(last, -1.0, first))
    begun, ended = np.float64(sphere.radius), np.float64(sphere.last_radius)
    grows, clearance = (ended - begun) / swerve.dt, np.float64(swerve.clearance)
    gap = min(unit_and_length(plus(start, -1.0, first))[1] - begun, clearance)
    if gap < 0.0:
        return -ONE
    share = pushed = 0.0
    for _ in range(BOUNCES):
        centre = plus(first, share, plus(last, -1.0, first))
        radius = begun + share * (ended - begun) + gap
        offset = plus(start, -1.0, centre)
        travel = plus(plus(end, -1.0, last), -1.0, offset)
        growth = ended + gap - radius
        closing = dot(offset, travel) - radius * growth
        apart = max(dot(offset, offset) - radius * radius, 0.0)
        root = closing * closing - (dot(travel, travel) - growth * growth) * apart
        if not (closing < 0.0 and root > 0.0 and apart <= np.sqrt(root) - closing):
            break
        way = apart / (np.sqrt(root) - closing)
        normal = unit_and_length(plus(offset, way, travel))[0]
        deep = (1.0 - way) * (growth - dot(travel, normal))
        if deep <= 0.0:
            break
        start, end, share = (
            plus(start, way, plus(end, -1.0, start)),
            plus(end, deep, normal),
            share + way * (1.0 - share),
        )
        pushed += deep
        velocity = plus(velocity, -min(dot(velocity, normal) - dot(moves, normal) - grows, 0.0), normal)
    away, distance = unit_and_length(plus(end, -1.0, last))
    scale = (
        max(abs(end[0]), abs(end[1]), abs(end[2])) + max(abs(last[0]), abs(last[1]), abs(last[2])) + max(begun, ended)
    )
    missing = max(clearance, ROUNDING * scale + 1e-12) - (distance - ended)
    if missing > 0.0:
        end = plus(end, missing * 1.000001, away)
        distance, pushed = distance + missing * 1.000001, pushed + missing * 1.000001
        velocity = plus(velocity, -min(dot(velocity, away) - dot(moves, away) - grows, 0.0), away)
    inward = grows + dot(moves, away) - dot(velocity, away)
    velocity = plus(velocity, max(inward - STEEPEST * max(distance - ended, 0.0) / swerve.frame, 0.0), away)
    put(rows, NEW_POSITION + lane, end)
    put(rows, NEW_VELOCITY + lane, velocity)
    return F(pushed)
