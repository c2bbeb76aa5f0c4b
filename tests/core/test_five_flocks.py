# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets fly as the flocks that they are named after, in both engines; and the first one's flaws are its own."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from core import Effectors, Settings, Simulation, Traits, attractor, orientation, spawn, spheres
from core.goals import sources_at
from core.presets import load, names
from core.settings import RULES
from core.simulation import load_engine
from tests.core import ports
from tests.core.engines import accelerations, at, engines, flown

TARGET = np.array((0.3, -0.2, 0.1))
FRAME = 1 / 24

FLOCKS = {
    # the length of a step in seconds, and the port's step, its places and velocities from and to lengths and seconds
    "godot": (FRAME, lambda x, v, time, settings: ports.godot(x, v, FRAME, TARGET)),
    "unity": (0.02, lambda x, v, time, settings: ports.unity(x, v, 0.02)),
    "rust": (FRAME, lambda x, v, time, settings: a_frame(ports.rust, x, v, sources_at(settings, time)[0])),
    "p5": (FRAME, lambda x, v, time, settings: a_frame(ports.p5, x, v)),
    "article": (FRAME, lambda x, v, time, settings: ports.article(x, v, FRAME)),
}


def a_frame(port, x, v, *more):
    """A step of a port that knows no seconds: its step is a frame."""
    x, v = port(x, v * FRAME, *more)
    return x, v / FRAME


def both(name, seed, steps, engine):
    """The preset's flight and its port's, positions (steps, N, 3) each, and the flock's size. Random terms are off."""
    dt, port = FLOCKS[name]
    settings = replace(load(name), count=50, seed=seed, wander=0.0)
    effectors = Effectors(attractors=attractor(TARGET)) if name == "godot" else Effectors()
    stepper = load_engine(engine)[1].Stepper(settings, Traits(settings))
    state = replace(spawn(settings, np.float64), step=130)  # so that the source jumps on the way, after 150 steps
    x, v = state.position.copy(), state.velocity.copy()
    ours, theirs = [], []
    for step in range(steps):
        x, v = port(x, v, state.step * dt, settings)
        state = stepper.step(state, effectors.at(step), dt)
        ours.append(np.asarray(state.position, float))
        theirs.append(x)
    return np.array(ours), np.array(theirs), np.ptp(spawn(settings).position, axis=0).max()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", FLOCKS)
def test_the_reference_flies_the_published_flock(name, seed):
    ours, theirs, size = both(name, seed, 50, "REFERENCE")
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * size)
    assert np.abs(theirs[-1] - theirs[0]).max() > 0.01 * size


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", FLOCKS)
def test_the_compiled_engine_flies_the_published_flock_within_what_float32_allows(name, seed):
    pytest.importorskip("numba")
    ours, theirs, size = both(name, seed, 50, "NUMBA")
    apart = np.linalg.norm(ours - theirs, axis=2) / size
    # flocks are chaotic: what is lost in rounding grows
    assert apart[:10].max() < 1e-4
    assert np.median(apart[-1]) < 1e-3


def test_the_source_jumps_once_in_that_time():
    settings = load("rust")
    places = [sources_at(settings, step * FRAME) for step in range(130, 180)]
    jumps = [not np.array_equal(one, other) for one, other in pairwise(places)]
    assert np.flatnonzero(jumps).tolist() == [19]  # at step 150
    assert np.abs(places).max() <= 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_godot_flock_sets_out_from_rest_with_a_step_of_a_tenth_of_a_second(seed):
    settings = replace(load("godot"), count=50, seed=seed)
    stepper = load_engine("REFERENCE")[1].Stepper(settings, Traits(settings))
    effectors, state = Effectors(attractors=attractor(TARGET)), spawn(settings, np.float64)
    assert not state.velocity.any()
    x, v = state.position.copy(), state.velocity.copy()
    for step, dt in enumerate([0.1] + 30 * [FRAME]):
        x, v = ports.godot(x, v, dt, TARGET)
        state = stepper.step(state, effectors.at(step), dt)
        if step == 0:  # from rest, a second squared and a tenth of a second: 26 * 0.1
            np.testing.assert_allclose(np.linalg.norm(state.velocity, axis=1), 2.6, rtol=1e-12)
    np.testing.assert_allclose(state.position, x, rtol=0, atol=1e-9 * 32)
    first = next(iter(Simulation(settings, effectors, engine="REFERENCE"))).state
    assert first.step == 2  # the preset's pre-roll: a tenth of a second in whole steps


def test_the_readme_names_every_preset():
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in text or f'"{name}"' in text for name in names())


