# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several flocks fly together: each by its own settings, and each does about the others what the table says."""

from dataclasses import replace

import numpy as np
import pytest

from core import Effectors, FlockError, Flocks, Predators, Settings, Sight, Simulation, Traits, attractor, flocks
from tests.core.engines import BARE, at, engines

FISH = Settings(count=80, pre_roll=0.5)
SHARKS = Settings(count=3, seed=5, pre_roll=0.25, spacing=6.0).scaled(3.0)
FAR = {"spawn_shape": "BOX"}


def last_states(simulations, sights=()):
    *_, frames = Flocks(simulations, sights)
    return [frame.state for frame in frames]


def simulation(settings, engine, **options):
    return Simulation(settings, options.pop("effectors", None), engine=engine, **{"frames": 12, **options})


def assert_same_bits(one, other):
    for name in ("position", "velocity", "rotation", "flap", "step"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@engines
def test_flocks_that_do_not_see_one_another_fly_as_if_alone_to_the_last_bit(engine):
    goal = Effectors(attractors=attractor((0.0, 30.0, 5.0)))
    together = last_states([simulation(FISH, engine, effectors=goal), simulation(SHARKS, engine)])
    for state, alone in zip(
        together, (simulation(FISH, engine, effectors=goal), simulation(SHARKS, engine)), strict=True
    ):
        *_, frame = alone
        assert_same_bits(state, frame.state)


@engines
def test_flocks_out_of_each_others_sight_fly_as_if_alone(engine):
    everything = [Sight(0, 1, kind, 1.0, 5.0) for kind in flocks.KINDS] + [
        Sight(1, 0, kind, 1.0, 5.0) for kind in flocks.KINDS
    ]
    apart = replace(simulation(SHARKS, engine).begin(), position=np.float32([[500, 0, 0], [510, 0, 0], [505, 9, 0]]))
    pair = [simulation(FISH, engine, resume=simulation(FISH, engine).begin()), simulation(SHARKS, engine, resume=apart)]
    together = last_states(pair, everything)
    *_, fish = pair[0]
    *_, sharks = pair[1]
    for state, alone in zip(together, (fish.state, sharks.state), strict=True):
        np.testing.assert_allclose(state.position, alone.position, rtol=1e-6, atol=1e-5)


@engines
def test_several_flocks_can_be_stopped_and_resumed_with_the_same_bits(engine):
    table = [Sight(0, 1, "AVOID", 1.0, 9.0), Sight(1, 0, "CHASE", 1.0, 50.0), Sight(0, 1, "ALIGN", 0.3, 12.0)]
    whole = list(Flocks([simulation(FISH, engine), simulation(SHARKS, engine)], table))
    rest = [
        simulation(settings, engine, first=6, frames=7, resume=frame.state)
        for settings, frame in zip((FISH, SHARKS), whole[4], strict=True)
    ]
    for one, other in zip(last_states(rest, table), whole[-1], strict=True):
        assert_same_bits(one, other.state)


def alone_and_seen(kind, engine, watcher_velocity=(0.0, 2.0, 0.0), **changes):
    """What one boid at the origin flies at after a step, that sees two boids of another flock ahead and to its right."""
    settings = Settings(count=1, **BARE | {"max_speed": 50.0, "substeps": 1, "smoothing": 0.0} | changes)
    watcher = at([[0, 0, 0]], [watcher_velocity]).stored()
    seen = at([[3, 1, 0], [3, -1, 0]], [[0, 0, 5], [0, 0, 5]]).stored()
    pair = [
        Simulation(one, engine=engine, resume=state)
        for one, state in ((settings, watcher), (replace(settings, count=2), seen))
    ]
    return last_states(pair, [Sight(0, 1, kind, 1.0, 8.0)])[0].velocity[0] - watcher_velocity


@engines
def test_each_kind_of_sight_does_what_it_says(engine):
    # the steers of these bare settings are unit vectors: an acceleration of 1, for a 24th of a second
    np.testing.assert_allclose(alone_and_seen("AVOID", engine), (-1 / 24, 0, 0), atol=1e-6)
    np.testing.assert_allclose(alone_and_seen("CHASE", engine, attraction_steer="UNIT"), (1 / 24, 0, 0), atol=1e-6)
    np.testing.assert_allclose(alone_and_seen("ALIGN", engine), (0, 0, 1 / 24), atol=1e-6)


@engines
def test_boids_of_another_flock_are_fled_from_as_predators_on_the_same_ways(engine):
    settings = Settings(count=30, pre_roll=0.0, substeps=1)
    hunter = at([[0, 12, 0], [3, 14, 1]], [[0, -9, 0], [0, -8, 0]]).stored()
    alone = Settings(count=2, substeps=1, **BARE | {"max_speed": 50.0, "acceleration": "UNBOUNDED"})
    flee = Flocks(
        [
            simulation(settings, engine, resume=simulation(settings, engine).begin()),
            simulation(alone, engine, resume=hunter),
        ],
        [Sight(0, 1, "FLEE", 3.0, 8.0)],
    )
    *_, (fled, hunters) = flee
    ways = hunter.position + np.arange(13)[:, None, None] / 24 * hunter.velocity  # nothing turns them
    np.testing.assert_allclose(hunters.state.position, ways[-1], rtol=1e-5)
    predators = Predators(ways, np.full((13, 2), 8.0), np.full((13, 2), 3.0))
    begun = simulation(settings, engine).begin()
    *_, same = simulation(settings, engine, resume=begun, effectors=Effectors(predators=predators))
    *_, unseen = simulation(settings, engine, resume=begun)
    np.testing.assert_allclose(fled.state.position, same.state.position, atol=1e-3)
    assert np.abs(unseen.state.position - same.state.position).max() > 0.5


@engines
def test_a_raw_chase_weighs_each_by_the_square_of_its_distance(engine):
    change = alone_and_seen("CHASE", engine, attraction_steer="RAW", edge="HARD")
    # both at a distance of sqrt(10), 3 to the right: 2 * 3 / sqrt(10) / 10 per second, for a 24th of a second
    np.testing.assert_allclose(change, (2 * 3 / np.sqrt(10) / 10 / 24, 0, 0), atol=1e-6)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("power", sorted(set(flocks.POWER.values())))
def test_compiled_and_plain_sums_agree_also_where_boids_coincide_or_nobody_is_there(smooth, power):
    pytest.importorskip("numba")
    from core import sight_sums

    rng = np.random.default_rng(2)
    for count, others in ((0, 5), (5, 0), (300, 40), (40, 700)):
        place, there = rng.normal(size=(count, 3)) * 5, rng.normal(size=(others, 3)) * 5
        there[: min(3, count)] = place[: min(3, others)]
        speeds = rng.normal(size=(others, 3))
        ours, theirs = (module.look(place, there, speeds, 4.0, smooth, power) for module in (sight_sums, flocks))
        for name in ("toward", "velocity", "weight"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-9)


def test_the_plain_sums_are_those_of_a_loop():
    rng = np.random.default_rng(6)
    place, there, speeds = rng.normal(size=(9, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
    seen = flocks.look(place, there, speeds, 1.5, True, -1.0)
    for i, here in enumerate(place):
        toward, velocity, weight = np.zeros(3), np.zeros(3), 0.0
        for other, speed in zip(there, speeds, strict=True):
            distance = np.linalg.norm(other - here)
            if distance < 1.5:
                counts = (1 - distance**2 / 1.5**2) ** 2
                toward += counts * (other - here) / distance**2
                velocity += counts * speed
                weight += counts
        np.testing.assert_allclose(seen.toward[i], toward, rtol=1e-12)
        np.testing.assert_allclose(seen.velocity[i], velocity, rtol=1e-12)
        np.testing.assert_allclose(seen.weight[i], weight, rtol=1e-12)


def test_as_one_of_another_flock_crosses_the_radius_nothing_jumps():
    settings = Settings(count=1)
    traits = Traits(settings)
    states = [at([[0, 0, 0]], [[0, 5, 0]]), at([[0, 0, 0]], [[3, 0, 0]])]
    for kind in flocks.POWER:
        wishes = []
        for distance in np.arange(7.5, 8.5, 0.01):
            states[1] = replace(states[1], position=np.array([[distance, 0, 0]]))
            wishes.append(flocks.wish(0, states, settings, traits, [Sight(0, 1, kind, 1.0, 8.0)], flocks.look)[0])
        jumps = np.linalg.norm(np.diff(wishes, axis=0), axis=1)
        assert jumps.max() < 0.05 * settings.max_acceleration


def test_what_does_not_fit_is_answered_with_a_sentence():
    pair = [Simulation(FISH, engine="REFERENCE"), Simulation(SHARKS, engine="REFERENCE")]
    with pytest.raises(FlockError, match="numbered 0 to 1"):
        Flocks(pair, [Sight(0, 2, "FLEE")])
    with pytest.raises(FlockError, match="same frames"):
        Flocks([pair[0], Simulation(SHARKS, frames=2, engine="REFERENCE")])
    with pytest.raises(FlockError, match="at least one"):
        Flocks([])
    with pytest.raises(FlockError, match="another flock"):
        Sight(1, 1, "FLEE")
    with pytest.raises(FlockError, match="one of ALIGN"):
        Sight(0, 1, "EAT")
    with pytest.raises(FlockError, match="finite"):
        Sight(0, 1, "FLEE", np.nan)


def test_progress_counts_all_flocks():
    both = Flocks([Simulation(FISH, frames=3, engine="REFERENCE"), Simulation(SHARKS, frames=3, engine="REFERENCE")])
    seen = [both.progress for _ in both]
    assert seen == sorted(seen) and 0 < seen[0] < 1 and seen[-1] == 1.0
