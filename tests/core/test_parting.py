# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default flock parts around a sphere in its way and closes again behind it, without loss and with little delay."""

import numpy as np
import pytest

from core import Effectors, Settings, Simulation, attractor, spheres
from tests.core import measures

FPS = 24
AHEAD, BEHIND, GOAL = 60.0, 20.0, 100.0
"""Between the flock's middle and the sphere when the clip begins, between the sphere and the line where arrivals are taken, and from
there to the target."""

CLOSING = 8.0
"""Seconds after 95% have arrived, in which those that came around either side are to be one flock."""


def flock_radius(settings):
    """Of its spawn ball, lengths."""
    return settings.spacing * np.cbrt(settings.count * 3 / (4 * np.pi))


def fly(settings, radius, in_the_way):
    """Arrival times (N,) at the line behind the sphere, how many were ever inside, and the flock when it has had its time to close."""
    centre = np.array((0.0, settings.pre_roll * settings.cruise_speed + AHEAD + radius, 0.0))
    line = centre[1] + radius + BEHIND
    goal = attractor((0.0, line + GOAL, 0.0))
    scene = (
        Effectors(attractors=goal, spheres=spheres([centre], [radius])) if in_the_way else Effectors(attractors=goal)
    )
    arrival, inside, late = np.full(settings.count, np.inf), 0, np.inf
    for frame in Simulation(settings, scene, fps=FPS, frames=60 * FPS):
        position, time = frame.state.position, frame.number / FPS
        arrival[(position[:, 1] > line) & np.isinf(arrival)] = time
        inside += int((np.linalg.norm(position - centre, axis=1) < radius).sum())
        if np.isinf(late) and np.isfinite(arrival).mean() >= 0.95:
            late = time
        if time > late + CLOSING:
            break
    return arrival, inside, position


def check_parting(settings, radius):
    """That all get by in time, and are one again."""
    arrival, inside, position = fly(settings, radius, True)
    without, _, _ = fly(settings, radius, False)
    assert inside == 0
    assert np.isfinite(arrival).mean() >= 0.95
    assert np.sort(arrival)[int(0.95 * settings.count)] < 1.2 * np.sort(without)[int(0.95 * settings.count)]
    assert np.median(arrival) < 1.2 * np.median(without)
    # one again: no gap is wider than three times what boids keep between them
    reach = 3 * np.median(measures.nearest(position))
    assert measures.clusters(position, reach)[0] >= 0.99 * settings.count


@pytest.mark.parametrize("size", ["three body lengths", "as large as the flock"])
@pytest.mark.parametrize("count", [250, 1000])
def test_a_flock_parts_around_a_sphere_and_closes_behind_it(count, size):
    pytest.importorskip("numba")
    settings = Settings(count=count)
    check_parting(settings, 3 * settings.body_length if size == "three body lengths" else flock_radius(settings))
