# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boids flee predators and what their feelers touch, by exactly as much as they should and from nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core import Boxes, Effectors, Planes, Settings, avoidance, predator, spheres
from core.space import Border
from core.threats import feelers, probe, threatened
from tests.core.engines import BARE, DT, accelerations, at, engines, flown

FREE = BARE | {"acceleration": "UNBOUNDED", "max_speed": 1e6, "max_acceleration": 4.0}


@engines
def test_from_a_predator_at_rest_boids_at_rest_flee_straight_away_at_its_strength(engine):
    settings = Settings(count=4, **FREE)
    hunter = Effectors(predators=predator((1.0, 2.0, 3.0), radius=4.0, strength=2.5))
    away = np.array([(1, 0, 0), (0, -1, 0), (0, 0.6, 0.8), (1, 0, 0)])
    distance = np.array([0.5, 2.0, 2.9, 4.1])[:, None]  # in full within nine tenths of the radius, nothing beyond it
    felt = accelerations(at((1, 2, 3) + distance * away, np.zeros((4, 3))), settings, hunter, engine)
    np.testing.assert_allclose(felt, np.array([1, 1, 1, 0])[:, None] * 2.5 * 4.0 * away, atol=1e-3)


@engines
def test_fear_sets_in_without_a_jump(engine):
    settings = Settings(count=1, **FREE)
    hunter = Effectors(predators=predator((0, 0, 0), radius=4.0, strength=1.0))
    felt = [
        accelerations(at([[x, 0, 0]], [[0, 0, 0]]), settings, hunter, engine)[0, 0] for x in np.arange(3.5, 4.2, 0.01)
    ]
    # a smoothstep over a tenth of the radius, 0.4: slope 1.5 / 0.4 in steps of 0.01, times an acceleration of 4
    assert np.abs(np.diff(felt)).max() < 1.6 / 0.4 * 0.01 * 4.0
    assert felt[0] == pytest.approx(4.0, abs=1e-3) and felt[-1] == 0


@engines
@pytest.mark.parametrize("aside", [0.0, 1e-9, 0.5, -1.0])
def test_a_boid_gets_out_of_the_way_of_a_predator_rather_than_along_it(aside, engine):
    settings = Settings(count=1, max_acceleration=9.0, max_speed=9.0, look_ahead=1.2, **BARE)
    steps = 60
    way = np.array([[aside, -10.0, 0.0]]) + np.arange(steps + 1)[:, None] * DT * np.array([[0.0, 13.5, 0.0]])
    nearest = {}
    for strength in (0.0, 3.0):
        hunter = Effectors(predators=predator(way, radius=8.0, strength=strength))
        state, gaps = at([[0, 0, 0]], [[0, 1e-3, 0]]), []
        for step in range(steps):
            state = flown(state, settings, 1, Effectors(predators=hunter.at(step).predators), engine)
            gaps.append(np.linalg.norm(state.position[0] - way[step + 1]))
        nearest[strength] = min(gaps)
        if strength:
            assert abs(state.position[0, 0]) > 3 * abs(state.position[0, 1])
    # the predator flies the last nine tenths of its radius in 0.53 s: at 27 a second squared, up to 9 a second, the boid gets 3.3 away,
    # less the way of the step in which it first sees it, 9 / 24
    assert nearest[3.0] > 2.9 > nearest[0.0]


def test_what_is_off_is_not_even_asked():
    state = at([[0, 0, 0]], [[0, 1, 0]])
    for settings in (Settings(count=1), Settings(count=1, space="BOX", boundary="REFLECT")):
        assert threatened(state, settings, Effectors(), DT) is None


WALLS = [
    # what, and, from a start along a direction, how far it is and where away is there
    (Effectors(spheres=spheres([[5, 0, 0]], [2.0])), (0, 0, 0), (1, 0, 0), 3.0, (-1, 0, 0)),
    (Effectors(spheres=spheres([[3, 1, 0]], [math.sqrt(2)])), (0, 0, 0), (1, 0, 0), 2.0, (-math.sqrt(0.5), -math.sqrt(0.5), 0)),
    (Effectors(spheres=spheres([[5, 0, 0]], [2.0])), (0, 0, 0), (0, 1, 0), np.inf, None),
    (Effectors(spheres=spheres([[5, 0, 0]], [2.0])), (0, 0, 0), (-1, 0, 0), np.inf, None),
    (Effectors(planes=Planes(np.array([[[2.0, 0, 0]]]), np.array([[[-1.0, 0, 0]]]))), (0, 0, 0), (0.6, 0.8, 0), 2 / 0.6, (-1, 0, 0)),
    (Effectors(boxes=Boxes(np.array([[[5.0, 0, 0]]]), np.eye(3)[None, None], np.ones((1, 1, 3)))), (0, 0.9, 0), (1, 0, 0), 4.0, (-1, 0, 0)),
    (Effectors(boxes=Boxes(np.array([[[5.0, 0, 0]]]), np.eye(3)[None, None], np.ones((1, 1, 3)))), (0, 1.1, 0), (1, 0, 0), np.inf, None),
]  # fmt: skip


