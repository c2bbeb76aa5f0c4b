# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every choice of the model does what it is defined to do: one step, with numbers worked out by hand, in both engines."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, Rule, Settings, attractor
from tests.core.engines import BARE, DT, accelerations, at, engines, flown

FREE = BARE | {"acceleration": "UNBOUNDED", "max_speed": 1e6}
NEAR = {"rtol": 1e-5, "atol": 2e-4}
"""An acceleration is a difference of velocities, which float32 rounds, over a step."""

# a boid that flies +Y, with neighbours to its +X at a distance of 0.5 and to its -Y at a distance of 2
TRIO = at([[0, 0, 0], [0.5, 0, 0], [0, -2, 0]], [[0, 1, 0], [0, 3, 0], [4, 0, 0]])


def felt(engine, state=TRIO, effectors=None, **changes):
    """What the first boid feels."""
    return accelerations(state, Settings(count=len(state), **FREE | changes), effectors, engine)[0]


FALLOFFS = {
    # the pushes of the two neighbours, -X and +Y: over the distance 1, 1 / d, 1 / d², d (the way from their centroid, times two)
    "CONSTANT": (-1.0, 1.0),
    "INVERSE": (-2.0, 0.5),
    "INVERSE_SQUARE": (-4.0, 0.25),
    "CENTROID": (-0.5, 2.0),
    "NEAREST": (-1.0, 0.0),
}


@engines
@pytest.mark.parametrize("falloff", FALLOFFS)
def test_separation_falls_off_over_the_distance(falloff, engine):
    rule = Rule(0.5, 3.0, steer="RAW", total="SUM")
    np.testing.assert_allclose(
        felt(engine, separation=rule, falloff=falloff), 0.5 * np.array((*FALLOFFS[falloff], 0)), **NEAR
    )


@engines
@pytest.mark.parametrize(("kind", "expected"), [("VELOCITY", (4, 3, 0)), ("HEADING", (1, 1, 0))])
def test_alignment_adds_velocities_or_headings_and_its_mean_takes_off_its_own(kind, expected, engine):
    for total, value in (("SUM", np.array(expected)), ("MEAN", np.array(expected) / 2 - (0, 1, 0))):
        rule = Rule(1.0, 3.0, steer="RAW", total=total)
        np.testing.assert_allclose(felt(engine, alignment=rule, alignment_of=kind), value, **NEAR)


@engines
@pytest.mark.parametrize(("kind", "expected"), [("OFFSET", (0.5, -2, 0)), ("DIRECTION", (1, -1, 0))])
def test_cohesion_adds_ways_or_directions(kind, expected, engine):
    for total, share in (("SUM", 1.0), ("MEAN", 0.5)):
        rule = Rule(1.0, 3.0, steer="RAW", total=total)
        np.testing.assert_allclose(felt(engine, cohesion=rule, cohesion_of=kind), share * np.array(expected), **NEAR)


@engines
def test_steering_is_a_direction_the_sum_itself_or_a_desired_velocity_less_the_velocity(engine):
    for kind, expected in (("UNIT", (0.6, 0.8, 0)), ("RAW", (3, 4, 0)), ("REYNOLDS", (0.6 * 5, 0.8 * 5 - 1, 0))):
        state = at([[0, 0, 0], [3, 4, 0]], [[0, 1, 0], [0, 0, 0]])
        rule = Rule(1.0, 9.0, steer=kind)
        np.testing.assert_allclose(
            felt(engine, state, cohesion=rule, cruise_speed=5.0, max_acceleration=99.0), expected, **NEAR
        )
    cut = felt(engine, state, cohesion=rule, cruise_speed=5.0, max_acceleration=2.0)
    np.testing.assert_allclose(cut, 2.0 * np.array((3, 3, 0)) / math.hypot(3, 3), **NEAR)


@engines
def test_a_smooth_edge_fades_as_the_square_of_one_less_the_square_of_the_share(engine):
    rule = Rule(1.0, 4.0, steer="RAW", total="SUM")
    for distance in (0.4, 2.0, 3.6, 3.99):
        state = at([[0, 0, 0], [distance, 0, 0]], np.zeros((2, 3)))
        weight = (1 - (distance / 4) ** 2) ** 2
        for name, given in (("alignment", 3.0), ("cohesion", distance)):
            moving = replace(state, velocity=np.array([[0, 0, 0], [3.0, 0, 0]]))
            # the sum fades, and so does the steer with the sum of its weights; cohesion also near the middle of its neighbours
            middle = min(1.0, weight * distance / (0.25 * 4.0)) if name == "cohesion" else 1.0
            pull = felt(engine, moving, **{name: rule, "edge": "SMOOTH"})[0]
            assert pull == pytest.approx(weight * given * weight * middle, rel=1e-3, abs=1e-5), (name, distance)
        assert felt(engine, state, cohesion=rule)[0] == pytest.approx(distance, rel=1e-4)


