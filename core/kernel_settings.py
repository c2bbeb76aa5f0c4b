# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings, and what there is around the flock, in the numbers that the compiled step reads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from . import avoidance, goals, motion, orientation, pairs, reference, swerve
from .effectors import Effectors
from .lanes import FAR, HUGE, F
from .settings import FALLOFF_POWER, RULES, Settings

SMALLEST = 1e-9
"""A length below which there is none, in float32."""

FURTHEST = float(FAR) / 100
"""Lengths, that boids see."""

NO_ATTRACTOR, NO_SPHERE = np.zeros(0, motion.ATTRACTOR), np.zeros(0, swerve.SPHERE)


def is_periodic(settings: Settings) -> bool:
    return settings.space == "BOX" and settings.boundary == "PERIODIC"


def within_reach(settings: Settings) -> Settings:
    """The same with no radius so large that a place where no boid is would lie within it: as far as any flock is wide in float32."""
    rules = {name: getattr(settings, name) for name in RULES}
    return replace(settings, **{name: replace(rule, radius=min(rule.radius, FURTHEST)) for name, rule in rules.items()})


def below(radius: float) -> np.float32:
    """The largest float32 square of a distance below the radius; -1 for no radius: nobody is nearer."""
    if radius <= 0:
        return F(-1)
    square = F(radius * radius)
    while float(square) >= radius * radius:
        square = np.nextafter(square, F(0))
    return square


def plain_of(settings: Settings) -> tuple[np.float32, ...] | None:
    """What the plain pair loop needs, None where it won't do: squares of the radii; separation's factors of the offset over 1, 1 / d²."""
    rules = [getattr(settings, name) for name in RULES]
    if not (
        settings.edge == "HARD"
        and settings.zones == "OVERLAPPING"
        and settings.neighbours == 0
        and settings.falloff in ("INVERSE", "CENTROID")
        and settings.cohesion_of == "OFFSET"
        and not is_periodic(settings)
        and not settings.alignment.count_self
        and all(rule.inner_radius == 0 and rule.field_of_view >= 2 * np.pi for rule in rules)
        and not any(rule.steer == "RAW" and rule.total == "MEAN" for rule in rules[1:])
    ):
        return None
    factors = (F(1), F(0)) if settings.falloff == "CENTROID" else (F(0), F(1))
    return (*(below(rule.radius) for rule in rules), *factors)


def look_of(settings: Settings) -> Any:
    """`pairs.LOOK` of the settings."""
    look = np.zeros(1, pairs.LOOK)
    smooth = settings.edge == "SMOOTH"
    rules = [getattr(settings, name) for name in RULES]
    inner = reference.inner_radii(settings)
    look["reach"] = max(rule.radius for rule in rules)
    look["radius"] = [rule.radius * rule.radius for rule in rules]
    look["fade"] = [1 / rule.radius**2 if smooth and rule.radius > SMALLEST else 0 for rule in rules]
    look["inner"] = [0 if smooth else radius * radius for radius in inner]
    look["shell"] = [1 / (reference.SHELL_BAND * radius) if smooth and radius > SMALLEST else 0 for radius in inner]
    look["shell_start"] = [1 / reference.SHELL_BAND if smooth and radius > SMALLEST else -1 for radius in inner]
    look["sight"] = [view_edge(rule.field_of_view) for rule in rules]
    look["widest"] = view_edge(reference.widest_view(settings))
    look["slope"] = 1 / reference.VIEW_BAND if smooth else HUGE
    look["smooth"] = smooth
    look["falloff"][0, 1 - FALLOFF_POWER[settings.falloff]] = 1
    look["only"] = settings.falloff == "NEAREST"
    look["direction"] = settings.cohesion_of == "DIRECTION"
    look["named"] = settings.falloff == "NEAREST" or settings.neighbours > 0
    look["heading"] = settings.alignment_of == "HEADING"
    look["offset"] = settings.cohesion_of != "DIRECTION"
    return look[0]


def view_edge(field_of_view: float) -> float:
    """The cosine of half the view; below -1 it is a view all round."""
    return -2.0 if field_of_view >= 2 * np.pi else float(np.cos(field_of_view / 2))