def test_presets_start_as_published():
    for name, box in (("godot", (32, 32, 32)), ("unity", (16, 12, 0)), ("rust", (2, 2, 2)), ("p5", (640, 360, 0))):
        many = replace(load(name), seed=5)
        spread = np.ptp(np.concatenate([spawn(replace(many, seed=seed)).position for seed in range(40)]), axis=0)
        np.testing.assert_allclose(spread, box, rtol=0.01)
    speeds = [np.linalg.norm(spawn(replace(load("p5"), seed=seed)).velocity, axis=1) * FRAME for seed in range(40)]
    assert (np.min(speeds), np.max(speeds)) == pytest.approx((2, 4), rel=0.01)
    for name, speed in (("unity", 1.0), ("rust", 0.01 / FRAME)):
        np.testing.assert_allclose(np.linalg.norm(spawn(load(name)).velocity, axis=1), speed, rtol=1e-6)


# the flaws of the Godot flock: the port has each of them, the default and the project's repulsors have none

FREE = {"speed_variation": 0.0, "weight_variation": 0.0, "wander": 0.0, "seed": 1}
FORWARD = np.array([[0.0, 6.0, 0.0]])


def test_flaw_a_repulsor_a_thousand_units_off_turns_a_boid_away():
    ball = (0.0, 1000.0, 0.0), 2.0
    assert ports.godot_repulsed(np.zeros(3), FORWARD[0], np.array(ball[0]), ball[1])[1] < 0
    scene = Effectors(spheres=spheres([ball[0]], [ball[1]]))
    ours, alone = (
        flown(at([[0, 0, 0]], FORWARD), Settings(count=1, **FREE), 24, effectors) for effectors in (scene, Effectors())
    )
    assert np.array_equal(ours.position, alone.position)


def test_flaw_head_on_a_boid_is_sent_straight_back_and_never_gets_past():
    ball, goal = ((0.0, 0.0, 0.0), 2.0), np.array((0.0, 30.0, 0.0))
    x, v = np.array([[0.0, -12.0, 0.0]]), FORWARD.copy()
    for _ in range(240):
        x, v = ports.godot(x, v, FRAME, goal, [ball])
    assert x[0, 1] < -2.0 and abs(x[0, 0]) < 1e-9
    scene = Effectors(spheres=spheres([ball[0]], [ball[1]]), attractors=attractor(goal))
    assert flown(at([[0, -12, 0]], FORWARD), Settings(count=1, **FREE), 240, scene).position[0, 1] > 2.0


def test_flaw_nothing_pushes_out_who_is_inside():
    centre, radius = np.array((0.0, 1.0, 0.0)), 3.0
    x, v = np.array([[0.0, 0.0, 0.0]]), 0.5 * FORWARD
    for _ in range(3):
        x, v = ports.godot(x, v, FRAME, np.array((0.0, 1.0, 0.0)), [(centre, radius)])
        assert np.linalg.norm(x[0] - centre) < radius
    scene = Effectors(spheres=spheres([centre], [radius]), attractors=attractor(centre))
    state = at([[0, 0, 0]], 0.5 * FORWARD)
    for _ in range(3):
        state = flown(state, Settings(count=1, **FREE), 1, scene)
        assert np.linalg.norm(state.position[0] - centre) >= radius


def test_flaw_at_rest_and_straight_up_it_divides_by_zero():
    rest, upward, ball = np.zeros(3), np.array((0.0, 0.0, 5.0)), (np.array((0.0, 2.0, 0.0)), 1.0)
    for port in (
        lambda: ports.godot_repulsed(rest, rest, *ball),
        lambda: ports.godot_facing(rest),
        lambda: ports.godot_facing(upward),
    ):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            port()
    scene = Effectors(spheres=spheres([[1, 1, 1]], [1.0]))
    for speed in ((0.0, 0.0, 0.0), (0.0, 0.0, 5.0), (0.0, 0.0, -5.0)):
        after = flown(at([[0, 0, 0]], [speed]), Settings(count=1, min_speed=0.0, **FREE), 5, scene)
        for array in (after.position, after.velocity, after.rotation, after.flap):
            assert np.isfinite(array).all()
        settled = orientation.settle(np.array([speed]), after.rotation, np.array((0.0, 0.0, 1.0)))
        assert np.linalg.norm(settled, axis=1) == pytest.approx(1.0)


def between_two(near, far):
    """A boid at the origin between an intruder to its left and one to its right, all flying abreast."""
    return np.array([[0, 0, 0], [-near, 0, 0], [far, 0, 0]]), np.tile(FORWARD, (3, 1))


