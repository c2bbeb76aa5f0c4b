# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model in plain float64 numpy: for reading, for checking the kernel, and for where numba is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import avoidance, goals, heading, orientation, space, threats
from .effectors import Effectors
from .goals import full_push, steered
from .noise import Purpose, stream
from .settings import FALLOFF_POWER, RULES, Rule, Settings
from .state import State, Traits
from .vectors import edge_weight, length, limited, smoothstep, unit

BLOCK = 256
"""Boids whose neighbours are looked up at a time, to bound the memory of the pair matrices."""

VIEW_BAND = 0.2
"""Of the cosine, inside the edge of a smooth field of view: a neighbour fades in over it."""

OFF_CENTRE = 0.25
"""Of its radius: how far from the middle of its neighbours cohesion pulls in full."""

TIGHTEN = 3.0
"""How many times tighter a boid turns at most, to turn instead of braking."""

SHELL_BAND = 0.25
"""Of the inner radius, beyond it: in a smooth shell a neighbour fades in over it."""


def view_weight(cosine, field_of_view: float, smooth: bool):
    """Weight of a neighbour over the cosine of its angle from the heading."""
    if field_of_view >= 2 * np.pi:
        return np.ones_like(cosine)
    edge = np.cos(field_of_view / 2)
    return smoothstep((cosine - edge) / VIEW_BAND) if smooth else (cosine > edge).astype(float)


def shell_weight(distance, inner_radius: float, smooth: bool):
    """Weight of a neighbour over its distance from the inner edge of a shell: none inside it."""
    if smooth:
        return smoothstep((distance - inner_radius) / max(SHELL_BAND * inner_radius, 1e-30))
    return (distance >= inner_radius).astype(float)


def inner_radii(settings: Settings) -> list[float]:
    """Of the three rules' shells, lengths: exclusive zones begin where the next smaller one ends."""
    rules = [getattr(settings, name) for name in RULES]
    if settings.zones == "OVERLAPPING":
        return [rule.inner_radius for rule in rules]
    radii = [rule.radius for rule in rules]
    return [max([rule.inner_radius, *(radius for radius in radii if radius < rule.radius)]) for rule in rules]


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
        name: rule_weights(getattr(settings, name), inner, distance, cosine, cut, near & others, smooth)
        for name, inner in zip(RULES, inner_radii(settings), strict=True)
    }
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


def count_self(sums: Sums, state: State, settings: Settings) -> None:
    """Adds every boid to its own neighbours, where it has any: a boid alone has nothing to align with."""
    aligned = unit(state.velocity) if settings.alignment_of == "HEADING" else state.velocity
    share = np.minimum(1.0, sums.weight["alignment"])
    sums.vector["alignment"] += share[:, None] * aligned
    sums.weight["alignment"] += share


def widest_view(settings: Settings) -> float:
    """Of the three rules: who is in no rule's view is no neighbour."""
    return max(getattr(settings, name).field_of_view for name in RULES)


def rule_weights(rule: Rule, inner: float, distance, cosine, cut, candidates, smooth: bool) -> np.ndarray:
    """How much each candidate counts for one rule."""
    weight = edge_weight(distance, np.minimum(rule.radius, cut), smooth)
    if inner > 0:
        weight = weight * shell_weight(distance, inner, smooth)
    return np.where(candidates, weight * view_weight(cosine, rule.field_of_view, smooth), 0.0)


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
    cruise = settings.cruise_speed * traits.speed
    result = {}
    for name in RULES:
        rule, wanted = getattr(settings, name), raw_steer(name, state, settings, sums)
        share = rule.weight * traits.weight
        if settings.edge == "SMOOTH":
            share = share * certainty(name, wanted, sums, settings)
        if settings.zones == "PRIORITY" and name != "separation":
            share = share * (1.0 - np.minimum(1.0, sums.weight["separation"]))
        result[name] = share[:, None] * steered(wanted, state.velocity, rule.steer, cruise, settings)
    return result


