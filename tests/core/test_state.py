# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A flock starts in a volume that follows from count and spacing, and from the seed alone."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from core import Settings, Traits, spawn

BALL = Settings(count=4000, spacing=2.0)


def test_the_spawn_ball_holds_one_boid_for_each_cube_of_the_spacing():
    radius = np.linalg.norm(spawn(BALL).position, axis=1)
    expected = 2.0 * np.cbrt(4000 * 3 / (4 * np.pi))
    assert radius.max() == pytest.approx(expected, rel=0.01)
    # in a uniform ball half of the volume lies within 0.5 ** (1 / 3) of the radius
    assert np.median(radius) == pytest.approx(expected * 0.5 ** (1 / 3), rel=0.02)


def test_the_spawn_box_has_its_proportions():
    settings = replace(BALL, count=6000, spawn_shape="BOX", spawn_proportions=(1.0, 2.0, 3.0))
    extent = np.ptp(spawn(settings).position, axis=0)
    # 6,000 boids in cubes of 2: a volume of 48,000, sides 20, 40 and 60
    assert extent == pytest.approx((20, 40, 60), rel=0.02)


@pytest.mark.parametrize("shape", ["BALL", "BOX"])
@pytest.mark.parametrize("start", ["RANDOM", "ALIGNED", "REST"])
def test_a_plane_flock_starts_in_its_plane(shape, start):
    state = spawn(replace(BALL, plane=True, spawn_shape=shape, start=start))
    assert not state.position[:, 2].any() and not state.velocity[:, 2].any()


def test_initial_velocities():
    speed = lambda state: np.linalg.norm(state.velocity, axis=1)  # noqa: E731
    assert not spawn(replace(BALL, start="REST")).velocity.any()
    assert (spawn(replace(BALL, start="ALIGNED", initial_speed=4.0)).velocity == (0.0, 4.0, 0.0)).all()
    random = spawn(replace(BALL, start="RANDOM", initial_speed=4.0))
    assert speed(random) == pytest.approx(4.0, rel=1e-5)
    # the mean of 4,000 random unit vectors is about 1 / sqrt(4,000) = 0.016 long
    assert np.linalg.norm(random.velocity.mean(axis=0)) / 4 < 0.05


def test_the_seed_decides():
    assert np.array_equal(spawn(BALL).position, spawn(BALL).position)
    assert not np.array_equal(spawn(BALL).position, spawn(replace(BALL, seed=1)).position)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_a_copy_is_flown_from_its_own_places(copied):
    """Records are those of which the parts are views; a copy's parts are not."""
    state = spawn(BALL).stored()
    other = copied(state)
    for part in ("position", "velocity", "rotation", "flap"):
        assert np.array_equal(getattr(other, part), getattr(state, part)) and getattr(other, part).dtype == np.float32
    replaced = copy.deepcopy(other)
    replaced.position[0] = 99.0
    assert (replaced.stored().records[0, :3] == 99.0).all()
    other.position[0] = 98.0
    assert (other.stored().records[0, :3] == 98.0).all()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_flocks(count):
    state = spawn(replace(BALL, count=count))
    assert (
        state.position.shape == (count, 3) and state.rotation.shape == (count, 4) and np.isfinite(state.position).all()
    )


def test_traits_vary_around_one_within_their_share():
    traits = Traits(replace(BALL, speed_variation=0.2, size_variation=0.0))
    assert 0.8 <= traits.speed.min() < 0.81 and 1.19 < traits.speed.max() <= 1.2
    assert (traits.size == 1).all()
