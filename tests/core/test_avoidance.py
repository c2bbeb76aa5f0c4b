# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nobody gets inside an obstacle, the hits follow their geometry, and the flock parts in time and smoothly."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from core import Boxes, Effectors, Planes, Settings, Simulation, Spheres, avoidance, flight_check, spheres
from tests.core.engines import engines

DT = 1 / 48
TOUCH = Settings(clearance=0.0)


def random_turn(rng):
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return turn


def random_scene(rng, samples):
    """Up to six spheres, two planes and three boxes that move, grow and overlap, around the origin; boxes also turn."""
    time = np.arange(samples)[:, None] * DT
    drift = time[..., None] * rng.choice([0.0, 1.0, 30.0])
    growth = time * rng.choice([0.0, 5.0])
    number = rng.integers(1, 7)
    centre = rng.normal(size=(1, number, 3)) * rng.choice([0.5, 3.0]) + drift * rng.normal(size=(1, number, 3))
    radius = rng.uniform(0.05, 2.5, (1, number)) + growth * rng.uniform(-0.2, 1.0, (1, number))
    balls = Spheres(centre, np.maximum(radius, 0.0), np.ones(radius.shape))
    number = rng.integers(0, 3)
    normal = rng.normal(size=(1, number, 3))
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    point = rng.normal(size=(1, number, 3)) * 2 + drift * rng.normal(size=(1, number, 3)) * 0.2
    planes = Planes(point, np.broadcast_to(normal, point.shape))
    number = rng.integers(0, 4)
    centre = rng.normal(size=(1, number, 3)) * 3 + drift * rng.normal(size=(1, number, 3)) * 0.3
    spin = rng.normal(size=3) * rng.choice([0.0, 3.0])
    axes = np.array([[turned(random_turn(rng), spin * at) for at in time[:, 0]] for _ in range(number)])
    half = rng.uniform(0.02, 2.0, (1, number, 3)) + (growth * rng.uniform(-0.2, 1.0, (1, number)))[..., None]
    boxes = Boxes(centre, axes.reshape(number, samples, 3, 3).swapaxes(0, 1), np.maximum(half, 0.0))
    return Effectors(spheres=balls, planes=planes, boxes=boxes)


def turned(axes, rotation):
    """Rows of a matrix turned about a vector by its length, radians (Rodrigues)."""
    angle = np.linalg.norm(rotation)
    x, y, z = rotation / max(angle, 1e-12)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return axes @ (np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross).T


def inside(points, effectors):
    """Which float32 points (N, 3) are inside anything at the end of the step, in float64, by the plain definitions."""
    points = np.float32(points).astype(float)
    found = np.zeros(len(points), bool)
    for centre, radius in zip(effectors.spheres.centre[1], effectors.spheres.radius[1], strict=True):
        found |= np.linalg.norm(points - centre, axis=1) < radius
    for point, normal in zip(effectors.planes.point[1], effectors.planes.normal[1], strict=True):
        found |= (points - point) @ normal < 0
    group = effectors.boxes
    for centre, axes, half in zip(group.centre[1], group.axes[1], group.half_size[1], strict=True):
        found |= (np.abs((points - centre) @ axes.T) < half).all(axis=1)
    return found


def way_out_of_planes(points, effectors):
    """How far the nearest place is that is free of up to two planes: it may be a narrow wedge far off, (N,)."""
    at, normals = effectors.planes.point[1], effectors.planes.normal[1]
    if not len(at):
        return np.zeros(len(points))
    levels = (at * normals).sum(axis=1)
    tries = [np.zeros_like(points)]
    for chosen in ([0], [1], [0, 1]):
        if max(chosen) < len(at):  # to the point on the chosen planes that is nearest
            missing = levels[chosen] - points @ normals[chosen].T
            tries.append(missing @ np.linalg.pinv(normals[chosen]).T)
    free = [((points + move) @ normals.T >= levels - 1e-9 * np.abs(move).max()).all(axis=1) for move in tries]
    ways = [np.where(able, np.linalg.norm(move, axis=1), np.inf) for able, move in zip(free, tries, strict=True)]
    return np.min(ways, axis=0)


RESPONSES = ["STEER_AROUND", "SLIDE", "REFLECT"]