def certainty(name: str, wanted: np.ndarray, sums: Sums, settings: Settings) -> np.ndarray:
    """How far a steer counts, 0 to 1 (N,): it fades with its neighbours, so that nothing jumps when one comes into reach, and where they
    pull against each other, so that nothing flips in the middle between them."""
    share = np.minimum(1.0, sums.weight[name])
    rule = getattr(settings, name)
    if rule.radius == 0:
        return share
    if name == "separation":
        return share * np.minimum(1.0, length(wanted) * rule.radius ** -FALLOFF_POWER[settings.falloff])
    if name == "cohesion":
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
    return vector


def wander(state: State, settings: Settings, dt: float) -> np.ndarray:
    """A slowly turning push, weighted, of the max acceleration: smooth noise in time, a knot each 1 / rate seconds, (N, 3)."""
    time = state.step * dt * settings.wander_rate
    knot, blend = int(np.floor(time)), smoothstep(np.asarray(time - np.floor(time)))
    axes = (Purpose.WANDER_X, Purpose.WANDER_Y, Purpose.WANDER_Z)
    ends = [np.stack([stream(settings.seed, len(state), at, axis) for axis in axes], axis=1) for at in (knot, knot + 1)]
    push = 2.0 * (ends[0] * (1.0 - blend) + ends[1] * blend) - 1.0
    return settings.wander * full_push(settings) * push


def level(state: State, settings: Settings, up: np.ndarray) -> np.ndarray:
    """Brakes climbing and sinking, weighted: (N, 3)."""
    climb = state.velocity @ up
    return -settings.level_flight / speed_unit(settings) * climb[:, None] * up


def hold_speed(state: State, settings: Settings, traits: Traits) -> np.ndarray:
    """Back to the cruise speed, weighted: (N, 3), along the heading (the speed control of Hildenbrandt 2010, 1 / tau its weight)."""
    speed = length(state.velocity)
    missing = (settings.cruise_speed * traits.speed - speed) / speed_unit(settings)
    return settings.speed_control * missing[:, None] * unit(state.velocity)


def speed_unit(settings: Settings) -> float:
    """What wishes measure speeds in: 1, or, where only the total's direction counts, the max speed, so that they weigh as directions do."""
    if settings.acceleration not in ("CONSTANT", "TURN"):
        return 1.0
    return settings.max_speed if 0 < settings.max_speed < np.inf else max(settings.cruise_speed, 1.0)


