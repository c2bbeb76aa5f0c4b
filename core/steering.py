# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numba engine: the reference's step in compiled float32, on all cores.

What is asked for most is compiled as a whole step. What is rare goes through the reference's own numpy code, with compiled pair sums:
`covers` alone decides, and lists what is compiled, so that a setting it does not know is never ignored.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import numba
import numpy as np

from . import avoidance, goals, hash_grid, kernel, motion, orientation, pairs, reference, swerve
from .counters import COUNTERS, CROWD, CROWDED, RESOLVED
from .effectors import Effectors, attractor, spheres
from .gather import scratch_for
from .hash_grid import PADDING
from .lanes import HUGE, F
from .settings import FALLOFF_POWER, RULES, Settings
from .state import RECORD, State, Traits, spawn

VERSION = numba.__version__

WHOLE_STEP = frozenset((
    # the flock, before and beside the step
    "count", "seed", "body_length", "spacing", "spawn_shape", "spawn_proportions", "start", "initial_speed", "initial_speed_variation",
    "release_duration", "size_variation", "speed_variation", "weight_variation", "pre_roll", "substeps",
    # whom a boid heeds: the pair sums know it all
    *RULES, "neighbours", "edge", "falloff", "zones", "alignment_of", "cohesion_of",
    # how it steers
    "acceleration", "blending", "integration", "cruise_speed", "response_time", "min_speed", "max_speed", "max_acceleration", "drag",
    "attraction", "attraction_steer", "wander", "wander_rate", "level_flight", "speed_control", "plane",
    # what it avoids, and how it turns its body
    "avoidance", "look_ahead", "collision_decay", "clearance", "banking", "gravity", "roll_rate", "smoothing", "beat_rate",
    # without effect while what they belong to is at its default
    "noise_shape", "source_interval", "source_size", "boundary", "space_centre", "space_size", "feeler_length",
))  # fmt: skip
"""The settings that the compiled step reads, or need not read. All others have to be at their defaults for it to be taken."""

ACCELERATIONS = ("BOUNDED", "CONSTANT", "UNBOUNDED")
"""Those that are compiled."""

DEFAULT = Settings()

SMALLEST = 1e-9
"""A length below which there is none, in float32."""

SAMPLE = 64
"""Boids from whose places the density is taken."""

SHARE = 1.2
"""Boids for each cell, of those who are looked for."""

THICK, FINER = 4, 4
"""Times as many as meant in a window: who is there waits for smaller cells, which are tried so often."""

EVERYBODY = 1 << 40

ROOM = 1024
"""Boids in a window, at first."""


def covers_settings(settings: Settings) -> bool:
    """Whether the compiled step knows all that the settings ask for."""
    others = (entry.name for entry in fields(Settings) if entry.name not in WHOLE_STEP)
    return (
        all(getattr(settings, name) == getattr(DEFAULT, name) for name in others)
        and settings.acceleration in ACCELERATIONS
        and bool(np.isfinite(settings.max_acceleration))
    )


def covers_effectors(effectors: Effectors) -> bool:
    """Whether the compiled step knows all that there is around the flock."""
    groups = (effectors.predators.radius, effectors.planes.point, effectors.boxes.centre)
    return not (any(group.shape[1] for group in groups) or len(effectors.path.points))


def covers(settings: Settings, effectors: Effectors) -> bool:
    """Whether the compiled step knows all that is asked for."""
    return covers_settings(settings) and covers_effectors(effectors)


