# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who counts for which rule, and how the rules become a steer: each choice by its own definition, in both engines."""

from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, Rule, Settings, Traits, attractor, presets, spawn, spheres
from core.reference import Stepper
from tests.core.engines import BARE, DT, ROUNDING, accelerations, at, engines, flown

FREE = BARE | {"acceleration": "UNBOUNDED", "max_speed": 1e6, "alignment_of": "HEADING", "cohesion_of": "DIRECTION",
               "falloff": "CONSTANT"}  # fmt: skip
PLUS_X, PLUS_Y = np.eye(3)[:2]


def pull(zones, distance, radii, engine, **changes):
    """What a boid feels from another to its +X that flies +Y: separation, alignment, cohesion, each of weight one, raw."""
    rules = dict(
        zip(("separation", "alignment", "cohesion"), (Rule(1.0, radius, steer="RAW") for radius in radii), strict=True)
    )
    settings = Settings(count=2, zones=zones, **FREE | rules | changes)
    state = at([[0, 0, 0], [distance, 0, 0]], [[0, 0, 0], [0, 1, 0]])
    return accelerations(state, settings, engine=engine)[0]


ALL = [
    # zones, distance, radii, and which of separation, alignment and cohesion count there
    ("OVERLAPPING", 0.5, (1, 2, 3), (1, 1, 1)),
    ("OVERLAPPING", 2.5, (1, 2, 3), (0, 0, 1)),
    ("EXCLUSIVE", 0.5, (1, 2, 3), (1, 0, 0)),
    ("EXCLUSIVE", 1.5, (1, 2, 3), (0, 1, 0)),
    ("EXCLUSIVE", 2.5, (1, 2, 3), (0, 0, 1)),
    ("EXCLUSIVE", 3.5, (1, 2, 3), (0, 0, 0)),
    ("EXCLUSIVE", 0.5, (1, 3, 3), (1, 0, 0)),  # two rules of one radius share their zone, as in the Godot flock
    ("EXCLUSIVE", 1.5, (1, 3, 3), (0, 1, 1)),
    ("EXCLUSIVE", 1.5, (1, 3, 2), (0, 0, 1)),  # whichever rule is the inner one
    ("EXCLUSIVE", 2.5, (1, 3, 2), (0, 1, 0)),
    ("EXCLUSIVE", 1.5, (0, 2, 3), (0, 1, 0)),  # a rule that is off has no zone
    ("PRIORITY", 1.5, (1, 2, 3), (0, 1, 0)),
    ("PRIORITY", 0.5, (1, 1, 3), (1, 0, 0)),
]


@engines
@pytest.mark.parametrize(("zones", "distance", "radii", "counts"), ALL)
def test_a_neighbour_counts_in_its_zone(zones, distance, radii, counts, engine):
    separation, alignment, cohesion = counts
    expected = (cohesion - separation) * PLUS_X + alignment * PLUS_Y
    np.testing.assert_allclose(pull(zones, distance, radii, engine), expected, atol=1e-4)


@engines
def test_with_priority_one_boid_too_near_silences_all_others(engine):
    rules = {name: Rule(1.0, radius, steer="RAW") for name, radius in (("separation", 1), ("cohesion", 9))}
    state = at([[0, 0, 0], [0.5, 0, 0], [0, 5, 0]], np.zeros((3, 3)))
    for zones, expected in (("EXCLUSIVE", -PLUS_X + PLUS_Y), ("PRIORITY", -PLUS_X)):
        settings = Settings(count=3, zones=zones, **FREE | rules)
        np.testing.assert_allclose(accelerations(state, settings, engine=engine)[0], expected, atol=1e-4)


@engines
@pytest.mark.parametrize("zones", ["EXCLUSIVE", "PRIORITY"])
def test_smooth_zones_change_without_a_jump(zones, engine):
    radii = (1.0, 2.0, 3.0)
    steps = np.linspace(0.002, 3.5, 875)
    felt = np.array(
        [
            pull(zones, distance, radii, engine, edge="SMOOTH")
            for distance in steps[:: 1 if engine == "REFERENCE" else 7]
        ]
    )
    jumps = np.linalg.norm(np.diff(felt, axis=0), axis=1)
    # the steepest fade is a smoothstep over a quarter of an inner radius of 1: slope 1.5 / 0.25 in a step of 0.004, twice for two factors
    assert jumps.max() < 2 * 1.5 / 0.25 * 0.004 * (1 if engine == "REFERENCE" else 7)