def fly_random_scenes(response, scenes, boids):
    """Scenes around the boids, some of which start inside or at the very centre, at up to 50 radii per step, 1 to 8 substeps a frame."""
    rng = np.random.default_rng(RESPONSES.index(response))
    for _ in range(scenes):
        substeps = int(rng.integers(1, 9))
        settings = replace(Settings(), avoidance=response, substeps=substeps, clearance=rng.choice([0.0, 0.1, 0.5]))
        scene = random_scene(rng, substeps + 1)
        position = rng.normal(size=(boids, 3)) * rng.choice([0.5, 4.0])
        position[0] = scene.spheres.centre[0, 0]
        fastest = rng.choice([0.0, 5.0, 50.0 * scene.spheres.radius.mean() / DT])
        for step in range(substeps):
            velocity = rng.normal(size=(boids, 3))
            velocity *= fastest * rng.uniform(0, 1, (boids, 1)) / np.linalg.norm(velocity, axis=1, keepdims=True)
            moment = scene.at(step)
            velocity = avoidance.steer(position, velocity, moment, settings, DT)
            after, velocity = avoidance.resolve(position, position + velocity * DT, velocity, moment, settings, DT)
            assert np.isfinite(after).all() and np.isfinite(velocity).all()
            # nobody is lost: no further off than its own way, what may push it, a scene of some ten lengths, and the way to free space
            moved = np.linalg.norm(after - position, axis=1)
            assert (moved < 2 * fastest * DT + 100 + 2 * way_out_of_planes(position, moment)).all()
            assert not inside(after, moment).any()
            position = after


@pytest.mark.parametrize("response", RESPONSES)
def test_nobody_is_inside_after_any_step_in_random_scenes(response):
    fly_random_scenes(response, scenes=40, boids=40)


