# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Obstacles: steering around them ahead of time, and the guarantee that no boid ends a step inside one.

Every obstacle answers through the same few questions, above all: how far, and in which direction is away. All are convex.
The reference flies by this numpy code, in float64, once for each step and only for the boids that are near. The numba engine does so
where there are planes, boxes or a lowest height; where there are spheres alone it flies by `swerve`, which leaves to `resolve` here who
touches several of them, bounces off one or starts inside.

Points and velocities are float64 (N, 3), lengths and lengths per second, in the flock's own space.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product

import numpy as np

from .effectors import Effectors
from .settings import Settings
from .vectors import any_side, cross, dot, unit

BOUNCES = 4
"""Hits of one boid in one step that are followed one by one; `freed` takes care of the rest."""

PUSHES = 8
"""Tries to leave overlapping obstacles by the shortest way, before looking around."""

DIRECTIONS = 128
"""In which a boid looks for the way out of a heap of obstacles."""

OFF_MIDDLE = 0.1
"""Share of a sphere's radius: who would pass its middle nearer is given a side."""

OFF_NORMAL = 0.1
"""Sine of the angle to a face's normal: who flies at it more squarely is given a side."""

NEARLY = 0.7
"""Share of the room around an obstacle in which turns get no harder: at its very edge no circle is small enough."""

ROUNDING = 2.0**-21
"""Of the coordinates: what float32 may lose in them, several times over."""

STEEPEST = 3.0
"""Times the way that is left to a surface: what a boid may fly towards it in the time of a frame, see `braked`."""


class Sphere:
    """A ball that moves straight and grows evenly from the begin of the step (0) to its end (1)."""

    def __init__(self, centre: np.ndarray, radius: np.ndarray, strength: float, dt: float) -> None:
        self.centre, self.radius, self.strength, self.dt = centre, np.maximum(radius, 0.0), strength, dt

    def bounds(self) -> tuple[np.ndarray, float]:
        """A ball around it at all times of the step."""
        return self.centre.mean(axis=0), self.radius.max() + np.linalg.norm(self.centre[1] - self.centre[0]) / 2

    def way(self) -> float:
        """The most that any point of its surface moves in the step, lengths."""
        return np.linalg.norm(self.centre[1] - self.centre[0]) + abs(self.radius[1] - self.radius[0])

    def at(self, share):
        """Centre (N, 3) and radius (N,) at a share of the step."""
        share = np.asarray(share, float)
        centre = self.centre[0] + share[..., None] * (self.centre[1] - self.centre[0])
        return centre, self.radius[0] + share * (self.radius[1] - self.radius[0])

    def distance(self, points: np.ndarray, share=1.0) -> tuple[np.ndarray, np.ndarray]:
        """How far outside (N,), negative inside, and the direction away (N, 3); from the very centre it is +Y."""
        centre, radius = self.at(share)
        offset = points - centre
        size = np.sqrt(dot(offset, offset))
        away = np.where((size > 1e-12)[:, None], unit(offset), (0.0, 1.0, 0.0))
        return size - radius, away

    def surface_velocity(self, points: np.ndarray, away: np.ndarray) -> np.ndarray:
        """Of the surface next to the points, its growth included (N, 3)."""
        if self.dt <= 0:
            return np.zeros_like(points)
        growth = (self.radius[1] - self.radius[0]) / self.dt
        return (self.centre[1] - self.centre[0]) / self.dt + growth * away

    def hit(self, start, end, share, gap):
        """Where ways from `start` (at a share of the step) to `end` (at its end) first meet the surface, `gap` (N,) above it.

        Returns the share of the way (N,), inf for a miss; the normal there (N, 3); and how far along it the end must be moved to stay
        outside (N,). From |q + s dq| = r + s dr.
        """
        centre, radius = self.at(share)
        offset, radius = start - centre, radius + gap
        travel = (end - self.centre[1]) - offset
        growth = self.radius[1] + gap - radius
        closing = dot(offset, travel) - radius * growth
        apart = np.maximum(dot(offset, offset) - radius * radius, 0.0)
        root = closing**2 - (dot(travel, travel) - growth**2) * apart
        meets = (closing < 0) & (root > 0)
        way = np.full(len(start), np.inf)
        way[meets] = apart[meets] / (np.sqrt(root[meets]) - closing[meets])
        meets &= way <= 1
        way[~meets] = np.inf
        reached = np.where(meets, way, 0.0)
        normal = unit(offset + reached[:, None] * travel)
        return way, normal, (1 - reached) * (growth - dot(travel, normal))

    def exit(self, points, direction, gap):
        """How far (N,) along unit directions points inside have to go to be out, `gap` above the surface."""
        offset = points - self.centre[1]
        along = dot(offset, direction)
        return np.sqrt(np.maximum(along**2 - dot(offset, offset) + (self.radius[1] + gap) ** 2, 0.0)) - along

    def turn(self, position, velocity, room, horizon):
        """See `steer`: side (N, 3), the curvature that grazes it (N,), seconds until it is reached (N,)."""
        radius = self.radius[0] + room
        offset = position - self.centre[0]
        relative = velocity - self.surface_velocity(position, np.zeros_like(position))
        speed = np.sqrt(dot(relative, relative))
        heading = unit(relative)
        along = -dot(offset, heading)
        miss = offset + along[:, None] * heading
        passing = np.sqrt(dot(miss, miss))
        apart = dot(offset, offset) - radius**2
        reach = along - np.sqrt(np.maximum(radius**2 - passing**2, 0.0))
        threat = (along > 0) & (passing < radius) & (speed > 0)
        middle = np.maximum(OFF_MIDDLE * radius - passing, 0.0)
        side = unit(miss + middle[:, None] * any_side(heading))
        # circles that turn away from the heading and touch the sphere from outside: (apart) = 2 * their radius * (radius - passing)
        curvature = 2 * (radius - passing) / np.maximum(apart, NEARLY * room * radius)
        curvature = curvature * np.clip(along / room, 0.0, 1.0)  # and lets go softly as the boid comes alongside
        time = np.divide(np.maximum(reach, 0.0), speed, out=np.full_like(speed, np.inf), where=threat)
        return side, np.where(threat, curvature, 0.0), time, relative


