# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation yields the frames that were asked for, can be cancelled and resumed, and flies in seconds, not in frames."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from core import Cancelled, Effectors, FlockError, Settings, Simulation, attractor

SETTINGS = Settings(count=60, pre_roll=0.5)
ENGINES = [
    "REFERENCE",
    pytest.param("NUMBA", marks=pytest.mark.skipif(not importlib.util.find_spec("numba"), reason="numba is not here")),
]
engines = pytest.mark.parametrize("engine", ENGINES)


def arrays(state):
    return state.position, state.velocity, state.rotation, state.flap


def assert_same_bits(one, other):
    assert one.step == other.step
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        assert np.array_equal(mine, theirs)


@engines
@pytest.mark.parametrize(("first", "frames"), [(1001, 3), (-10, 21), (5, 1)])
def test_frames_have_the_numbers_that_were_asked_for(engine, first, frames):
    simulation = Simulation(SETTINGS, first=first, frames=frames, engine=engine)
    assert [frame.number for frame in simulation] == list(range(first, first + frames))
    assert simulation.steps_done == simulation.steps and simulation.progress == 1.0


@engines
def test_a_simulation_stopped_at_a_frame_goes_on_with_the_same_bits(engine):
    target = attractor(np.cumsum(np.full((11, 3), 0.5), axis=0))
    whole = list(Simulation(SETTINGS, Effectors(attractors=target), frames=6, engine=engine))
    # frame 3 is at sample 4: two steps a frame
    rest = Effectors(attractors=attractor(target.position[4:, 0]))
    resumed = list(Simulation(SETTINGS, rest, first=4, frames=3, engine=engine, resume=whole[2].state))
    assert [frame.number for frame in resumed] == [4, 5, 6]
    for one, other in zip(whole[3:], resumed, strict=True):
        assert_same_bits(one.state, other.state)


@engines
def test_cancel_is_asked_before_every_step(engine):
    asked = []
    simulation = Simulation(SETTINGS, frames=9, engine=engine, cancelled=lambda: len(asked) > 3 or asked.append(1))
    with pytest.raises(Cancelled):
        list(simulation)
    assert simulation.steps_done == 4 and 0 < simulation.progress < 1


@engines
def test_pre_roll_makes_frame_one_a_flight_of_that_time(engine):
    settled, spawned = (
        next(iter(Simulation(replace(SETTINGS, pre_roll=time), engine=engine))).state for time in (0.5, 0.0)
    )
    moved = np.linalg.norm(settled.position - spawned.position, axis=1)
    # every boid flies between its own least and greatest speed, each varied by a tenth
    assert moved.max() <= 0.5 * SETTINGS.max_speed * 1.1 * 1.001 and np.median(moved) >= 0.5 * SETTINGS.min_speed * 0.9


@engines
@pytest.mark.parametrize("fps", [23.976, 24.0, 25.0, 30.0, 60.0])
def test_speeds_are_per_second_at_any_frame_rate(engine, fps):
    settings = replace(
        SETTINGS,
        count=1,
        min_speed=4.0,
        cruise_speed=4.0,
        max_speed=4.0,
        initial_speed=4.0,
        speed_variation=0.0,
        wander=0.0,
        pre_roll=0.0,
    )
    frames = list(Simulation(settings, fps=fps, frames=11, engine=engine))
    flown = np.linalg.norm(frames[-1].state.position - frames[0].state.position)
    assert flown == pytest.approx(4.0 * 10 / fps, rel=1e-4)


@engines
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_flocks_fly(engine, count):
    last = list(Simulation(replace(SETTINGS, count=count), frames=3, engine=engine))[-1].state
    assert len(last) == count and all(np.isfinite(array).all() for array in arrays(last))


@pytest.mark.parametrize("values", [{"fps": 0}, {"fps": np.nan}, {"frames": 0}])
def test_an_impossible_range_is_answered_with_a_sentence(values):
    with pytest.raises(FlockError, match="Set the"):
        Simulation(SETTINGS, engine="REFERENCE", **values)