class Stepper(reference.Stepper):
    """The reference's step, compiled. The bits do not depend on the number of threads: each boid gathers by itself."""

    def __init__(self, settings: Settings, traits: Traits, threads: int | None = None) -> None:
        super().__init__(settings, traits)
        self._threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._look, self._plain = look_of(settings), plain_of(settings)
        self._workers = [Worker(settings.neighbours) for _ in range(self._threads)]
        self._grid = hash_grid.grid_for(0, self._threads)
        # of its own, so that the float64 numbers need not stay
        own, known = Traits(traits.settings), traits.settings
        self._varied = (
            varied(own, "speed", known.speed_variation), varied(own, "weight", known.weight_variation),
            varied(own, "release", known.release_duration),
        )  # fmt: skip
        self._covered = covers_settings(self.settings)
        self._lasting: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def step(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None = None) -> State:
        """As `reference.Stepper.step`, in float32."""
        if not (len(state) and self._covered and covers_effectors(effectors)):
            return super().step(state, effectors, dt, wish)
        state = state.stored()
        flown = State.of(np.empty((len(state), RECORD), np.float32), state.step + 1)
        touched = np.zeros(len(state) if effectors.spheres.radius.shape[1] else 0, np.uint8)
        self._run(state, self._flight(effectors, state.step, dt), wish, flown, touched)
        self._keep_out(np.flatnonzero(touched), state, flown, effectors, dt)
        return flown

    def gather(self, state: State) -> reference.Sums:
        """As `reference.gather`."""
        sums = np.empty((len(state), 12), np.float32)
        if len(state):
            state = state.stored()
            self._run(
                state,
                self._flight(Effectors().at(0), 0, 1.0),
                None,
                state,
                NOBODY,
                sums,
            )
        found = reference.Sums(len(state))
        for index, name in enumerate(RULES):
            found.vector[name] = sums[:, 4 * index : 4 * index + 3].astype(float)
            found.weight[name] = sums[:, 4 * index + 3].astype(float)
        return found

    def _flight(self, effectors: Effectors, step: int, dt: float) -> Flight:
        if dt not in self._lasting:
            self._lasting[dt] = lasting(self.settings, dt), dodging(self.settings, dt)
        return Flight(self.settings, *self._lasting[dt], effectors, step, dt)

    def _run(
        self, state: State, flight: Flight, wish, flown: State, touched: np.ndarray, sums: np.ndarray | None = None
    ) -> None:
        """One flight of all compiled phases, into `flown`, and `touched` uint8 (N,) for who has touched something; or into `sums`."""
        count, settings = len(state), self.settings
        if len(self._grid.order) != count:
            self._grid = hash_grid.grid_for(count, self._threads)
        wishes = NO_WISH if wish is None else np.ascontiguousarray(wish, np.float32)
        boids, traits, out = flat(state), (*self._varied, wishes), flat(flown)
        nearest = settings.neighbours or None
        plain = self._plain if sums is None else None
        general = None if plain or nearest else 1
        sums = NO_SUMS if sums is None else sums
        reach = max(float(self._look["reach"]), 1e-6)
        todo = np.ones(count, np.uint8)
        first, left, finer = first_size(state.position, settings, reach), count, FINER
        size = first
        meant = SHARE * ((nearest or 0) + 1)
        crowded = EVERYBODY if not nearest or is_periodic(settings) else round(THICK * 27 * meant)
        while left:
            counters = np.zeros(COUNTERS, np.int64)
            frame, grid = frame_of(state.position, size, settings), self._grid
            building = (counters, boids, settings.alignment_of == "HEADING", frame)
            flying = (todo, grid, frame, boids, traits, out, touched, self._look, plain, general, nearest, int(size >= reach), crowded,
                      flight.motion, flight.dodging, flight.spheres, flight.attractors, sums)  # fmt: skip
            self._on_all(counters, building, flying)
            left -= int(counters[RESOLVED])
            if counters[CROWDED] and finer:
                # those who stand thickest next, in cells that suit them; then who is left, in larger ones again
                together = counters[CROWD] / counters[CROWDED]
                size *= min(0.5, (meant / together) ** (1 / 3))
                size, finer = min(size, first_size(state.position[todo > 0], settings, reach)), finer - 1
            else:
                size, crowded = first if size < first else min(3 * size, reach), EVERYBODY

    def _on_all(self, *work: Any) -> None:
        """Lets all threads work, this one among them."""
        jobs = [self._pool.submit(worker.work, *work) for worker in self._workers[1:]] if self._pool else []
        self._workers[0].work(*work)
        for job in jobs:
            job.result()

    def _keep_out(self, boids: np.ndarray, before: State, flown: State, effectors: Effectors, dt: float) -> None:
        """The guarantee, for those who may have touched something: as in `reference.Stepper.step`."""
        if not len(boids):
            return
        position, velocity, rotation, flap = (part[boids].astype(float) for part in parts_of(before))
        ended, flying = avoidance.resolve(
            position, flown.position[boids], flown.velocity[boids], effectors, self.settings, dt
        )
        acceleration = (flying - velocity) / dt
        flown.position[boids], flown.velocity[boids] = ended, flying
        flown.rotation[boids] = orientation.turn(rotation, flying, acceleration, effectors.up, self.settings, dt)
        flown.flap[boids] = flap + orientation.beat(flying, acceleration, effectors.up, self.settings) * dt


