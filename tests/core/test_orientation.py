# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies follow their velocity without flips, bank in turns, and rest as they were."""

import math
from itertools import pairwise

import numpy as np
import pytest

from core import Settings, orientation, vectors

DT = 1 / 48
UP = np.array((0.0, 0.0, 1.0))


def fly(velocities, settings, rotation=None):
    """Rotations (T, 4) of one boid along scripted velocities (T, 3)."""
    velocities = np.asarray(velocities, float)
    rotation = orientation.settle(velocities[:1], np.array([[1.0, 0, 0, 0]]) if rotation is None else rotation, UP)
    flown = [rotation]
    for before, velocity in pairwise(velocities):
        acceleration = (velocity - before)[None] / DT
        flown.append(orientation.turn(flown[-1], velocity[None], acceleration, UP, settings, DT))
    return np.concatenate(flown)


def circle(seconds, rate, first, second, speed=6.0):
    """Velocities that turn at `rate` from the first direction towards the second."""
    angle = np.arange(round(seconds / DT)) * DT * rate
    return speed * (np.cos(angle)[:, None] * np.array(first) + np.sin(angle)[:, None] * np.array(second))


def turned(rotations):
    """Angle from each rotation to the next, radians, the sign of the quaternion being kept (no short way)."""
    return 2 * np.arccos(np.clip(np.einsum("ij,ij->i", rotations[1:], rotations[:-1]), -1, 1))


def test_a_vertical_loop_has_no_flip_and_no_roll():
    rotations = fly(circle(12.0, 1.0, (0, 1, 0), (0, 0, 1)), Settings(banking=0.0))
    assert turned(rotations).max() < 1.2 * DT
    side = vectors.cross(orientation.forward_of(rotations), orientation.up_of(rotations))
    assert np.degrees(np.arccos(side[:, 0].clip(-1, 1))).max() < 5.0


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_straight_up_and_straight_down_keep_the_roll(way):
    turn_in = circle(math.pi / 2, 1.0, (0, 1, 0), (0, 0, way))
    straight = np.tile((0.0, 0.0, 6.0 * way), (96, 1))
    rotations = fly(np.concatenate((turn_in, straight)), Settings())
    assert orientation.forward_of(rotations)[-1, 2] * way > 0.999
    assert turned(rotations).max() < 1.2 * DT
    side = vectors.cross(orientation.forward_of(rotations), orientation.up_of(rotations))
    assert side[-1, 0] > 0.99


def test_a_level_turn_banks_by_speed_squared_over_gravity_and_radius():
    speed, rate = 6.0, 1.0
    settings = Settings(smoothing=0.0)
    rotation = fly(circle(8.0, rate, (0, 1, 0), (1, 0, 0), speed), settings)[-1:]
    up = orientation.up_of(rotation)[0]
    assert math.acos(up[2]) == pytest.approx(math.atan(speed**2 / (settings.gravity * speed / rate)), abs=0.02)
    velocity = circle(8.0, rate, (0, 1, 0), (1, 0, 0), speed)[-1]
    inward = np.array((velocity[1], -velocity[0], 0.0))
    assert up @ inward > 0


def test_without_smoothing_and_banking_the_body_looks_along_its_velocity():
    velocities = circle(4.0, 3.0, (0, 1, 0), (0.6, 0, 0.8))
    forward = orientation.forward_of(fly(velocities, Settings(smoothing=0.0, banking=0.0)))
    assert (np.einsum("ij,ij->i", forward, velocities) / 6.0).min() > 0.999


def test_a_sudden_turn_is_followed_no_faster_than_the_limits_allow():
    settings = Settings()
    velocities = np.array([(0.0, 6.0, 0.0)] * 5 + [(0.0, -6.0, 0.5)] * 96)
    rotations = fly(velocities, settings)
    assert turned(rotations).max() <= (orientation.turn_limit(settings) + settings.roll_rate) * DT + 1e-6
    assert orientation.forward_of(rotations)[-1, 1] < -0.9


def test_at_rest_the_last_heading_stays():
    velocities = np.concatenate((circle(2.0, 1.0, (0, 1, 0), (1, 0, 0)), np.zeros((48, 3))))
    rotations = fly(velocities, Settings(smoothing=0.0))
    forward = orientation.forward_of(rotations)
    assert forward[-1] == pytest.approx(forward[-49], abs=1e-9)


def test_settling_looks_along_the_velocity_with_level_wings_in_every_direction():
    rng = np.random.default_rng(2)
    velocity = np.concatenate((rng.normal(size=(200, 3)), [(0, 0, 1), (0, 0, -1), (0, -1, 0), (0, 0, 0)]))
    rotation = orientation.settle(velocity, np.tile((1.0, 0, 0, 0), (204, 1)), UP)
    forward, up = orientation.forward_of(rotation), orientation.up_of(rotation)
    assert np.einsum("ij,ij->i", forward, vectors.unit(velocity))[:-1].min() > 0.999999
    assert np.einsum("ij,ij->i", rotation, rotation) == pytest.approx(1.0)
    assert rotation[-1].tolist() == [1, 0, 0, 0]
    slant = np.abs(forward[:200, 2]) < 0.8
    assert up[:200][slant, 2].min() > 0


def test_wings_beat_faster_in_a_climb_and_rest_in_a_glide():
    settings = Settings()
    level, climb, dive = (
        orientation.beat(np.array([way], float), np.zeros((1, 3)), UP, settings)[0]
        for way in ((0, 6, 0), (0, 5, 3), (0, 5, -3))
    )
    assert 0 <= dive < level < climb < 3 * settings.beat_rate
    hard = orientation.beat(np.array([(0.0, 6.0, 0.0)]), np.array([(9.0, 0.0, 0.0)]), UP, settings)[0]
    assert hard > level
    endless = Settings(max_acceleration=math.inf)
    assert np.isfinite(orientation.beat(np.zeros((1, 3)), np.ones((1, 3)), UP, endless)).all()
