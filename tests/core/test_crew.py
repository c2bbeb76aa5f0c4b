# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that stay awake from step to step: whoever helps, and whatever goes wrong, the bits stay the same."""

import gc
import time
from dataclasses import replace
from threading import Event, Thread
from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from core import Effectors, Settings, Traits, spawn
from core.effectors import attractor, spheres

pytest.importorskip("numba")
from core import crew, steering
from core.counters import ASLEEP, HELPERS, STRIDE, WORKING
from core.motion import CHUNK

pytestmark = pytest.mark.usefixtures("all_together")

FLOCK = Settings(count=1500, spacing=2.0)
AROUND = Effectors(attractors=attractor((0.0, 40.0, 0.0)), spheres=spheres([[0, 25, 0]], [3])).at(0)
DT = 1 / 48


def flown(stepper, state, steps, around=AROUND):
    for _ in range(steps):
        state = stepper.step(state, around, DT)
    return state


def helpers(stepper):
    """What each of its helpers does."""
    (flight,) = stepper._flights.values()
    return flight.board[HELPERS + STRIDE :: STRIDE]


@pytest.mark.parametrize("threads", [2, 5])
def test_helpers_fall_asleep_and_are_woken_without_a_difference(threads):
    alone = flown(steering.Stepper(FLOCK, Traits(FLOCK), 1), spawn(FLOCK), 6)
    together, state = steering.Stepper(FLOCK, Traits(FLOCK), threads), spawn(FLOCK)
    for _ in range(3):
        state = flown(together, state, 2)
        until = time.monotonic() + 10
        while (helpers(together) != ASLEEP).any() and time.monotonic() < until:
            time.sleep(0.01)
        assert (helpers(together) == ASLEEP).all()
    assert np.array_equal(state.records, alone.records)


@pytest.mark.parametrize("threads", [1, 3])
def test_steps_of_other_shapes_fly_as_if_each_were_the_first(threads):
    """Obstacles and wishes that come and go, and pair sums in between: nothing is left of the step before."""
    bare, wish = Effectors().at(0), np.tile(np.float32((0.0, 0.0, 1.0)), (FLOCK.count, 1))
    ways = ((AROUND, None), (bare, None), (AROUND, wish), (bare, wish), (AROUND, None))
    stepper, state = steering.Stepper(FLOCK, Traits(FLOCK), threads), spawn(FLOCK)
    for around, wished in ways:
        first = steering.Stepper(FLOCK, Traits(FLOCK), 1).step(state, around, DT, wished)
        state = stepper.step(state, around, DT, wished)
        assert np.array_equal(state.records, first.records)
        sums, own = stepper.gather(state), steering.Stepper(FLOCK, Traits(FLOCK), 1).gather(state)
        assert np.array_equal(sums.vector["cohesion"], own.vector["cohesion"])


@pytest.mark.parametrize("who", [0, 1])
def test_after_an_error_in_any_thread_the_next_step_is_flown_as_if_nothing_had_been(monkeypatch, who):
    expected = flown(steering.Stepper(FLOCK, Traits(FLOCK), 1), spawn(FLOCK), 3)
    stepper = steering.Stepper(FLOCK, Traits(FLOCK), 2)
    state, work, failed = flown(stepper, spawn(FLOCK), 2), crew.kernel.work, []

    def fails(number, board, *others):
        if number == who and not failed:
            if who:
                board[HELPERS + STRIDE] = WORKING  # at work, and never done
            failed.append(number)
            raise MemoryError("no room")
        return work(number, board, *others)

    time.sleep(0.2)  # who helps is asleep
    monkeypatch.setattr(crew.kernel, "work", fails)
    with pytest.raises(MemoryError, match="no room"):
        flown(stepper, state, 100)
    assert np.array_equal(stepper.step(state, AROUND, DT).records, expected.records)


def test_memory_is_used_again_once_nobody_looks_at_any_part_of_it():
    stepper, state = steering.Stepper(FLOCK, Traits(FLOCK), 1), spawn(FLOCK)
    first = stepper.step(state, AROUND, DT)
    part, kept, place = first.flap[3:], first.flap[3:].copy(), first.records.ctypes.data
    del first
    assert all(stepper.step(state, AROUND, DT).records.ctypes.data != place for _ in range(4))
    assert np.array_equal(part, kept)
    del part
    others = [stepper.step(state, AROUND, DT) for _ in range(4)]
    assert place in [other.records.ctypes.data for other in others]


def test_a_flock_of_another_size_gets_memory_of_that_size():
    stepper = steering.Stepper(FLOCK, Traits(FLOCK), 2)
    few = spawn(replace(FLOCK, count=700))
    for state in (spawn(FLOCK), few, spawn(FLOCK)):
        alone = steering.Stepper(replace(FLOCK, count=len(state)), Traits(replace(FLOCK, count=len(state))), 1)
        bare = Effectors().at(0)
        sums, own = stepper.gather(state), alone.gather(state)
        assert len(flown(alone, state, 2, bare)) == len(state)
        assert np.array_equal(sums.vector["separation"], own.vector["separation"])


