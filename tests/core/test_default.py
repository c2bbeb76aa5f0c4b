# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default flock: it turns rather than brakes, wheels as one, keeps its distance and does not tear."""

import numpy as np
import pytest

from core import Effectors, Settings, Simulation, attractor, spheres
from core.goals import wheeled
from core.orientation import forward_of, turn_limit
from core.reference import turned
from core.state import State, Traits

UP = np.array((0.0, 0.0, 1.0))
AHEAD = np.array(((0.0, 1.0, 0.0),))


def flying(speed: float) -> State:
    return State(np.zeros((1, 3)), speed * AHEAD, np.array(((1.0, 0, 0, 0),)), np.zeros(1))


def still(count: int) -> Traits:
    return Traits(Settings(count=count, speed_variation=0.0, weight_variation=0.0))


def largest_group(position: np.ndarray, gap: float) -> float:
    """Share of the boids in the largest group whose members are no further than `gap` from another of it."""
    left, best = set(range(len(position))), 0
    while left:
        group = [left.pop()]
        for boid in group:
            near = np.linalg.norm(position - position[boid], axis=1) <= gap
            found = left.intersection(np.flatnonzero(near))
            left -= found
            group += found
        best = max(best, len(group))
    return best / len(position)


def test_at_min_speed_a_wish_to_brake_becomes_a_turn_of_the_same_size():
    settings, wish = Settings(count=1), np.array(((4.0, -3.0, 0.0),))
    np.testing.assert_allclose(
        turned(wish, flying(settings.min_speed), settings, still(1)), [(5.0, 0.0, 0.0)], atol=1e-12
    )


def test_at_cruise_speed_a_wish_to_brake_stays():
    settings, wish = Settings(count=1), np.array(((4.0, -3.0, 0.0),))
    np.testing.assert_allclose(turned(wish, flying(settings.cruise_speed), settings, still(1)), wish, atol=1e-12)


def test_a_wish_to_go_faster_is_left_alone():
    settings, wish = Settings(count=1), np.array(((4.0, 3.0, 1.0),))
    np.testing.assert_allclose(turned(wish, flying(settings.min_speed), settings, still(1)), wish, atol=1e-12)


def test_a_boid_at_rest_keeps_its_wish():
    wish = np.array(((4.0, -3.0, 0.0),))
    np.testing.assert_allclose(turned(wish, flying(0.0), Settings(count=1, min_speed=0.0), still(1)), wish)


@pytest.mark.parametrize("offset", [(0.0, 7.0, 0.0), (5.0, 0.0, 0.0), (-5.0, 1.0, 2.0)])
def test_a_goal_ahead_or_beside_is_flown_to_straight(offset):
    there = np.array((offset,))
    np.testing.assert_allclose(wheeled(there, 5.0 * AHEAD, UP), there, atol=1e-12)


def test_to_a_goal_behind_all_turn_left_also_those_to_whom_right_is_a_little_nearer():
    there = np.array(((0.0, -9.0, 0.0), (1.0, -9.0, 0.0), (-1.0, -9.0, 0.0)))
    assert (wheeled(there, np.repeat(5.0 * AHEAD, 3, axis=0), UP)[:, 0] < -9.0).all()


def test_straight_up_there_is_no_left_and_the_goal_is_flown_to_as_it_is():
    there = np.array(((0.0, 0.0, -9.0),))
    np.testing.assert_allclose(wheeled(there, np.array(((0.0, 0.0, 5.0),)), UP), there, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_flock_whose_target_lies_behind_it_wheels_round_as_one(seed):
    settings = Settings(count=60, seed=seed)
    behind = Effectors(attractors=attractor((0.0, -60.0, 0.0)))
    for frame in Simulation(settings, behind, frames=24 * 20):
        if frame.number % 12 == 1:
            assert largest_group(frame.state.position, 3 * settings.spacing) == 1.0, f"frame {frame.number}"


def test_the_flock_flies_above_its_min_speed_and_near_cruise():
    settings = Settings(count=150)
    far = Effectors(attractors=attractor((0.0, 1e4, 0.0)))
    *_, last = Simulation(settings, far, frames=24 * 10)
    speed = np.linalg.norm(last.state.velocity, axis=1).mean()
    assert 0.8 * settings.cruise_speed < speed < 1.1 * settings.cruise_speed


def between_globes(settings: Settings) -> Effectors:
    """Three globes in the flock's way, one of them swinging across it, and a target beyond."""
    frames = 24 * 8 * settings.substeps + 1
    swing = 6.0 * np.sin(np.linspace(0.0, 4 * np.pi, frames))
    centre = np.zeros((frames, 3, 3))
    centre[:] = ((0.0, 25.0, 0.0), (-4.0, 40.0, 2.0), (3.0, 52.0, -3.0))
    centre[:, 1, 0] += swing
    radius = np.broadcast_to((5.0, 3.0, 4.0), (frames, 3))
    return Effectors(attractors=attractor((0.0, 120.0, 0.0)), spheres=spheres(centre, radius))


def test_among_globes_no_body_turns_or_rolls_faster_than_it_may_and_nearly_all_look_where_they_fly():
    settings, fps = Settings(count=200), 24.0
    turn, roll = turn_limit(settings) / fps, settings.roll_rate / fps
    before, looking = None, []
    for frame in Simulation(settings, between_globes(settings), fps=fps, frames=int(8 * fps)):
        rotation = np.asarray(frame.state.rotation, float)
        forward = forward_of(rotation)
        if before is not None:
            swung = np.arccos(np.clip((forward * forward_of(before)).sum(axis=1), -1.0, 1.0))
            turned_by = 2 * np.arccos(np.clip((rotation * before).sum(axis=1), -1.0, 1.0))
            # arccos near 1 loses half the digits of float32
            assert swung.max() <= turn + 1e-3 and turned_by.max() <= turn + roll + 1e-3, f"frame {frame.number}"
            assert (rotation * before).sum(axis=1).min() > 0, "a quaternion changed its sign"
        velocity = np.asarray(frame.state.velocity, float)
        cosine = (forward * velocity).sum(axis=1) / np.linalg.norm(velocity, axis=1)
        looking.append((cosine > 0.95).mean())
        before = rotation
    assert np.mean(looking) >= 0.99
    assert min(looking) >= 0.95  # in the moment in which a globe swings into them, too


def test_a_large_flock_is_not_crushed_at_its_target():
    pytest.importorskip("numba", reason="the reference looks at every pair, which takes too long for so many")
    settings = Settings(count=6000, pre_roll=2.0)
    there = Effectors(attractors=attractor((0.0, 0.0, 0.0), arrival=settings.flock_width))
    *_, last = Simulation(settings, there, frames=24 * 5)
    sample = np.random.default_rng(0).choice(settings.count, 500, replace=False)  # for the sake of time
    place = np.asarray(last.state.position, float)
    nearest = [np.partition(np.linalg.norm(place - place[boid], axis=1), 1)[1] for boid in sample]
    assert np.percentile(nearest, 1) > settings.body_length