@pytest.mark.long
@pytest.mark.parametrize("response", RESPONSES)
def test_nobody_is_inside_after_any_step_in_ten_thousand_random_scenes(response):
    fly_random_scenes(response, scenes=10_000 // 3 + 1, boids=20)


@pytest.mark.parametrize("response", RESPONSES)
def test_who_is_passed_over_as_too_far_off_would_not_have_been_changed(response, monkeypatch):
    """Small boids, at rest or fast, before obstacles that come at them, grow and turn by many body lengths a step."""
    rng, near, some = np.random.default_rng(11 + RESPONSES.index(response)), avoidance.near, 0
    everybody = lambda before, position, velocity, found, *others: (np.arange(len(position)), found)  # noqa: E731
    for _ in range(60):
        settings = replace(Settings().scaled(0.02), avoidance=response, substeps=int(rng.integers(1, 9)))
        scene = random_scene(rng, 3).at(1)
        turns = np.array([axes @ turned(np.eye(3), rng.normal(size=3) * 0.5) for axes in scene.boxes.axes[0]])
        axes = np.stack((scene.boxes.axes[0], turns.reshape(-1, 3, 3)))
        scene = replace(scene, boxes=replace(scene.boxes, axes=axes))
        position = rng.normal(size=(40, 3)) * rng.choice([2.0, 4.0])
        velocity = rng.normal(size=(40, 3)) * rng.choice([0.0, 1.0, 30.0])
        ends = []
        for choice in (near, everybody):
            monkeypatch.setattr(avoidance, "near", choice)
            wanted = avoidance.steer(position, velocity, scene, settings, DT)
            ends.append((wanted, *avoidance.resolve(position, position + wanted * DT, wanted, scene, settings, DT)))
        for one, other in zip(*ends, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        some += near(position, position, velocity, avoidance.obstacles(scene, settings, DT), settings, DT, DT)[0].size
    assert 0 < some < 60 * 40  # some are near, and some are passed over


def fly_into(offset, speed=6.0, settings=TOUCH, radius=2.0, step=10.0):
    """One boid that in one long step flies +Y past the origin at a distance `offset` from it."""
    dt = step / speed
    velocity = np.array([[0.0, speed, 0.0]])
    before = np.array([[offset, -5.0, 0.0]])
    scene = Effectors(spheres=spheres([[0.0, 0.0, 0.0]], [radius])).at(0)
    place, after = avoidance.resolve(before, before + velocity * dt, velocity, scene, settings, dt)
    return place[0], after[0]


@pytest.mark.parametrize("response", ["SLIDE", "REFLECT"])
def test_a_sphere_is_hit_if_and_only_if_the_boid_passes_nearer_than_its_radius(response):
    settings = replace(TOUCH, avoidance=response, collision_decay=1.0)
    assert (
        not np.allclose(fly_into(2.0 * (1 - 1e-6), settings=settings)[1], (0, 6, 0), atol=1e-3, rtol=0)
        or response == "SLIDE"
    )
    assert fly_into(2.0 * (1 - 1e-6), settings=settings)[1][1] < 6.0
    assert fly_into(2.0 * (1 + 1e-6), settings=settings)[1].tolist() == [0.0, 6.0, 0.0]
    assert fly_into(0.5, settings=settings, step=1.0)[1].tolist() == [0.0, 6.0, 0.0]  # out of reach


@pytest.mark.parametrize("offset", [0.0, 0.3, 1.0, 1.9])
def test_sliding_keeps_the_speed_times_offset_over_radius(offset):
    velocity = fly_into(offset, settings=replace(TOUCH, avoidance="SLIDE"))[1]
    assert np.linalg.norm(velocity) == pytest.approx(6.0 * offset / 2.0, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.3, 1.0, 1.9])
def test_reflection_turns_by_pi_minus_twice_the_arc_sine(offset):
    velocity = fly_into(offset, settings=replace(TOUCH, avoidance="REFLECT", collision_decay=0.7))[1]
    assert np.linalg.norm(velocity) == pytest.approx(6.0 * 0.7)
    turned = math.acos(velocity[1] / np.linalg.norm(velocity))
    assert turned == pytest.approx(math.pi - 2 * math.asin(offset / 2.0), abs=1e-6)


@pytest.mark.parametrize("speed", [5.0, 500.0, 50_000.0])
def test_nobody_flies_through_a_sphere_within_one_step(speed):
    place, _ = fly_into(0.0, speed, step=speed)
    assert place[1] < -1.99


def test_nobody_flies_through_a_thin_wall_or_a_plane_within_one_step():
    wall = Boxes(np.zeros((1, 1, 3)), np.eye(3)[None, None], np.array([[[50.0, 0.01, 50.0]]]))
    before, velocity = np.array([[1.0, -5.0, 2.0]]), np.array([[300.0, 9000.0, 0.0]])
    place, after = avoidance.resolve(before, before + velocity, velocity, Effectors(boxes=wall).at(0), Settings(), 1.0)
    assert -0.6 < place[0, 1] < -0.5
    assert after[0, 1] <= 1e-9
    floor = Settings(min_height=-3.0)
    place, _ = avoidance.resolve(
        before, before - velocity[:, [0, 2, 1]], -velocity[:, [0, 2, 1]], Effectors().at(0), floor, 1.0
    )
    assert place[0, 2] == pytest.approx(-2.5)


def test_a_sphere_that_sweeps_over_a_resting_boid_takes_it_along():
    scene = Effectors(spheres=spheres(np.array([[[0.0, -10.0, 0.0]], [[0.0, 10.0, 0.0]]]), np.ones((2, 1)))).at(0)
    place, velocity = avoidance.resolve(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)), scene, Settings(), 1.0)
    assert place[0] == pytest.approx((0.0, 11.5, 0.0))
    assert velocity[0] == pytest.approx((0.0, 20.0, 0.0))


def test_a_start_inside_at_rest_and_at_the_very_centre_ends_outside_by_half_a_body():
    scene = Effectors(spheres=spheres([[1.0, 2.0, 3.0]], [2.0])).at(-1)
    start = np.array([[1.0, 2.0, 3.0], [1.5, 2.0, 3.0]])
    place, velocity = avoidance.resolve(start, start, np.zeros((2, 3)), scene, Settings(), 0.0)
    assert np.linalg.norm(place - (1, 2, 3), axis=1) == pytest.approx([2.5, 2.5])
    assert not velocity.any()


def test_without_any_free_space_boids_keep_their_place_until_there_is_some():
    rng = np.random.default_rng(3)
    up = np.array([0, 0, 1.0])
    apart = np.repeat((1.0, -1.0), (9, 2))[:, None]  # two half spaces that cover all, and then leave a gap of 2
    squeeze = Effectors(planes=Planes(np.stack((apart * up, -apart * up), axis=1), np.tile((up, -up), (11, 1, 1))))
    start = rng.normal(size=(30, 3))
    position = start
    for step in range(10):
        velocity = rng.normal(size=(30, 3)) * 500.0
        moment = squeeze.at(step)
        position, velocity = avoidance.resolve(position, position + velocity * DT, velocity, moment, Settings(), DT)
        assert np.isfinite(velocity).all()
        if step < 8:
            assert np.array_equal(position, start)
    assert not inside(position, moment).any()
    assert np.abs(position[:, 2]).max() < 1.0