def test_all_threads_take_part():
    """As many as there are chunks for, and no more."""
    stepper, state = steering.Stepper(FLOCK, Traits(FLOCK), 9), spawn(FLOCK)
    until = time.monotonic() + 60
    _, *others = helped = [worker._scratch.boids for worker in (stepper._crew._lead, *stepper._crew._helpers)]
    chunks = -(-FLOCK.count // CHUNK)
    while not all(boids.any() for boids in others[: chunks - 1]) and time.monotonic() < until:
        state = stepper.step(state, AROUND, DT)
    assert [bool(boids.any()) for boids in helped] == [number < chunks for number in range(9)]


def test_memory_stays_while_somebody_is_at_work_on_it_after_an_error(monkeypatch):
    stepper, work, begun, goes_on = steering.Stepper(FLOCK, Traits(FLOCK), 2), crew.kernel.work, Event(), Event()
    state = flown(stepper, spawn(FLOCK), 1)
    time.sleep(0.2)  # who helps is asleep

    def is_interrupted(number, *others):
        if number:
            begun.set()
            goes_on.wait(60)
            return work(number, *others)
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(crew.kernel, "work", is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        stepper.step(state, AROUND, DT)
    memory = stepper._memory
    del state, stepper
    gc.collect()
    assert not memory._spare
    goes_on.set()
    until = time.monotonic() + 60
    while len(memory._spare) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(memory._spare) == 2  # that of the state before, and of the one after


def test_a_helper_is_heard_that_fails_while_it_looks_out_for_another_flight_as_well(monkeypatch):
    stepper, work = steering.Stepper(FLOCK, Traits(FLOCK), 3), crew.kernel.work
    first, second = spawn(FLOCK), Event()

    def fails(number, board, *others):
        if number != 1:
            return work(number, board, *others)
        if not second.is_set():
            second.wait(60)
            board[HELPERS + STRIDE] = WORKING  # at work, and never done
            raise MemoryError("no room")
        return work(number, board, *others)

    monkeypatch.setattr(crew.kernel, "work", fails)
    state = stepper.step(first, AROUND, DT)  # who helps is about to look out for a call
    stepper.gather(state)  # and for one of another flight
    second.set()
    with pytest.raises(MemoryError, match="no room"):
        flown(stepper, state, 100)


def steps_alone(pace, together, alone=1.0, steps=3000):
    """Which of the steps are flown alone, when steps take so long."""
    found = []
    for step in range(steps):
        found.append(not pace.together)
        pace.learn(together(step) if pace.together else alone)
    return np.flatnonzero(found)


PACE = crew.Pace  # the fixture puts another in its place


def test_threads_that_are_faster_together_fly_together_but_for_a_look_now_and_then():
    alone = steps_alone(PACE(2), lambda step: 0.6)
    assert list(alone) == [*range(4), *range(4 + 1024, 8 + 1024), *range(8 + 2048, 12 + 2048)]


def test_one_slow_step_changes_nothing_and_many_do():
    assert len(steps_alone(PACE(2), lambda step: 6.0 if step % 100 == 50 else 0.5, steps=500)) == 4
    assert len(steps_alone(PACE(2), lambda step: 6.0 if step % 10 == 5 else 0.5)) > 2000


@pytest.mark.parametrize("slow", [1.1, 5.0, 1000.0])
def test_threads_that_are_slower_together_fly_ever_more_steps_alone(slow):
    alone = steps_alone(PACE(2), lambda step: slow)
    assert 3000 - len(alone) < 0.15 * 3000
    assert len(alone[alone >= 2500]) > 0.9 * 500


def test_they_fly_together_again_soon_after_the_core_is_free():
    pace = PACE(2)
    steps_alone(pace, lambda step: 5.0, steps=2000)
    assert len(steps_alone(pace, lambda step: 0.5, steps=1000)) <= PACE.MANY + 4


def test_a_flock_that_becomes_slower_is_measured_anew():
    """Steps of twice the time, alone and together, are no reason to fly alone for long."""
    pace = PACE(2)
    steps_alone(pace, lambda step: 0.6)
    assert len(steps_alone(pace, lambda step: 1.2, alone=2.0, steps=1000)) <= 20


@pytest.mark.parametrize("given", [0, 1, 2])
def test_where_the_system_gives_no_more_threads_those_who_are_there_fly_on(monkeypatch, given):
    expected = flown(steering.Stepper(FLOCK, Traits(FLOCK), 1), spawn(FLOCK), 5)
    stepper, start, left = steering.Stepper(FLOCK, Traits(FLOCK), 5), Thread.start, iter(range(given))

    def may_start(thread):
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", may_start)
    before = set(enumerate_threads())
    assert np.array_equal(flown(stepper, spawn(FLOCK), 5).records, expected.records)
    monkeypatch.undo()
    until = time.monotonic() + 20
    while set(enumerate_threads()) - before and time.monotonic() < until:
        time.sleep(0.01)
    assert not set(enumerate_threads()) - before  # nobody waits for a call that never comes
