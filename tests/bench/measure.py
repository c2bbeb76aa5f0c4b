# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures time and memory, asks other processes to, and says on what machine."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.simulation import cores

ROOT = Path(__file__).resolve().parents[2]

ANSWER = "ANSWER: "


class Missing(Exception):
    """What is to be measured is not here; the message says what."""


# time


@dataclass(frozen=True)
class Patience:
    """How long is measured."""

    turns: int = 9
    at_least: float = 0.05
    """Seconds of each turn: what is quicker is called several times, so that what the others left in the cache does not count."""
    at_most: float = 15.0
    """Seconds that one of several takes before it is left out of further turns."""


PAUSE = 0.02
"""Seconds between two who are measured: the threads of OpenMP look for work for a moment, on a core that the next one needs."""


def interleaved(
    runs: Mapping[str, Callable[[], object]],
    patience: Patience,
    before: Mapping[str, Callable[[], object]] = MappingProxyType({}),
) -> dict[str, float]:
    """Median milliseconds of one call of each; all are called in turns, so that a busy machine is busy for all.

    Args:
        before: what each of them needs beforehand in every turn, which is not measured.
    """
    calls = dict.fromkeys(runs, 1)
    times: dict[str, list[float]] = {name: [] for name in runs}
    spent = dict.fromkeys(runs, 0.0)
    for turn in range(patience.turns):
        for name, run in runs.items():
            if spent[name] > patience.at_most:
                continue
            before.get(name, int)()
            if turn == 0:
                run()  # may have to compile
            time.sleep(PAUSE)
            took = seconds(run, calls[name])
            spent[name] += took
            times[name].append(took / calls[name] * 1e3)
            if turn == 0:
                calls[name] = max(1, math.ceil(patience.at_least / took))
    return {name: statistics.median(taken) for name, taken in times.items()}


def seconds(run: Callable[[], object], calls: int = 1) -> float:
    """What so many calls take."""
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - begin


# memory


def peak_bytes(run: Callable[[], object]) -> int:
    """How far this process grows while it runs.

    Raises:
        Missing: this system does not tell.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = _status("VmRSS")
        run()
        return _status("VmHWM") - before
    except OSError as error:
        raise Missing(f"peak memory: this system does not tell it ({error})") from error


def _status(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


# other processes


def ask(module: str, *words: object, python: str | Path = sys.executable, **extra: str) -> Any:
    """What a module of this package answers in a process of its own.

    Raises:
        Missing: it says that it lacks something.
        SystemExit: it failed, and has said why.
    """
    command = [str(python), "-m", f"tests.bench.{module}", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | extra, stdout=subprocess.PIPE, text=True, check=False)
    answers = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if done.returncode or not answers:
        raise SystemExit(f"{done.stdout}\n{' '.join(command)} ended with {done.returncode}: nothing is reported")
    result = json.loads(answers[-1].removeprefix(ANSWER))
    if "missing" in result:
        raise Missing(result["missing"])
    return result


def answer(make: Callable[[], Mapping[str, Any]]) -> None:
    """Says what is asked for, or what is missing for it."""
    try:
        result = make()
    except Missing as why:
        result = {"missing": str(why)}
    print(ANSWER + json.dumps(result), flush=True)


# the machine


def machine() -> str:
    """In one line."""
    import numba
    import numpy as np

    versions = f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    return f"{_processor()}, {cores()} cores, {_memory()}{platform.system()}, {versions}"


def load() -> float:
    """Processes that want to run, mean of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _processor() -> str:
    """Its name, and the widest vectors it has."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    name = re.search(r"model name\s*: (.+)", text)
    wide = next((f" ({flag.upper()})" for flag in ("avx512f", "avx2") if flag in text.split()), "")
    return (name[1] if name else platform.machine()) + wide


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB, "
    except (AttributeError, ValueError):
        return ""