def test_in_a_plane_flock_nobody_leaves_the_plane():
    rng = np.random.default_rng(5)
    settings = Settings(plane=True)
    scene = Effectors(
        spheres=spheres(rng.normal(size=(6, 3)), np.full(6, 1.0)),
        boxes=Boxes(np.ones((1, 1, 3)), random_turn(rng)[None, None], np.ones((1, 1, 3))),
    ).at(0)
    start = rng.normal(size=(200, 3)) * (2.0, 2.0, 0.0)
    velocity = rng.normal(size=(200, 3)) * (9.0, 9.0, 0.0)
    place, _ = avoidance.resolve(start, start + velocity * DT, velocity, scene, settings, DT)
    assert not place[:, 2].any()
    assert not inside(place, scene).any()


def approach(offset, seconds=6.0, settings=None, radius=3.0, distance=25.0, strength=1.0):
    """A boid that flies past a sphere at the origin, pulled along +Y as hard as the default target does; its way."""
    settings = settings or Settings()
    scene = Effectors(spheres=spheres([[0.0, 0.0, 0.0]], [radius], strength)).at(0)
    position, velocity = np.array([[offset, -distance, 0.0]]), np.array([[0.0, 6.0, 0.0]])
    places, velocities = [position], [velocity]
    for _ in range(round(seconds / DT)):
        pull = np.array([[0.0, 200.0, 0.0]]) - position
        wish = 6.0 * pull / np.linalg.norm(pull) - velocity
        wish *= min(1.0, settings.max_acceleration / max(np.linalg.norm(wish), 1e-9))
        velocity = velocity + settings.attraction * wish * DT
        velocity = avoidance.steer(position, velocity, scene, settings, DT)
        position, velocity = avoidance.resolve(position, position + velocity * DT, velocity, scene, settings, DT)
        places.append(position)
        velocities.append(velocity)
    return np.concatenate(places), np.concatenate(velocities)


@pytest.mark.parametrize("radius", [0.5, 3.0, 15.0])
@pytest.mark.parametrize("offset", [0.0, 1e-6, 0.5, 2.9])
def test_a_boid_gets_past_a_sphere_in_its_way_without_touching_it(radius, offset):
    places, _ = approach(offset, seconds=14.0, radius=radius)
    assert np.linalg.norm(places, axis=1).min() > radius + 0.5
    assert places[-1, 1] > radius


def test_a_boid_that_passes_anyway_and_one_out_of_its_look_ahead_keep_straight_on():
    assert approach(4.6)[0][:, 0] == pytest.approx(4.6, abs=0.6)
    scene = Effectors(spheres=spheres([[0.0, 0.0, 0.0]], [3.0])).at(0)
    for place in ([[0.0, -13.0, 0.0]], [[5.0, -6.0, 0.0]], [[0.0, 6.0, 0.0]]):
        velocity = np.array([[0.0, 6.0, 0.0]])
        assert (avoidance.steer(np.array(place), velocity, scene, Settings(), DT) == velocity).all()


def test_steering_around_keeps_within_the_max_acceleration_and_has_no_jumps():
    settings = Settings()
    _, velocities = approach(0.4)
    acceleration = np.linalg.norm(np.diff(velocities, axis=0), axis=1) / DT
    assert acceleration.max() <= settings.max_acceleration * 1.6 + 1e-6  # its own and the target's
    change = np.linalg.norm(np.diff(velocities, n=2, axis=0), axis=1) / DT
    assert change.max() < 0.25 * settings.max_acceleration


def test_a_strength_of_zero_takes_the_steering_but_not_the_guarantee():
    places, _ = approach(0.4, strength=0.0)
    assert np.linalg.norm(places, axis=1).min() == pytest.approx(3.5, abs=0.01)
    early = [approach(0.4, strength=strength)[0] for strength in (0.5, 2.0)]
    assert np.linalg.norm(early[0], axis=1).min() < np.linalg.norm(early[1], axis=1).min()