NOBODY = np.zeros(0, np.uint8)
NO_WISH = np.zeros((0, 3), np.float32)
NO_SUMS = np.zeros((0, 12), np.float32)


class Worker:
    """What one thread writes to on the way."""

    def __init__(self, neighbours: int) -> None:
        self.pending = np.full(1, -1, np.int64)
        """The chunk that it was about to fly, when the window proved too small."""
        self.scratch = scratch_for(neighbours, 2 * ROOM + PADDING)

    def work(self, counters: np.ndarray, building: tuple, flying: tuple) -> None:
        """Builds the grid and flies, together with the other threads."""
        phase = 0
        while phase < kernel.PHASES:
            phase = kernel.build(phase, *building, self.scratch, flying[1])
            if phase < kernel.PHASES:
                time.sleep(0)  # another thread is not done, and may wait for this one's core
        while needed := kernel.fly(counters, self.pending, flying[0], self.scratch, *flying[1:]):
            self.grow(needed)

    def grow(self, room: int) -> None:
        """A window for twice as many."""
        self.scratch = scratch_for(0, 2 * room + PADDING, self.scratch)


def varied(traits: Traits, name: str, by: float) -> np.ndarray:
    """A trait in float32; one number, of the first boid, where it does not vary."""
    one = traits if by else Traits(replace(traits.settings, count=1))
    return np.ascontiguousarray(getattr(one, name), np.float32)


def flat(state: State) -> np.ndarray:
    """A stored state's records, one after the other."""
    assert state.records is not None
    return state.records.reshape(-1)


def parts_of(state: State) -> tuple[np.ndarray, ...]:
    return state.position, state.velocity, state.rotation, state.flap


def is_periodic(settings: Settings) -> bool:
    return settings.space == "BOX" and settings.boundary == "PERIODIC"


