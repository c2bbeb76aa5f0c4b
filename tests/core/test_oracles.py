# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the formulas exactly."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Effectors, Rule, Settings, attractor, presets, spheres
from core.orientation import forward_of
from core.reference import prioritised
from core.settings import CHOICES
from tests.core.engines import BARE, DT, OFF, ROUNDING, accelerations, at, engines, flown

WIDE = 1e6
"""A radius within which all see all."""

FREE = BARE | {"acceleration": "UNBOUNDED", "max_speed": 1e6}


def random_flock(seed, count=40, size=3.0):
    rng = np.random.default_rng(seed)
    return at(rng.normal(size=(count, 3)) * size, rng.normal(size=(count, 3)))


@engines
def test_from_rest_towards_a_far_attractor_the_way_is_a_sum_of_steps_and_then_straight(engine):
    bare = BARE | {"max_speed": 2.0 * DT * 20}  # reached after 20 steps
    settings = Settings(count=1, acceleration="CONSTANT", max_acceleration=2.0, attraction_steer="UNIT", **bare)
    goal = Effectors(attractors=attractor((1e6, 0, 0)))
    places = [flown(at([[0, 0, 0]], [[0, 0, 0]]), settings, steps, goal, engine).position[0] for steps in (7, 20, 35)]
    for place, steps in zip(places, (7, 20), strict=False):
        np.testing.assert_allclose(place, (2.0 * DT**2 * steps * (steps + 1) / 2, 0, 0), rtol=20 * ROUNDING[engine])
    np.testing.assert_allclose(places[2] - places[1], (15 * 2.0 * DT**2 * 20, 0, 0), rtol=50 * ROUNDING[engine])


@engines
def test_alignment_alone_draws_velocities_to_their_mean_and_keeps_their_sum(engine):
    weight, count = 0.7, 12
    settings = Settings(count=count, **FREE | {"alignment": Rule(weight, WIDE, steer="RAW")})
    before = random_flock(1, count)
    after = flown(before, settings, 5, engine=engine)
    mean = before.velocity.mean(axis=0)
    shrunk = (before.velocity - mean) * (1 - weight * DT * count / (count - 1)) ** 5
    np.testing.assert_allclose(after.velocity, mean + shrunk, rtol=0, atol=10 * ROUNDING[engine])
    np.testing.assert_allclose(after.velocity.mean(axis=0), mean, rtol=0, atol=10 * ROUNDING[engine])


@engines
def test_two_boids_with_raw_cohesion_swing_and_keep_their_invariant(engine):
    settings = Settings(count=2, **FREE | {"cohesion": Rule(1.0, WIDE, steer="RAW")})
    state = at([[-1, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]])

    def invariant(state):
        r, s = state.position[1, 0] - state.position[0, 0], state.velocity[1, 0] - state.velocity[0, 0]
        return s**2 + 2 * r**2 - 2 * DT * r * s

    after = flown(state, settings, 200, engine=engine)
    np.testing.assert_allclose(invariant(after), invariant(state), rtol=20 * ROUNDING[engine])


@engines
@pytest.mark.parametrize("kind", ["CONSTANT", "INVERSE", "INVERSE_SQUARE", "CENTROID"])
def test_raw_pair_rules_push_and_pull_alike_so_that_nothing_is_added_in_all(engine, kind):
    settings = Settings(
        count=40,
        falloff=kind,
        **FREE
        | {
            "separation": Rule(2.0, 2.5, steer="RAW", total="SUM"),
            "alignment": Rule(0.7, WIDE, steer="RAW"),  # a mean over all the others: everybody has as many
            "cohesion": Rule(0.3, 4.0, steer="RAW", total="SUM"),
        },
    )
    change = accelerations(random_flock(4), settings, engine=engine)
    # float32 keeps 1e-7 of a velocity, and a step divides by its time
    bound = {"REFERENCE": 1e-11, "NUMBA": 1e-4}[engine] * np.abs(change).max()
    assert np.abs(change).max() > 1.0
    np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=bound)


def in_all_rules(**changes):
    """The default, or one of its variants, with all that a coincident pair or a boid at rest could divide by."""
    return replace(Settings(count=4, neighbours=2, min_speed=0.0), **changes)