@engines
def test_a_boid_counts_itself_only_in_company(engine):
    rule = {"alignment": Rule(1.0, 2.0, steer="RAW", total="SUM", count_self=True)}
    settings = Settings(count=3, **FREE | rule)
    state = at([[0, 0, 0], [1, 0, 0], [50, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    expected = [PLUS_X + PLUS_Y, PLUS_X + PLUS_Y, 0 * PLUS_X]
    np.testing.assert_allclose(accelerations(state, settings, engine=engine), expected, atol=1e-4)


@engines
def test_the_mean_divides_by_the_neighbours_but_separation_always_sums(engine):
    state = at([[0, 0, 0], [1, 0, 0], [-0.5, 0, 0], [0, 0.5, 0]], [[0, 0, 0]] + [[0, 1, 0]] * 3)
    for name, total in (("separation", [-0.0, -1, 0]), ("alignment", [0, 3, 0]), ("cohesion", [0.0, 1, 0])):
        for kind, share in (("SUM", 1.0), ("MEAN", 1 / 3)):
            settings = Settings(count=4, **FREE | {name: Rule(1.0, 2.0, steer="RAW", total=kind)})
            felt = accelerations(state, settings, engine=engine)[0]
            share = 1.0 if name == "separation" else share
            np.testing.assert_allclose(felt, share * np.array(total), atol=1e-4)


@engines
def test_the_response_time_divides_the_wanted_change_of_velocity(engine):
    goal = Effectors(attractors=attractor((1e6, 0, 0)))
    state = at([[0, 0, 0]], [[0, 3, 0]])
    for time in (0.5, 1.0, 2.0):
        settings = Settings(
            count=1, attraction=1.0, cruise_speed=4.0, max_acceleration=99.0, response_time=time, **BARE
        )
        felt = accelerations(state, settings, goal, engine)[0]
        np.testing.assert_allclose(felt, np.array([4.0, -3.0, 0.0]) / time, rtol=50 * ROUNDING[engine], atol=1e-3)


@engines
def test_a_boid_that_may_stop_settles_at_the_target_and_one_that_may_not_stays_about(engine):
    goal = Effectors(attractors=attractor((8.0, 0.0, 0.0), arrival=4.0))
    settings = Settings(count=1, attraction=1.0, cruise_speed=4.0, max_acceleration=9.0, **BARE)
    state = at([[0, 0, 0]], [[0, 3, 0]])
    still = flown(state, settings, 600, goal, engine)
    assert np.linalg.norm(still.position[0] - (8, 0, 0)) < 0.01 and np.linalg.norm(still.velocity[0]) < 0.01
    about = flown(state, replace(settings, min_speed=2.0), 600, goal, engine)
    # it turns within v² / a = 4 / 9 of the place where the pull is full again
    assert np.linalg.norm(about.position[0] - (8, 0, 0)) < 4.0 + 2 * 4 / 9


@pytest.mark.parametrize("name", presets.names())
def test_a_preset_flies_alike_at_any_body_length(name):
    own = replace(presets.load(name), count=30, seed=3)
    large = own.scaled(3.0 * own.body_length)
    goal = np.array((0.3, -0.2, 0.1)) * own.spacing
    flights = []
    for settings, scale in ((own, 1.0), (large, 3.0)):
        effectors = Effectors(attractors=attractor(scale * goal))
        state, stepper = spawn(settings, np.float64), Stepper(settings, Traits(settings))
        for step in range(20):
            state = stepper.step(state, effectors.at(step), DT)
        flights.append(state)
    size = np.ptp(flights[0].position, axis=0).max()
    np.testing.assert_allclose(flights[1].position / 3.0, flights[0].position, atol=1e-9 * size)
    np.testing.assert_allclose(flights[1].rotation, flights[0].rotation, atol=1e-7)


@engines
def test_all_keep_clear_of_obstacles_as_the_largest_has_to(engine):
    ball = Effectors(spheres=spheres([[0.0, 0.0, 0.0]], [2.0]))
    settings = Settings(count=50, clearance=0.5, size_variation=0.4, avoidance="SLIDE", max_speed=99.0, **BARE)
    ways = np.random.default_rng(2).normal(size=(50, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    after = flown(at(3.0 * ways, -50.0 * ways), settings, 1, ball, engine)
    np.testing.assert_allclose(np.linalg.norm(after.position, axis=1), 2.0 + 0.5 * 1.4, rtol=1e-5)
    sizes = Traits(settings).size
    assert 0.6 <= sizes.min() < 0.65 and 1.35 < sizes.max() <= 1.4


@engines
@pytest.mark.parametrize("seed", range(6))
def test_at_the_very_radii_and_at_the_places_of_the_nearest_nothing_jumps(seed, engine):
    """A neighbour is set a hair within and a hair beyond: what is left of the change is no jump, however small the steps."""
    rng = np.random.default_rng(seed)
    settings = Settings(count=14, speed_variation=0.0, weight_variation=0.0, wander=0.0)
    places = np.concatenate((np.zeros((1, 3)), rng.normal(size=(13, 3)) * 3.0))
    velocities = np.array((0.0, 6.0, 0.0)) + rng.normal(size=(14, 3))
    way = places[1] / np.linalg.norm(places[1])
    others = np.sort(np.linalg.norm(places[2:], axis=1))
    radii = [getattr(settings, name).radius for name in ("separation", "alignment", "cohesion")]
    hair = 1e-9 if engine == "REFERENCE" else 1e-4
    for distance in (*radii, *others[settings.neighbours - 2 : settings.neighbours + 1]):
        felt = []
        for side in (1 - hair, 1 + hair):
            places[1] = side * distance * way
            felt.append(accelerations(at(places, velocities), settings, engine=engine)[0])
        assert np.linalg.norm(felt[1] - felt[0]) < (1e-6 if engine == "REFERENCE" else 0.02) * settings.max_acceleration
