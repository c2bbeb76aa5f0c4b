# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""At the border of its space a boid does what the boundary says, exactly, and nobody is lost."""

from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, Rule, Settings, Simulation, spheres
from tests.core.engines import BARE, DT, OFF, accelerations, at, engines, flown

ROOM = {"space_size": (4.0, 6.0, 8.0), "space_centre": (1.0, -2.0, 3.0)}
HALF, CENTRE = np.array(ROOM["space_size"]) / 2, np.array(ROOM["space_centre"])
FREE = BARE | {"max_speed": 1e6}


def drifting(seed, count=200, speed=10.0):
    """Boids that fly straight on, some of them several rooms a step."""
    rng = np.random.default_rng(seed)
    velocity = rng.normal(size=(count, 3)) * speed
    velocity[:20] *= 50.0
    return at(CENTRE + rng.uniform(-1, 1, (count, 3)) * HALF, velocity)


@engines
def test_in_a_box_that_reflects_the_way_is_a_straight_one_folded(engine):
    settings = Settings(count=200, space="BOX", boundary="REFLECT", **ROOM, **FREE)
    state = drifting(1)
    after = flown(state, settings, 30, engine=engine)
    straight = state.position + state.velocity * 30 * DT - CENTRE + HALF
    times, within = np.divmod(straight, 2 * HALF)
    odd = times % 2 == 1
    # float32 loses up to 2^-24 of a coordinate each step
    slack = 1e-9 if engine == "REFERENCE" else 2e-3
    np.testing.assert_allclose(after.position, CENTRE - HALF + np.where(odd, 2 * HALF - within, within), atol=slack)
    np.testing.assert_allclose(after.velocity, np.where(odd, -state.velocity, state.velocity), rtol=1e-5)


@engines
def test_in_a_sphere_that_reflects_speed_and_angular_momentum_stay(engine):
    settings = Settings(count=200, space="SPHERE", boundary="REFLECT", **ROOM, **FREE)
    state = drifting(2)
    state.position[:] = CENTRE + (state.position - CENTRE) / HALF / 2  # within the sphere, its diameter the box's x
    after = flown(state, settings, 30, engine=engine)
    assert np.linalg.norm(after.position - CENTRE, axis=1).max() <= HALF[0] * (1 + 1e-6)
    slow = slice(20, None)  # the others bounce more often in a step than is followed
    before, later = (np.cross(one.position - CENTRE, one.velocity)[slow] for one in (state, after))
    np.testing.assert_allclose(later, before, atol=1e-8 if engine == "REFERENCE" else 1e-2)
    speeds = [np.linalg.norm(one.velocity, axis=1) for one in (state, after)]
    np.testing.assert_allclose(speeds[1], speeds[0], rtol=1e-5)


@engines
def test_in_a_box_that_wraps_a_boid_is_set_on_the_opposite_face(engine):
    settings = Settings(count=1, space="BOX", boundary="WRAP", **ROOM, **FREE)
    for velocity, expected in (((30, 0, 0), (-2, 0, 0)), ((0, -90, 0), (0, 3, 0)), ((60, 0, 120), (-2, 0, -4))):
        after = flown(at([CENTRE + HALF * 0.0 + np.sign(velocity) * 1.9], [velocity]), settings, 1, engine=engine)
        start = np.where(np.array(velocity) == 0, 0.0, expected)
        np.testing.assert_allclose(after.position[0] - CENTRE, start, atol=1e-5)
        np.testing.assert_allclose(after.velocity[0], velocity, rtol=1e-6)


@engines
def test_in_a_periodic_box_the_way_is_a_straight_one_less_whole_periods(engine):
    settings = Settings(count=200, space="BOX", boundary="PERIODIC", **ROOM, **FREE)
    state = drifting(3)
    after = flown(state, settings, 30, engine=engine)
    straight = state.position + state.velocity * 30 * DT
    periods = (straight - after.position) / (2 * HALF)
    np.testing.assert_allclose(periods, np.round(periods), atol=1e-9 if engine == "REFERENCE" else 1e-3)
    assert (np.abs(after.position - CENTRE) <= HALF * (1 + 1e-6)).all()


