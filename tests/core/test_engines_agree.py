# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of the compiled engine is one step of the reference, for every choice there is, extreme numbers included."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import HealthCheck, given
from hypothesis import settings as run
from hypothesis import strategies as st

from core import Boxes, Effectors, Path, Planes, Predators, Rule, Settings, State, Traits, spheres
from core.effectors import Attractors
from core.settings import CHOICES
from core.simulation import ENGINES, load_engine

TOLERANCE = 1e-4
"""Of the largest number of its kind: what float32 may lose in one step, several roots and sums long."""

SHAKE = 3e-7
"""Of the largest coordinate or speed: a few of float32's last bits. Where the reference itself answers so small a change with a jump (a
hard edge, a tie, a collision), the engines may differ by as much."""

TURN = 2 * np.pi
PARTS = ("position", "velocity", "rotation", "flap")


def number(low, high, *special):
    """Also its ends; what is smaller than a millionth is zero, as float32 would soon have it."""
    return st.one_of(
        st.floats(low, high).map(lambda value: value if value > 1e-6 else low), st.sampled_from([low, high, *special])
    )


def choice(name):
    return st.sampled_from(CHOICES[name])


def vectors(count, size):
    """Few distinct ones too, so that some coincide or vanish."""
    spread = st.sampled_from([0.0, 1e-3, 1.0, 5.0, 300.0])
    return st.builds(
        lambda seed, scale, copies: _vectors(seed, count, size, scale, copies),
        st.integers(0, 2**31),
        spread,
        st.booleans(),
    )


