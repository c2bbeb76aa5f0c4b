# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What draws a flock from afar, and how a wanted direction becomes a steer."""

from __future__ import annotations

import numpy as np

from .effectors import Attractors
from .settings import Settings
from .state import State, Traits
from .vectors import edge_weight, length, limited, smoothstep, unit

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
    left = unit(np.cross(up, heading))
    return offset + WHEEL * (behind * length(offset))[:, None] * left


def attracted(state: State, settings: Settings, traits: Traits, attractors: Attractors, up: np.ndarray) -> np.ndarray:
    """The pull of all attractors, weighted: (N, 3). `up` (3,) is the world's.

    Inside the arrival radius it eases off with the distance, or, with Reynolds steering, the desired speed does (Reynolds 1999): a boid
    that may stop settles there, another one circles.
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
        if kind == "REYNOLDS":
            pull = steered(offset, state.velocity, kind, cruise * ease, settings)
        else:
            pull = ease[:, None] * steered(offset, state.velocity, kind, cruise, settings)
        total += settings.attraction * (attractors.weight[1, index] * reach)[:, None] * pull
    return total
