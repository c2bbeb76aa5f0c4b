# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headings turn, climb and dive no faster and no steeper than the settings allow, and scatter as the noise says."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, Settings, attractor
from tests.core.engines import BARE, DT, at, engines, flown

FORWARD = [[0.0, 3.0, 0.0]]
TIGHT = Settings(count=1, acceleration="CONSTANT", max_acceleration=1e4, max_speed=3.0, attraction_steer="UNIT", **BARE)
"""So strong that only the limit under test holds a boid back from its goal."""


def toward(place):
    return Effectors(attractors=attractor(1e6 * np.array(place, float)))


def angle(one, other):
    return math.atan2(np.linalg.norm(np.cross(one, other)), np.dot(one, other))


@engines
@pytest.mark.parametrize("goal", [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, -2, -3)])
@pytest.mark.parametrize("kind", ["CONSTANT", "TURN"])
def test_a_heading_turns_by_the_max_turn_rate_and_no_further_than_its_goal(kind, goal, engine):
    settings = replace(TIGHT, acceleration=kind, max_turn_rate=1.5, cruise_speed=3.0)
    whole = angle(FORWARD[0], goal)
    for steps in (1, 5, 80):
        velocity = flown(at([[0, 0, 0]], FORWARD), settings, steps, toward(goal), engine).velocity[0]
        assert angle(FORWARD[0], velocity) == pytest.approx(min(whole, steps * 1.5 * DT), abs=2e-3)
        assert np.linalg.norm(velocity) == pytest.approx(3.0, rel=1e-5)


@engines
def test_a_boid_that_turns_flies_a_circle_of_its_speed_over_its_turn_rate(engine):
    settings = replace(TIGHT, acceleration="TURN", max_turn_rate=1.5, cruise_speed=3.0)
    state = at([[0, 0, 0]], [[1e-3, 3.0, 0.0]])
    half = flown(state, settings, round(math.pi / 1.5 / DT), toward((0, -1, 0)), engine)
    # a polygon with chords v dt that turns by w dt at each corner has the diameter v dt / sin(w dt / 2)
    assert np.linalg.norm(half.position[0]) == pytest.approx(3.0 * DT / math.sin(1.5 * DT / 2), rel=0.01)


@engines
def test_a_boid_without_a_wish_keeps_its_heading_at_cruise_speed(engine):
    settings = Settings(count=2, acceleration="TURN", cruise_speed=3.0, **BARE)
    after = flown(at([[0, 0, 0], [9, 0, 0]], [[0, 0, 5.0], [0, 0, 0]]), settings, 3, engine=engine)
    np.testing.assert_allclose(after.velocity, [[0, 0, 3.0], [0, 0, 0]], atol=1e-6)  # who rests has no heading to keep


@engines
@pytest.mark.parametrize("up", [(0, 0, 1), (0.6, 0, 0.8)])
@pytest.mark.parametrize(("side", "name"), [(1, "max_climb"), (-1, "max_dive")])
@pytest.mark.parametrize("kind", ["CONSTANT", "TURN"])
def test_a_boid_climbs_and_dives_no_steeper_than_it_may(kind, side, name, up, engine):
    settings = replace(TIGHT, acceleration=kind, cruise_speed=3.0, **{name: 0.4})
    effectors = replace(toward(side * np.array(up)), up=np.array(up, float))
    for start in (FORWARD, 3 * side * np.array([up]), [[0.0, 0.0, 0.0]]):
        velocity = flown(at([[0, 0, 0]], start), settings, 4, effectors, engine).velocity[0]
        assert math.asin(velocity @ np.array(up) / 3.0) == pytest.approx(side * 0.4, abs=1e-5)
        assert np.linalg.norm(velocity) == pytest.approx(3.0, rel=1e-5)
    level = flown(at([[0, 0, 0]], FORWARD), settings, 2, toward((0, 1, 0)), engine).velocity[0]
    np.testing.assert_allclose(level, FORWARD[0], atol=1e-5)


@engines
def test_a_flock_that_may_not_climb_flies_level(engine):
    settings = Settings(count=60, max_climb=0.0, max_dive=0.0, pre_roll=0.0)
    state = at(np.random.default_rng(1).normal(size=(60, 3)) * 9, np.tile(FORWARD, (60, 1)))
    after = flown(state, settings, 20, engine=engine)
    np.testing.assert_allclose(after.position[:, 2], state.position[:, 2], atol=1e-5)


MANY = 20_000


def scattered(engine, steps=1, dt=DT, velocity=(0.0, 3.0, 0.0), **changes):
    """The velocities of many boids, far apart, that flew the same way before the noise."""
    settings = Settings(count=MANY, max_speed=9.0, **BARE | changes)
    places = np.arange(MANY)[:, None] * (100.0, 0.0, 0.0)
    return flown(at(places, np.tile(velocity, (MANY, 1))), settings, steps, engine=engine, dt=dt).velocity


@engines
@pytest.mark.parametrize(("shape", "deviation"), [("NORMAL", 1.0), ("UNIFORM", 1 / math.sqrt(12))])
@pytest.mark.parametrize("plane", [False, True])
def test_noise_turns_headings_by_its_spread_and_to_all_sides(plane, shape, deviation, engine):
    noise = 0.8
    velocity = scattered(engine, noise=noise, noise_shape=shape, plane=plane)
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), 3.0, rtol=1e-5)
    turn = np.arccos(np.clip(velocity[:, 1] / 3.0, -1, 1))
    expected = noise * deviation * math.sqrt(DT)
    # the root mean square of n numbers is within 1 / sqrt(2 n) = 0.5% of the deviation
    assert math.sqrt(np.mean(turn**2)) == pytest.approx(expected, rel=0.02)
    if shape == "UNIFORM":
        assert 0.99 < turn.max() / (noise / 2 * math.sqrt(DT)) <= 1.001
    # the mean of n numbers is within 1 / sqrt(n) = 0.7% of the deviation
    sides = velocity[:, [0, 2]] / 3.0
    assert np.abs(sides.mean(axis=0)).max() < 0.03 * expected
    if plane:
        assert not velocity[:, 2].any()
    else:
        assert sides.std(axis=0) == pytest.approx([expected / math.sqrt(2)] * 2, rel=0.03)


@engines
def test_noise_gathers_alike_at_any_frame_rate(engine):
    for fps in (12, 48):
        velocity = scattered(engine, steps=fps, dt=1 / fps, noise=0.9)
        # each normal turn s takes the mean heading times exp(-s² / 2); all those of a second add up to s = noise
        assert velocity[:, 1].mean() / 3.0 == pytest.approx(math.exp(-(0.9**2) / 2), abs=0.01)


@engines
def test_straight_up_and_at_rest_noise_stays_finite(engine):
    assert np.isfinite(scattered(engine, velocity=(0, 0, 3.0), noise=3.0)).all()
    assert not scattered(engine, velocity=(0, 0, 0), noise=3.0).any()


@engines
def test_a_boids_noise_depends_on_neither_the_count_nor_the_others(engine):
    few, many = (
        flown(at(np.arange(n)[:, None] * [[99.0, 0, 0]], np.tile(FORWARD, (n, 1))), Settings(count=n, noise=0.5, seed=7, **BARE),
              3, engine=engine).velocity for n in (5, 50)
    )  # fmt: skip
    np.testing.assert_array_equal(few, many[:5])