class Flat(ABC):
    """Shared by what has plane faces: how a boid turns before one."""

    strength = 1.0
    dt: float

    @abstractmethod
    def distance(self, points: np.ndarray, share=1.0) -> tuple[np.ndarray, np.ndarray]:
        """How far the surface is, negative inside (N,), and in which direction is away (N, 3)."""

    @abstractmethod
    def hit(self, start, end, share, gap, still=False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where on the way it is met."""

    def surface_velocity(self, points: np.ndarray, away: np.ndarray) -> np.ndarray:
        """Along the direction away, of the surface next to the points (N, 3): by how much it comes nearer."""
        if self.dt <= 0:
            return np.zeros_like(points)
        return ((self.distance(points, 0.0)[0] - self.distance(points)[0]) / self.dt)[:, None] * away

    def turn(self, position, velocity, room, horizon):
        """See `steer`: the circle whose lowest point touches the face, a distance d away: d = radius * (1 - cos(angle to it))."""
        away = self.distance(position, 0.0)[1]
        relative = velocity - self.surface_velocity(position, away)
        speed, heading = np.sqrt(dot(relative, relative)), unit(relative)
        gap = np.full(len(position), room)
        way, normal, _ = self.hit(position, position + relative * horizon, np.zeros(len(position)), gap, still=True)
        threat = np.isfinite(way) & (speed > 0)
        time = np.where(threat, way * horizon, np.inf)
        sink = -dot(normal, heading)
        level = normal + sink[:, None] * heading
        side = unit(level + np.maximum(OFF_NORMAL - np.sqrt(dot(level, level)), 0.0)[:, None] * any_side(heading))
        gap = np.maximum(np.where(threat, time, 0.0) * speed * sink, NEARLY * room / 2)
        curvature = np.divide(1 - dot(normal, side), gap, out=np.zeros_like(gap), where=gap > 0)
        return side, np.where(threat & (sink > 0), curvature, 0.0), time, relative


class Plane(Flat):
    """A half space; its normal points to the free side."""

    def __init__(self, point: np.ndarray, normal: np.ndarray, dt: float) -> None:
        self.point, self.normal, self.dt = point, unit(normal), dt

    def bounds(self) -> tuple[np.ndarray, float]:
        return self.point[1], np.inf

    def way(self) -> float:
        """It is everywhere already."""
        return 0.0

    def distance(self, points, share=1.0):
        share = np.asarray(share, float)
        point = self.point[0] + share[..., None] * (self.point[1] - self.point[0])
        normal = self.normal[0] + share[..., None] * (self.normal[1] - self.normal[0])
        normal = np.broadcast_to(unit(np.atleast_2d(normal)), points.shape)
        return dot(points - point, normal), normal

    def hit(self, start, end, share, gap, still=False):
        first = self.distance(start, share)[0] - gap
        last, normal = self.distance(end, 0.0 if still else 1.0)
        last = last - gap
        way = np.divide(
            np.maximum(first, 0.0), first - last, out=np.full(len(start), np.inf), where=(last < 0) & (first > last)
        )
        way[first < -1e-9] = np.inf
        return np.where(way <= 1, way, np.inf), normal, np.maximum(-last, 0.0)

    def exit(self, points, direction, gap):
        gap = gap - self.distance(points)[0]
        climb = dot(direction, np.broadcast_to(self.normal[1], direction.shape))
        return np.divide(gap, climb, out=np.full(len(points), np.inf), where=climb > 1e-6)


CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""Of a box, in half sizes, (8, 3)."""


class Box(Flat):
    """A solid box, turned any way."""

    def __init__(self, centre, axes, half_size, dt: float) -> None:
        self.centre, self.axes, self.half_size, self.dt = centre, axes, np.maximum(half_size, 0.0), dt

    def bounds(self) -> tuple[np.ndarray, float]:
        far = np.linalg.norm(self.half_size, axis=1).max()
        return self.centre.mean(axis=0), far + np.linalg.norm(self.centre[1] - self.centre[0]) / 2

    def way(self) -> float:
        """As of a sphere: a corner moves furthest, however the box turns and grows."""
        first, last = (
            centre + CORNERS * half @ axes
            for centre, axes, half in zip(self.centre, self.axes, self.half_size, strict=True)
        )
        return np.linalg.norm(last - first, axis=1).max()

    def local(self, points, share):
        """Points in the box's axes, and its half size, at a share of the step, (N, 3) each."""
        share = np.asarray(share, float)
        centre = self.centre[0] + share[..., None] * (self.centre[1] - self.centre[0])
        axes = self.axes[0] + share[..., None, None] * (self.axes[1] - self.axes[0])
        half = self.half_size[0] + share[..., None] * (self.half_size[1] - self.half_size[0])
        axes = np.broadcast_to(axes, (len(points), 3, 3))
        return np.einsum("nij,nj->ni", axes, points - centre), np.broadcast_to(half, points.shape), axes

    def distance(self, points, share=1.0):
        inner, half, axes = self.local(points, share)
        beyond = np.abs(inner) - half
        sign = np.where(inner < 0, -1.0, 1.0)
        outside = np.maximum(beyond, 0.0)
        far = np.sqrt(dot(outside, outside))
        face = np.eye(3)[np.argmax(beyond, axis=1)]
        away = np.where((far > 1e-12)[:, None], unit(outside), face) * sign
        return np.where(far > 0, far, beyond.max(axis=1)), np.einsum("nij,ni->nj", axes, away)

    def hit(self, start, end, share, gap, still=False):
        """The last of the six faces that is crossed inwards, where that is before the first that is crossed outwards."""
        first, half, _ = self.local(start, share)
        last, half_end, axes = self.local(end, 0.0 if still else 1.0)
        begin = np.concatenate((first - half, -first - half), axis=1) - gap[:, None]
        stop = np.concatenate((last - half_end, -last - half_end), axis=1) - gap[:, None]
        change = begin - stop
        cross_at = np.divide(begin, change, out=np.zeros_like(begin), where=change != 0)
        enter = np.where(begin > 0, np.where(change > 0, cross_at, np.inf), -np.inf)
        on_face = np.abs(begin) <= 1e-9
        enter = np.where(on_face, np.where(stop < 0, 0.0, np.inf), enter)
        leave = np.where((begin <= 0) & (stop > 0), cross_at, np.inf).min(axis=1)
        face = np.argmax(enter, axis=1)
        way = enter[np.arange(len(start)), face]
        meets = (way >= 0) & (way <= 1) & (way < leave)
        normal = np.einsum("nij,ni->nj", axes, np.concatenate((np.eye(3), -np.eye(3)))[face])
        return np.where(meets, way, np.inf), normal, np.maximum(-stop[np.arange(len(start)), face], 0.0)

    def exit(self, points, direction, gap):
        inner, half, axes = self.local(points, 1.0)
        ahead = np.einsum("nij,nj->ni", axes, direction)
        left = half + gap[:, None] - np.where(ahead < 0, -1.0, 1.0) * inner
        return np.divide(left, np.abs(ahead), out=np.full_like(left, np.inf), where=np.abs(ahead) > 1e-9).min(axis=1)


def balls(effectors: Effectors, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The spheres as boids meet them, at begin and end of the step: centres (2, S, 3), radii (2, S), and strengths (S,).

    A boid in the plane meets the circle in which the plane cuts the sphere.
    """
    group = effectors.spheres
    centre, radius = group.centre, np.maximum(group.radius, 0.0)
    if settings.plane:
        radius = np.sqrt(np.maximum(radius**2 - centre[..., 2] ** 2, 0.0))
        centre = centre * (1.0, 1.0, 0.0)
    there = radius.max(axis=0) > 0
    return centre[:, there], radius[:, there], group.strength[0, there]


def obstacles(effectors: Effectors, settings: Settings, dt: float) -> list:
    """All that nobody may be inside, over one step; effectors hold its begin and end."""
    centre, radius, strength = balls(effectors, settings)
    found: list = [Sphere(centre[:, at], radius[:, at], float(strength[at]), dt) for at in range(len(strength))]
    planes = [
        (effectors.planes.point[:, at], effectors.planes.normal[:, at]) for at in range(effectors.planes.point.shape[1])
    ]
    if np.isfinite(settings.min_height):
        up = np.stack((effectors.up, effectors.up))
        planes.append((settings.min_height * up, up))
    for point, normal in planes:
        found.append(plane_in_plane(point, normal, dt) if settings.plane else Plane(point, normal, dt))
    boxes = effectors.boxes
    found += [
        Box(boxes.centre[:, at], boxes.axes[:, at], boxes.half_size[:, at], dt) for at in range(boxes.centre.shape[1])
    ]
    return [one for one in found if one is not None]


def plane_in_plane(point: np.ndarray, normal: np.ndarray, dt: float) -> Plane | None:
    """The line in which a plane cuts z = 0; None where they are parallel."""
    flat = normal * (1.0, 1.0, 0.0)
    size = dot(flat, flat)
    if size.min() < 1e-12:
        return None
    return Plane(flat * (dot(point, normal) / size)[:, None], flat, dt)


# ahead of time


def steer(position, velocity, effectors: Effectors, settings: Settings, dt: float) -> np.ndarray:
    """The velocities (N, 3), turned away from the obstacles ahead: STEER_AROUND; the other responses act at the hit.

    A boid looks as far as it flies in `look_ahead`, and from there turns along the circle that just grazes the obstacle, a body length
    clear of it, seen from the obstacle (which may move). So those that pass anyway keep straight on, the others part to all sides, each
    to its own, and the pull of the target closes them again behind it. It comes in smoothly over the first part of the look-ahead, never
    exceeds the max acceleration times the strength, and keeps the speed.
    """
    velocity = np.array(velocity, float)
    if settings.avoidance != "STEER_AROUND" or settings.look_ahead <= 0 or not len(velocity):
        return velocity
    position = np.asarray(position, float)
    found = obstacles(effectors, settings, dt)
    boids, found = near(position, position, velocity, found, settings, settings.look_ahead, dt)
    if len(boids):
        velocity[boids] = steered(position[boids], velocity[boids], found, settings, dt)
    return velocity


def steered(position, velocity, found: list, settings: Settings, dt: float) -> np.ndarray:
    """See `steer`; for the boids that have something near."""
    room = settings.clearance + settings.body_length
    total, strongest = np.zeros_like(position), np.zeros(len(position))
    for one in found:
        side, curvature, time, relative = one.turn(position, velocity, room, settings.look_ahead)
        onset = np.clip((1 - time / settings.look_ahead) / 0.5, 0.0, 1.0)
        needed = dot(relative, relative) * curvature * onset * onset * (3 - 2 * onset)
        push = one.strength * np.minimum(needed, settings.max_acceleration)
        total += push[:, None] * side
        strongest = np.maximum(strongest, push)
    # between two, pushed by both: over or around them, not to and fro
    size = np.sqrt(dot(total, total))
    heading = unit(velocity)
    over = unit(cross(np.where((size > 1e-9)[:, None], unit(total), any_side(heading)), heading))
    total += np.maximum(strongest - size, 0.0)[:, None] * over
    size = np.maximum(np.sqrt(dot(total, total)), 1e-12)
    total *= (np.minimum(size, strongest) / size)[:, None]
    speed = np.sqrt(dot(velocity, velocity))
    change = total * dt
    most = np.maximum(speed, 0.5 * np.sqrt(dot(change, change)))  # who rests sets out
    step = np.sqrt(dot(change, change))
    change *= np.minimum(1.0, np.divide(most, step, out=np.ones_like(step), where=step > 0))[:, None]
    pushed = velocity + change
    return np.where((strongest > 0)[:, None], unit(pushed) * most[:, None], velocity)


def near(before, position, velocity, found: list, settings: Settings, ahead: float, dt: float):
    """The boids that come within reach of obstacles in a step, or so many seconds after it, indices (M,), and a list of those obstacles."""
    middle, far = (before + position) / 2, position - before
    reach = (
        np.sqrt(dot(far, far)) / 2
        + np.sqrt(dot(velocity, velocity)) * ahead
        + settings.clearance
        + settings.body_length
    )
    any_near, kept = np.zeros(len(position), bool), []
    for one in found:
        centre, radius = one.bounds()
        moves = one.way() / dt * ahead if dt > 0 else 0.0
        offset = middle - centre
        within = dot(offset, offset) <= (radius + moves + reach + ROUNDING * np.abs(centre).max()) ** 2
        if within.any():
            kept.append(one)
            any_near |= within
    return np.flatnonzero(any_near), kept


# the guarantee


def resolve(
    before, position, velocity, effectors: Effectors, settings: Settings, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (N, 3) at the end of a step, nobody inside an obstacle, `clearance` away where there is room.

    Follows every boid's way from `before` to `position` against obstacles that move and grow meanwhile, so that nobody flies through one,
    and lets it slide (or reflects it, keeping `collision_decay` of its speed) where it hits. Who starts inside is set outside by the
    shortest way. Sliding keeps |v| b/R, b the distance at which the boid would pass the centre; reflection turns by π - 2 asin(b/R).
    Positions hold when rounded to float32. `dt` 0 stands for the start: nothing moves.

    Where there is no free space (between two half spaces that cover all, say), a boid keeps the place that it had before the step, until
    there is some.
    """
    before, position, velocity = (np.array(array, float) for array in (before, position, velocity))
    everything = obstacles(effectors, settings, dt)
    frame = settings.substeps * dt
    boids, found = near(before, position, velocity, everything, settings, frame / STEEPEST, dt)
    if not len(boids):
        return position, velocity
    place, speed = position[boids], velocity[boids]
    if dt > 0:
        place, speed = swept(before[boids], place, speed, found, settings)
    flat = (1.0, 1.0, 0.0 if settings.plane else 1.0)
    # who is pushed may come to what was not near, or fly at it
    place, speed, stuck = freed(place * flat, speed, everything, settings)
    place[stuck] = before[boids[stuck]]
    if dt > 0 and settings.avoidance != "REFLECT":
        speed = braked(place, speed, everything, frame)
    position[boids], velocity[boids] = place * flat, speed * flat
    return position, velocity


def swept(start, end, velocity, found: list, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Ends of ways (N, 3) that nothing has stopped on; each hit takes the way's inward part, or turns it back."""
    end, velocity = end.copy(), velocity.copy()
    share = np.zeros(len(start))
    gaps = [
        np.minimum(one.distance(start, 0.0)[0], settings.clearance) for one in found
    ]  # who starts nearer comes no nearer
    for _ in range(BOUNCES):
        first = np.full(len(start), np.inf)
        normal, depth, which = np.zeros_like(start), np.zeros(len(start)), np.full(len(start), -1)
        for index, (one, gap) in enumerate(zip(found, gaps, strict=True)):
            way, face, deep = one.hit(start, end, share, np.maximum(gap, 0.0))
            way[(gap < 0) | (deep <= 0)] = np.inf
            sooner = way < first
            first, which = np.where(sooner, way, first), np.where(sooner, index, which)
            normal, depth = np.where(sooner[:, None], face, normal), np.where(sooner, deep, depth)
        hits = which >= 0
        if not hits.any():
            break
        way = np.where(hits, first, 0.0)[:, None]
        bounce = 1.0 + settings.collision_decay if settings.avoidance == "REFLECT" else 1.0
        start = start + way * (end - start)
        end = end + np.where(hits, bounce * depth, 0.0)[:, None] * normal
        share = share + way[:, 0] * (1 - share)
        for index, one in enumerate(found):
            at = which == index
            if at.any():
                velocity[at] = bounced(velocity[at], one.surface_velocity(start[at], normal[at]), normal[at], settings)
    return end, velocity


def bounced(velocity, surface, normal, settings: Settings) -> np.ndarray:
    """Velocities (N, 3) after a hit on a surface that moves: along it, or reflected and slowed."""
    relative = velocity - surface
    inward = np.minimum(dot(relative, normal), 0.0)[:, None]
    if settings.avoidance == "REFLECT":
        return surface + np.where(inward < 0, settings.collision_decay * (relative - 2 * inward * normal), relative)
    return velocity - inward * normal


def deepest(points, found: list, clearance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each point is within its worst obstacle (N,), the way out (N, 3), and the obstacle's index."""
    depth, normal, which = np.full(len(points), -np.inf), np.zeros_like(points), np.zeros(len(points), int)
    for index, one in enumerate(found):
        gap, away = one.distance(points)
        missing = np.maximum(clearance, skin(points, one)) - gap
        worse = missing > depth
        depth, which = np.where(worse, missing, depth), np.where(worse, index, which)
        normal = np.where(worse[:, None], away, normal)
    return depth, normal, which


def skin(points, one) -> np.ndarray:
    """A distance (N,) that rounding to float32 cannot bridge."""
    centre, radius = one.bounds()
    scale = np.abs(points).max(axis=1) + np.abs(centre).max()
    return ROUNDING * (scale + (radius if np.isfinite(radius) else 0.0)) + 1e-12


def freed(position, velocity, found: list, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outside of everything: by the shortest way, else by looking around, else without the clearance; and who found no way, indices."""
    position, velocity, stuck = position.copy(), velocity.copy(), np.zeros(0, int)
    for clearance in (settings.clearance, 0.0):
        stuck = np.flatnonzero(deepest(position, found, clearance)[0] > 0)
        if not len(stuck):
            break
        place, speed, inside = pushed_out(position[stuck], velocity[stuck], found, clearance, settings)
        position[stuck[~inside]], velocity[stuck[~inside]] = place[~inside], speed[~inside]
        stuck = stuck[inside]
        if len(stuck):
            place, free = looked_out(position[stuck], found, clearance, settings.plane)
            position[stuck[free]] = place[free]
            velocity[stuck] = without_inward(position[stuck], velocity[stuck], found, clearance)
            stuck = stuck[~free]
    return position, velocity, stuck


def pushed_out(position, velocity, found: list, clearance: float, settings: Settings):
    """Each to the surface of the obstacle it is deepest in, again and again; also says who is still inside (N,)."""
    for _ in range(PUSHES):
        depth, normal, which = deepest(position, found, clearance)
        inside = depth > 0
        if not inside.any():
            break
        if settings.plane:
            normal = unit(normal * (1.0, 1.0, 0.0))
        position = position + np.where(inside, depth, 0.0)[:, None] * 1.000001 * normal
        for index, one in enumerate(found):
            at = inside & (which == index)
            if at.any():
                surface = one.surface_velocity(position[at], normal[at])
                velocity[at] -= np.minimum(dot(velocity[at] - surface, normal[at]), 0.0)[:, None] * normal[at]
    return position, velocity, deepest(position, found, clearance)[0] > 0


def looked_out(position, found: list, clearance: float, plane: bool) -> tuple[np.ndarray, np.ndarray]:
    """The nearest free place among many directions (N, 3), and who has one (N,).

    Every obstacle being convex, a straight way leaves each of them but once, and ends outside of all.
    """
    directions = directions_in_plane() if plane else directions_in_space()
    directions = np.concatenate((directions, between_planes(found)))
    count = len(directions)
    start, heading = np.repeat(position, count, axis=0), np.tile(directions, (len(position), 1))
    way = np.zeros(len(start))
    for _ in range(2 * len(found) + 1):
        place = start + np.where(np.isfinite(way), way, 0.0)[:, None] * heading
        before = way.copy()
        for one in found:
            gap = np.maximum(clearance, skin(place, one))
            inside = one.distance(place)[0] < gap
            needed = one.exit(start, heading, 1.000001 * gap) * 1.000001
            way = np.where(inside, np.maximum(way, needed), way)
        if np.array_equal(before, way):
            break
    place = start + np.where(np.isfinite(way), way, 0.0)[:, None] * heading
    way[deepest(place, found, clearance)[0] > 0] = np.inf
    best = np.argmin(way.reshape(-1, count), axis=1) + count * np.arange(len(position))
    return place[best], np.isfinite(way[best])


def directions_in_space() -> np.ndarray:
    """Evenly over the sphere (a Fibonacci lattice), the axes first."""
    step = np.arange(DIRECTIONS) + 0.5
    height, turn = 1 - 2 * step / DIRECTIONS, np.pi * (1 + np.sqrt(5)) * step
    ring = np.sqrt(1 - height**2)
    lattice = np.stack((ring * np.cos(turn), ring * np.sin(turn), height), axis=1)
    return np.concatenate((np.eye(3), -np.eye(3), lattice))


def between_planes(found: list) -> np.ndarray:
    """Into the wedge between every two planes, which may be too narrow to be found by chance (K, 3)."""
    normals = [one.normal[1] for one in found if isinstance(one, Plane)]
    middles = [first + second for index, first in enumerate(normals) for second in normals[:index]]
    return unit(np.array(normals + middles).reshape(-1, 3))


def directions_in_plane() -> np.ndarray:
    """Evenly around the circle."""
    turn = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    return np.stack((np.cos(turn), np.sin(turn), np.zeros_like(turn)), axis=1)


def without_inward(position, velocity, found: list, clearance: float) -> np.ndarray:
    """Velocities (N, 3) that do not lead into a surface that is touched."""
    for one in found:
        gap, away = one.distance(position)
        touching = gap < 1.01 * np.maximum(clearance, skin(position, one))
        inward = np.minimum(dot(velocity - one.surface_velocity(position, away), away), 0.0)
        velocity = velocity - np.where(touching, inward, 0.0)[:, None] * away
    return velocity


def braked(position, velocity, found: list, frame: float) -> np.ndarray:
    """Velocities (N, 3) no faster inward than `STEEPEST` times the way that is left, in the time of a frame.

    A clip is played by cubic Hermite curves: faster ones would dip into the obstacle between two frames (Fritsch and Carlson 1980).
    """
    for one in found:
        gap, away = one.distance(position)
        inward = -dot(velocity - one.surface_velocity(position, away), away)
        velocity = velocity + np.maximum(inward - STEEPEST * np.maximum(gap, 0.0) / frame, 0.0)[:, None] * away
    return velocity