def lasting(settings: Settings, dt: float) -> np.ndarray:
    """`motion.MOTION` of the settings, (1,), but for what changes from step to step."""
    made = np.zeros(1, motion.MOTION)
    rules = [getattr(settings, name) for name in RULES]
    unit = reference.speed_unit(settings)
    total = sum(rule.weight for rule in rules)
    values = {
        "max_acceleration": settings.max_acceleration, "cruise_speed": settings.cruise_speed, "min_speed": settings.min_speed,
        "max_speed": settings.max_speed, "response": 1 / settings.response_time, "drag": settings.drag,
        "attraction": settings.attraction, "wander": settings.wander * goals.full_push(settings),
        "level": settings.level_flight / unit, "speed_control": settings.speed_control / unit, "roll": settings.roll_rate * dt,
        "dt": dt, "kept": np.exp(-dt / settings.smoothing) if settings.smoothing > 0 else 0,
        "roll_share": 1 - np.exp(-dt / orientation.ROLL_TIME),
        "turn": dt * (orientation.turn_limit(settings) if settings.smoothing > 0 else np.inf),
        "bank": settings.banking / settings.gravity, "beat_rate": settings.beat_rate,
        "effort": 1 / settings.max_acceleration if settings.max_acceleration > 0 else 0,
        "average": 1 / total if settings.blending == "AVERAGE" and total > SMALLEST else 1,
        "weight": [rule.weight for rule in rules], "sure": sure(settings),
        # directions alone count in the plain pair loop, and the weights are not summed
        "mean": [rule.total == "MEAN" and rule is not rules[0] and plain_of(settings) is None for rule in rules],
        "steer": [motion.STEER[rule.steer] for rule in rules], "attraction_steer": motion.STEER[settings.attraction_steer],
        "heading": settings.alignment_of == "HEADING", "priority": settings.zones == "PRIORITY",
        "smooth": settings.edge == "SMOOTH", "counts_self": settings.alignment.count_self,
        "prioritised": settings.blending == "PRIORITISED", "constant": settings.acceleration == "CONSTANT",
        "bounded": settings.acceleration == "BOUNDED", "controlled": settings.speed_control > 0,
        "position_first": settings.integration == "POSITION_FIRST", "plane": settings.plane,
        "seed": np.int64(settings.seed).view(np.uint64),
    }  # fmt: skip
    for name, value in values.items():
        made[name] = np.minimum(value, float(HUGE)) if made[name].dtype == np.float32 else value
    return made


def sure(settings: Settings) -> list[float]:
    """Of the three rules: 1 / the length from which on a wish counts in full; see `reference.certainty`."""
    near, wide, all_count = settings.separation.radius, settings.cohesion.radius, float(HUGE)
    separation = near ** -FALLOFF_POWER[settings.falloff] if near > SMALLEST else all_count
    cohesion = 1.0 if settings.cohesion_of == "DIRECTION" else 1 / (reference.OFF_CENTRE * max(wide, SMALLEST))
    return [separation, all_count, cohesion if wide > SMALLEST else all_count]


def steers(settings: Settings) -> bool:
    """Whether boids look out for obstacles."""
    return settings.avoidance == "STEER_AROUND" and settings.look_ahead > 0


def look_ahead(settings: Settings, dt: float) -> float:
    """How far ahead obstacles can matter, seconds."""
    return max(settings.look_ahead if steers(settings) else 0.0, dt * (settings.substeps + 1))


def dodging(settings: Settings, dt: float) -> np.ndarray:
    """`swerve.SWERVE` of the settings, (1,)."""
    made = np.zeros(1, swerve.SWERVE)
    values = {
        "ahead": look_ahead(settings, dt), "look_ahead": settings.look_ahead,
        "dt": dt, "frame": dt * settings.substeps, "room": settings.clearance + settings.body_length,
        "clearance": settings.clearance, "most": settings.max_acceleration, "rounding": 16 * avoidance.ROUNDING,
        "slides": settings.avoidance != "REFLECT" and not settings.plane, "steers": steers(settings),
        "brakes": settings.avoidance != "REFLECT",
    }  # fmt: skip
    for name, value in values.items():
        made[name] = value
    return made


def set_time(numbers: np.ndarray, settings: Settings, effectors: Effectors, time: float) -> None:
    """What is new in `motion.MOTION` (1,) at each step, so many seconds after the spawn."""
    knot = math.floor(time * settings.wander_rate)
    share = time * settings.wander_rate - knot
    numbers["time"], numbers["up"] = time, effectors.up
    numbers["wander_blend"], numbers["knot"] = share * share * (3 - 2 * share), knot


def attractors(settings: Settings, effectors: Effectors) -> np.ndarray:
    """`motion.ATTRACTOR` of each, (A,)."""
    group = effectors.attractors
    if not group.position.shape[1]:
        return NO_ATTRACTOR
    made = np.zeros(group.position.shape[1], motion.ATTRACTOR)
    radius, arrival = group.radius[1], group.arrival[1]
    made["place"], made["weight"] = group.position[1], group.weight[1]
    made["radius"] = np.minimum(radius, HUGE)
    smooth = settings.edge == "SMOOTH"
    made["fade"] = [1 / one**2 if smooth and SMALLEST < one < np.inf else 0 for one in radius]
    made["arrival"] = [1 / one if one > SMALLEST else HUGE for one in arrival]
    return made


def spheres(settings: Settings, effectors: Effectors, dt: float) -> np.ndarray:
    """`swerve.SPHERE` of each that is there, (S,): see `avoidance.balls`."""
    if not effectors.spheres.radius.shape[1]:
        return NO_SPHERE
    (first, last), (begin, end), strength = avoidance.balls(effectors, settings)
    made, way = np.empty(len(strength), swerve.SPHERE), last - first
    moved = np.sqrt(avoidance.dot(way, way))
    made["first"], made["last"], made["moves"] = first, last, way / dt
    made["radius"], made["last_radius"], made["growth"] = begin, end, (end - begin) / dt
    made["strength"] = strength
    made["reach"] = np.maximum(begin, end) + moved / 2 + (moved + np.abs(end - begin)) / dt * look_ahead(settings, dt)
    return made
