# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernels do with sixteen numbers at a time, and the windows that are filled with it, against numpy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

numba = pytest.importorskip("numba")
llvm = pytest.importorskip("llvmlite.binding")

from core import lanes, window  # noqa: E402
from core.gather import scratch_for  # noqa: E402
from core.hash_grid import PADDING  # noqa: E402
from core.lanes import FAR, LANES  # noqa: E402
from core.state import RECORD  # noqa: E402

SOME = np.random.default_rng(0).normal(size=(LANES, LANES)).astype(np.float32)


@numba.njit
def folded(table, totals, least):
    sums = lanes.totals((lanes.load(table, 0), lanes.load(table, 16), lanes.load(table, 32)))
    lows = lanes.least((lanes.load(table, 0), lanes.load(table, 16), lanes.load(table, 32)))
    lanes.store(totals, 0, sums)
    lanes.store(least, 0, lows)


def test_the_lanes_of_several_are_folded_into_one_number_each():
    totals, least = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    folded(SOME.reshape(-1), totals, least)
    assert totals[:3] == pytest.approx(SOME[:3].sum(axis=1, dtype=float), abs=1e-5)
    assert np.array_equal(least[:3], SOME[:3].min(axis=1))


@numba.njit
def inverted(numbers, found):
    lanes.store(found, 0, lanes.inverse(lanes.load(numbers, 0)))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_inverse_is_good_to_a_16_000th(scale):
    """What Intel and AMD promise of the estimate: 2^-14."""
    numbers, found = (scale * (0.1 + SOME[0] ** 2)).astype(np.float32), np.zeros(LANES, np.float32)
    inverted(numbers, found)
    assert found == pytest.approx(1 / numbers.astype(float), rel=2.0**-14, abs=0.0)


@numba.njit(fastmath=lanes.FAST, error_model="numpy")
def roots(numbers, found):
    for index in range(len(numbers)):
        found[index] = lanes.root(numbers[index])


def test_the_root_is_good_to_float32():
    numbers = np.concatenate(([0.0], np.logspace(-22, 30, 320))).astype(np.float32)
    found = np.full(len(numbers), np.nan, np.float32)
    roots(numbers, found)
    assert found[0] == 0
    assert found[1:] == pytest.approx(np.sqrt(numbers[1:].astype(float)), rel=4e-7, abs=0.0)


@numba.njit
def turned(source, rows, target, columns, high, wide):
    lanes.transpose(source, rows, target, columns, high, wide)


@given(high=st.integers(0, LANES), wide=st.integers(0, LANES))
@settings(max_examples=50, deadline=None)
def test_a_table_is_transposed_and_nothing_else_is_touched(high, wide):
    rows, columns = np.arange(LANES) * LANES, np.arange(LANES)[::-1] * 20
    target = np.full(20 * LANES, 7, np.float32)
    turned(SOME.reshape(-1), rows, target, columns.copy(), high, wide)
    expected = np.full((LANES, 20), 7, np.float32)
    expected[:wide, :high] = SOME[:high, :wide].T
    assert np.array_equal(target.reshape(LANES, 20)[::-1], expected)


@numba.njit
def filled(fill, near, names, number, runs, packed, begin, end, around):
    """A window for the boids from `begin` to `end`."""
    box = window.box_around(begin, end, packed)
    shift = window.bring_home_first(begin, number, runs)
    return fill(near, names, number, runs, packed, True, box, around), shift


@pytest.mark.parametrize("fill", [window.fill, window.fill_whole])
@given(seed=st.integers(0, 1000), around=st.sampled_from([0.0, 0.5, 2.0]))
@settings(max_examples=40, deadline=None)
def test_a_window_holds_the_home_run_and_whoever_is_near_the_box_once(fill, seed, around):
    random = np.random.default_rng(seed)
    count, room = 300, 400
    packed = np.zeros((RECORD, count + PADDING), np.float32)
    packed[:, :count] = random.normal(size=(RECORD, count))
    edges = np.sort(random.choice(count, 8, replace=False))
    runs = np.zeros(40, np.int64)
    runs[:8] = edges  # four runs, as it comes: some empty of what is near, some longer than the lanes
    home = random.integers(4)
    begin, end = edges[2 * home], min(edges[2 * home] + 6, edges[2 * home + 1])
    near, names = np.full(6 * room, np.nan, np.float32), np.zeros(room, np.int32)
    size, shift = filled(fill, near, names, 4, runs, packed.reshape(-1), begin, end, np.float32(around))
    assert shift == 0
    asked = np.concatenate([np.arange(*edges[2 * run : 2 * run + 2]) for run in range(4)])
    place, low, high = packed[:3, asked], packed[:3, begin:end].min(axis=1), packed[:3, begin:end].max(axis=1)
    outside = np.maximum(np.maximum(low[:, None] - place, place - high[:, None]), 0)
    wanted = set(asked[(outside**2).sum(axis=0) <= around**2]) | set(range(edges[2 * home], edges[2 * home + 1]))
    found = names[:size]
    assert len(set(found)) == size
    assert wanted <= set(found) <= set(asked)
    if fill is not window.fill_whole:
        assert set(found) == wanted
    near = near.reshape(6, room)
    assert np.array_equal(near[:, :size], packed[:6, found])
    assert (near[:3, size : size + LANES] == FAR).all() and (near[3:, size : size + LANES] == 0).all()


def test_no_array_begins_across_two_pages_of_memory():
    """Else a process in ten finds its nearest boids at half the speed."""
    kept = [scratch_for(7, room) for room in range(1000, 1100)]
    begins = [array.ctypes.data % 4096 for scratch in kept for array in scratch if array.size]
    assert max(begins) <= 4096 - 256 and {begin % 64 for begin in begins} == {0}


PROCESSORS = {"generic": "", "haswell": "+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt"}
"""One that any other of this kind can stand in for, and one with lanes half as wide: their names and features."""


@pytest.fixture(params=PROCESSORS)
def on_processor(request, tmp_path):
    """Runs tests with the code for another processor: with other branches, and lanes that go in several parts."""
    host = llvm.get_host_cpu_features()
    features = PROCESSORS[request.param]
    if not all(host.get(feature.removeprefix("+"), False) for feature in features.split(",") if feature):
        pytest.skip(f"this processor cannot stand in for a {request.param}")

    def run(tests: Path) -> None:
        environment = os.environ | {
            "NUMBA_CPU_NAME": request.param, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path),
        }  # fmt: skip
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "not other_processors",
            str(tests),
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout

    return run


def test_the_lanes_work_on_other_processors(on_processor):
    on_processor(Path(__file__))


@pytest.mark.long
def test_a_step_works_on_other_processors(on_processor):
    on_processor(Path(__file__).with_name("test_steering.py"))