def _vectors(seed, count, size, scale, copies):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(count, 3)) * size * scale
    if copies and count:
        found[rng.integers(0, count, count // 2)] = found[0]
        found[rng.integers(0, count, count // 4)] = 0.0
    return np.float32(found).astype(float)


rules = st.builds(
    Rule,
    weight=number(0.0, 5.0, 1.0, -1.0),
    radius=number(0.0, 8.0, 1e-6, 1e4),
    inner_radius=number(0.0, 2.0),
    field_of_view=number(0.0, TURN, 3.0, 4.7),
    steer=choice("steer"),
    total=choice("total"),
    count_self=st.booleans(),
)

NAMED = ("edge", "falloff", "zones", "alignment_of", "cohesion_of", "acceleration", "blending", "integration", "noise_shape",
         "space", "boundary", "avoidance")  # fmt: skip

flocks = st.fixed_dictionaries(
    {
        **{name: choice(name) for name in NAMED},
        **dict.fromkeys(("separation", "alignment", "cohesion"), rules),
        "attraction_steer": choice("steer"),
        "neighbours": st.sampled_from([0, 1, 2, 7, 32]),
        "cruise_speed": number(0.0, 9.0),
        "min_speed": number(0.0, 5.0),
        "max_speed": number(5.0, 1e3, np.inf),
        "max_acceleration": number(0.0, 50.0, np.inf),
        "response_time": number(0.05, 2.0),
        "max_turn_rate": number(0.01, 50.0, np.inf),
        "max_climb": number(0.0, np.pi / 2),
        "max_dive": number(0.0, np.pi / 2),
        "drag": number(0.0, 5.0),
        "attraction": number(0.0, 2.0),
        "wander": number(0.0, 2.0),
        "noise": number(0.0, 3.0),
        "level_flight": number(0.0, 2.0),
        "speed_control": number(0.0, 5.0),
        "plane": st.booleans(),
        "sources": st.integers(0, 3),
        "feelers": number(0.0, 2.0),
        "feeler_length": number(0.0, 5.0),
        "space_size": st.sampled_from([(8.0, 12.0, 10.0), (40.0, 40.0, 40.0), (1.0, 2.0, 3.0)]),
        "space_centre": st.sampled_from([(0.0, 0.0, 0.0), (1.5, -2.0, 0.5)]),
        "min_height": st.sampled_from([-np.inf, -2.0]),
        "look_ahead": number(0.0, 2.0),
        "collision_decay": number(0.0, 1.0),
        "clearance": number(0.0, 1.0),
        "size_variation": number(0.0, 0.5),
        "speed_variation": number(0.0, 0.5),
        "weight_variation": number(0.0, 0.5),
        "release_duration": st.sampled_from([0.0, 3.0]),
        "smoothing": number(0.0, 0.3),
        "banking": number(0.0, 1.0),
        "seed": st.integers(0, 2**31 - 1),
    }
)


RARE = ("noise", "max_turn_rate", "max_climb", "max_dive", "sources", "space", "feelers", "min_height")
"""Left out, together with the rarer effectors, in half of the cases: a flock as most are may be flown by shorter ways."""


@st.composite
def scenes(draw, rare):
    """Effectors of each kind, none to two, over one step, in which they rest, move, or move and grow by many boids' lengths."""

    def some(size):
        start = draw(vectors(draw(st.integers(0, 2)), size))
        way = draw(st.sampled_from([(0.0, 0.0, 0.0), (0.2, 0.2, 0.2), (0.0, 3.0, 0.0), (-30.0, 2.0, 9.0)]))
        return np.stack([start, start + np.array(way)])

    def numbers(like, *values):
        """The same at the end, or others."""
        one, other = (
            draw(st.lists(st.sampled_from(values), min_size=like.shape[1], max_size=like.shape[1])) for _ in range(2)
        )
        return np.array([one, other if draw(st.booleans()) else one], float).reshape(2, like.shape[1])

    goals, hunters, balls, floors, boxes = (some(size) for size in (9.0, 4.0, 4.0, 9.0, 4.0))
    normals = np.random.default_rng(draw(st.integers(0, 99))).normal(size=floors.shape[1:])
    normals = np.stack([normals / np.linalg.norm(normals, axis=1, keepdims=True)] * 2)
    tilt = np.array(draw(st.sampled_from([(0.0, 0.0, 1.0), (0.6, 0.0, 0.8)])))
    common = {
        "attractors": Attractors(goals, numbers(goals, 0, 1, -2), numbers(goals, 0, 5, np.inf), numbers(goals, 0, 3)),
        "spheres": replace(spheres(balls, 1.0), radius=numbers(balls, 0, 1, 3), strength=numbers(balls, 0, 1, 5)),
        "up": tilt,
    }
    if not rare:
        return Effectors(**common)
    return Effectors(
        predators=Predators(hunters, numbers(hunters, 0, 2, 9), numbers(hunters, 0, 3)),
        planes=Planes(floors, normals),
        boxes=Boxes(boxes, np.broadcast_to(np.eye(3), (*boxes.shape[:2], 3, 3)), np.full(boxes.shape, 1.5)),
        path=Path(draw(vectors(draw(st.sampled_from([0, 1, 2, 5])), 6.0)), 1.0, 4.0, draw(st.booleans())),
        **common,
    )


@cache
def stepper(engine):
    return load_engine(engine)[1].Stepper


def states(count):
    return st.builds(
        lambda place, speed, seed, step: _state(count, place, speed, seed, step),
        vectors(count, 1.0), vectors(count, 1.0), st.integers(0, 999), st.sampled_from([0, 1, 77, 100_000]),
    )  # fmt: skip


def _state(count, place, speed, seed, step):
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(count, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    return State(place, speed, np.float32(turn).astype(float), np.zeros(count), step)


@st.composite
def cases(draw):
    count = draw(st.sampled_from([0, 1, 2, 3, 20, 60]))
    choices, rare = draw(flocks), draw(st.booleans())
    if not rare:
        choices = {name: value for name, value in choices.items() if name not in RARE}
    if choices["acceleration"] == "CONSTANT" and np.isinf(choices["max_acceleration"]):
        choices["max_acceleration"] = 20.0
    settings = Settings(count=count, **choices)
    state = draw(states(count))
    if settings.plane:
        flat = (1.0, 1.0, 0.0)
        state = replace(state, position=state.position * flat, velocity=state.velocity * flat)
    return settings, state, draw(scenes(rare))


def shaken(state, sign):
    """The state with the last bits of its places and velocities changed, differently for each number."""

    def change(array, salt):
        signs = np.where(np.arange(array.size).reshape(array.shape) * 7 % (5 + salt) % 2 == 0, sign, -sign)
        return array + SHAKE * np.abs(array).max(initial=0.0) * signs

    flat = (1.0, 1.0, float((state.position[:, 2] != 0).any()))
    return replace(state, position=change(state.position, 0) * flat, velocity=change(state.velocity, 2) * flat)


def assert_engines_agree(settings, state, effectors, dt=1 / 24):
    """One step of both, within what rounding may do."""
    traits = Traits(settings)
    theirs, *moved = (
        stepper("REFERENCE")(settings, traits).step(start, effectors, dt)
        for start in (state, shaken(state, 1), shaken(state, -1))
    )
    ours = stepper("NUMBA")(settings, traits, 1).step(state, effectors, dt)
    assert ours.step == theirs.step
    for part in PARTS:
        mine, wanted = (np.asarray(getattr(flock, part), float) for flock in (ours, theirs))
        assert mine.shape == wanted.shape and np.isfinite(wanted).all() and np.isfinite(mine).all(), part
        if not wanted.size:
            continue
        if settings.plane and part in ("position", "velocity"):
            assert not mine[:, 2].any() and not wanted[:, 2].any(), part
        unsure = max(np.abs(np.asarray(getattr(other, part), float) - wanted).max() for other in moved)
        scale = np.abs(wanted).max() if part != "rotation" else 1.0
        scale = max(scale, np.abs(getattr(state, part)).max(), 1e-6)
        assert np.abs(mine - wanted).max() <= TOLERANCE * scale + 10 * unsure, part


SLOW = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "print_blob": True,
}


@given(case=cases())
@run(max_examples=200, derandomize=True, **SLOW)
def test_one_step_is_the_references_for_any_settings_and_effectors(case):
    assert_engines_agree(*case)


@pytest.mark.long
@given(case=cases())
@run(max_examples=1500, **SLOW)
def test_one_step_is_the_references_for_many_more(case):
    assert_engines_agree(*case)


def test_found_a_wish_for_speed_of_boids_that_cruise_at_rest_does_not_drown_the_others():
    """Measured by a cruise speed of nothing it was so large that float32 lost the wander beside it."""
    off = Rule(weight=0.0, radius=0.0)
    settings = Settings(
        count=1, separation=off, alignment=off, cohesion=off, acceleration="CONSTANT", max_acceleration=1.0, cruise_speed=0.0,
        min_speed=1.0, max_speed=5.0, wander=1.0, speed_control=1.0, level_flight=0.0, plane=True,
    )  # fmt: skip
    state = _state(1, np.zeros((1, 3)), np.array([[0.00012573, -0.0001321, 0.0]]), 0, 0)
    assert_engines_agree(settings, state, Effectors().at(0))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in CHOICES for value in CHOICES[name]])
def test_every_choice_is_flown_alike_by_both_engines(name, value):
    """Each value of each choice on its own, with everything else as it is: none depends on a lucky draw."""
    rng = np.random.default_rng(3)
    base = {
        "count": 60,
        "noise": 0.1,
        "sources": 2,
        "feelers": 0.5,
        "space_size": (8.0, 9.0, 10.0),
        "max_turn_rate": 3.0,
    }
    if name in ("steer", "total"):
        base |= {
            rule: replace(getattr(Settings(), rule), **{name: value})
            for rule in ("separation", "alignment", "cohesion")
        }
    elif name == "boundary":
        base |= {"space": "BOX", name: value}
    else:
        base |= {name: value}
    effectors = Effectors(spheres=spheres([[3.0, 3.0, 0.0]], [1.5])).at(0)
    state = _state(60, rng.normal(size=(60, 3)) * 3, rng.normal(size=(60, 3)) * 5, 1, 40)
    for edge in CHOICES["edge"]:
        for neighbours in (0, 7):
            settings = Settings(**{"edge": edge, "neighbours": neighbours} | base)
            assert_engines_agree(settings, state, effectors)


@pytest.mark.parametrize("avoidance", CHOICES["avoidance"])
@pytest.mark.parametrize("substeps", [1, 2, 5])
@pytest.mark.parametrize(("way", "growth"), [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0), (20.0, -20.0), (300.0, 300.0)])
def test_spheres_that_come_at_many_body_lengths_a_step_are_met_alike_by_both_engines(way, growth, substeps, avoidance):
    rng = np.random.default_rng(5)
    settings = replace(Settings(count=60).scaled(0.05), avoidance=avoidance, substeps=substeps)
    for _ in range(4):
        centre, radius = rng.normal(size=(1, 2, 3)) * 2, rng.uniform(0.2, 1.5, (1, 2))
        last, large = centre + rng.normal(size=(2, 3)) * way / 48, np.maximum(radius + growth / 48, 0.0)
        balls = spheres(np.concatenate((centre, last)), np.concatenate((radius, large)))
        state = _state(60, rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) * 0.5, 1, 40)
        assert_engines_agree(settings, state, Effectors(spheres=balls).at(0), 1 / 48)


