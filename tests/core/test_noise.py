# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random numbers come from counters alone, and are as good as their finaliser's publication says."""

import numpy as np
import pytest

from core.noise import Purpose, mix, stream


def test_the_finaliser_is_splitmix64():
    # the first outputs of splitmix64 from seed 0 (its state goes up by the same constant that `mix` adds), as published with the algorithm
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    gamma = 0x9E3779B97F4A7C15
    states = np.array([(index * gamma) % 2**64 for index in range(3)], np.uint64)
    assert mix(states).tolist() == expected


def test_a_boids_numbers_do_not_depend_on_how_many_there_are():
    assert np.array_equal(stream(5, 1000, 3, Purpose.WANDER_X)[:10], stream(5, 10, 3, Purpose.WANDER_X))


def test_numbers_are_uniform_and_exact_in_float32():
    numbers = stream(1, 200_000, 0, Purpose.SPAWN_X)
    assert numbers.min() >= 0 and numbers.max() < 1
    assert np.array_equal(numbers, numbers.astype(np.float32))
    counts = np.histogram(numbers, 20, (0, 1))[0]
    # chi squared with 19 degrees of freedom: 43.8 is its 0.1% point
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 43.8


@pytest.mark.parametrize(
    "other", [(2, 0, Purpose.SPAWN_X), (1, 1, Purpose.SPAWN_X), (1, 0, Purpose.SPAWN_Y), (-1, 0, Purpose.SPAWN_X)]
)
def test_another_seed_step_or_purpose_is_another_stream(other):
    numbers, others = stream(1, 50_000, 0, Purpose.SPAWN_X), stream(other[0], 50_000, *other[1:])
    # the standard error of the correlation of independent streams is 1 / sqrt(50,000) = 0.0045
    assert abs(np.corrcoef(numbers, others)[0, 1]) < 0.02
