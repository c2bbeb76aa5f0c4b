# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model in plain float64 numpy: for reading, for checking the kernel, and for where numba is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import avoidance, orientation
from .effectors import Effectors
from .noise import Purpose, uniform
from .settings import RULES, Rule, Settings
from .state import State, Traits

BLOCK = 256
"""Boids whose neighbours are looked up at a time, to bound the memory of the pair matrices."""

FALLOFF_POWER = {"CONSTANT": 0, "NEAREST": 0, "INVERSE": -1, "INVERSE_SQUARE": -2, "CENTROID": 1}
"""Of the distance, in the magnitude of separation."""

VIEW_BAND = 0.2
"""Of the cosine, inside the edge of a smooth field of view: a neighbour fades in over it."""

OFF_CENTRE = 0.25
"""Of its radius: how far from the middle of its neighbours cohesion pulls in full."""

TIGHTEN = 3.0
"""How many times tighter a boid turns at most, to turn instead of braking."""


def length(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Directions; the zero vector has none and stays zero."""
    size = length(vectors)[..., None]
    return np.divide(vectors, size, out=np.zeros_like(vectors), where=size > 0)


def limited(vectors: np.ndarray, most) -> np.ndarray:
    """Vectors cut to a length of at most `most`."""
    size = length(vectors)[..., None]
    return vectors * np.minimum(1.0, np.divide(most, size, out=np.ones_like(size), where=size > 0))


def smoothstep(value: np.ndarray) -> np.ndarray:
    """0 below 0, 1 above 1, smooth between."""
    value = np.clip(value, 0.0, 1.0)
    return value * value * (3.0 - 2.0 * value)


def edge_weight(distance, reach, smooth: bool):
    """Weight of a neighbour over its distance: 1 - (d/R)² squared, or 1 as far as a hard edge."""
    within = distance < reach
    if not smooth:
        return within.astype(float)
    share = np.divide(distance, reach, out=np.ones(np.broadcast(distance, reach).shape), where=np.asarray(reach) > 0)
    return np.where(within, (1.0 - share**2) ** 2, 0.0)


def view_weight(cosine, field_of_view: float, smooth: bool):
    """Weight of a neighbour over the cosine of its angle from the heading."""
    if field_of_view >= 2 * np.pi:
        return np.ones_like(cosine)
    edge = np.cos(field_of_view / 2)
    return smoothstep((cosine - edge) / VIEW_BAND) if smooth else (cosine > edge).astype(float)


class Sums:
    """What the pair loop gathers for each boid and rule: a vector (N, 3) and the sum of the weights (N,)."""

    def __init__(self, count: int) -> None:
        self.vector = {name: np.zeros((count, 3)) for name in RULES}
        self.weight = {name: np.zeros(count) for name in RULES}


def gather(state: State, settings: Settings) -> Sums:
    """Looks up every pair, a block of boids at a time."""
    sums = Sums(len(state))
    for begin in range(0, len(state), BLOCK):
        gather_block(np.arange(begin, min(begin + BLOCK, len(state))), state, settings, sums)
    return sums


def gather_block(boids: np.ndarray, state: State, settings: Settings, sums: Sums) -> None:
    """The sums of some boids over all others."""
    smooth = settings.edge == "SMOOTH"
    offset = state.position[None] - state.position[boids, None]
    if settings.boundary == "PERIODIC" and settings.space == "BOX":
        size = np.array(settings.space_size)
        offset -= size * np.round(offset / size)
    distance = length(offset)
    heading = unit(state.velocity)
    toward = unit(offset)
    cosine = np.einsum("bni,bi->bn", toward, heading[boids])
    # a boid at rest looks nowhere, and sees all round; so does a neighbour in the same place have no direction
    cosine[(length(state.velocity[boids]) == 0)[:, None] | (distance == 0)] = 1.0
    others = np.ones_like(distance, bool)
    others[np.arange(len(boids)), boids] = False
    ranked = others if smooth else others & (view_weight(cosine, widest_view(settings), False) > 0)
    near, cut = nearest(distance, ranked, settings)
    weights = {
        name: rule_weights(getattr(settings, name), distance, cosine, cut, near & others, smooth) for name in RULES
    }
    if settings.zones != "OVERLAPPING":
        for inner, outer in (("separation", "alignment"), ("separation", "cohesion"), ("alignment", "cohesion")):
            weights[outer] = np.where(distance < getattr(settings, inner).radius, 0.0, weights[outer])
    if settings.falloff == "NEAREST":
        weights["separation"] = only_nearest(weights["separation"], distance)
    away = -toward * falloff(distance, settings.falloff)[..., None]
    aligned = heading if settings.alignment_of == "HEADING" else state.velocity
    together = toward if settings.cohesion_of == "DIRECTION" else offset
    sums.vector["separation"][boids] = np.einsum("bn,bni->bi", weights["separation"], away)
    sums.vector["alignment"][boids] = weights["alignment"] @ aligned
    sums.vector["cohesion"][boids] = np.einsum("bn,bni->bi", weights["cohesion"], together)
    for name in RULES:
        sums.weight[name][boids] = weights[name].sum(axis=1)
    if settings.alignment.count_self:
        sums.vector["alignment"][boids] += aligned[boids]
        sums.weight["alignment"][boids] += 1.0


def widest_view(settings: Settings) -> float:
    """Of the three rules: who is in no rule's view is no neighbour."""
    return max(getattr(settings, name).field_of_view for name in RULES)


def rule_weights(rule: Rule, distance, cosine, cut, candidates, smooth: bool) -> np.ndarray:
    """How much each candidate counts for one rule."""
    weight = edge_weight(distance, np.minimum(rule.radius, cut), smooth) * view_weight(
        cosine, rule.field_of_view, smooth
    )
    return np.where(candidates & (distance >= rule.inner_radius), weight, 0.0)


def nearest(distance: np.ndarray, ranked: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Which of the ranked are among the k nearest, ties by index, and the distance of the next, (B, 1), where they fade out."""
    if settings.neighbours == 0 or settings.neighbours >= distance.shape[1]:
        return ranked, np.full((len(distance), 1), np.inf)
    keys = np.where(ranked, distance, np.inf)
    order = np.argsort(keys, axis=1, kind="stable")
    kept = np.zeros_like(ranked)
    np.put_along_axis(kept, order[:, : settings.neighbours], True, axis=1)
    following = np.take_along_axis(keys, order[:, settings.neighbours : settings.neighbours + 1], axis=1)
    cut = following if settings.edge == "SMOOTH" else np.full_like(following, np.inf)
    return kept & ranked, cut


def only_nearest(weights: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Leaves the nearest intruder alone, the first of those equally near."""
    keys = np.where(weights > 0, distance, np.inf)
    first = np.argmin(keys, axis=1, keepdims=True)
    mask = np.zeros_like(weights)
    np.put_along_axis(mask, first, 1.0, axis=1)
    return weights * mask


def falloff(distance: np.ndarray, kind: str) -> np.ndarray:
    """Magnitude of separation over distance; coincident pairs add nothing, their direction being zero."""
    return np.power(distance, FALLOFF_POWER[kind], out=np.zeros_like(distance), where=distance > 0)


# one step


def steers(state: State, settings: Settings, traits: Traits, sums: Sums) -> dict[str, np.ndarray]:
    """What each of the three rules wants, weighted: (N, 3) each."""
    wanted = {name: raw_steer(name, state, settings, sums) for name in RULES}
    if settings.zones == "PRIORITY":
        crowded = sums.weight["separation"] > 0
        for name in ("alignment", "cohesion"):
            wanted[name][crowded] = 0.0
    cruise = settings.cruise_speed * traits.speed
    result = {}
    for name in RULES:
        rule = getattr(settings, name)
        result[name] = (
            rule.weight * traits.weight[:, None] * steered(wanted[name], state.velocity, rule.steer, cruise, settings)
        )
        if settings.edge == "SMOOTH":
            result[name] *= certainty(name, wanted[name], sums, settings)[:, None]
    return result


def certainty(name: str, wanted: np.ndarray, sums: Sums, settings: Settings) -> np.ndarray:
    """How far a steer counts, 0 to 1 (N,): it fades with its neighbours, so that nothing jumps when one comes into reach, and where they
    pull against each other, so that nothing flips in the middle between them."""
    share = np.minimum(1.0, sums.weight[name])
    rule = getattr(settings, name)
    if name == "separation":
        return share * np.minimum(1.0, length(wanted) * rule.radius ** -FALLOFF_POWER[settings.falloff])
    if name == "cohesion" and rule.radius > 0:
        return share * np.minimum(
            1.0, length(wanted) / (1.0 if settings.cohesion_of == "DIRECTION" else OFF_CENTRE * rule.radius)
        )
    return share


def raw_steer(name: str, state: State, settings: Settings, sums: Sums) -> np.ndarray:
    """Sum or mean over the neighbours, before it is made a steer."""
    rule, vector, weight = getattr(settings, name), sums.vector[name], sums.weight[name][:, None]
    if rule.total == "MEAN" and name != "separation":
        vector = np.divide(vector, weight, out=np.zeros_like(vector), where=weight > 0)
        if name == "alignment" and rule.steer == "RAW":
            own = unit(state.velocity) if settings.alignment_of == "HEADING" else state.velocity
            vector = np.where(weight > 0, vector - own, 0.0)
    return vector.copy()


def steered(vector: np.ndarray, velocity: np.ndarray, kind: str, cruise: np.ndarray, settings: Settings) -> np.ndarray:
    """UNIT, RAW, or Reynolds' desired velocity minus velocity, no longer than the max acceleration; nothing from nothing."""
    if kind == "RAW":
        return vector
    direction = unit(vector)
    if kind == "UNIT":
        return direction
    wish = limited(direction * cruise[:, None] - velocity, settings.max_acceleration)
    return np.where(length(vector)[:, None] > 0, wish, 0.0)


def goals(state: State, settings: Settings, traits: Traits, effectors: Effectors) -> np.ndarray:
    """The pull of all attractors, weighted: (N, 3)."""
    total = np.zeros_like(state.position)
    group = effectors.attractors
    cruise = settings.cruise_speed * traits.speed
    for index in range(group.position.shape[1]):
        offset = group.position[1, index] - state.position
        distance = length(offset)
        arrival = group.arrival[1, index]
        ease = np.minimum(1.0, distance / arrival) if arrival > 0 else np.ones_like(distance)
        reach = (
            edge_weight(distance, group.radius[1, index], settings.edge == "SMOOTH")
            if np.isfinite(group.radius[1, index])
            else 1.0
        )
        pull = steered(offset, state.velocity, settings.attraction_steer, cruise, settings)
        total += settings.attraction * (group.weight[1, index] * reach * ease)[:, None] * pull
    return total


def wander(state: State, settings: Settings, dt: float) -> np.ndarray:
    """A slowly turning push, weighted, of the max acceleration: smooth noise in time, a knot each 1 / rate seconds, (N, 3)."""
    time = state.step * dt * settings.wander_rate
    knot, blend = int(np.floor(time)), smoothstep(np.asarray(time - np.floor(time)))
    key = np.full(len(state), settings.seed, np.int64).view(np.uint64)
    boid = np.arange(len(state), dtype=np.uint64)
    axes = (Purpose.WANDER_X, Purpose.WANDER_Y, Purpose.WANDER_Z)
    ends = [
        np.stack([uniform(key, boid, np.uint64(at), np.uint64(axis)) for axis in axes], axis=1)
        for at in (knot, knot + 1)
    ]
    push = 2.0 * (ends[0] * (1.0 - blend) + ends[1] * blend) - 1.0
    scale = settings.max_acceleration if settings.acceleration in ("BOUNDED", "UNBOUNDED") else 1.0
    return settings.wander * scale * push


def level(state: State, settings: Settings, effectors: Effectors) -> np.ndarray:
    """Brakes climbing and sinking, weighted: (N, 3)."""
    climb = state.velocity @ effectors.up
    return -settings.level_flight * climb[:, None] * effectors.up


def hold_speed(state: State, settings: Settings, traits: Traits) -> np.ndarray:
    """Back to the cruise speed, weighted: (N, 3), along the heading (the speed control of Hildenbrandt 2010, 1 / tau its weight)."""
    speed = length(state.velocity)
    return (settings.speed_control * (settings.cruise_speed * traits.speed - speed))[:, None] * unit(state.velocity)


def blend(parts: list[np.ndarray], settings: Settings) -> np.ndarray:
    """All weighted wishes in one, (N, 3)."""
    if settings.blending == "PRIORITISED":
        return prioritised(parts, settings.max_acceleration)
    total = np.sum(parts, axis=0)
    if settings.blending == "AVERAGE":
        weight = sum(getattr(settings, name).weight for name in RULES)
        total = total / weight if weight > 0 else total
    return total


def prioritised(parts: list[np.ndarray], most: float) -> np.ndarray:
    """Running sum in the order of the parts, each cut to what is left of `most` (Reynolds 1987)."""
    total = np.zeros_like(parts[0])
    for part in parts:
        left = np.maximum(0.0, most - length(total))[:, None]
        total = total + limited(part, left)
    return total


def turned(total: np.ndarray, state: State, settings: Settings, traits: Traits) -> np.ndarray:
    """The wish (N, 3) of boids that control their speed: where it is to brake, it is turned to the side, and keeps its length.

    All of the braking is left at cruise speed, none of it at min speed: a flock whose target is behind it wheels round, where one that
    brakes would stand still and tear. OpenSteer's steering at low speed has the same purpose.
    """
    heading = unit(state.velocity)
    along = np.einsum("ij,ij->i", total, heading)
    least, cruise = settings.min_speed * traits.speed, settings.cruise_speed * traits.speed
    free = smoothstep((length(state.velocity) - least) / np.maximum(cruise - least, 1e-9))
    kept = np.where(along < 0, along * free, along)
    lateral = total - along[:, None] * heading
    size = length(lateral)
    room = np.sqrt(size**2 + along**2 - kept**2)
    gain = np.minimum(np.divide(room, size, out=np.ones_like(size), where=size > 0), TIGHTEN)
    return gain[:, None] * lateral + kept[:, None] * heading


def bounded(total: np.ndarray, settings: Settings) -> np.ndarray:
    """The acceleration that the blend asks for."""
    if settings.acceleration == "CONSTANT":
        return settings.max_acceleration * unit(total)
    if settings.acceleration == "BOUNDED":
        return limited(total, settings.max_acceleration)
    return total


def with_speed_limits(velocity: np.ndarray, before: np.ndarray, settings: Settings, traits: Traits) -> np.ndarray:
    """Between min and max speed; a boid at rest that must fly sets out along its last heading, or +Y."""
    least, most = settings.min_speed * traits.speed, settings.max_speed * traits.speed
    speed = length(velocity)
    heading = unit(velocity)
    heading = np.where(speed[:, None] > 0, heading, unit(before))
    heading[(speed == 0) & (length(before) == 0)] = (0.0, 1.0, 0.0)
    return np.where(
        ((speed >= least) & (speed <= most))[:, None], velocity, heading * np.clip(speed, least, most)[:, None]
    )


class Stepper:
    """Flies a flock step by step; the numba kernel has one of the same form."""

    dtype = np.float64

    def __init__(self, settings: Settings, traits: Traits, threads: int | None = None) -> None:
        self.settings, self.traits = settings, traits

    def settle(self, state: State, effectors: Effectors) -> State:
        """Turns every boid along its velocity, and frees those that start inside an obstacle."""
        position, velocity = avoidance.resolve(
            state.position, state.position, state.velocity, effectors, self.settings, 0.0
        )
        return replace(
            state,
            position=position,
            velocity=velocity,
            rotation=orientation.settle(velocity, state.rotation, effectors.up),
        )

    def step(self, state: State, effectors: Effectors, dt: float) -> State:
        """The flock `dt` seconds later; effectors hold the step's begin and end."""
        if not len(state):
            return replace(state, step=state.step + 1)
        settings, traits = self.settings, self.traits
        position, velocity, rotation, flap = (
            np.asarray(array, float) for array in (state.position, state.velocity, state.rotation, state.flap)
        )
        flown = replace(state, position=position, velocity=velocity, rotation=rotation, flap=flap)
        velocity = self._accelerated(flown, effectors, dt)
        velocity = avoidance.steer(flown.position, velocity, effectors, settings, dt)
        if settings.plane:
            velocity[:, 2] = 0.0
        resting = state.step * dt < traits.release
        velocity[resting] = flown.velocity[resting]
        moving = flown.velocity if settings.integration == "POSITION_FIRST" else velocity
        position = flown.position + np.where(resting[:, None], 0.0, moving) * dt
        position, velocity = avoidance.resolve(flown.position, position, velocity, effectors, settings, dt)
        acceleration = (velocity - flown.velocity) / dt
        rotation = orientation.turn(flown.rotation, velocity, acceleration, effectors.up, settings, dt)
        flap = flown.flap + orientation.beat(velocity, acceleration, effectors.up, settings) * dt
        return State(position, velocity, rotation, flap, state.step + 1)

    def gather(self, state: State) -> Sums:
        """The pair sums: what the numba engine does its own way."""
        return gather(state, self.settings)

    def _accelerated(self, state: State, effectors: Effectors, dt: float) -> np.ndarray:
        settings, traits = self.settings, self.traits
        rules = steers(state, settings, traits, self.gather(state))
        parts = [
            *rules.values(),
            goals(state, settings, traits, effectors),
            wander(state, settings, dt),
            level(state, settings, effectors),
        ]
        if settings.speed_control > 0:
            parts.append(hold_speed(state, settings, traits))
        total = blend(parts, settings)
        if settings.speed_control > 0:
            total = turned(total, state, settings, traits)
        acceleration = bounded(total, settings)
        velocity = (state.velocity + acceleration * dt) / (1.0 + settings.drag * dt)
        return with_speed_limits(velocity, state.velocity, settings, traits)
