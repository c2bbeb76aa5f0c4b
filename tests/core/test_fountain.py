# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fountain effect: a school opens before a predator that flies through it, flows past, and is one school again soon after."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("numba")  # five hundred fish: the plain engine would take minutes, and gives the same answers

from core import Effectors, Flocks, Predators, Settings, Sight, Simulation, State, attractor, presets
from tests.core import measures
from tests.core.engines import BARE

FPS = 24
SCHOOL = replace(presets.load("fish"), count=500)
FLEE_RADIUS = 5 * SCHOOL.body_length
STRENGTH = 15.0
"""Of the school's max acceleration: 18 m/s², a startled fish's (its fast starts reach 20 and more)."""
SPEED = 1.5 * SCHOOL.max_speed
WAYS = {
    "from the side": (1.0, 0.0, 0.0),
    "from ahead": (0.0, -1.0, 0.0),
    "from behind": (0.0, 1.0, 0.0),
    "from above": (0.0, 0.0, -1.0),
}
MEETING = 2.0
"""Seconds until the predator is where the middle of the school would be."""
AFTER = 5.0


@cache
def begun() -> State:
    """The school, under way to a goal ahead of it."""
    return next(iter(Simulation(SCHOOL, goal()))).state


def goal() -> Effectors:
    time = np.arange(12 * FPS * SCHOOL.substeps) / (FPS * SCHOOL.substeps)
    return Effectors(attractors=attractor(np.outer(6.0 + 0.9 * SCHOOL.cruise_speed * time, (0.0, 1.0, 0.0))))


def predator_places(steps: int, way: np.ndarray) -> np.ndarray:
    """Straight through the middle, at a sample each step, (T, 3)."""
    state, dt = begun(), 1 / (FPS * SCHOOL.substeps)
    middle = state.position.mean(axis=0) + MEETING * state.velocity.mean(axis=0)
    return middle + np.outer((np.arange(steps) * dt - MEETING) * SPEED, way)


def by_a_point(frames: int, way: np.ndarray):
    """Frames of the school, and where the predator is at each."""
    places = predator_places(frames * SCHOOL.substeps + 1, way)
    shape = (len(places), 1)
    predators = Predators(places[:, None], np.full(shape, FLEE_RADIUS), np.full(shape, STRENGTH))
    scene = replace(goal(), predators=predators)
    for index, frame in enumerate(Simulation(SCHOOL, scene, frames=frames, resume=begun())):
        yield frame.state.position, places[(index + 1) * SCHOOL.substeps]


def by_a_boid(frames: int, way: np.ndarray):
    """The same, the predator being the one boid of another flock, which nothing turns."""
    hunter = Settings(count=1, substeps=SCHOOL.substeps, **BARE | {"max_speed": SPEED, "speed_control": 0.0})
    place = predator_places(1, way)
    start = State(*map(np.float32, (place, SPEED * way[None], [[1, 0, 0, 0]], [0])))
    both = Flocks(
        [Simulation(SCHOOL, goal(), frames=frames, resume=begun()), Simulation(hunter, frames=frames, resume=start)],
        [Sight(0, 1, "FLEE", STRENGTH, FLEE_RADIUS)],
    )
    for fish, shark in both:
        yield fish.state.position, shark.state.position[0]


def all_around(points: np.ndarray, way: np.ndarray) -> bool:
    """Whether points (N, 3) lie in each of the eight sectors about a line through the origin."""
    one = np.cross(way, (0.3, 0.5, 0.8))
    one /= np.linalg.norm(one)
    turn = np.arctan2(points @ np.cross(way, one), points @ one)
    return len(set(np.floor(turn / (np.pi / 4)).astype(int))) == 8


@pytest.mark.parametrize(
    ("hunt", "name"), [*((by_a_point, name) for name in WAYS), (by_a_boid, "from the side"), (by_a_boid, "from ahead")]
)
def test_a_school_opens_before_a_predator_and_is_one_again_five_seconds_later(hunt, name):
    way = np.array(WAYS[name])
    nearest, gone = np.full(SCHOOL.count, np.inf), np.inf
    for index, (position, predator) in enumerate(hunt(11 * FPS, way)):
        time = (index + 1) / FPS
        offset = position - predator
        distance = np.linalg.norm(offset, axis=1)
        nearest = np.minimum(nearest, distance)
        if time == MEETING:
            passing = offset
        if time > MEETING and np.isinf(gone) and (offset @ way).max() < -FLEE_RADIUS:
            gone = time
        if time >= gone + AFTER:
            break
    assert time >= gone + AFTER  # it has passed all of them, and the five seconds are over
    assert (nearest >= FLEE_RADIUS / 2).mean() >= 0.95
    # a hole: about the predator hardly anyone, and others on all sides of it
    beside = passing[np.abs(passing @ way) < FLEE_RADIUS]
    assert (np.linalg.norm(passing, axis=1) < FLEE_RADIUS / 2).mean() < 0.02
    assert all_around(beside, way)
    reach = 3 * SCHOOL.body_length
    assert measures.clusters(position, reach)[0] >= 0.99 * SCHOOL.count
