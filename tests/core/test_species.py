# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four species fly like themselves, and each like none of the others: measured on their flight to a target, in their own sizes."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from core import Effectors, Simulation, attractor, presets
from core.orientation import forward_of, up_of
from core.vectors import cross
from tests.core import measures

FPS = 24
COUNTS = {"starlings": 200, "fish": 200, "bees": 150, "geese": 24}
every = pytest.mark.parametrize("name", COUNTS)


@cache
def flight(name):
    """Settings and the frames of seconds 8 to 16: to a target that flies ahead and to the side; the bees' stands still."""
    settings = replace(presets.load(name), count=COUNTS[name])
    time = np.arange(16 * FPS * settings.substeps + 1) / (FPS * settings.substeps)
    radius = 30 * settings.spacing + 3 * settings.cruise_speed**2 / settings.max_acceleration
    turn = 0.0 * time if name == "bees" else (time + settings.pre_roll + 1.0) * settings.cruise_speed / radius
    circle = radius * np.stack((1 - np.cos(turn), np.sin(turn), 0 * turn), axis=1)
    frames = [
        frame.state
        for frame in Simulation(settings, Effectors(attractors=attractor(circle)), fps=FPS, frames=16 * FPS)
        if frame.number >= 8 * FPS
    ]
    return settings, frames


def arrays(name, field):
    """(F, N, ...) of a field of the states."""
    return np.array([getattr(state, field) for state in flight(name)[1]], float)


def speed(name):
    """Median, body lengths per second."""
    return np.median(np.linalg.norm(arrays(name, "velocity"), axis=2)) / flight(name)[0].body_length


def slopes(name):
    """Of the velocities above the horizon, radians, (F, N)."""
    return np.arcsin(measures.headings(arrays(name, "velocity"))[..., 2])


def polarisation(name):
    return np.mean([measures.polarisation(state.velocity) for state in flight(name)[1][::12]])


def neighbour(name):
    """Nearest neighbours of all, body lengths."""
    return (
        np.concatenate([measures.nearest(state.position) for state in flight(name)[1][::12]])
        / flight(name)[0].body_length
    )


def turn_radius(name):
    """Median of speed over turning rate, body lengths: how wide it flies its curves."""
    velocity = arrays(name, "velocity")
    heading = measures.headings(velocity)
    angle = np.arccos(np.clip(np.einsum("fni,fni->fn", heading[1:], heading[:-1]), -1, 1))
    way = np.linalg.norm(velocity[1:], axis=2) / FPS
    return np.median(way / np.maximum(angle, 1e-6)) / flight(name)[0].body_length


def beats(name):
    """Per second."""
    flap = arrays(name, "flap")
    return np.median(flap[-1] - flap[0]) / ((len(flap) - 1) / FPS)


@every
def test_ninety_nine_of_a_hundred_keep_a_body_length(name):
    assert np.percentile(neighbour(name), 1) >= 1.0


@every
def test_it_stays_one(name):
    """Single linkage at three times the spacing; a swarm of bees is looser, and has its stragglers."""
    settings, frames = flight(name)
    reach, share = (6 * settings.spacing, 0.95) if name == "bees" else (3 * settings.spacing, 0.99)
    for state in frames[::48]:
        assert measures.clusters(state.position, reach)[0] >= share * settings.count


def test_birds_and_fish_fly_one_way_and_bees_each_its_own():
    assert polarisation("geese") > 0.97
    assert polarisation("fish") > 0.9
    assert polarisation("starlings") > 0.85
    assert polarisation("bees") < 0.2


def test_distances_are_those_of_the_species():
    """Starlings: 0.7 to 1.5 m (Ballerini et al. 2008), 3 to 8 of their lengths; schools: about one body length and a half."""
    assert 3 < np.median(neighbour("starlings")) < 8
    assert 1 < np.median(neighbour("fish")) < 2
    assert 3 < np.median(neighbour("geese")) < 8
    assert 2 < np.median(neighbour("bees")) < 20


def test_speeds_are_in_their_natural_ratio():
    """Body lengths per second: schooling fish swim 1 to 4, geese fly 15 to 20 m/s, starlings 8 to 12 m/s at 0.2 m."""
    assert 1 < speed("fish") < 4 < 14 < speed("geese") < 20 < 35 < speed("starlings") < 60
    assert speed("bees") > 25


def test_geese_and_fish_fly_level_and_bees_do_not():
    assert np.abs(slopes("geese")).max() <= 0.2 + 1e-3
    assert np.abs(slopes("fish")).max() <= 0.5 + 1e-3
    assert np.percentile(np.abs(slopes("bees")), 75) > 0.3
    extent = np.ptp(flight("geese")[1][-1].position, axis=0)
    assert extent[2] < 0.25 * np.hypot(extent[0], extent[1])  # a line in one layer


def test_geese_turn_widest_and_beat_slowest_of_those_that_fly():
    assert turn_radius("geese") > 3 * turn_radius("fish")
    assert turn_radius("fish") > turn_radius("bees")
    assert beats("fish") < beats("geese") < beats("starlings") < beats("bees")


def test_birds_bank_in_their_turns_and_fish_stay_upright():
    rotation = {
        name: np.concatenate([state.rotation for state in flight(name)[1][::12]]).astype(float) for name in COUNTS
    }
    right = {name: cross(forward_of(turned), up_of(turned)) for name, turned in rotation.items()}
    bank = {name: np.median(np.arcsin(np.abs(across[:, 2]))) for name, across in right.items()}
    assert bank["fish"] < 0.01
    # v² / (g R) on the target's circle: 0.07 for 16 m/s and 367 m, 0.15 for 8.2 m/s and 48 m
    assert 0.035 < bank["geese"] < 0.14
    assert 0.075 < bank["starlings"] < 0.3


def test_bees_swarm_around_what_attracts_them():
    distance = np.linalg.norm(arrays("bees", "position"), axis=2)
    assert np.percentile(distance, 90) < 0.8
    assert np.linalg.norm(arrays("bees", "position").mean(axis=(0, 1))) < 0.1


@every
def test_headings_are_calm(name):
    heading = measures.headings(arrays(name, "velocity"))
    turns = np.cross(heading[:-1], heading[1:])
    assert (np.einsum("fni,fni->fn", turns[:-1], turns[1:]) < 0).mean() < 0.10