@engines
@pytest.mark.parametrize(
    "name", ["edge", "falloff", "zones", "steer", "acceleration", "blending", "avoidance", "total"]
)
def test_coincident_boids_zero_speed_straight_up_and_down_and_a_target_on_a_boid_stay_finite(engine, name):
    places = [[0, 0, 0], [0, 0, 0], [0, 0, 5], [1, 0, 0]]
    scene = Effectors(attractors=attractor((0, 0, 0), arrival=1.0), spheres=spheres([[1, 0, 0]], [0.5]))
    for value in CHOICES[name]:
        if name in ("steer", "total"):
            rules = {
                rule: replace(getattr(Settings(), rule), **{name: value})
                for rule in ("separation", "alignment", "cohesion")
            }
            settings = in_all_rules(**rules)
        else:
            settings = in_all_rules(**{name: value})
        for speeds in ([[0, 0, 0]] * 4, [[0, 0, 6], [0, 0, -6], [0, 0, 6], [0, 0, 0]]):
            state = flown(at(places, speeds), settings, 5, scene, engine)
            for array in (state.position, state.velocity, state.rotation, state.flap):
                assert np.isfinite(array).all(), value
            assert np.linalg.norm(state.rotation, axis=1) == pytest.approx(1.0, abs=1e-5)


@engines
def test_a_coincident_pair_adds_nothing_to_separation_and_another_neighbour_still_does(engine):
    for kind in CHOICES["falloff"]:
        alone = Settings(count=3, falloff=kind, **FREE | {"separation": Rule(1.0, 2.0, steer="RAW", total="SUM")})
        pair = accelerations(at([[0, 0, 0], [0, 0, 0], [99, 0, 0]], np.zeros((3, 3))), alone, engine=engine)
        assert not pair.any()
        if kind != "NEAREST":
            change = accelerations(at([[0, 0, 0], [0, 0, 0], [1, 0, 0]], np.zeros((3, 3))), alone, engine=engine)
            # at a distance of 1 all fall-offs are 1
            np.testing.assert_allclose(change, [[-1, 0, 0], [-1, 0, 0], [2, 0, 0]], atol=ROUNDING[engine])


@engines
def test_a_target_on_the_boid_pulls_nowhere(engine):
    settings = Settings(count=1, attraction_steer="UNIT", **FREE)
    for velocity in ([0, 0, 0], [1, 2, 3]):
        change = accelerations(
            at([[3, 4, 5]], [velocity]), settings, Effectors(attractors=attractor((3, 4, 5))), engine
        )
        assert not change.any()


@engines
@pytest.mark.parametrize("rule", ["separation", "alignment", "cohesion"])
@pytest.mark.parametrize("steer", CHOICES["steer"])
def test_a_radius_of_zero_and_a_weight_of_zero_each_switch_a_rule_off(engine, rule, steer):
    before = random_flock(8, 20, 1.0)
    assert np.abs(accelerations(before, Settings(count=20, **FREE | {rule: Rule(1.0, 3.0)}), engine=engine)).max() > 0.1
    for off in (Rule(1.0, 0.0, steer=steer), Rule(0.0, 3.0, steer=steer)):
        for edge in CHOICES["edge"]:
            settings = Settings(count=20, **FREE | {rule: off, "edge": edge})
            change = accelerations(before, settings, engine=engine)
            np.testing.assert_allclose(change, 0.0, atol=100 * ROUNDING[engine])


@engines
def test_a_boid_at_rest_that_must_fly_sets_out_along_its_own_forward_axis(engine):
    settings = Settings(count=1, **BARE | {"min_speed": 2.0})
    after = flown(at([[0, 0, 0]], [[0, 0, 0]]), settings, 1, engine=engine)
    np.testing.assert_allclose(after.velocity, [[0, 2, 0]], atol=1e-6)


@engines
def test_a_boid_at_rest_sees_all_round(engine):
    rule = Rule(1.0, 5.0, field_of_view=1.0, steer="RAW", total="SUM")
    settings = Settings(count=2, **FREE | {"cohesion": rule})
    places = [[0, 0, 0], [0, -2, 0]]
    behind = accelerations(at(places, [[0, 1, 0], [0, 0, 0]]), settings, engine=engine)
    resting = accelerations(at(places, np.zeros((2, 3))), settings, engine=engine)
    np.testing.assert_allclose(behind, [[0, 0, 0], [0, 2, 0]], atol=1e-4)  # who looks the other way does not see
    np.testing.assert_allclose(resting, [[0, -2, 0], [0, 2, 0]], atol=1e-4)