def comes(motion, time):
    """A ball or a box of a hundred and more body lengths that comes at 20 lengths/s, or grows or turns as fast; samples at times (T,)."""
    centre, width = np.tile((0.0, -3.0, 0.0), (len(time), 1, 1)), np.full((len(time), 1), 0.5)
    axes = np.broadcast_to(np.eye(3), (len(time), 1, 3, 3))
    if "moving" in motion:
        centre[:, 0, 1] += 20 * time
    if "growing" in motion:
        width += 20 * time[:, None] - 0.2
    if "turning" in motion:  # its long arms, 20 lengths/s at their ends
        width = np.tile((4.0, 0.1, 1.0), (len(time), 1, 1))
        axes = np.array([[turned(np.eye(3), np.array((0.0, 0.0, 5.0 * at)))] for at in time])
    if "box" in motion:
        return Effectors(boxes=Boxes(centre, axes, np.broadcast_to(width.reshape(len(time), 1, -1), centre.shape)))
    return Effectors(spheres=Spheres(centre, width, np.ones_like(width)))


@engines
@pytest.mark.parametrize("motion", ["moving ball", "growing ball", "moving box", "growing box", "turning box"])
def test_the_curves_of_small_boids_stay_outside_of_what_comes_at_many_body_lengths_a_step(engine, motion):
    settings = replace(Settings(count=400, pre_roll=0.5).scaled(0.05))
    scene = comes(motion, np.arange(25) / 48)
    flight = [frame.state for frame in Simulation(settings, scene, frames=13, engine=engine)]
    clip = (np.stack([getattr(state, part) for state in flight]) for part in ("position", "velocity", "rotation"))
    found = flight_check.check(*clip, settings, scene)
    assert found.inside.count == found.inside_between.count == 0
    far = np.linalg.norm(flight[-1].position - flight[0].position, axis=1)
    assert (far > 13 / 24 * settings.max_speed * 2).any()  # some were pushed


@pytest.mark.parametrize("motion", ["still", "moving", "growing"])
@pytest.mark.parametrize("response", ["STEER_AROUND", "SLIDE"])
def test_between_frames_the_clips_curves_stay_outside_too(motion, response):
    rng = np.random.default_rng(7)
    settings = Settings(avoidance=response)
    steps, count = 192, 300
    time = np.arange(steps + 1) * DT
    centre = np.tile([[0.0, 8.0, 0.0], [3.0, 12.0, 1.0]], (steps + 1, 1, 1))
    radius = np.tile([3.0, 1.0], (steps + 1, 1))
    if motion == "moving":
        centre[:, 0, 1] -= 4 * np.sin(2 * time)
        centre[:, 1, 0] -= 3 * time
    if motion == "growing":
        radius += np.sin(3 * time)[:, None] * 0.9
    scene = Effectors(spheres=Spheres(centre, radius, np.ones_like(radius)))
    position = rng.uniform(-4, 4, (count, 3)) - (0, 8, 0)
    velocity = np.tile((0.0, 8.0, 0.0), (count, 1)) * rng.uniform(0.6, 1.2, (count, 1))
    frames = [(position, velocity)]
    for step in range(steps):
        moment = scene.at(step)
        velocity = avoidance.steer(position, velocity, moment, settings, DT)
        position, velocity = avoidance.resolve(position, position + velocity * DT, velocity, moment, settings, DT)
        if step % 2:
            frames.append((position, velocity))
    deepest = np.inf
    for index, ((p0, v0), (p1, v1)) in enumerate(pairwise(frames)):
        for u in (0.25, 0.5, 0.75):
            h00, h10, h01, h11 = 2 * u**3 - 3 * u**2 + 1, u**3 - 2 * u**2 + u, 3 * u**2 - 2 * u**3, u**3 - u**2
            place = h00 * p0 + h01 * p1 + (h10 * v0 + h11 * v1) * 2 * DT
            when = (index + u) * 2 * DT
            for ball in range(2):
                at = [np.interp(when, time, centre[:, ball, axis]) for axis in range(3)]
                size = np.interp(when, time, radius[:, ball])
                deepest = min(deepest, (np.linalg.norm(place - at, axis=1) / size).min())
    assert deepest > 1 - 0.001
