# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmark measures in Blender can be measured."""

import math

import pytest

from tests.bench import measure

PARTS = {
    "boids": {"Blender": ["any"], "default": ["1", "2"], "plain": ["1", "2"]},
    "bake": {"bake": ["1", "2"], "steps": ["1", "2"]},
    "sampling": {"empty": ["any"], "heavy": ["any"]},
    "playing": {"ours": ["2"], "fewest": ["2"]},  # a process for each number of cores
}


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_every_part_gives_a_time_for_each_who_is_measured(part, tmp_path):
    threads = {number for run in PARTS[part].values() for number in run} - {"any"} or {"1"}
    words = ["--quick", "--threads", *sorted(threads), "--folder", tmp_path]
    times = measure.ask("in_blender", part, *words)["milliseconds"][part]
    assert {name: list(values) for name, values in times.items()} == PARTS[part]
    assert all(value > 0 and math.isfinite(value) for values in times.values() for value in values.values())