@engines
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_straight_up_and_down_the_body_looks_where_it_flies(engine, way):
    settings = Settings(count=1, **BARE)
    state = flown(at([[0, 0, 0]], [[0, 0, 6 * way]]), settings, 48, engine=engine)
    np.testing.assert_allclose(forward_of(np.asarray(state.rotation, float)), [[0, 0, way]], atol=1e-3)
    np.testing.assert_allclose(state.velocity, [[0, 0, 6 * way]], rtol=1e-6)


def brute_force(position, radius):
    """Sum of the offsets to all within the radius, float64 (N, 3), in plain loops."""
    total = np.zeros_like(position)
    for i, here in enumerate(position):
        for j, there in enumerate(position):
            if i != j and np.linalg.norm(there - here) < radius:
                total[i] += there - here
    return total


LATTICE = np.stack(np.meshgrid(*[np.arange(-2.0, 3.0)] * 3), axis=-1).reshape(-1, 3)
PLACES = {
    "none": np.zeros((0, 3)),
    "one": np.array([[-7.0, 3.0, -1.0]]),
    "two in reach": np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]),
    "two at exactly the radius": np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
    "a lattice around the origin, many at exactly the radius": LATTICE,
    "all at negative coordinates": LATTICE - 37.0,
    "all in one cell": LATTICE / 16 + 0.5,
    "all in one place": np.full((9, 3), -3.0),
    "one a million units away": np.concatenate((LATTICE, [[1e6, -1e6, 1e6]])),
}


@engines
@pytest.mark.parametrize("edge", ["SMOOTH", "HARD"])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES.keys())
def test_the_neighbours_are_those_of_brute_force(engine, places, edge):
    settings = Settings(
        count=len(places), **FREE | {"edge": edge, "cohesion": Rule(1.0, 2.0, steer="RAW", total="SUM")}
    )
    change = accelerations(at(places, np.zeros_like(places)), settings, engine=engine)
    expected = brute_force(places, 2.0)
    if (
        edge == "SMOOTH"
    ):  # (1 - (d / R)²)² for each offset, and a fade by the sum of these weights where that is below 1
        offset = places[None] - places[:, None]
        square = (offset**2).sum(axis=2)
        weight = np.where(square < 4.0, (1 - square / 4.0) ** 2, 0.0) * (1 - np.eye(len(places)))
        expected = np.einsum("ij,ijk->ik", weight, offset) * np.minimum(1.0, weight.sum(axis=1))[:, None]
    np.testing.assert_allclose(change, expected, rtol=0, atol=40 * ROUNDING[engine])


def test_a_prioritised_sum_gives_the_rest_to_the_next_and_nothing_to_the_last():
    parts = [np.array([[3.0, 0, 0]])] * 3
    np.testing.assert_allclose(prioritised(parts, 4.0), [[4.0, 0, 0]], rtol=1e-12)
    np.testing.assert_allclose(prioritised(parts[:1], 4.0), [[3.0, 0, 0]], rtol=1e-12)


@given(seed=st.integers(0, 2**31), number=st.integers(1, 6), most=st.floats(0.0, 10.0))
def test_a_prioritised_sum_is_no_longer_than_the_most_and_its_first_part_comes_first(seed, number, most):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(5, 3)) * rng.choice([0.0, 0.1, 3.0, 1e6]) for _ in range(number)]
    total = prioritised(parts, most)
    assert np.linalg.norm(total, axis=1).max() <= most * (1 + 1e-9)
    fits = sum(np.linalg.norm(part, axis=1) for part in parts) <= most * (1 - 1e-9)
    np.testing.assert_allclose(total[fits], np.sum(parts, axis=0)[fits], rtol=1e-9, atol=1e-12)
    fills = np.linalg.norm(parts[0], axis=1) >= most
    assert np.linalg.norm(np.cross(total[fills], parts[0][fills]), axis=1) == pytest.approx(0.0, abs=1e-6 * most)


@engines
def test_flown_prioritised_no_acceleration_is_above_the_most(engine):
    settings = replace(
        Settings(count=40), blending="PRIORITISED", acceleration="UNBOUNDED", min_speed=0.0, max_speed=1e6
    )
    change = accelerations(random_flock(9, size=1.0), settings, engine=engine)
    size = np.linalg.norm(change, axis=1)
    assert size.max() <= settings.max_acceleration * (1 + 1e-4)
    assert size.max() == pytest.approx(settings.max_acceleration, rel=1e-3)  # a crowd that fills it


UNITS = {
    "separation": Rule(1.5, WIDE),
    "alignment": Rule(0.8, WIDE),
    "cohesion": Rule(0.5, WIDE),
    "falloff": "CONSTANT",
    "cohesion_of": "DIRECTION",
}


