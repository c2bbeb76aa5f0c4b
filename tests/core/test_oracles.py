# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the formulas exactly."""

import numpy as np

from core import Effectors, Rule, Settings, State, Traits, attractor
from core.reference import Stepper, prioritised

OFF = Rule(weight=0.0, radius=0.0)
BARE = {
    "separation": OFF, "alignment": OFF, "cohesion": OFF, "neighbours": 0, "edge": "HARD", "wander": 0.0,
    "level_flight": 0.0, "speed_variation": 0.0, "weight_variation": 0.0, "min_speed": 0.0,
}  # fmt: skip
DT = 1 / 24


def at(position, velocity):
    count = len(position)
    rotation = np.tile((1.0, 0.0, 0.0, 0.0), (count, 1))
    return State(np.array(position, float), np.array(velocity, float), rotation, np.zeros(count))


def flown(state, settings, steps, effectors=None):
    effectors, stepper = effectors or Effectors(), Stepper(settings, Traits(settings))
    for step in range(steps):
        state = stepper.step(state, effectors.at(step), DT)
    return state


def test_from_rest_towards_a_far_attractor_the_way_is_a_sum_of_steps():
    settings = Settings(
        count=1, acceleration="CONSTANT", max_acceleration=2.0, max_speed=99.0, attraction_steer="UNIT", **BARE
    )
    state = flown(at([[0, 0, 0]], [[0, 0, 0]]), settings, 20, Effectors(attractors=attractor((1e6, 0, 0))))
    np.testing.assert_allclose(state.position[0], (2.0 * DT**2 * 20 * 21 / 2, 0, 0), rtol=1e-12)


def test_alignment_alone_draws_velocities_to_their_mean_and_keeps_their_sum():
    weight, count = 0.7, 12
    rules = BARE | {"alignment": Rule(weight, 1e6, steer="RAW")}
    settings = Settings(count=count, acceleration="UNBOUNDED", max_speed=99.0, **rules)
    random = np.random.default_rng(1)
    before = at(random.normal(size=(count, 3)), random.normal(size=(count, 3)))
    after = flown(before, settings, 1)
    mean = before.velocity.mean(axis=0)
    shrunk = (before.velocity - mean) * (1 - weight * DT * count / (count - 1))
    np.testing.assert_allclose(after.velocity, mean + shrunk, rtol=0, atol=1e-12)


def test_two_boids_with_raw_cohesion_swing_and_keep_their_invariant():
    rules = BARE | {"cohesion": Rule(1.0, 1e6, steer="RAW")}
    settings = Settings(count=2, acceleration="UNBOUNDED", max_speed=99.0, **rules)
    state = at([[-1, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]])

    def invariant(state):
        r, s = state.position[1, 0] - state.position[0, 0], state.velocity[1, 0] - state.velocity[0, 0]
        return s**2 + 2 * r**2 - 2 * DT * r * s

    np.testing.assert_allclose(invariant(flown(state, settings, 200)), invariant(state), rtol=1e-12)


def test_a_prioritised_sum_gives_the_rest_to_the_next_and_nothing_to_the_last():
    parts = [np.array([[3.0, 0, 0]])] * 3
    np.testing.assert_allclose(prioritised(parts, 4.0), [[4.0, 0, 0]], rtol=1e-12)
    np.testing.assert_allclose(prioritised(parts[:1], 4.0), [[3.0, 0, 0]], rtol=1e-12)