@pytest.mark.parametrize(
    ("place", "radius", "speed"), [(0.25, 0.2, 20.0), (0.4, 0.3, 30.0), (0.0, 0.06, 30.0), (-0.03, 0.06, 30.0)]
)
def test_who_slides_along_one_sphere_into_another_is_kept_out_alike_by_both_engines(place, radius, speed):
    """Small boids dive at the ground, a huge sphere, and slide along it to a small one that hovers above, or sticks out of it: over
    a low one the straight way to where they come leads, and not the bent one that they fly."""
    rng, count = np.random.default_rng(1), 400
    alone = {rule: replace(getattr(Settings(), rule), weight=0.0) for rule in ("separation", "alignment", "cohesion")}
    settings = replace(Settings(count=count).scaled(0.02), avoidance="SLIDE", max_speed=1e3, look_ahead=0.0, **alone)
    scene = Effectors(spheres=spheres([[0.0, 0.0, -50.0], [0.0, 0.0, place]], [50.0, radius])).at(0)
    around = rng.uniform(0, TURN, count)
    out, up = np.stack((np.cos(around), np.sin(around), np.zeros(count)), axis=1), np.array([0.0, 0.0, 1.0])
    away, above, along, down = (
        rng.uniform(*ends, (count, 1)) for ends in ((0.1, 0.3), (0.03, 0.3), (0.5, 1), (0.3, 2))
    )
    state = _state(count, (radius + away) * out + above * up, speed * (-along * out - down * up), 1, 40)
    close = lambda array: array * (1 + rng.uniform(-1e-6, 1e-6, (count, 3)))  # noqa: E731
    nearby = [replace(state, position=close(state.position), velocity=close(state.velocity)) for _ in range(40)]
    ours, theirs, *others = (
        stepper(engine)(settings, Traits(settings), 1).step(start, scene, 1 / 48).velocity
        for engine, start in [("NUMBA", state), *(("REFERENCE", start) for start in (state, *nearby))]
    )
    sure = np.max([np.abs(other - theirs) for other in others], axis=(0, 2)) < 1e-3 * speed  # who does not just touch
    assert sure.sum() > 30
    assert np.abs(ours - theirs)[sure].max() < 2e-3 * speed


