# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What draws a flock from afar, and how a wanted direction becomes a steer."""

from __future__ import annotations

import numpy as np

from .effectors import Attractors, Path
from .noise import Purpose, stream
from .settings import Settings
from .state import State, Traits
from .vectors import cross, edge_weight, length, limited, smoothstep, unit

WHEEL = 2.0
"""How much the common side counts beside the way to a goal straight behind."""


def steered(vector: np.ndarray, velocity: np.ndarray, kind: str, speed: np.ndarray, settings: Settings) -> np.ndarray:
    """UNIT, RAW, or Reynolds' desired velocity minus velocity, no more than the max acceleration; nothing from nothing.

    `vector` and `velocity` are (N, 3), `speed` (N,) is the desired one.
    """
    if kind == "RAW":
        return vector
    direction = unit(vector)
    if kind == "UNIT":
        return direction
    wish = (direction * speed[:, None] - velocity) / settings.response_time
    return np.where(length(vector)[:, None] > 0, limited(wish, settings.max_acceleration), 0.0)


def full_push(settings: Settings) -> float:
    """What a wish of one amounts to: the max acceleration, or 1 where only the direction counts.

    Without a maximum it is the cruise speed within the response time.
    """
    if settings.acceleration in ("CONSTANT", "TURN"):
        return 1.0
    if np.isinf(settings.max_acceleration):
        return settings.cruise_speed / settings.response_time
    return settings.max_acceleration


def wheeled(offset: np.ndarray, velocity: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Ways (N, 3) to goals at offsets (N, 3): the further behind a goal lies, the more to the left.

    Straight behind, either side is as near: boids that each took their own would tear the flock.
    """
    heading = unit(velocity)
    behind = smoothstep(-np.einsum("ij,ij->i", heading, unit(offset)))
    left = unit(cross(np.broadcast_to(up, heading.shape), heading))
    return offset + WHEEL * (behind * length(offset))[:, None] * left


def attracted(state: State, settings: Settings, traits: Traits, attractors: Attractors, up: np.ndarray) -> np.ndarray:
    """The pull of all attractors, weighted: (N, 3). `up` (3,) is the world's.

    Inside the arrival radius it eases off with the distance, or, with Reynolds steering and no speed control, the desired speed does
    (Reynolds 1999): a boid that may stop settles there, another one circles.
    """
    total = np.zeros_like(state.position)
    cruise = settings.cruise_speed * traits.speed
    kind = settings.attraction_steer
    for index in range(attractors.position.shape[1]):
        offset = attractors.position[1, index] - state.position
        distance = length(offset)
        arrival = attractors.arrival[1, index]
        ease = np.minimum(1.0, distance / arrival) if arrival > 0 else np.ones_like(distance)
        if settings.speed_control > 0:
            offset = wheeled(offset, state.velocity, up)
        reach = edge_weight(distance, attractors.radius[1, index], settings.edge == "SMOOTH")
        if kind == "REYNOLDS" and settings.speed_control == 0:
            pull = steered(offset, state.velocity, kind, cruise * ease, settings)
        else:
            pull = ease[:, None] * steered(offset, state.velocity, kind, cruise, settings)
        total += settings.attraction * (attractors.weight[1, index] * reach)[:, None] * pull
    return total


def sources_at(settings: Settings, time: float) -> np.ndarray:
    """Where the sources are, (S, 3): they jump to new places in their box each `source_interval`, from the spawn on, all at once."""
    # a jump at a step's very time is not to slip to the next
    jump = int(np.floor(time / settings.source_interval + 1e-9))
    axes = (Purpose.SOURCE_X, Purpose.SOURCE_Y, Purpose.SOURCE_Z)
    place = np.stack([stream(settings.seed, settings.sources, jump, axis) for axis in axes], axis=1) - 0.5
    return place * settings.source_size * ((1.0, 1.0, 0.0) if settings.plane else (1.0, 1.0, 1.0))


def fed(state: State, settings: Settings, traits: Traits, dt: float) -> np.ndarray:
    """The pull of the nearest source, weighted: (N, 3)."""
    places = sources_at(settings, state.step * dt)
    offset = places[0] - state.position
    for place in places[1:]:
        other = place - state.position
        offset = np.where((length(other) < length(offset))[:, None], other, offset)
    cruise = settings.cruise_speed * traits.speed
    return settings.attraction * steered(offset, state.velocity, settings.attraction_steer, cruise, settings)


class Line:
    """A path measured along its length; an open one goes straight on beyond its last point, so that nobody turns back there."""

    def __init__(self, path: Path) -> None:
        points = np.concatenate((path.points, path.points[:1])) if path.closed else path.points
        steps = np.diff(points, axis=0)
        kept = length(steps) > 0
        self.start, self.size = points[:-1][kept], length(steps)[kept]
        self.along = steps[kept] / self.size[:, None]
        self.begin = np.concatenate(((0.0,), np.cumsum(self.size)))
        self.closed = path.closed

    def nearest(self, position: np.ndarray) -> np.ndarray:
        """How far along the path (N,) its point is that is nearest to each position (N, 3)."""
        place, best = np.zeros(len(position)), np.full(len(position), np.inf)
        last = len(self.size) - 1
        for index, (start, along, size) in enumerate(zip(self.start, self.along, self.size, strict=True)):
            endless = index == last and not self.closed
            way = np.clip((position - start) @ along, 0.0, np.inf if endless else size)
            distance = length(position - start - way[:, None] * along)
            nearer = distance < best
            place, best = np.where(nearer, self.begin[index] + way, place), np.where(nearer, distance, best)
        return place

    def at(self, place: np.ndarray) -> np.ndarray:
        """The points (N, 3) so far along it (N,)."""
        place = np.mod(place, self.begin[-1]) if self.closed else place
        index = np.clip(np.searchsorted(self.begin, place, side="right") - 1, 0, len(self.size) - 1)
        return self.start[index] + (place - self.begin[index])[:, None] * self.along[index]


def led(state: State, settings: Settings, path: Path) -> np.ndarray:
    """Along the path, weighted: (N, 3).

    A boid aims at a point as far ahead on it as it will have come in `look_ahead`, off to its side as the boid itself is now, but no
    further than the radius: so those inside fly abreast, and those outside come in (Reynolds 1999, path following).
    """
    line = Line(path)
    if not len(line.size):  # one point is no way
        return np.zeros_like(state.position)
    place = line.nearest(state.position)
    here, ahead = line.at(place), line.at(place + max(path.speed * settings.look_ahead, settings.body_length))
    aim = ahead + limited(state.position - here, path.radius)
    speed = np.full(len(state), path.speed)
    return settings.attraction * steered(
        aim - state.position, state.velocity, settings.attraction_steer, speed, settings
    )