@engines
@pytest.mark.parametrize("edge", ["SMOOTH", "HARD"])
@pytest.mark.parametrize("neighbours", [19, 20, 32])
def test_when_as_many_count_as_there_are_it_is_the_same_as_all(engine, edge, neighbours):
    before = random_flock(10, 20)
    one, other = (
        accelerations(before, Settings(count=20, **FREE | UNITS | {"neighbours": k, "edge": edge}), engine=engine)
        for k in (neighbours, 0)
    )
    assert np.abs(other).max() > 0.1
    np.testing.assert_allclose(one, other, rtol=0, atol=100 * ROUNDING[engine])


@engines
@pytest.mark.parametrize("edge", ["SMOOTH", "HARD"])
def test_whom_the_k_nearest_follow_does_not_depend_on_the_distances_scale(engine, edge):
    before = random_flock(11)
    settings = Settings(count=40, **FREE | UNITS | {"neighbours": 7, "edge": edge})
    one = accelerations(before, settings, engine=engine)
    other = accelerations(replace(before, position=before.position * 2), settings, engine=engine)
    assert np.abs(one).max() > 0.1
    assert np.array_equal(one, other)  # a doubling is exact in binary numbers


@engines
def test_of_equally_near_neighbours_the_first_count(engine):
    around = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], float)
    settings = Settings(
        count=5, **FREE | {"neighbours": 2, "cohesion": Rule(1.0, 3.0, steer="RAW", total="SUM", field_of_view=7.0)}
    )
    change = accelerations(at(around[[0, 3, 1, 4, 2]], np.zeros((5, 3))), settings, engine=engine)
    np.testing.assert_allclose(change[0], (1, 1, 0), atol=1e-5)


@engines
@pytest.mark.parametrize("response", CHOICES["avoidance"])
def test_a_plane_flock_stays_in_its_plane_exactly(engine, response):
    settings = Settings(count=60, plane=True, avoidance=response, wander=1.0, noise=0.1, start="RANDOM")
    scene = Effectors(
        attractors=attractor((20.0, 30.0, 40.0)),
        spheres=spheres([[0.0, 12.0, 1.0], [6.0, 9.0, -0.5]], [3.0, 2.0]),
        up=np.array((0.0, 0.6, 0.8)),
    )
    rng = np.random.default_rng(12)
    flat = np.array((1.0, 1.0, 0.0))
    state = at(rng.normal(size=(60, 3)) * 6 * flat, rng.normal(size=(60, 3)) * 4 * flat)
    state = flown(state, settings, 100, scene, engine)
    assert not state.position[:, 2].any() and not state.velocity[:, 2].any()
    assert np.ptp(state.position[:, 0]) > 1.0


@engines
@pytest.mark.parametrize("name", ["", *presets.names()])
def test_two_groups_out_of_each_others_reach_fly_as_if_alone(engine, name):
    settings = presets.load(name) if name else Settings()
    settings = replace(settings, speed_variation=0.0, weight_variation=0.0, wander=0.0, noise=0.0, space="OPEN")
    reach = max(getattr(settings, rule).radius for rule in ("separation", "alignment", "cohesion"))
    rng = np.random.default_rng(13)
    flat = (1.0, 1.0, 0.0 if settings.plane else 1.0)
    groups = [rng.normal(size=(30, 3)) * settings.spacing * flat for _ in range(2)]
    speeds = [rng.normal(size=(30, 3)) * settings.cruise_speed * flat for _ in range(2)]
    apart = np.array((10 * settings.spacing + 3 * reach, 0.0, 0.0))
    both = flown(
        at(np.concatenate((groups[0], groups[1] + apart)), np.concatenate(speeds)),
        replace(settings, count=60), 10, engine=engine,
    )  # fmt: skip
    for index, group in enumerate(groups):
        alone = flown(at(group + index * apart, speeds[index]), replace(settings, count=30), 10, engine=engine)
        size = np.ptp(group, axis=0).max()
        here = both.position[30 * index : 30 * (index + 1)]
        np.testing.assert_allclose(here, alone.position, rtol=0, atol=100 * ROUNDING[engine] * size)


def test_what_is_off_is_off():
    """The flock that all these tests start from does nothing by itself."""
    assert OFF.weight == 0.0
    state = random_flock(14)
    after = flown(state, Settings(count=40, **FREE), 3)
    assert np.array_equal(after.velocity, state.velocity)