@pytest.mark.parametrize("radius", [1e9, 2e15, 1e30])
@pytest.mark.parametrize("falloff", CHOICES["falloff"])
@pytest.mark.parametrize("edge", CHOICES["edge"])
@pytest.mark.parametrize("neighbours", [0, 7])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_rule_may_reach_as_far_as_it_likes(count, neighbours, edge, falloff, radius):
    """Those who are there are seen, and none who are not."""
    rng, rule = np.random.default_rng(4), Rule(1.0, radius, steer="REYNOLDS")
    settings = Settings(
        count=count, separation=rule, alignment=rule, cohesion=rule, neighbours=neighbours, edge=edge, falloff=falloff
    )
    state = _state(count, rng.normal(size=(count, 3)) * 3, rng.normal(size=(count, 3)) * 5, 1, 40)
    assert_engines_agree(settings, state, Effectors().at(0))
    ours = stepper("NUMBA")(settings, Traits(settings), 1).gather(state)
    theirs = stepper("REFERENCE")(settings, Traits(settings), 1).gather(state)
    for name, weight in theirs.weight.items():
        np.testing.assert_allclose(ours.weight[name], weight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("size", [1e3, 1e4, 1e6])
def test_in_a_periodic_box_of_ever_so_many_cells_neighbours_are_found(size, axis):
    rule = Rule(1.0, 1e-3)
    box = {"space": "BOX", "boundary": "PERIODIC", "space_size": (size, size, size)}
    settings = Settings(count=2, separation=rule, alignment=rule, cohesion=rule, neighbours=0, edge="HARD", **box)
    lost = 0
    for place in np.linspace(-0.499 * size, 0.499 * size, 60).astype(np.float32):
        position = np.zeros((2, 3))
        position[:, axis] = place, np.nextafter(place, np.float32(np.inf))
        state = _state(2, position, np.zeros((2, 3)), 1, 0)
        weights = [
            stepper(engine)(settings, Traits(settings), 1).gather(state).weight["cohesion"] for engine in ENGINES
        ]
        lost += not np.array_equal(*weights)
    assert not lost
