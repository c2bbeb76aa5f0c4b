# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault that a clip can have is found, counted, and its worst frame named."""

import numpy as np
import pytest

from core import Effectors, FlockError, Settings, flight_check, spheres

FRAMES, BOIDS = 10, 4


def clip():
    """Four boids side by side, two lengths apart, straight ahead at 6 lengths per second."""
    position = np.zeros((FRAMES, BOIDS, 3))
    position[:, :, 0] = 2.0 * np.arange(BOIDS)
    position[:, :, 1] = 6.0 / 24 * np.arange(FRAMES)[:, None]
    velocity = np.zeros_like(position)
    velocity[:, :, 1] = 6.0
    rotation = np.zeros((FRAMES, BOIDS, 4))
    rotation[:, :, 0] = 1.0
    return position, velocity, rotation


def test_a_good_clip_has_no_faults():
    far = Effectors(spheres=spheres([[0.0, 0.0, -5.0]], [1.0]))
    found = flight_check.check(*clip(), Settings(), far)
    for name in ("collisions", "inside", "inside_between", "turns", "rolls", "leavers"):
        assert getattr(found, name).count == 0
    assert found.collisions.worst == pytest.approx(2.0)


def test_a_close_pair_is_counted_at_its_frame():
    position, velocity, rotation = clip()
    position[3, 1] = position[3, 2] + (0.1, 0.0, 0.0)
    found = flight_check.check(position, velocity, rotation, Settings()).collisions
    assert (found.count, found.frame) == (1, 3.0)
    assert found.worst == pytest.approx(0.1)


def test_a_boid_inside_a_sphere_is_found_at_a_frame_and_between_frames():
    position, velocity, rotation = clip()
    at_frame = Effectors(spheres=spheres([[2.0, 6.0 / 24 * 5, 0.0]], [0.1]))
    found = flight_check.check(position, velocity, rotation, Settings(), at_frame)
    assert (found.inside.count, found.inside.frame) == (1, 5.0)
    assert found.inside.worst == pytest.approx(0.1)
    assert found.inside_between.count == 2  # a quarter before and a quarter after
    between = Effectors(spheres=spheres([[2.0, 6.0 / 24 * 5.5, 0.0]], [0.05]))
    found = flight_check.check(position, velocity, rotation, Settings(), between)
    assert found.inside.count == 0
    assert (found.inside_between.count, found.inside_between.frame) == (1, 5.5)


def test_a_roll_flip_and_a_sudden_turn_are_told_apart():
    position, velocity, rotation = clip()
    rotation[4:, 0] = (0.0, 0.0, 1.0, 0.0)  # upside down
    rotation[6:, 1] = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # a quarter to the left
    found = flight_check.check(position, velocity, rotation, Settings())
    assert (found.rolls.count, found.rolls.frame) == (1, 3.0)
    assert found.rolls.worst == pytest.approx(24 * np.pi)
    assert (found.turns.count, found.turns.frame) == (1, 5.0)
    assert found.turns.worst == pytest.approx(24 * np.pi / 2)


def test_who_has_left_is_found():
    position, velocity, rotation = clip()
    position[7:, 3] += (0.0, 0.0, 500.0)
    found = flight_check.check(position, velocity, rotation, Settings()).leavers
    assert found.count == 3
    assert found.frame == 7.0


def test_a_wide_flock_before_does_not_hide_who_leaves_later():
    position, velocity, rotation = clip()
    position[:5] *= 1000.0  # far apart, all of them: nobody has left
    position[7:, 3] += (0.0, 0.0, 500.0)
    found = flight_check.check(position, velocity, rotation, Settings()).leavers
    assert (found.count, found.frame) == (3, 7.0)


def test_a_place_that_is_no_number_has_left_and_breaks_nothing():
    position, velocity, rotation = clip()
    position[4, 1] = np.nan
    found = flight_check.check(position, velocity, rotation, Settings())
    assert (found.leavers.count, found.leavers.frame, found.leavers.worst) == (1, 4.0, np.inf)
    assert found.collisions.count == 0


