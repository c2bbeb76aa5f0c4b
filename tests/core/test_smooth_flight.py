# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing jumps and nothing trembles: neither the acceleration as a neighbour comes and goes, nor the heading in steady flight."""

import numpy as np
import pytest

from core import Effectors, Settings, Simulation, Traits, attractor
from core.simulation import load_engine
from tests.core import measures
from tests.core.engines import DT, at, engines


def largest_jump(settings, places, velocities, ways, engine):
    """Of the first boid's acceleration, as the second is at one place after the other; a share of the max acceleration."""
    stepper, nothing, felt = load_engine(engine)[1].Stepper(settings, Traits(settings), 1), Effectors().at(0), []
    for place in ways:
        places[1] = place
        after = stepper.step(at(places, velocities), nothing, DT)
        felt.append((np.asarray(after.velocity[0], float) - velocities[0]) / DT)
    assert np.ptp(felt, axis=0).max() > 0.05 * settings.max_acceleration  # the neighbour matters at all
    return np.linalg.norm(np.diff(felt, axis=0), axis=1).max() / settings.max_acceleration


def crowd(seed, others):
    """A boid at the origin and others within the reach of its rules, flying more or less one way."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(others + 2, 3)) * 3.0
    places[0] = 0.0
    return places, np.array((0.0, 6.0, 0.0)) + rng.normal(size=(others + 2, 3))


@engines
@pytest.mark.parametrize("others", [0, 5, 20])  # alone with it, fewer than the k nearest, more than those
@pytest.mark.parametrize("direction", [(0.0, 1.0, 0.2), (1.0, 0.1, 0.0), (-0.5, -0.2, 1.0)])
def test_as_a_neighbour_crosses_every_radius_and_the_place_of_the_kth_nearest_nothing_jumps(engine, others, direction):
    settings = Settings(count=others + 2, speed_variation=0.0, weight_variation=0.0, wander=0.0)
    ways = np.outer(np.arange(0.5, 11.0, 0.006), np.array(direction) / np.linalg.norm(direction))
    assert largest_jump(settings, *crowd(others, others), ways, engine) < 0.05


@engines
@pytest.mark.parametrize("distance", [1.0, 3.0, 5.0])
def test_as_a_neighbour_comes_into_view_from_behind_nothing_jumps(engine, distance):
    settings = Settings(count=7, speed_variation=0.0, weight_variation=0.0, wander=0.0)
    turn = np.arange(0.0, 2 * np.pi, 0.003)
    ways = distance * np.stack((np.sin(turn), -np.cos(turn), 0.1 * np.sin(turn)), axis=1)
    assert largest_jump(settings, *crowd(3, 5), ways, engine) < 0.05


@pytest.mark.parametrize("goal", [True, False])
def test_in_steady_flight_headings_seldom_change_the_side_to_which_they_turn(goal):
    far = Effectors(attractors=attractor((0.0, 1e5, 0.0))) if goal else Effectors()
    fps = 24
    velocity = [frame.state.velocity for frame in Simulation(Settings(count=120), far, fps=fps, frames=13 * fps)]
    heading = measures.headings(velocity[10 * fps :])
    turns = np.cross(heading[:-1], heading[1:])
    changes = np.einsum("fni,fni->fn", turns[:-1], turns[1:]) < 0
    assert changes.mean() < 0.10
