# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers are timed only where they do the same work: what is compared would tell if they did not."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba")

from tests.bench import measure, peers, workloads

COUNT = 600


def neighbours(state, reach=1.0):
    """Number of boids within reach of each, by all pairs."""
    offset = state.position[:, None] - state.position[None]
    return (np.linalg.norm(offset, axis=-1) < reach).sum(axis=1) - 1


def test_all_peers_agree_about_a_step():
    loose = workloads.uniform(COUNT)
    steps = {"plain": peers.ours(workloads.PLAIN, loose, 1), "reference": peers.in_reference(loose)}
    for name, make in {"scipy": peers.in_scipy, "C++": peers.in_cpp}.items():
        try:
            steps[name] = make(loose)
        except measure.Missing:
            continue
    peers.compare(steps)


def test_a_neighbour_that_is_missed_is_noticed():
    loose, fewer = workloads.uniform(COUNT), workloads.uniform(COUNT)
    lost = int(np.argmax(neighbours(loose)))
    fewer.position[lost] += 1000.0
    around = np.linalg.norm(loose.position - loose.position[lost], axis=1) < 1.0
    whole, missing = peers.in_reference(loose)(), peers.in_reference(fewer)()
    apart = [abs(one - other).max(axis=1) > peers.TOLERANCE for one, other in zip(whole, missing, strict=True)]
    assert apart[1][around].mean() > 0.9 and not apart[1][~around].any()
    with pytest.raises(SystemExit, match="disagree about"):
        peers.compare({"plain": lambda: whole, "window that misses one": lambda: missing})


@pytest.mark.parametrize("count", [1000, 3001])
def test_workloads_are_what_their_names_say(count):
    inside = np.abs(workloads.uniform(count).position - np.median(workloads.uniform(count).position, axis=0)).max(
        axis=1
    )
    core = inside < inside.max() - 1.0  # those whose whole reach lies inside the cube
    assert neighbours(workloads.uniform(count))[core].mean() == pytest.approx(workloads.NEIGHBOURS, rel=0.1)
    assert (neighbours(workloads.clumped(count)) == count - 1).all()
    half = neighbours(workloads.half_clumped(count))
    assert (half[1::2] >= count // 2 - 1).all() and np.median(half[::2]) < workloads.NEIGHBOURS
    assert neighbours(workloads.stray(count))[0] == 0


@pytest.fixture
def clock(monkeypatch):
    """A clock of milliseconds, [now], that the runs themselves put on."""
    now = [0.0]
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: now[0] / 1e3, sleep=lambda _: None))
    return now


def test_medians_are_of_single_calls_taken_in_turns(clock):
    order, lasts = [], {"a": iter([900.0, 7.0, 100.0, 9.0]), "b": iter([900.0, 3.0, 1.0, 5.0])}  # the first compiles

    def run(name):
        order.append(name)
        clock[0] += next(lasts[name])

    def prepare():
        order.append("before b")
        clock[0] += 50.0

    patience = measure.Patience(turns=3, at_least=0.0)
    times = measure.interleaved({"a": lambda: run("a"), "b": lambda: run("b")}, patience, {"b": prepare})
    assert times == pytest.approx({"a": 9.0, "b": 3.0})
    assert order == ["a", "a", "before b", "b", "b"] + ["a", "before b", "b"] * 2


def test_what_is_quick_is_called_several_times_and_what_is_slow_is_left_out(clock):
    calls = {"quick": 0, "slow": 0}

    def run(name, milliseconds):
        calls[name] += 1
        clock[0] += milliseconds

    patience = measure.Patience(turns=4, at_least=0.05, at_most=0.5)
    times = measure.interleaved({"quick": lambda: run("quick", 4.0), "slow": lambda: run("slow", 400.0)}, patience)
    assert times == pytest.approx({"quick": 4.0, "slow": 400.0})
    assert calls == {"quick": 2 + 3 * 13, "slow": 3}  # 13 times 4 ms are the first above 50; twice 400 ms are above 500


def test_peak_memory_counts_what_is_given_back():
    def run():
        np.ones(4_000_000).sum()

    try:
        assert 31e6 < measure.peak_bytes(run) < 36e6  # 4 million float64
    except measure.Missing as why:
        pytest.skip(str(why))