def blend(parts: list[np.ndarray], settings: Settings) -> np.ndarray:
    """All weighted wishes in one, (N, 3)."""
    if settings.blending == "PRIORITISED":
        return prioritised(parts, settings.max_acceleration)
    total = np.sum(parts, axis=0)
    if settings.blending == "AVERAGE":
        weight = sum(getattr(settings, name).weight for name in RULES)
        total = total / weight if weight > 1e-9 else total
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
    """The acceleration that the blend asks for, (N, 3); with TURN, the direction."""
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

    def __init__(self, settings: Settings, traits: Traits, threads: int = 1) -> None:
        # all keep clear of obstacles as the largest has to
        self.settings = replace(settings, clearance=settings.clearance * (1.0 + settings.size_variation))
        self.traits = traits

    def settle(self, state: State, effectors: Effectors) -> State:
        """Turns every boid along its velocity, and frees those that start inside an obstacle or outside of the space."""
        position = np.asarray(state.position, float)
        if self.settings.space != "OPEN":
            position = space.settle(position, self.settings)
        position, velocity = avoidance.resolve(position, position, state.velocity, effectors, self.settings, 0.0)
        return replace(
            state,
            position=position,
            velocity=velocity,
            rotation=orientation.settle(velocity, state.rotation, effectors.up),
        )

    def step(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None = None) -> State:
        """The flock `dt` seconds later; effectors hold the step's begin and end, `wish` (N, 3) what other flocks make it want."""
        if not len(state):
            return replace(state, step=state.step + 1)
        settings, traits = self.settings, self.traits
        position, velocity, rotation, flap = (
            np.asarray(array, float) for array in (state.position, state.velocity, state.rotation, state.flap)
        )
        flown = replace(state, position=position, velocity=velocity, rotation=rotation, flap=flap)
        velocity = self._wanted(flown, effectors, dt, wish)
        if settings.noise:
            velocity = heading.noisy(velocity, settings, state.step, dt)
        velocity = avoidance.steer(flown.position, velocity, effectors, settings, dt)
        if settings.plane:
            velocity[:, 2] = 0.0
        velocity = self._steady(velocity, flown.velocity, effectors.up, dt)
        resting = state.step * dt < traits.release
        velocity[resting] = flown.velocity[resting]
        moving = flown.velocity if settings.integration == "POSITION_FIRST" else velocity
        position = flown.position + np.where(resting[:, None], 0.0, moving) * dt
        before = flown.position
        if settings.space != "OPEN":
            before, position, velocity = space.contain(before, position, velocity, settings)
        position, velocity = avoidance.resolve(before, position, velocity, effectors, settings, dt)
        acceleration = (velocity - flown.velocity) / dt
        rotation = orientation.turn(flown.rotation, velocity, acceleration, effectors.up, settings, dt)
        flap = flown.flap + orientation.beat(velocity, acceleration, effectors.up, settings) * dt
        return State(position, velocity, rotation, flap, state.step + 1)

    def _steady(self, velocity: np.ndarray, before: np.ndarray, up: np.ndarray, dt: float) -> np.ndarray:
        """Velocities (N, 3) within the limits of turning, climbing and diving."""
        settings = self.settings
        if np.isfinite(settings.max_turn_rate):
            velocity = heading.turned(velocity, before, settings.max_turn_rate * dt)
        if not settings.plane and min(settings.max_climb, settings.max_dive) < np.pi / 2:
            velocity = heading.within_slopes(velocity, before, up, settings)
        return velocity

    def gather(self, state: State) -> Sums:
        """The pair sums: what the numba engine does its own way."""
        return gather(state, self.settings)

    def _wanted(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None) -> np.ndarray:
        """The velocities (N, 3) that rules, goals and threats ask for, within the limits of speed."""
        settings, traits = self.settings, self.traits
        acceleration = self._acceleration(state, effectors, dt, wish)
        if settings.acceleration == "TURN":
            direction = np.where(length(acceleration)[:, None] > 0, acceleration, state.velocity)
            velocity = (settings.cruise_speed * traits.speed)[:, None] * unit(direction)
        else:
            velocity = (state.velocity + acceleration * dt) / (1.0 + settings.drag * dt)
        return with_speed_limits(velocity, state.velocity, settings, traits)

    def _acceleration(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None) -> np.ndarray:
        """All wishes in one, bounded, (N, 3); threats come first, or on top. With TURN only its direction counts."""
        settings = self.settings
        wishes, threat = self._wishes(state, effectors, dt, wish), threats.threatened(state, settings, effectors, dt)
        if threat is not None and settings.blending == "PRIORITISED":
            wishes, threat = [threat, *wishes], None
        total = blend(wishes, settings)
        if threat is not None and settings.acceleration in ("CONSTANT", "TURN"):
            total, threat = total + threat, None
        if settings.speed_control:
            total = turned(total, state, settings, self.traits)
        total = bounded(total, settings)
        return total if threat is None else total + threat

    def _wishes(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None) -> list[np.ndarray]:
        """Whatever draws the boids, weighted, the most pressing first; what is switched off is left out."""
        settings, traits = self.settings, self.traits
        parts = [] if wish is None else [wish]
        if any(getattr(settings, name).weight for name in RULES):
            sums = self.gather(state)
            if settings.alignment.count_self:
                count_self(sums, state, settings)
            rules = steers(state, settings, traits, sums)
            parts += [rules["separation"], rules["cohesion"], rules["alignment"]]
        if effectors.attractors.position.shape[1] and settings.attraction:
            parts.append(goals.attracted(state, settings, traits, effectors.attractors, effectors.up))
        if settings.sources and settings.attraction:
            parts.append(goals.fed(state, settings, traits, dt))
        if len(effectors.path.points) and settings.attraction:
            parts.append(goals.led(state, settings, effectors.path))
        if settings.wander:
            parts.append(wander(state, settings, dt))
        if settings.level_flight:
            parts.append(level(state, settings, effectors.up))
        if settings.speed_control:
            parts.append(hold_speed(state, settings, traits))
        return parts or [np.zeros_like(state.position)]