@engines
def test_a_field_of_view_sees_what_is_within_half_its_angle_of_the_heading(engine):
    for view in (60, 180, 240, 360):
        for angle in (0, 29, 31, 89, 91, 119, 121, 179):
            turn = math.radians(angle)
            state = at([[0, 0, 0], [math.sin(turn), math.cos(turn), 0]], [[0, 1, 0], [0, 0, 0]])
            rule = Rule(1.0, 3.0, field_of_view=math.radians(view), steer="RAW")
            assert (np.linalg.norm(felt(engine, state, cohesion=rule)) > 0.5) == (view == 360 or angle < view / 2), (
                view,
                angle,
            )


@engines
def test_a_shell_counts_from_its_inner_radius_on(engine):
    for distance, counts in ((0.99, False), (1.01, True), (2.99, True), (3.01, False)):
        state = at([[0, 0, 0], [distance, 0, 0]], np.zeros((2, 3)))
        rule = Rule(1.0, 3.0, inner_radius=1.0, steer="UNIT")
        assert felt(engine, state, cohesion=rule)[0] == pytest.approx(float(counts), abs=1e-4)


@engines
def test_blending_adds_averages_or_gives_the_first_its_due(engine):
    rules = {
        "separation": Rule(1.5, 1.0, steer="UNIT"),  # of the near one: -X
        "alignment": Rule(1.0, 3.0, steer="RAW", total="SUM"),  # (4, 3, 0)
        "cohesion": Rule(2.5, 3.0, steer="RAW", total="SUM"),  # (0.5, -2, 0)
    }
    parts = [1.5 * np.array((-1, 0, 0)), 2.5 * np.array((0.5, -2, 0)), np.array((4.0, 3, 0))]
    np.testing.assert_allclose(felt(engine, blending="SUM", **rules), np.sum(parts, axis=0), **NEAR)
    np.testing.assert_allclose(felt(engine, blending="AVERAGE", **rules), np.sum(parts, axis=0) / 5.0, **NEAR)
    total = parts[0]  # 1.5 of 4 are used up; cohesion, 5.15 long, is cut to the rest, and nothing is left for alignment
    total = total + parts[1] * min(1.0, (4.0 - 1.5) / np.linalg.norm(parts[1]))
    left = 4.0 - np.linalg.norm(total)
    total = total + parts[2] * min(1.0, left / 5.0)
    np.testing.assert_allclose(felt(engine, blending="PRIORITISED", max_acceleration=4.0, **rules), total, **NEAR)


@engines
@pytest.mark.parametrize(("kind", "size"), [("UNBOUNDED", 6.0), ("BOUNDED", 2.0), ("CONSTANT", 2.0)])
def test_the_acceleration_is_bounded_constant_or_as_it_is(kind, size, engine):
    goal = Effectors(attractors=attractor((9.0, 0, 0)))
    still = at([[0, 0, 0]], [[0, 0, 0]])
    for weight, expected in ((6.0, size), (1.0, 2.0 if kind == "CONSTANT" else 1.0)):
        pull = felt(
            engine, still, goal, acceleration=kind, max_acceleration=2.0, attraction=weight, attraction_steer="UNIT"
        )
        np.testing.assert_allclose(pull, (expected, 0, 0), **NEAR)


@engines
def test_drag_slows_as_one_over_one_and_drag_times_the_step(engine):
    after = flown(at([[0, 0, 0]], [[0, 4.0, 0]]), Settings(count=1, drag=1.5, **FREE), 10, engine=engine)
    assert after.velocity[0, 1] == pytest.approx(4.0 / (1 + 1.5 * DT) ** 10, rel=1e-5)


@engines
def test_speeds_stay_between_the_least_and_the_greatest(engine):
    settings = Settings(count=3, **BARE | {"min_speed": 2.0, "max_speed": 5.0})
    after = flown(at([[0, 0, 0], [9, 0, 0], [18, 0, 0]], [[0, 1, 0], [3, 0, 0], [0, 0, 8]]), settings, engine=engine)
    np.testing.assert_allclose(after.velocity, [[0, 2, 0], [3, 0, 0], [0, 0, 5]], rtol=1e-6)