def first_size(position: np.ndarray, settings: Settings, reach: float) -> float:
    """Of the cells, lengths: as large as the reach, or, where the nearest are looked for, such that most find theirs next to their own.

    From the middle eight tenths of some boids along each axis, so that it does not matter how far some have strayed. A flock that is
    thinner than a cell is measured as flat.
    """
    if not settings.neighbours or is_periodic(settings):
        return reach
    some = np.sort(position[:: max(1, len(position) // SAMPLE)], axis=0)
    edge = len(some) // 10
    size, room = reach, SHARE * (settings.neighbours + 1) / len(position)
    for axes, extent in enumerate(sorted(((some[-1 - edge] - some[edge]) / 0.8).tolist(), reverse=True), 1):
        room *= extent
        smaller = room ** (1 / axes)
        if extent > 0 and (axes == 1 or extent > smaller):
            size = smaller
    return min(size, reach)


def frame_of(position: np.ndarray, size: float, settings: Settings) -> np.ndarray:
    """Cells a little larger than asked for, so that rounding cannot set two neighbours two cells apart: see `hash_grid.cell`.

    In a periodic box a whole number of cells makes up its period.
    """
    size *= 1 + 1e-5
    frame = np.zeros((3, 3))
    if is_periodic(settings):
        period = np.array(settings.space_size)
        frame[2] = np.maximum(1, np.floor(period / size))
        frame[1] = frame[2] / period
        return frame
    # half a brick to the side, so that a flock of no more than a brick's length lies in one
    frame[0] = hash_grid.middle_of(position) - (hash_grid.BRICK / 2 * size, 0.0, 0.0)
    frame[1] = 1 / size
    return frame


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


def dodging(settings: Settings, dt: float) -> np.ndarray:
    """`swerve.SWERVE` of the settings, (1,)."""
    made = np.zeros(1, swerve.SWERVE)
    steers = settings.avoidance == "STEER_AROUND" and settings.look_ahead > 0
    values = {
        "ahead": max(settings.look_ahead if steers else 0.0, dt * (settings.substeps + 1)), "look_ahead": settings.look_ahead,
        "dt": dt, "frame": dt * settings.substeps, "room": settings.clearance + settings.body_length,
        "clearance": settings.clearance, "most": settings.max_acceleration, "rounding": 16 * avoidance.ROUNDING,
        "slides": settings.avoidance != "REFLECT" and not settings.plane, "steers": steers, "brakes": settings.avoidance != "REFLECT",
    }  # fmt: skip
    for name, value in values.items():
        made[name] = value
    return made


class Flight:
    """The numbers of one step: records as the compiled functions take them. What lasts from step to step comes with them, all (1,)."""

    def __init__(
        self, settings: Settings, lasting: np.ndarray, dodging: np.ndarray, effectors: Effectors, step: int, dt: float
    ) -> None:
        made = lasting.copy()
        time = step * dt * settings.wander_rate
        share = time - np.floor(time)
        made["time"], made["up"] = step * dt, effectors.up
        made["wander_blend"], made["knot"] = share * share * (3 - 2 * share), int(np.floor(time))
        self.motion, self.dodging = made[0], dodging[0]
        self.attractors = self._attractors(settings, effectors)
        self.spheres = self._spheres(*avoidance.balls(effectors, settings), float(dodging[0]["ahead"]), dt)

    @staticmethod
    def _attractors(settings: Settings, effectors: Effectors) -> np.ndarray:
        group = effectors.attractors
        made = np.zeros(group.position.shape[1], motion.ATTRACTOR)
        if len(made):
            radius, arrival = group.radius[1], group.arrival[1]
            made["place"], made["weight"] = group.position[1], group.weight[1]
            made["radius"] = np.minimum(radius, HUGE)
            smooth = settings.edge == "SMOOTH"
            made["fade"] = [1 / one**2 if smooth and SMALLEST < one < np.inf else 0 for one in radius]
            made["arrival"] = [1 / one if one > SMALLEST else HUGE for one in arrival]
        return made

    @staticmethod
    def _spheres(centre: np.ndarray, radius: np.ndarray, strength: np.ndarray, ahead: float, dt: float) -> np.ndarray:
        """See `avoidance.balls`."""
        if not len(strength):
            return np.zeros(0, swerve.SPHERE)
        (first, last), (begin, end) = centre, radius
        way = last - first
        moved = np.sqrt(avoidance.dot(way, way))
        reach = radius.max(axis=0) + moved / 2 + moved / dt * ahead
        parts = (first, last, way / dt, np.stack((begin, end, (end - begin) / dt, strength, reach), axis=1))
        return np.concatenate(parts, axis=1, dtype=np.float32).view(swerve.SPHERE)[:, 0]


def warm_up() -> None:
    """Compiles, or reads from numba's cache, all that the default flock needs: it takes seconds the first time, and may run in a thread.

    Three boids fly one step towards a target and around a repulsor.
    """
    settings = Settings(count=3)
    effectors = Effectors(attractors=attractor((0.0, 9.0, 0.0)), spheres=spheres([[0.0, 6.0, 0.0]], [1.0])).at(0)
    stepper = Stepper(settings, Traits(settings), 1)
    stepper.step(stepper.settle(spawn(settings), effectors), effectors, 1 / 24)
