# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources jump when they should and draw to the nearest; a path leads along, at its speed, without a bounce at its end."""

from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, FlockError, Path, Settings
from core.goals import Line, sources_at
from tests.core.engines import BARE, DT, accelerations, at, engines, flown

FED = Settings(count=3, sources=4, source_interval=2.0, source_size=(2.0, 4.0, 6.0), attraction=0.7, attraction_steer="UNIT",
               acceleration="UNBOUNDED", max_speed=99.0, **BARE)  # fmt: skip


def test_sources_jump_each_interval_to_places_all_over_their_box():
    places = [sources_at(FED, time) for time in np.arange(0, 400, 0.5)]
    for first, second, third, fourth in zip(*(places[part::4] for part in range(4)), strict=True):
        assert np.array_equal(first, second) and np.array_equal(first, third) and np.array_equal(first, fourth)
    jumps = np.array(places[::4])
    assert (np.abs(np.diff(jumps, axis=0)).max(axis=2) > 0).all()
    share = jumps.reshape(-1, 3) / FED.source_size
    assert np.abs(share).max() <= 0.5
    # 800 uniform numbers: mean within 3 / sqrt(12 * 800), each half holds half of them
    assert np.abs(share.mean(axis=0)).max() < 0.035
    assert np.abs(np.ptp(share, axis=0) - 1).max() < 0.03
    assert not np.array_equal(sources_at(replace(FED, seed=1), 0.0), places[0])


@pytest.mark.parametrize("fps", [24, 25, 30, 60])
def test_a_source_jumps_at_the_very_step_that_its_interval_ends(fps):
    before, after = (sources_at(FED, step / fps) for step in (20 * fps - 1, 20 * fps))
    assert not np.array_equal(before, after)
    assert np.array_equal(after, sources_at(FED, 20.5))


@engines
def test_the_nearest_source_draws_with_its_weight(engine):
    state = at([[0, 0, 0], [1, 2, 3], [-1, -1, 0]], np.zeros((3, 3)))
    felt = accelerations(state, FED, engine=engine)
    for place, pull in zip(state.position, felt, strict=True):
        source = min(sources_at(FED, 0.0), key=lambda source: np.linalg.norm(source - place))
        np.testing.assert_allclose(pull, 0.7 * (source - place) / np.linalg.norm(source - place), atol=1e-4)


@engines
def test_boids_follow_the_sources_when_they_jump(engine):
    settings = replace(FED, count=1, sources=1, source_interval=10.0, source_size=(40.0,) * 3, attraction=3.0, drag=1.0)
    state = flown(at([[0, 0, 0]], [[0, 0, 0]]), settings, 239, engine=engine)
    goal = sources_at(settings, 0.0)[0]
    assert np.linalg.norm(state.position[0] - goal) < 0.3 * np.linalg.norm(goal)
    assert state.step * DT < 10.0
    state, later = flown(state, settings, 239, engine=engine), sources_at(settings, 15.0)[0]
    assert np.linalg.norm(state.position[0] - later) < 0.3 * np.linalg.norm(later - goal)


SQUARE = np.array([[0.0, 0, 0], [10, 0, 0], [10, 10, 0], [0, 10, 0]])
LED = Settings(count=1, attraction=2.0, response_time=0.5, max_acceleration=20.0, max_speed=9.0, look_ahead=0.4, **BARE)


def test_a_line_knows_its_nearest_point_and_any_place_along_it():
    opened, closed = (Line(Path(SQUARE, closed=closed)) for closed in (False, True))
    points = np.array([[3.0, 1, 0], [12, 4, 5], [-3, 8, 0], [-2, -3, 0]])
    np.testing.assert_allclose(
        opened.nearest(points), [3, 14, 33, 0]
    )  # the third is beside the last segment's end, straight on
    np.testing.assert_allclose(closed.nearest(points), [3, 14, 32, 0])
    np.testing.assert_allclose(opened.at(np.array([3.0, 14, 25, 33])), [[3, 0, 0], [10, 4, 0], [5, 10, 0], [-3, 10, 0]])
    np.testing.assert_allclose(closed.at(np.array([33.0, 43, 14])), [[0, 7, 0], [3, 0, 0], [10, 4, 0]])


@engines
@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.0, 0.7, -0.4), (-3.0, 8.0, 3.0)])
def test_boids_come_to_the_path_fly_along_it_at_its_speed_and_straight_on_past_its_end(start, engine):
    path = Effectors(path=Path(np.array([[0.0, 0, 0], [6, 0, 0], [20, 0, 0]]), radius=1.0, speed=5.0))
    state = at([start], [[0, 0, 1e-3]])
    for _ in range(12):
        before, state = state, flown(state, LED, 24, path, engine)
        assert state.position[0, 0] > before.position[0, 0]
    assert state.position[0, 0] > 40
    np.testing.assert_allclose(state.velocity[0], (5.0, 0, 0), atol=0.02)
    aside = np.linalg.norm(state.position[0, 1:])
    assert aside <= 1.05  # within the radius
    if start[1] == 0.7:  # who was in it is not drawn to its middle
        assert aside == pytest.approx(np.hypot(0.7, 0.4), abs=0.1)


@engines
def test_along_a_closed_path_boids_fly_round_and_round(engine):
    path = Effectors(path=Path(SQUARE, radius=0.5, speed=4.0, closed=True))
    state, line, laps, place = at([[0, 0, 0]], [[4, 0, 0]]), Line(path.path), 0.0, 0.0
    for _ in range(400):
        state = flown(state, LED, 1, path, engine)
        now = line.nearest(np.asarray(state.position, float))[0]
        laps += (now - place + 20) % 40 - 20
        place = now
        assert np.linalg.norm(state.position[0] - line.at(np.array([place]))[0]) < 2.0
    # each step it flies 4 / 24; round the corners it is slower than along, and has the shorter way
    assert 0.9 <= laps / (400 * 4.0 / 24) < 1.1


@engines
@pytest.mark.parametrize("points", [[], [[1, 2, 3]], [[1, 2, 3], [1, 2, 3]]])
def test_a_path_of_no_length_leads_nowhere(points, engine):
    path = Effectors(path=Path(np.array(points, float).reshape(-1, 3), closed=True))
    assert not accelerations(at([[0, 0, 0]], [[0, 0, 0]]), LED, path, engine).any()


@pytest.mark.parametrize("bad", [{"points": SQUARE * np.nan}, {"radius": np.inf}, {"speed": np.nan}])
def test_a_path_without_numbers_is_refused(bad):
    with pytest.raises(FlockError, match="Give the path finite"):
        Effectors(path=Path(**{"points": SQUARE} | bad))


@pytest.mark.parametrize("bad", [{"radius": -1.0}, {"speed": -0.1}])
def test_a_path_of_negative_width_or_speed_is_answered_with_what_to_do(bad):
    with pytest.raises(FlockError, match="0 or more"):
        Effectors(path=Path(**{"points": SQUARE} | bad))
