# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets fly as the flocks that they are named after."""

from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, Traits, attractor, spawn
from core.presets import load
from core.reference import Stepper
from tests.core import ports


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "dt", "goal"), [("godot", 1 / 24, True), ("rust", 1.0, True), ("article", 1 / 24, False)]
)
def test_the_reference_flies_the_published_flock(name, dt, goal, seed):
    settings = replace(load(name), count=40, seed=seed)
    target = np.array((0.3, -0.2, 0.1))
    effectors = Effectors(attractors=attractor(target)) if goal else Effectors()
    stepper, state = Stepper(settings, Traits(settings)), spawn(settings, np.float64)
    x, v = state.position.copy(), state.velocity.copy()
    size = np.ptp(x, axis=0).max()
    for step in range(50):
        state = stepper.step(state, effectors.at(step), dt)
        x, v = getattr(ports, name)(x, v, dt, target)
    np.testing.assert_allclose(state.position, x, rtol=0, atol=1e-9 * size)
