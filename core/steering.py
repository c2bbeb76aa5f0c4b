# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numba engine: the reference's step in compiled float32, on all cores.

What is asked for most is compiled as a whole step. What is rare goes through the reference's own numpy code, with compiled pair sums:
`covers` alone decides, and lists what is compiled, so that a setting it does not know is never ignored.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numba
import numpy as np

from . import avoidance, hash_grid, kernel_settings, motion, orientation, reference, swerve
from .counters import AFTER, BEFORE, COMPLETE, COUNTERS, CROWD, CROWDED, RESOLVED, THICKEST, board_size
from .crew import Crew
from .effectors import Effectors, attractor, spheres
from .kernel_settings import is_periodic
from .settings import RULES, FlockError, Settings
from .state import Memory, State, Traits, spawn

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

SMALLEST_CELL = 1e-6
"""Lengths; of a flock that looks at nobody."""

SAMPLE = 64
"""Boids from whose places the density is taken."""

SHARE = 1.2
"""Boids for each cell, of those who are looked for."""

THICK, FINER = 4, 4
"""Times as many as meant in a window: who is there waits for smaller cells, which are tried so often."""

EVERYBODY = 1 << 40


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

    def __init__(self, settings: Settings, traits: Traits, threads: int = 1) -> None:
        super().__init__(kernel_settings.within_reach(settings), traits)
        self._threads = threads
        self._crew = Crew(self._threads, settings.neighbours)
        self._memory = Memory()
        self._grid = hash_grid.grid_for(0, self._threads)
        self._flights: dict[bool, Flight] = {}
        # of its own, so that the float64 numbers need not stay
        own, known = Traits(traits.settings), traits.settings
        self._varied = (
            varied(own, "speed", known.speed_variation), varied(own, "weight", known.weight_variation),
            varied(own, "release", known.release_duration),
        )  # fmt: skip
        self._covered = covers_settings(self.settings)
        self._reach = max(*(getattr(self.settings, name).radius for name in RULES), SMALLEST_CELL)

    def step(self, state: State, effectors: Effectors, dt: float, wish: np.ndarray | None = None) -> State:
        """As `reference.Stepper.step`, in float32."""
        if not (len(state) and self._covered and covers_effectors(effectors)):
            return super().step(state, effectors, dt, wish)
        state = state.stored()
        flown = State.of(self._memory.records(len(state)), state.step + 1)
        touched = self._fly(state, flown, effectors, dt, wish).touched
        self._keep_out(touched.nonzero()[0], state, flown, effectors, dt)
        return flown

    def gather(self, state: State) -> reference.Sums:
        """As `reference.Stepper.gather`."""
        found = reference.Sums(len(state))
        if len(state):
            state = state.stored()
            sums = self._fly(state, None, Effectors().at(0), 1.0).sums
            for index, name in enumerate(RULES):
                found.vector[name] = sums[:, 4 * index : 4 * index + 3].astype(float)
                found.weight[name] = sums[:, 4 * index + 3].astype(float)
        return found

    def _fly(self, state: State, flown: State | None, effectors: Effectors, dt: float, wish=None) -> Flight:
        """One step of a stored state into `flown`; without one the sums of the pairs are taken, and nobody flies."""
        flight = self._flight(state, flown is None, effectors, dt, wish)
        board, settings, count = flight.board, self.settings, len(state)
        flight.hold(state, flown or state)
        reach = self._reach
        first, left, finer = first_size(state.position, settings, reach), count, FINER
        size = first
        meant = SHARE * (settings.neighbours + 1)
        thickest = EVERYBODY if not settings.neighbours or is_periodic(settings) else round(THICK * 27 * meant)
        while left:
            board[:COUNTERS], board[COMPLETE], board[THICKEST] = 0, size >= reach, thickest
            set_frame(flight, state.position, size, settings)
            self._work(flight)
            left -= int(board[RESOLVED])
            if board[COMPLETE] and not (board[RESOLVED] or board[CROWDED]):
                raise FlockError(f"{left} boids cannot find their neighbours: fly with the reference engine")
            if board[CROWDED] and finer:
                # those who stand thickest next, in cells that suit them; then who is left, in larger ones again
                together = board[CROWD] / board[CROWDED]
                size *= min(0.5, (meant / together) ** (1 / 3))
                size, finer = min(size, first_size(state.position[flight.todo > 0], settings, reach)), finer - 1
            else:
                size, thickest = first if size < first else min(3 * size, reach), EVERYBODY
        self._crew.end()
        flight.let_go()
        return flight

    def _flight(self, state: State, adds_up: bool, effectors: Effectors, dt: float, wish) -> Flight:
        """What is flown with, the same as in the step before if it has the same shape, with all that is known of this step."""
        balls = kernel_settings.spheres(self.settings, effectors, dt)
        pulls = kernel_settings.attractors(self.settings, effectors)
        wish = NO_WISH if wish is None else wish
        shape = len(state), len(balls), len(pulls), len(wish), adds_up, dt
        flight = self._flights.get(adds_up)
        if flight is None or flight.shape != shape:
            if len(self._grid.order) != len(state):
                self._grid = hash_grid.grid_for(len(state), self._threads)
            flight = self._flights[adds_up] = Flight(self.settings, self._threads, shape, self._grid, self._varied)
        self._crew.begin(flight)
        flight.spheres[:], flight.attractors[:], flight.wish[:] = balls, pulls, wish
        kernel_settings.set_time(flight.motion, self.settings, effectors, state.step * dt)
        flight.todo.fill(1)
        flight.touched.fill(0)
        return flight

    def _work(self, flight: Flight) -> None:
        try:
            self._crew.fly(flight)
        except BaseException:  # somebody may be at work still: leave all that is in his hands to him
            self._crew, self._grid = Crew(self._threads, self.settings.neighbours), hash_grid.grid_for(0, self._threads)
            self._flights.clear()
            raise

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


