# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled engine finds the same neighbours and flies the same flight as the reference, whatever the number of threads."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given, settings
from hypothesis import strategies as st

from core import Effectors, Rule, Settings, Simulation, State, Traits, attractor, reference, spawn, spheres, steering
from core.settings import CHOICES

FLOCK = Settings(count=200)
LOOK = (0.0, 20.0, 0.0)


def flight(engine, frames, threads=None, **changes):
    effectors = Effectors(attractors=attractor(LOOK), spheres=spheres([[0, 9, 0], [4, 12, 1]], [3, 2]))
    flown = Simulation(
        replace(FLOCK, pre_roll=0.0, substeps=1, **changes), effectors, frames=frames, engine=engine, threads=threads
    )
    return list(flown)


@pytest.mark.parametrize("response", CHOICES["avoidance"])
def test_both_engines_fly_the_same_flight(response):
    ours, theirs = (flight(engine, 51, avoidance=response) for engine in ("NUMBA", "REFERENCE"))
    size = np.ptp(theirs[0].state.position, axis=0).max()
    apart = [
        np.linalg.norm(one.state.position - other.state.position, axis=1) / size
        for one, other in zip(ours, theirs, strict=True)
    ]
    # flocks are chaotic: the bounds are those within which float32 may part two flights
    assert max(step.max() for step in apart[:11]) < 1e-4
    assert np.median(apart[50]) < 1e-4


def test_the_bits_do_not_depend_on_the_number_of_threads():
    one, *others = (flight("NUMBA", 12, threads, count=1500)[-1].state for threads in (1, 2, 8))
    for other in others:
        for name in ("position", "velocity", "rotation", "flap"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def rules():
    reach, weight = st.floats(0, 6), st.floats(0, 5)
    inner, view = st.floats(0, 1), st.sampled_from([0.0, 1.0, 3.0, 4.7, 2 * np.pi])
    return st.builds(
        Rule,
        weight,
        reach,
        inner,
        view,
        st.sampled_from(CHOICES["steer"]),
        st.sampled_from(CHOICES["total"]),
        st.booleans(),
    )


chosen = {name: st.sampled_from(CHOICES[name]) for name in ("edge", "falloff", "zones", "alignment_of", "cohesion_of")}


@given(
    choices=st.fixed_dictionaries(
        {**chosen, "separation": rules(), "alignment": rules(), "cohesion": rules(), "neighbours": st.integers(0, 12)}
    ),
    count=st.integers(0, 60),
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([0.0, 0.5, 3.0, 1e6]),
)
@settings(max_examples=150, deadline=None)
def test_the_pair_sums_are_those_of_the_reference(choices, count, seed, spread):
    flock = replace(Settings(count=count, seed=seed, spacing=2.0, start="RANDOM"), **choices)
    state = spawn(flock, np.float64)
    moved = state.position.copy()
    moved[: count // 3] *= spread  # all in one place, in one cell, loose, or lost
    state = State(moved, state.velocity, state.rotation, state.flap)
    ours, theirs = steering.Stepper(flock, Traits(flock), 1).gather(state), reference.gather(state, flock)
    for name in ours.vector:
        assert ours.vector[name] == pytest.approx(theirs.vector[name], rel=1e-9, abs=1e-9)
        assert ours.weight[name] == pytest.approx(theirs.weight[name], rel=1e-9, abs=1e-9)


@given(
    count=st.integers(0, 120),
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([0.0, 0.5, 3.0, 1e6]),
    radii=st.tuples(*[st.sampled_from([0.0, 0.7, 2.0, 5.0])] * 3),
    falloff=st.sampled_from(["INVERSE", "CENTROID"]),
)
@settings(max_examples=100, deadline=None)
def test_the_plain_pair_loop_finds_the_sums_of_the_reference(count, seed, spread, radii, falloff):
    near, middle, wide = (Rule(1.0, radius) for radius in radii)
    flock = Settings(count=count, seed=seed, spacing=2.0, start="RANDOM", edge="HARD", neighbours=0, falloff=falloff,
                     separation=near, alignment=middle, cohesion=wide)  # fmt: skip
    state = spawn(flock, np.float64)
    moved = state.position.copy()
    moved[: count // 3] *= spread
    state = State(
        np.round(moved), state.velocity, state.rotation, state.flap
    )  # many at exactly the radius, many coincident
    ours, theirs = steering.Stepper(flock, Traits(flock), 1).gather(state), reference.gather(state, flock)
    for name in ours.vector:
        assert ours.vector[name] == pytest.approx(theirs.vector[name], rel=1e-9, abs=1e-9)
        assert np.array_equal(ours.weight[name], theirs.weight[name])


def test_the_plain_pair_loop_gives_the_same_bits_with_any_number_of_threads():
    flock = Settings(count=5000, edge="HARD", neighbours=0, start="RANDOM", spacing=1.0,
                     **{name: Rule(1.0, 2.0) for name in ("separation", "alignment", "cohesion")})  # fmt: skip
    one, *others = (steering.Stepper(flock, Traits(flock), threads).gather(spawn(flock)) for threads in (1, 2, 8))
    for other in others:
        for name in one.vector:
            assert np.array_equal(one.vector[name], other.vector[name])


def test_after_the_warm_up_the_default_flock_compiles_nothing_more():
    steering.warm_up()
    compiled = [value for value in vars(steering).values() if hasattr(value, "signatures")]
    before = [len(one.signatures) for one in compiled]
    flight("NUMBA", 3)
    assert sum(before) > 0
    assert [len(one.signatures) for one in compiled] == before
