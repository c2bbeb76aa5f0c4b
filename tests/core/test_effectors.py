# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Effectors over time: each step sees its begin and its end."""

import numpy as np
import pytest

from core import Attractors, Effectors, FlockError, attractor, spheres


def moving():
    return Effectors(
        attractors=attractor([(0, 0, 0), (1, 0, 0), (2, 0, 0)]),
        spheres=spheres(np.zeros((3, 1, 3)), [[1.0], [2.0], [3.0]]),
    )


def test_a_step_sees_its_begin_and_its_end():
    step = moving().at(1)
    assert step.attractors.position[:, 0, 0].tolist() == [1, 2]
    assert step.spheres.radius[:, 0].tolist() == [2, 3]


@pytest.mark.parametrize(("sample", "expected"), [(-1, [0, 0]), (-9, [0, 0]), (2, [2, 2]), (9, [2, 2])])
def test_effectors_are_held_before_the_first_and_after_the_last_sample(sample, expected):
    assert moving().at(sample).attractors.position[:, 0, 0].tolist() == expected


def test_what_rests_has_one_sample():
    step = Effectors(spheres=spheres([[1, 2, 3], [4, 5, 6]], [1, 2])).at(7)
    assert step.spheres.centre.shape == (2, 2, 3) and (step.spheres.strength == 1).all()


BAD = [
    spheres([[0, 0, 0]], np.nan),
    spheres([[0, 0, 0]], np.inf),
    spheres([[np.inf, 0, 0]], 1),
    attractor((np.nan, 0, 0)),
]


@pytest.mark.parametrize("group", BAD)
def test_a_place_or_radius_that_is_no_number_is_refused(group):
    with pytest.raises(FlockError, match="finite"):
        Effectors(**{"attractors" if isinstance(group, Attractors) else "spheres": group})


@pytest.mark.parametrize("values", [{"radius": -1.0}, {"radius": -np.inf}, {"arrival": -1e-9}])
def test_an_attractor_of_less_than_no_reach_is_refused(values):
    with pytest.raises(FlockError, match="attractors"):
        Effectors(attractors=attractor((0, 0, 0), **values))


def test_an_attractor_may_reach_without_end():
    Effectors(attractors=attractor((0, 0, 0), radius=np.inf))


def test_what_is_left_from_a_sample_on_is_what_was_there():
    left = moving().since(1)
    for sample in (0, 1, 5):
        np.testing.assert_array_equal(left.at(sample).attractors.position, moving().at(sample + 1).attractors.position)
        np.testing.assert_array_equal(left.at(sample).spheres.radius, moving().at(sample + 1).spheres.radius)
    assert len(moving().since(7).spheres.radius) == 1


def test_what_rests_still_rests_from_a_sample_on():
    resting = Effectors(spheres=spheres([[1, 2, 3]], [2.0]))
    np.testing.assert_array_equal(resting.since(4).at(3).spheres.centre, resting.at(0).spheres.centre)