@pytest.mark.parametrize(("effectors", "start", "feeler", "way", "normal"), WALLS)
def test_a_feeler_meets_a_surface_where_geometry_says(effectors, start, feeler, way, normal):
    wall = avoidance.obstacles(effectors.at(0), Settings(), DT)[0]
    found, away = probe(np.array([start], float), np.array([feeler], float), 6.0, wall)
    assert found[0] == pytest.approx(way, abs=1e-4)
    if normal is not None:
        np.testing.assert_allclose(away[0], normal, atol=1e-4)
    assert probe(np.array([start], float), np.array([feeler], float), 1.9, wall)[0][0] == np.inf


@pytest.mark.parametrize(("space", "way", "normal"), [("BOX", 2.0 / 0.6, (-1, 0, 0)), ("SPHERE", 2.0, (-0.6, -0.8, 0))])
def test_a_feeler_meets_the_border_from_inside(space, way, normal):
    border = Border(Settings(space=space, space_size=(4.0, 9.0, 9.0)))
    found, away = probe(np.zeros((1, 3)), np.array([[0.6, 0.8, 0.0]]), 6.0, border)
    assert found[0] == pytest.approx(way, abs=1e-4)
    np.testing.assert_allclose(away[0], normal, atol=1e-4)


class Ring:
    """A torus around the Z axis, radii 3 and 1: what only knows how far it is and in which direction is away can be felt."""

    def distance(self, points, share=0.0):
        flat = points * (1.0, 1.0, 0.0)
        core = 3.0 * flat / np.linalg.norm(flat, axis=1, keepdims=True)
        offset = points - core
        size = np.linalg.norm(offset, axis=1, keepdims=True)
        return size[:, 0] - 1.0, offset / size


def test_a_feeler_meets_anything_that_knows_its_distance():
    start = np.array([[0.1, 0, 0], [0.1, 0, 2.0], [0.1, 0, 0], [3.0, 0.0, 5.0]])
    feeler = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    way, normal = probe(start, feeler, 6.0, Ring())
    np.testing.assert_allclose(way, [1.9, np.inf, np.inf, 4.0], atol=1e-5)
    np.testing.assert_allclose(normal[[0, 3]], [[-1, 0, 0], [0, 0, 1]], atol=1e-5)


def test_feelers_reach_ahead_and_to_all_sides_at_half_a_right_angle():
    heading = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for plane, number in ((False, 5), (True, 3)):
        found = np.array(feelers(heading[: 1 if plane else 2], Settings(plane=plane), np.array((0.0, 0.0, 1.0))))
        assert len(found) == number
        np.testing.assert_allclose(np.linalg.norm(found, axis=2), 1.0)
        np.testing.assert_allclose(np.einsum("fni,ni->fn", found, heading[: found.shape[1]])[1:], math.sqrt(0.5))
        assert np.linalg.matrix_rank(found[:, 0]) == number // 2 + 1
    assert not np.array(feelers(np.array([[1.0, 0, 0]]), Settings(plane=True), np.array((1.0, 0, 0))))[:, 0, 2].any()


@engines
def test_the_nearest_surface_pushes_along_its_normal(engine):
    corner = Planes(np.array([[[2.0, 0, 0], [0, 3.0, 0]]]), np.array([[[-1.0, 0, 0], [0, -1.0, 0]]]))
    settings = Settings(count=4, feelers=0.5, feeler_length=3.0, avoidance="SLIDE", clearance=0.0, **FREE)
    places = [[0, 0, 0], [-1.5, 0.5, 0], [-3, -3, 0], [0, 0, 0]]
    headings = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [-1, 0, 0]]  # the last one has the wall behind it
    felt = accelerations(at(places, headings), settings, Effectors(planes=corner), engine)
    np.testing.assert_allclose(felt, [[-2, 0, 0], [0, -2, 0], [0, 0, 0], [0, 0, 0]], atol=1e-4)
    beside = accelerations(at([[0.5, 0, 0]], [[0, 1, 0]]), replace(settings, count=1), Effectors(planes=corner), engine)
    np.testing.assert_allclose(
        beside, [[-2, 0, 0]], atol=1e-4
    )  # at 45 degrees the wall beside it is nearer than the one ahead


@engines
def test_feelers_of_no_length_touch_nothing_not_even_where_a_boid_sits_on_a_surface(engine):
    settings = Settings(
        count=1, feelers=1.0, feeler_length=0.0, clearance=0.0, avoidance="SLIDE", **FREE | {"edge": "SMOOTH"}
    )
    floor = Effectors(planes=Planes(np.zeros((1, 1, 3)), np.array([[[0.0, 0.0, 1.0]]])))
    assert not accelerations(at([[0, 0, 0]], [[0, 1, 0]]), settings, floor, engine).any()