@engines
def test_a_periodic_flock_does_not_know_where_its_box_begins(engine):
    rules = {name: Rule(1.0, 1.9, steer="RAW") for name in ("separation", "alignment", "cohesion")}
    settings = Settings(
        count=150, space="BOX", boundary="PERIODIC", **ROOM, **FREE | rules | {"acceleration": "UNBOUNDED"}
    )
    state = drifting(4, 150, 1.0)
    shifted = state.position - CENTRE + HALF + (1.3, 2.9, -3.1)
    moved = replace(state, position=np.mod(shifted, 2 * HALF) - HALF + CENTRE)
    one, other = (accelerations(flock, settings, engine=engine) for flock in (state, moved))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6 if engine == "REFERENCE" else 1e-2)
    alone = accelerations(state, replace(settings, boundary="WRAP"), engine=engine)
    assert np.abs(alone - one).max() > 1.0  # across the border there is somebody to see


@engines
@pytest.mark.parametrize("boundary", ["WRAP", "PERIODIC"])
def test_out_of_a_sphere_a_boid_comes_in_at_the_opposite_point(boundary, engine):
    settings = Settings(count=1, space="SPHERE", boundary=boundary, **ROOM, **FREE)
    after = flown(at([np.add(CENTRE, (0, 1.9, 0))], [[0, 90.0, 0]]), settings, 1, engine=engine)
    np.testing.assert_allclose(after.position[0] - CENTRE, (0, -2, 0), atol=1e-5)


@engines
@pytest.mark.parametrize("space", ["BOX", "SPHERE"])
@pytest.mark.parametrize("feelers", [0.0, 2.0])
def test_a_flock_that_steers_back_stays_inside_and_turns_before_the_border(space, feelers, engine):
    room = {"space": space, "space_size": (40.0, 40.0, 40.0), "feelers": feelers, "feeler_length": 8.0}
    settings = Settings(count=60, seed=3, pre_roll=0.0, **room)
    frames = list(Simulation(settings, frames=168, engine=engine))
    places = np.array([frame.state.position for frame in frames])
    gap = (20.0 - np.abs(places)).min(axis=2) if space == "BOX" else 20.0 - np.linalg.norm(places, axis=2)
    assert gap.min() > -1e-5
    # in five seconds at cruise speed they have come as far as the border is, and been there since
    assert np.median(gap.min(axis=0)) < 6.0
    assert (gap < 0.01).mean() < (0.02 if feelers else 0.002)
    speed = np.linalg.norm([frame.state.velocity for frame in frames], axis=2)
    assert np.median(speed) > settings.min_speed


@engines
@pytest.mark.parametrize("boundary", ["STEER", "REFLECT", "WRAP", "PERIODIC"])
@pytest.mark.parametrize("space", ["BOX", "SPHERE"])
@pytest.mark.parametrize("plane", [False, True])
def test_a_flock_that_starts_wider_than_its_space_starts_inside_it_and_stays(space, boundary, plane, engine):
    room = {"space": space, "boundary": boundary, "space_size": (9.0, 12.0, 15.0), "space_centre": (3.0, 2.0, 4.0)}
    settings = Settings(count=80, pre_roll=0.0, plane=plane, spacing=4.0, **room)
    for frame in Simulation(settings, frames=20, engine=engine):
        place = frame.state.position.astype(float) - (3.0, 2.0, 0.0 if plane else 4.0)
        if plane:
            assert not place[:, 2].any()
        inside = (
            4.5 - np.linalg.norm(place, axis=1)
            if space == "SPHERE"
            else (np.array((4.5, 6.0, 7.5)) - np.abs(place)).min(axis=1)
        )
        assert inside.min() > -1e-5
        if frame.number == 1:
            assert (inside < 0.01).sum() <= 4  # they are not piled up at the border


@engines
@pytest.mark.parametrize("boundary", ["STEER", "REFLECT", "WRAP", "PERIODIC"])
def test_who_meets_the_border_beside_an_obstacle_does_not_end_inside_it(boundary, engine):
    bare = BARE | {"separation": OFF}
    settings = Settings(
        count=300, space="BOX", boundary=boundary, space_size=(10.0, 10.0, 10.0), max_speed=99.0, **bare
    )
    rng = np.random.default_rng(5)
    state = at(rng.uniform(-5, 5, (300, 3)), rng.normal(size=(300, 3)) * 30)
    balls = Effectors(spheres=spheres([[4, 0, 0], [-4, 0, 0], [0, 5, 0], [0, 0, -4]], [2.0, 1.5, 2.0, 3.0]))
    for step in range(40):
        state = flown(state, settings, 1, balls, engine)
        for centre, radius in zip(balls.spheres.centre[0], balls.spheres.radius[0], strict=True):
            assert np.linalg.norm(state.position - centre, axis=1).min() >= radius, step
