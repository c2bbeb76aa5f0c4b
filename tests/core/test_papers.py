# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled engine shows what two papers measured: the three phases of Couzin et al. 2002, and the order of Vicsek 1995."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from core import Effectors, Traits, spawn, steering
from core.presets import load

STILL = Effectors().at(-1)


def states(settings, steps, dt):
    """The flock after each step, from its spawn on."""
    stepper, state = steering.Stepper(settings, Traits(settings)), spawn(settings, np.float64)
    for _ in range(steps):
        state = stepper.step(state, STILL, dt)
        yield state


def headings(state):
    return np.asarray(state.velocity, float) / np.linalg.norm(state.velocity, axis=1, keepdims=True)


def polarisation(state):
    return np.linalg.norm(headings(state).sum(axis=0)) / len(state)


def rotation(state):
    offset = np.asarray(state.position, float)
    offset = offset - offset.mean(axis=0)
    offset /= np.linalg.norm(offset, axis=1, keepdims=True)
    return np.linalg.norm(np.cross(offset, headings(state)).sum(axis=0)) / len(state)


def couzin(width, seed, steps, last):
    """Mean polarisation and rotation of the last steps, with an orientation zone of that width."""
    preset = load("couzin")
    rules = {
        "alignment": replace(preset.alignment, radius=1.0 + width),
        "cohesion": replace(preset.cohesion, radius=1.0 + width + 14.0),
    }
    settings = replace(preset, seed=seed, **rules)
    found = [
        (polarisation(state), rotation(state))
        for step, state in enumerate(states(settings, steps, 0.1))
        if step >= steps - last
    ]
    return np.mean(found, axis=0)


COUZIN = {0: (0.18, 0.19), 2: (0.19, 0.70), 6: (0.998, 0.04)}
"""Polarisation and rotation over the width of the orientation zone: swarm, torus, parallel (mean of the last 500 of 5,000 steps)."""


@pytest.mark.long
@pytest.mark.parametrize("width", COUZIN)
def test_couzins_three_phases(width):
    found = np.mean([couzin(width, seed, 5000, 500) for seed in range(8)], axis=0)
    print(f"orientation zone {width}: polarisation {found[0]:.3f}, rotation {found[1]:.3f}")
    assert np.abs(found - COUZIN[width]).max() <= 0.08


def test_couzins_three_phases_show_early():
    swarm, torus, parallel = (couzin(width, 1, steps, 200) for width, steps in ((0, 500), (2, 1500), (6, 500)))
    assert max(swarm) < 0.45
    assert torus[0] < 0.4 and torus[1] > 0.5
    assert parallel[0] > 0.98 and parallel[1] < 0.2


def order(noise, settle, measured):
    """Mean of the polarisation over the measured steps."""
    settings = replace(load("vicsek"), noise=noise * math.sqrt(24), seed=1)
    found = [
        polarisation(state) for step, state in enumerate(states(settings, settle + measured, 1 / 24)) if step >= settle
    ]
    return np.mean(found)


VICSEK = {1: 0.945, 2: 0.796, 3: 0.576, 4: 0.279, 5: 0.068}
"""Order over the noise, of 400 boids in a box of side 10."""


@pytest.mark.long
@pytest.mark.parametrize("noise", VICSEK)
def test_vicseks_order_falls_with_the_noise(noise):
    found = order(noise, 3000, 8000)
    print(f"noise {noise}: order {found:.3f}")
    assert found == pytest.approx(VICSEK[noise], abs=0.05)


def test_vicseks_order_shows_early():
    # from random headings, before it has settled: order comes from below, disorder is there at once
    assert order(1, 400, 400) > 0.8
    assert order(5, 100, 400) == pytest.approx(VICSEK[5], abs=0.05)
