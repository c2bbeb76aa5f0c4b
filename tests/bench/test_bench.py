# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole benchmark runs, with few boids, and leaves nothing out without a word."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("numba")

from tests.bench import measure
from tests.bench.targets import Measured, Row

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
        assert row["measured"] or content["missing"]
    assert content["machine"] in done.stdout
    for why in content["missing"]:
        assert f"left out: {why}" in done.stdout
    assert file.with_suffix(".png").exists() == ("the plot" not in " ".join(content["missing"]))


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