def test_two_parts_of_a_clip_have_the_findings_of_the_whole():
    position, velocity, rotation = clip()
    position[3, 1] = position[3, 2] + (0.1, 0.0, 0.0)
    rotation[6:, 0] = (0.0, 0.0, 1.0, 0.0)
    inside = Effectors(spheres=spheres([[2.0, 6.0 / 24 * 5.5, 0.0]], [0.05]))
    whole = flight_check.check(position, velocity, rotation, Settings(), inside)
    for cut in (4, 6):
        first = flight_check.Checker(Settings(), inside, 24.0)
        before = position[cut - 1], velocity[cut - 1], rotation[cut - 1]
        second = flight_check.Checker(Settings(), inside, 24.0, cut, before)
        rows = [first.add(position[k], velocity[k], rotation[k]) for k in range(cut)]
        rows += [second.add(position[k], velocity[k], rotation[k]) for k in range(cut, FRAMES)]
        assert flight_check.summary(np.array(rows)) == whole
    assert whole.collisions.count == whole.rolls.count == whole.inside_between.count == 1


@pytest.mark.parametrize("spread", [(1.0, 1.0, 1.0), (0.0, 9.0, 0.1), (0.0, 0.0, 0.0)])
def test_near_pairs_are_those_of_all_pairs(spread):
    random = np.random.default_rng(3)
    for count in (2, 3, 60):
        points = random.normal(size=(count, 3)) * spread
        points[count // 2] = points[0] + (0.02, 0.0, 0.0)
        apart = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(count, 1)]
        for limit in (1e-9, 0.3, 50.0):
            checker = flight_check.Checker(Settings(body_length=2 * limit), Effectors(), 24.0)
            pairs, _, nearest = checker.add(points, np.zeros((count, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)))[0]
            assert pairs == (apart < limit).sum()
            assert nearest == pytest.approx(apart.min(), abs=1e-12)


def test_near_pairs_are_found_in_every_frame_whoever_was_nearest_before():
    random = np.random.default_rng(5)
    position = np.cumsum(random.normal(size=(12, 40, 3)), axis=0) + random.normal(size=(40, 3))
    position[4] = random.normal(size=(40, 3)) * 1e4  # they jump apart
    position[7, 3], position[9, 5] = np.nan, np.inf  # some are left out, and are back
    position[8, 1] = position[8, 39] + (0.01, 0.0, 0.0)
    velocity, rotation = np.zeros_like(position), np.tile((1.0, 0.0, 0.0, 0.0), (12, 40, 1))
    checker = flight_check.Checker(Settings(), Effectors(), 24.0)
    for frame, points in enumerate(position):
        count, _, worst = checker.add(points, velocity[frame], rotation[frame])[0]
        there = points[np.isfinite(points).all(axis=1)]
        apart = np.linalg.norm(there[:, None] - there[None], axis=-1)[np.triu_indices(len(there), 1)]
        assert count == (apart < 0.5).sum()
        assert worst == pytest.approx(apart.min(), rel=1e-12)


def test_empty_clips_and_single_frames_have_no_faults():
    for frames, boids in ((1, 0), (5, 0), (1, 1), (1, 3)):
        arrays = np.zeros((frames, boids, 3)), np.zeros((frames, boids, 3)), np.zeros((frames, boids, 4))
        arrays[0][:, :, 0] = 2.0 * np.arange(boids)
        found = flight_check.check(*arrays, Settings())
        assert found.inside.count == found.turns.count == found.collisions.count == 0


def test_arrays_that_do_not_fit_are_refused_with_a_sentence():
    with pytest.raises(FlockError, match="frames, boids, 3"):
        flight_check.check(np.zeros((2, 3, 3)), np.zeros((2, 2, 3)), np.zeros((2, 3, 4)), Settings())