NO_WISH = np.zeros((0, 3), np.float32)


class Flight:
    """The arrays that one flock is flown with. They stay from step to step, since all who are awake hold them; what is in them changes.

    Args:
        shape: how many boids, spheres, attractors and wishes there are; whether pair sums are taken, and nobody flies; seconds of a step.
    """

    def __init__(
        self,
        settings: Settings,
        threads: int,
        shape: tuple[int, int, int, int, bool, float],
        grid: hash_grid.Grid,
        varied: tuple[np.ndarray, ...],
    ) -> None:
        self.shape = count, balls, pulls, wishes, adds_up, dt = shape
        self.board = np.zeros(board_size(threads), np.int64)
        self._held: tuple[np.ndarray, ...] = ()
        self.frame, self.todo = np.zeros((3, 3)), np.empty(count, np.uint8)
        self.some = np.arange(31) * count // 31
        self.touched = np.empty(count if balls else 0, np.uint8)
        self.motion = kernel_settings.lasting(settings, dt)
        self.spheres, self.attractors = np.empty(balls, swerve.SPHERE), np.empty(pulls, motion.ATTRACTOR)
        self.wish = np.empty((wishes, 3), np.float32)
        self.sums = np.empty((count if adds_up else 0, 12), np.float32)
        nearest = settings.neighbours or None
        plain = None if adds_up else kernel_settings.plain_of(settings)
        general = None if plain or nearest else 1
        self.arrays = (
            grid, self.frame, self.todo, (*varied, self.wish), self.touched, kernel_settings.look_of(settings), plain, general,
            nearest, self.motion[0], kernel_settings.dodging(settings, dt)[0], self.spheres, self.attractors, self.sums,
        )  # fmt: skip

    def hold(self, before: State, after: State) -> None:
        """Names the two states of a step to all who fly it, and keeps them, should somebody still be at work on them after an error."""
        self._held = flat(before), flat(after)
        for at, records in zip((BEFORE, AFTER), self._held, strict=True):
            self.board[at] = records.ctypes.data

    def let_go(self) -> None:
        """Nobody is at work on them any more."""
        self._held = ()


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
    return size if size < reach else reach  # the reach also where some are no numbers


def set_frame(flight: Flight, position: np.ndarray, size: float, settings: Settings) -> None:
    """Cells a little larger than asked for, so that rounding cannot set two neighbours two cells apart: see `hash_grid.cell`.

    In a periodic box a whole number of cells makes up its period.
    """
    size *= 1 + 1e-5
    frame = flight.frame
    if is_periodic(settings):
        period = np.array(settings.space_size)
        frame[2] = np.clip(np.floor(period / size), 1, hash_grid.MIDDLE)
        frame[1] = frame[2] / period
        return
    # cells are counted from the median of some boids: a flock far out, or with some who are lost, keeps its precision
    some = position[flight.some]
    some.sort(axis=0)
    frame[0] = some[len(some) // 2]
    # half a brick to the side, so that a flock no longer than that lies in one
    frame[0, 0] -= hash_grid.BRICK / 2 * size
    frame[1] = 1 / size


def warm_up() -> None:
    """Compiles, or reads from numba's cache, all that the default flock needs: it takes seconds the first time, and may run in a thread.

    Three boids fly one step towards a target and around a repulsor.
    """
    settings = Settings(count=3)
    effectors = Effectors(attractors=attractor((0.0, 9.0, 0.0)), spheres=spheres([[0.0, 6.0, 0.0]], [1.0])).at(0)
    stepper = Stepper(settings, Traits(settings), 1)
    stepper.step(stepper.settle(spawn(settings), effectors), effectors, 1 / 24)
