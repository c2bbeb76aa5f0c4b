# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole benchmark runs, with few boids, and leaves nothing out without a word."""

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("numba")

from tests.bench import measure, sizes
from tests.bench.targets import Measured, Row, rows

ALWAYS = (
    "the default",
    "time per boid",
    "7 nearest",
    "`stray`",
    "2 threads",
    "working memory",
    "other bits",
    "first step",
    "without the",
)
"""Rows that need nothing but numba."""

REASONS = {
    "the C++ step": "the C\\+\\+ step:",
    "scipy": "scipy",
    "memory": "peak memory:",
    "Blender's own Boids": "(all that needs )?Blender",
    "whole bake": "(all that needs )?Blender",
    "sampling": "(all that needs )?Blender",
    "playing": "(all that needs )?Blender|playing:",
}
"""For rows that need something else: how the sentence begins that says it is not here."""


def is_explained(row, missing):
    """Whether one of the sentences says why this row is empty."""
    (begin,) = [begin for words, begin in REASONS.items() if words in row["what"]]
    return any(re.match(begin, why) for why in missing)


@pytest.mark.long
def test_a_quick_run_gives_every_row(tmp_path):
    file = tmp_path / "speed.json"
    command = [sys.executable, "-m", "tests.bench", "--quick", "--threads", "1", "2", "--json", str(file)]
    done = subprocess.run(command, cwd=measure.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(file.read_text())
    for row in content["rows"]:
        assert row["what"] in done.stdout
        if any(words in row["what"] for words in ALWAYS):
            assert row["measured"] and row["met"] is not None, row
        assert row["measured"] or is_explained(row, content["missing"]), (row, content["missing"])
    assert content["machine"] in done.stdout
    for why in content["missing"]:
        assert f"left out: {why}" in done.stdout
    assert file.with_suffix(".png").exists() == ("the plot" not in " ".join(content["missing"]))


def test_every_row_that_needs_more_than_numba_can_be_explained():
    measured, size = Measured(), sizes.QUICK
    empty = [{"what": row.what} for row in rows(measured, size) if not any(words in row.what for words in ALWAYS)]
    assert len(empty) > 5
    for row in empty:
        assert not is_explained(row, ["the plot: there is no matplotlib"])
    missing = [
        "the C++ step: there is none in /x (FLOCK_LIMIT names its folder)", "scipy", "peak memory: this system does not tell it",
        "all that needs Blender: there is no Python with bpy here (FLOCK_BLENDER names one)",
    ]  # fmt: skip
    assert all(is_explained(row, missing) for row in empty)
    assert [row["what"] for row in empty if not is_explained(row, missing[1:])] == [
        row["what"] for row in empty if "C++" in row["what"]
    ]


def test_a_target_is_met_on_every_number_of_threads_or_not_at_all():
    assert Row("x", {"1": 1.0, "2": 1.1}, 1.1).met
    assert Row("x", {"1": 1.0, "2": 1.2}, 1.1).verdict == "not met"
    assert Row("x", {"1": 30.0, "2": 20.0}, 25, at_least=True).met is False
    assert Row("x", {"1": 0.8, "2": 0.9}, 1.1, stretch=0.9).verdict == "met, stretch too"
    assert Row("x", {}, 1.1).verdict == "left out"


def test_ratios_are_of_the_same_number_of_threads():
    measured = Measured()
    measured.add({"milliseconds": {"100": {"plain": {1: 4.0, 2: 2.0}, "C++": {1: 8.0}}}})
    assert measured.ratio("100", "plain", "C++") == {"1": 0.5}
    assert measured.ratio("100", "scipy", "plain") == {}