def test_flaw_between_two_intruders_a_boid_flies_at_the_nearer():
    x, v = between_two(0.3, 0.9)
    port = ports.godot(x, v, FRAME, x[0], weights=ports.GODOT | {"alignment": 0.0})[1][0] - v[0]
    assert port[0] < 0  # to the left, where the nearer is
    rule = replace(Settings().separation, radius=1.0)
    ours = accelerations(
        at(x, v), Settings(count=3, **FREE | {"separation": rule, "alignment": replace(rule, weight=0.0)})
    )
    assert ours[0, 0] > 0


def test_flaw_a_neighbour_that_crosses_the_repulsion_distance_flips_the_acceleration():
    def port(d):
        return (
            ports.godot(np.array([[0, 0, 0], [d, 0, 0]]), np.tile(FORWARD, (2, 1)), FRAME, np.zeros(3))[1][0]
            - FORWARD[0]
        ) / FRAME

    def ours(d):
        return accelerations(at([[0, 0, 0], [d, 0, 0]], np.tile(FORWARD, (2, 1))), settings)[0]

    settings = Settings(count=2, **FREE)
    assert np.linalg.norm(port(1 - 1e-6) - port(1 + 1e-6)) > 26.0
    radii = [getattr(settings, name).radius for name in RULES]
    for radius in (1.0, *radii):
        assert np.linalg.norm(ours(radius - 1e-6) - ours(radius + 1e-6)) < 1e-3 * settings.max_acceleration


def test_flaw_its_acceleration_is_always_full_so_that_it_never_settles_and_the_scale_of_its_weights_does_nothing():
    x, v = np.array([[0.0, -9.0, 0.0], [3.0, -9.0, 0.0]]), np.zeros((2, 3))
    small = {name: 0.1 * weight for name, weight in ports.GODOT.items()}
    np.testing.assert_allclose(ports.godot(x, v, FRAME, TARGET)[1], ports.godot(x, v, FRAME, TARGET, weights=small)[1])
    goal = Effectors(attractors=attractor((0, 0, 0), arrival=3.0))
    calm = Settings(count=1, min_speed=0.0, speed_control=0.0, level_flight=0.0, **FREE)
    state = at(x[:1], FORWARD)
    full, half = (accelerations(state, replace(calm, attraction=weight), goal)[0] for weight in (0.4, 0.2))
    np.testing.assert_allclose(full, 2 * half, rtol=1e-9)
    calm = replace(calm, drag=0.5)
    place, speed = x[:1], FORWARD.copy()
    for _ in range(480):
        place, speed = ports.godot(place, speed, FRAME, np.zeros(3))
        state = flown(state, calm, 1, goal)
    assert np.linalg.norm(speed) > 0.5 and np.linalg.norm(state.velocity) < 0.05


def test_flaw_between_two_repulsors_it_is_sent_into_the_other():
    balls = [((-2.0, 0.0, 0.0), 1.9), ((2.0, 0.0, 0.0), 1.9)]
    scene = Effectors(spheres=spheres([centre for centre, _ in balls], [radius for _, radius in balls]))
    rng = np.random.default_rng(1)
    x = rng.uniform((-0.3, -1.5, -0.2), (0.3, 0.5, 0.2), (400, 3))
    outside = [np.linalg.norm(x - centre, axis=1) >= radius for centre, radius in balls]
    x = x[np.logical_and(*outside)]
    v = 13.0 * np.array([ports.unit(way) for way in rng.normal(size=x.shape) * (1.0, 2.0, 0.3)])
    theirs, after = x.copy(), v.copy()
    for i in range(len(x)):  # each alone, for one step
        theirs[i : i + 1], after[i : i + 1] = ports.godot(
            x[i : i + 1], v[i : i + 1], FRAME, np.array((0.0, 9.0, 0.0)), balls
        )
    settings = Settings(count=len(x), max_speed=13.0, clearance=0.0, **FREE)
    ours = flown(at(x, v), settings, 1, scene).position
    for flock, some in ((theirs, True), (ours, False)):
        entered = [np.linalg.norm(flock - centre, axis=1) < radius for centre, radius in balls]
        assert np.any(entered) == some


@engines
@pytest.mark.parametrize("response", ["SLIDE", "REFLECT", "STEER_AROUND"])
def test_presets_take_the_projects_repulsors(response, engine):
    settings = replace(load("godot"), avoidance=response, count=50)
    scene = Effectors(spheres=spheres([[0, 0, 0], [5, 5, 5]], [6.0, 4.0]), attractors=attractor((5.0, 0.0, 0.0)))
    for frame in Simulation(settings, scene, frames=60, engine=engine):
        for centre, radius in zip(scene.spheres.centre[0], scene.spheres.radius[0], strict=True):
            assert np.linalg.norm(frame.state.position - centre, axis=1).min() >= radius