@engines
@pytest.mark.parametrize(("order", "moved"), [("VELOCITY_FIRST", 3.0), ("POSITION_FIRST", 1.0)])
def test_the_position_follows_the_new_velocity_or_the_old(order, moved, engine):
    goal = Effectors(attractors=attractor((1e6, 0, 0)))
    settings = Settings(count=1, attraction=2.0 / DT, attraction_steer="UNIT", integration=order, **FREE)
    after = flown(at([[0, 0, 0]], [[1, 0, 0]]), settings, 1, goal, engine)
    assert after.velocity[0, 0] == pytest.approx(3.0, rel=1e-4)
    assert after.position[0, 0] == pytest.approx(moved * DT, rel=1e-4)


@engines
def test_an_attractor_has_a_weight_a_reach_and_an_arrival_within_which_it_eases_off(engine):
    common = {"attraction": 2.0, "attraction_steer": "UNIT"}
    still = at([[0, 0, 0]], [[0, 0, 0]])
    for distance, reach, arrival, expected in (
        (3, np.inf, 0, 1.0),
        (3, 2.9, 0, 0.0),
        (3, 3.1, 0, 1.0),
        (3, np.inf, 4, 0.75),
    ):
        goal = Effectors(attractors=attractor((distance, 0, 0), weight=0.5, radius=reach, arrival=arrival))
        np.testing.assert_allclose(felt(engine, still, goal, **common), (2.0 * 0.5 * expected, 0, 0), **NEAR)
    goal = Effectors(attractors=attractor((3.0, 0, 0), radius=4.0))
    assert felt(engine, still, goal, edge="SMOOTH", **common)[0] == pytest.approx(
        2.0 * (1 - (3 / 4) ** 2) ** 2, rel=1e-3
    )


@engines
def test_level_flight_and_speed_control_pull_back_in_proportion(engine):
    up = np.array((0.0, 0.6, 0.8))
    state = at([[0, 0, 0]], [[0, 3.0, 4.0]])
    climb = felt(engine, state, Effectors(up=up), level_flight=0.5)
    np.testing.assert_allclose(climb, -0.5 * 5.0 * up, **NEAR)
    hold = felt(engine, state, speed_control=0.5, cruise_speed=7.0, max_acceleration=99.0)
    np.testing.assert_allclose(hold, 0.5 * (7.0 - 5.0) * np.array((0, 0.6, 0.8)), **NEAR)


@engines
def test_wander_turns_slowly_within_its_share_of_the_max_acceleration_and_at_a_weight_of_zero_not_at_all(engine):
    settings = Settings(count=50, max_acceleration=4.0, wander_rate=0.5, **FREE | {"wander": 0.5})
    still = at(np.arange(50)[:, None] * (90.0, 0, 0), np.zeros((50, 3)))
    pushes = np.array([accelerations(replace(still, step=step), settings, engine=engine) for step in range(0, 96, 4)])
    assert np.abs(pushes).max() <= 0.5 * 4.0 + 1e-3
    # from knot to knot, two seconds, a number between -1 and 1 eases to another: at most 1.5 times as steep as straight
    assert np.abs(np.diff(pushes, axis=0)).max() <= 1.5 * 2 * (0.5 * 4.0) * 4 * DT / 2.0 + 1e-3
    assert np.abs(pushes.mean(axis=(0, 1))).max() < 0.3 and np.ptp(pushes, axis=0).mean() > 0.5
    assert not accelerations(still, replace(settings, wander=0.0), engine=engine).any()


@engines
def test_boids_rest_at_their_places_until_they_are_released_one_by_one(engine):
    settings = Settings(count=40, release_duration=1.0, **BARE)
    state = at(np.arange(40)[:, None] * (90.0, 0, 0), np.tile((0.0, 2.0, 0.0), (40, 1)))
    start, moving = state.position.copy(), []
    for _ in range(26):
        state = flown(state, settings, 1, engine=engine)
        moving.append((state.position != start).any(axis=1).sum())
    assert moving[0] < 8 and moving[-1] == 40 and (np.diff(moving) >= 0).all()
    assert moving[11] == pytest.approx(
        20, abs=10
    )  # at half the time half of them: 40 fair draws are within 3 sigma, 9.5
