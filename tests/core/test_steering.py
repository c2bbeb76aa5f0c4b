# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled engine finds the same neighbours and flies the same flight as the reference, whatever the number of threads."""

import itertools
from dataclasses import fields, replace
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("numba")

import numba
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core import (
    Boxes,
    Effectors,
    FlockError,
    Path,
    Planes,
    Predators,
    Rule,
    Settings,
    Simulation,
    State,
    Traits,
    attractor,
    gather,
    kernel,
    pairs,
    reference,
    spawn,
    spheres,
    steering,
)  # fmt: skip
from core.lanes import FAR, LANES
from core.motion import CHUNK
from core.settings import CHOICES, RULES

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


@pytest.mark.usefixtures("all_together")
def test_the_bits_do_not_depend_on_the_number_of_threads():
    one, *others = (flight("NUMBA", 12, threads, count=1500)[-1].state for threads in (1, 2, 8))
    for other in others:
        for name in ("position", "velocity", "rotation", "flap"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def rules():
    reach, weight = st.just(0.0) | st.floats(0.01, 6), st.just(0.0) | st.floats(0.01, 5)
    inner, view = st.just(0.0) | st.floats(0.01, 1), st.sampled_from([0.0, 1.0, 3.0, 4.7, 2 * np.pi])
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
SPACES = [{}, {"space": "BOX", "boundary": "PERIODIC", "space_size": (9.0, 14.0, 40.0)}]


def scattered(flock, spread, rounded=False):
    """A spawned flock of float32 numbers, a third of it in one place, in one cell, loose, or lost; rounded, many are equally far."""
    state = spawn(flock)
    moved = state.position.copy()
    moved[: len(state) // 3] *= spread
    return replace(state, position=np.round(moved) if rounded else moved)


def certain(state, flock):
    """The boids (N,) for which nothing hangs on the last digits of float32: no pair just at an edge, no two just equally far."""
    place, heading = state.position.astype(float), reference.unit(state.velocity.astype(float))
    offset = place[None] - place[:, None]
    if flock.space == "BOX":
        offset -= np.array(flock.space_size) * np.round(offset / flock.space_size)
    distance, cosine = reference.length(offset), np.einsum("bni,bi->bn", reference.unit(offset), heading)

    np.fill_diagonal(distance, np.inf)

    def near(values, edge):
        return ((values != edge) & (np.abs(values - edge) < 1e-5 * (1 + abs(edge)))).any(axis=1)

    doubtful = np.zeros(len(state), bool)
    for name, inner in zip(RULES, reference.inner_radii(flock), strict=True):
        rule = getattr(flock, name)
        doubtful |= near(distance, rule.radius) | near(distance, inner) | near(cosine, np.cos(rule.field_of_view / 2))
    step = np.diff(np.sort(distance, axis=1)[:, :-1], axis=1)
    return ~(doubtful | ((step > 0) & (step < 1e-5)).any(axis=1))


@given(
    choices=st.fixed_dictionaries(
        {**chosen, "separation": rules(), "alignment": rules(), "cohesion": rules(), "neighbours": st.integers(0, 12)}
    ),
    space=st.sampled_from(SPACES),
    count=st.integers(0, 90),
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([0.0, 0.5, 3.0, 1e6]),
    rounded=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_the_pair_sums_are_those_of_the_reference(choices, space, count, seed, spread, rounded):
    assume(not space or spread < 1e6)  # a periodic box keeps everybody inside
    flock = replace(Settings(count=count, seed=seed, spacing=2.0, start="RANDOM"), **choices, **space)
    state = scattered(flock, spread, rounded)
    ours, theirs = steering.Stepper(flock, Traits(flock), 1).gather(state), reference.gather(state, flock)
    sure = certain(state, flock)
    for name in ours.vector:
        # float32 keeps seven digits of each part of a sum, whose parts may cancel: as large as the largest sum in the flock, at the least
        most = 1e-5 * (1 + np.abs(theirs.vector[name]).max(initial=0))
        assert ours.vector[name][sure] == pytest.approx(theirs.vector[name][sure], rel=1e-4, abs=most)
        assert ours.weight[name][sure] == pytest.approx(theirs.weight[name][sure], rel=1e-4, abs=1e-5)


@pytest.mark.usefixtures("all_together")
def test_a_flock_half_clumped_half_loose_finds_the_nearest_of_the_reference_with_any_number_of_threads():
    """Cells of several sizes are built for it: small ones for the clump, large ones for the loose and the lost."""
    flock = Settings(count=1500, start="RANDOM", spacing=3.0)
    state = spawn(flock)
    place = state.position.copy()
    place[:1000] *= 0.01
    place[-1] = 1e6
    state = replace(state, position=place)
    one, *others = (steering.Stepper(flock, Traits(flock), threads).gather(state) for threads in (1, 2, 8))
    theirs = reference.gather(state, flock)
    for name in RULES:
        for other in others:
            assert np.array_equal(one.vector[name], other.vector[name])
        most = 1e-5 * (1 + np.abs(theirs.vector[name]).max())
        assert one.vector[name] == pytest.approx(theirs.vector[name], rel=1e-4, abs=most)
        assert one.weight[name] == pytest.approx(theirs.weight[name], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("count", [60, 2000, 12000])
def test_a_line_of_boids_far_apart_is_spread_over_the_table(axis, count):
    """Each in a brick of its own: all that share a bucket are gone through for each of them."""
    flock = Settings(count=count, neighbours=0)
    place = np.zeros((count, 3))
    place[:, axis] = 1000.0 * np.arange(count)
    stepper = steering.Stepper(flock, Traits(flock), 1)
    stepper.gather(replace(spawn(flock), position=place))
    sizes = np.diff(stepper._grid.start)
    assert sizes.sum() == count
    # what is thrown into buckets at random seldom fills one beyond six standard deviations
    mean = count / len(sizes)
    assert sizes.max() <= mean + 6 * np.sqrt(mean) + 1


@numba.njit
def called(kernel, *args):
    """What a kernel does that only other kernels call."""
    return kernel(*args)


def test_with_whom_a_boid_shares_a_window_does_not_depend_on_boids_of_other_chunks():
    """Other threads mark those as done meanwhile: in a cell across two chunks, of which this one's boids are done already."""
    flock = Settings(count=6000, neighbours=7)
    stepper = steering.Stepper(flock, Traits(flock), 1)
    stepper.step(spawn(flock), Effectors().at(0), 1 / 24)
    order, ends = stepper._grid.order, stepper._grid.cell_end
    across = 0
    for chunk in range(1, flock.count // CHUNK):
        slot = CHUNK * chunk
        todo = np.ones(flock.count, np.uint8)
        todo[order[slot : ends[ends > slot].min()]] = 0
        found = []
        for others in (1, 0):
            todo[order[:slot]] = others
            homes = np.zeros((CHUNK, 7), np.int64)
            found.append(homes[: called(gather.homes_of, chunk, gather.SHARED, todo, stepper._grid, homes)].tolist())
        assert found[0] == found[1]
        across += slot not in ends
    assert across


@given(
    places=st.lists(st.sampled_from([-3.0, -1.0, 0.0, 1.0, 2.0]), max_size=70),
    limit=st.sampled_from([-1.0, 1.0, 4.0]),
    mine=st.integers(0, 70),
    edge=st.sampled_from([-2.0, 0.5]),
    rests=st.booleans(),
)
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("pick", [pairs.pick_bit_by_bit, pairs.pick])
def test_picking_takes_all_others_within_the_limit_who_are_seen_in_their_order(pick, places, limit, mine, edge, rests):
    """Along x, which is where the boid heads: who is behind it is not seen, who is in the same place is."""
    whole = -(-len(places) // LANES) * LANES
    window = np.zeros((6, whole), np.float32)
    window[0] = FAR
    window[0, : len(places)] = places
    sight = tuple(np.float32(one) for one in ((0, 0, 0, 1, edge) if rests else (1, 0, 0, 0, edge)))
    keys, found = np.empty(whole + 2 * LANES, np.float32), np.empty(whole + LANES, np.int32)
    nowhere = np.float32(0)
    number = called(pick, tuple(window), nowhere, nowhere, nowhere, sight, np.float32(limit), mine, keys, found)
    seen = [place >= 0 or edge < -1 or rests for place in places]
    expected = [at for at, place in enumerate(places) if place**2 <= limit and seen[at] and at != mine]
    assert list(found[:number]) == expected
    assert list(keys[:number]) == [places[at] ** 2 for at in expected]


@given(squares=st.lists(st.integers(0, 30), max_size=70), neighbours=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_the_nearest_are_chosen_in_their_order_or_it_says_that_it_cannot(squares, neighbours):
    number = len(squares)
    keys, found = np.zeros(number + LANES, np.float32), np.zeros(number + LANES, np.int32)
    keys[:number], found[:number] = squares, 100 + np.arange(number)
    chosen = np.full(pairs.MOST + LANES, -1, np.int32)
    known, cut = called(pairs.choose, number, neighbours, keys, found, chosen)
    ranked = sorted(squares)
    last, following = ranked[:neighbours][-1:], ranked[neighbours : neighbours + 1]
    assert known == ((number <= pairs.MOST and last != following) or not number)
    if known:
        near = [at for at, square in enumerate(squares) if last and square <= last[0]]
        assert list(chosen[: len(near)] - 100) == near
        assert cut == (following[0] if following else FAR * FAR)


# the whole step


def test_a_state_whose_part_is_replaced_is_flown_from_that_part():
    """A step leaves its boids record by record, and reads them so: never those from before a part was replaced."""
    flock = Settings(count=200, spacing=2.0)
    stepper, now = steering.Stepper(flock, Traits(flock), 1), Effectors().at(0)
    state = stepper.step(spawn(flock), now, 1 / 24)
    assert state.records is not None and state.stored() is state
    assert all(np.shares_memory(part, state.records) for part in steering.parts_of(state))
    moved = replace(state, position=state.position[::-1].copy())
    apart = State(*(part.copy() for part in steering.parts_of(moved)), moved.step)
    one, other = (stepper.step(start, now, 1 / 24) for start in (moved, apart))
    assert moved.records is None and np.array_equal(one.records, other.records)
    assert not np.array_equal(one.records, stepper.step(state, now, 1 / 24).records)


BUSY = Effectors(
    attractors=attractor((3.0, 8.0, 1.0), weight=1.5, radius=30.0, arrival=6.0),
    spheres=spheres([[0, 9, 0], [4, 12, 1]], [3, 2]),
)


@pytest.mark.parametrize("space", ["OPEN", "BOX"])
@pytest.mark.parametrize("neighbours", [0, 7])
@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf, 3e38])
def test_places_that_are_no_numbers_or_out_of_all_bounds_keep_no_step_from_its_end(
    place, neighbours, space, monkeypatch
):
    for count, some in itertools.product((7, 20, 300), (1, 3, 7)):
        flock = Settings(count=count, neighbours=neighbours, space=space, boundary="PERIODIC")
        state, stepper = spawn(flock), steering.Stepper(flock, Traits(flock), 1)
        state.position[:: count // some] = place
        monkeypatch.setattr(stepper, "_work", counted(stepper._work, most=30))
        with np.errstate(all="ignore"):
            assert len(stepper.step(state, Effectors().at(0), 1 / 24)) == count


def counted(function, most):
    """The function, which may be called so often."""
    left = iter(range(most))
    return lambda *args: (next(left), function(*args))


def test_a_pass_in_which_nobody_finds_its_neighbours_is_an_error_and_not_tried_for_ever(monkeypatch):
    flock = Settings(count=20)
    stepper = steering.Stepper(flock, Traits(flock), 1)
    monkeypatch.setattr(stepper, "_work", counted(lambda flight: None, most=30))
    with pytest.raises(FlockError, match="20 boids cannot find"):
        stepper.step(spawn(flock), Effectors().at(0), 1 / 24)


def step_of_both(flock, effectors=BUSY, wish=None):
    """One step of both engines from a flock that flies, and for whom nothing hangs on the last digits."""
    state = replace(scattered(flock, 0.9), step=30)
    ours, theirs = (
        module.Stepper(flock, Traits(flock)).step(state, effectors.at(0), 1 / 24, wish)
        for module in (steering, reference)
    )
    return ours, theirs, certain(state, flock)


def assert_same(ours, theirs, sure):
    for name in ("position", "velocity", "rotation", "flap"):
        one, other = getattr(ours, name), getattr(theirs, name)
        # a direction in which the wishes cancel is any direction: a few boids may differ
        wrong = sure & (np.abs(one - other).reshape(len(sure), -1).max(axis=1) > 1e-4)
        assert wrong.sum() <= 0.01 * sure.sum(), name


def test_in_a_periodic_box_narrower_than_the_reach_few_boids_find_one_another():
    """There is nobody further out to look for."""
    flock = replace(FLOCK, count=3, space="BOX", boundary="PERIODIC", space_size=(1.0, 2.0, 3.0))
    assert flock.count <= flock.neighbours
    assert_same(*step_of_both(flock, Effectors()))


steps = {name: st.sampled_from(CHOICES[name]) for name in ("blending", "integration", "avoidance")} | {
    "acceleration": st.sampled_from(steering.ACCELERATIONS),
    "attraction_steer": st.sampled_from(CHOICES["steer"]),
    "wander": st.sampled_from([0.0, 0.5]),
    "level_flight": st.sampled_from([0.0, 1.0]),
    "speed_control": st.sampled_from([0.0, 3.0]),
    "drag": st.sampled_from([0.0, 0.4]),
    "plane": st.booleans(),
    "start": st.sampled_from(CHOICES["start"]),
    "min_speed": st.sampled_from([0.0, 5.0]),
    "release_duration": st.sampled_from([0.0, 3.0]),
    "smoothing": st.sampled_from([0.0, 0.1]),
    "banking": st.sampled_from([0.0, 1.0]),
}


@given(
    choices=st.fixed_dictionaries(
        {
            **chosen,
            **steps,
            "separation": rules(),
            "alignment": rules(),
            "cohesion": rules(),
            "neighbours": st.integers(0, 9),
        }
    ),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=150, deadline=None)
def test_a_step_is_that_of_the_reference(choices, seed):
    flock = replace(Settings(count=120, seed=seed, spacing=2.0), **choices)
    assert steering.covers(flock, BUSY)
    assert_same(*step_of_both(flock))


def test_what_other_flocks_make_a_flock_want_comes_first():
    wish = np.linspace((-9.0, 4.0, 0.0), (3.0, -8.0, 20.0), FLOCK.count)
    assert_same(*step_of_both(replace(FLOCK, blending="PRIORITISED"), wish=wish))


@pytest.mark.parametrize("response", CHOICES["avoidance"])
@pytest.mark.parametrize("moves", [(0.0, 0.0, 0.0), (0.0, -0.4, 0.1)])
@pytest.mark.parametrize("grows", [0.0, 0.3])
@pytest.mark.parametrize("clearance", [0.0, 0.5])
def test_who_flies_into_a_sphere_is_kept_out_as_in_the_reference(response, moves, grows, clearance):
    """Boids all around a sphere, at it and by it at any speed: they hit, graze, start inside, or are overtaken by it."""
    rng = np.random.default_rng(1)
    count, centre = 400, np.array((1.0, 2.0, 3.0))
    flock = Settings(
        count=count,
        avoidance=response,
        clearance=clearance,
        look_ahead=0.3,
        neighbours=0,
        min_speed=0.0,
        max_speed=200.0,
    )
    direction = reference.unit(rng.normal(size=(count, 3)))
    place = centre + direction * rng.choice([1.5, 2.0, 2.0001, 2.3, 2.6, 4.0], (count, 1))
    velocity = rng.normal(size=(count, 3)) * rng.choice([0.5, 9.0, 100.0], (count, 1)) - 3 * direction
    state = replace(spawn(flock), position=np.float32(place), velocity=np.float32(velocity), step=30)
    effectors = Effectors(spheres=spheres([[centre], [centre + moves]], [[2.0], [2.0 + grows]]))
    ours, theirs = (
        module.Stepper(flock, Traits(flock)).step(state, effectors.at(0), 1 / 24) for module in (steering, reference)
    )
    inside = np.linalg.norm(ours.position.astype(float) - centre - moves, axis=1) < 2.0 + grows
    assert not inside.any()
    assert_same(ours, theirs, certain(state, flock))


class TestCovers:
    other: ClassVar = {int: 3, float: 0.375, bool: True, tuple: (2.0, 3.0, 4.0)}

    @pytest.mark.parametrize("name", [entry.name for entry in fields(Settings)])
    def test_every_setting_changes_the_compiled_step_as_it_does_the_reference(self, name):
        """Whether it is compiled or not: one that is neither compiled nor left to the reference would be ignored here."""
        default = getattr(FLOCK, name)
        values = CHOICES.get(name, CHOICES["steer"] if name == "attraction_steer" else ())
        for value in values or [self.other.get(type(default), replace(FLOCK.separation, radius=2.5, weight=3.0))]:
            if name in ("max_speed", "body_length", "count"):
                continue
            assert_same(*step_of_both(replace(FLOCK, **{name: not default if name == "plane" else value})))

    @pytest.mark.parametrize(
        "effectors",
        [
            Effectors(predators=Predators(np.zeros((1, 1, 3)), np.full((1, 1), 9.0), np.ones((1, 1)))),
            Effectors(planes=Planes(np.full((1, 1, 3), -3.0), np.array([[[0.0, 0.0, 1.0]]]))),
            Effectors(boxes=Boxes(np.zeros((1, 1, 3)), np.eye(3)[None, None], np.ones((1, 1, 3)))),
            Effectors(path=Path(np.array([[0.0, 0.0, 0.0], [0.0, 9.0, 0.0]]))),
        ],
    )
    def test_every_effector_is_heeded(self, effectors):
        assert_same(*step_of_both(FLOCK, effectors))


def test_after_the_warm_up_the_default_flock_compiles_nothing_more():
    steering.warm_up()
    compiled = [value for value in vars(kernel).values() if hasattr(value, "signatures")]
    before = [len(one.signatures) for one in compiled]
    flight("NUMBA", 3)
    assert sum(before) > 0
    assert [len(one.signatures) for one in compiled] == before
