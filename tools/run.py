# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make` starts: sets up an environment for each job under .venv, runs the jobs, and says how each of them ended.

It needs nothing but a Python with pip. Environments are shared between jobs (a Blender is 350 MB) and made anew only where what they
hold has changed. Several jobs run two at a time, each with its output in a file under out/log, which is shown as the job ends.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
DIST = ROOT / "dist"
OUT = ROOT / "out"

# The supported Blenders: the release that is tested, and the Python it is built for. Newest last.
BLENDERS = {"4.5": ("4.5.15", "3.11"), "5.2": ("5.2.3", "3.13"), "5.3": ("5.3.0", "3.13")}

NUMBA = next(line for line in (ROOT / "tools/wheels.txt").read_text().split() if line.startswith("numba=="))
TESTS = ["pytest==9.2.0", "hypothesis==6.170.17"]
RUFF = "ruff==0.17.6"
MYPY = ["mypy==2.4.1", "numpy", "pytest==9.2.0"]
FAKE_BPY = {"4.5": "fake-bpy-module-4.5==20260730", "latest": "fake-bpy-module-latest==20261026"}
PEERS = ["scipy", "matplotlib"]  # what the benchmarks measure against and draw with

CI = os.environ.get("CI") == "true"
AT_ONCE = min(2, os.cpu_count() or 1)

setting_up, building = threading.RLock(), threading.RLock()
"""One job at a time makes environments, and zips."""


class Output(threading.local):
    """Where the job of this thread writes; None is the terminal."""

    file: TextIO | None = None


output = Output()


class Missing(Exception):
    """This machine lacks what the job needs; the message says what."""


class Failed(Exception):
    """A command of the job ended with an error."""


# environments


def candidates(version: str) -> list[str]:
    """Where a Python of this version may be."""
    found = [sys.executable, *(shutil.which(name) for name in (f"python{version}", "python3", "python"))]
    found += sorted(str(path) for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return [path for path in found if path]


def interpreter(version: str) -> str:
    """A Python of this version that has pip and venv."""
    check = f"import sys, venv, pip; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    for path in candidates(version):
        if subprocess.run([path, "-c", check], capture_output=True, check=False).returncode == 0:
            return path
    raise Missing(f"it needs Python {version} with pip, and there is none here")


def any_interpreter(*versions: str) -> tuple[str, str]:
    """The first of these Pythons that is here, and its version."""
    for version in versions:
        try:
            return interpreter(version), version
        except Missing:
            continue
    raise Missing(f"it needs Python {' or '.join(versions)} with pip, and there is none here")


def environment(name: str, python: str, *packages: str) -> Path:
    """The Python of an environment of our own that holds these packages."""
    folder = VENV / name
    inside = folder / "bin" / "python"
    stamp = folder / "holds.txt"
    holds = "\n".join([python, *packages])
    with setting_up:
        if stamp.exists() and stamp.read_text() == holds:
            return inside
        say(f"setting up {folder.relative_to(ROOT)}: {' '.join(packages)}")
        run(python, "-m", "venv", "--clear", "--without-pip", folder)
        run(python, "-m", "pip", "--python", inside, "install", "--quiet", "--prefer-binary", *packages)
        stamp.write_text(holds)
    return inside


def blender(version: str) -> Path:
    """The Python of the environment with this Blender, and without numba, which must come from the zip."""
    release, python = BLENDERS[version]
    return environment(f"blender-{version}", interpreter(python), f"bpy=={release}", "pip", *TESTS)


def newest_blender() -> Path:
    """The newest Blender that some Python here can run."""
    for version in reversed(BLENDERS):
        try:
            return blender(version)
        except Missing:
            continue
    pythons = sorted({python for _, python in BLENDERS.values()})
    raise Missing(f"it needs Python {' or '.join(pythons)} with pip, and there is none here")


def every_blender() -> str:
    """Pairs VERSION=PYTHON of all Blenders whose Python is here, for tests that hand files from one to another."""
    found = []
    for version in BLENDERS:
        try:
            found.append(f"{version}={blender(version)}")
        except Missing:
            continue
    return os.pathsep.join(found)


# commands


def say(text: str) -> None:
    bold = output.file is None and sys.stdout.isatty()
    print(f"\033[1m{text}\033[0m" if bold else text, file=output.file, flush=True)


def run(*command: object, **extra: str) -> None:
    """Run a command in the project's folder, with extra environment variables; an error ends the job."""
    words, file = [str(word) for word in command], output.file
    if subprocess.run(words, cwd=ROOT, env={**os.environ, **extra}, stdout=file, stderr=file, check=False).returncode:
        raise Failed(" ".join(words))


def pytest(python: Path, *words: object, **extra: str) -> None:
    run(python, "-m", "pytest", *words, **extra)


def zips() -> dict[str, Path]:
    """The built zips by platform."""
    return {re.sub(r".*-([a-z]+)_(x64|arm64)$", r"\1", path.stem): path for path in DIST.glob("*.zip")}


# jobs


def lint() -> None:
    python = environment("lint", any_interpreter("3.13", "3.11")[0], RUFF)
    run(python, "-m", "ruff", "check")
    run(python, "-m", "ruff", "format", "--check")


def types(against: str) -> None:
    version = "3.11" if against == "4.5" else "3.13"
    python = environment(f"types-{against}", interpreter(version), *MYPY, FAKE_BPY[against])
    # The type checker takes a package's name from its folder's: a checkout may be called anything.
    package = VENV / "types" / "flock"
    package.parent.mkdir(exist_ok=True)
    if not package.exists():
        package.symlink_to(ROOT)
    run(python, "-m", "mypy", "-p", "flock.core", "-p", "flock.flock_addon", MYPYPATH=str(package.parent))


def core_numba() -> None:
    python = environment("core-numba", any_interpreter("3.13", "3.11")[0], "numpy", NUMBA, *TESTS)
    pytest(python, "tests/test_layout.py", "tests/core", "tests/bench")


def core_plain() -> None:
    python = environment("core-plain", any_interpreter("3.11", "3.13")[0], "numpy", *TESTS)
    pytest(python, "tests/core")


def build() -> None:
    with building:
        python = newest_blender()
        run(python, "tools/build.py")
        pytest(python, "tests/test_zip.py")


def addon(version: str, *words: str) -> None:
    python = blender(version)
    with building:  # also waits for a build under way
        if not zips():
            build()
    pytest(python, "tests/addon", *words, FLOCK_ZIP=str(zips()["linux"]), FLOCK_BLENDERS=every_blender())


def core_long() -> None:
    python = environment("core-numba", any_interpreter("3.13", "3.11")[0], "numpy", NUMBA, *TESTS)
    pytest(python, "tests/core", "tests/bench", "-m", "long")


def bench() -> None:
    python = environment("bench", any_interpreter("3.13", "3.11")[0], "numpy", NUMBA, *TESTS, *PEERS)
    extra: dict[str, str] = {}
    try:
        build()
        extra = {"FLOCK_BLENDER": str(newest_blender()), "FLOCK_ZIP": str(zips()["linux"])}
    except Missing as why:
        say(f"without Blender: {why}")
    run(python, "-m", "tests.bench", *options(), **extra)


def demo() -> None:
    python = newest_blender()
    run(python, "tools/build.py")
    run(python, "demo/demo.py", FLOCK_ZIP=str(zips()["linux"]))


def gui() -> None:
    driver = os.environ.get("FLOCK_GUI")
    if not driver:
        raise Missing("it needs the folder of the scripts that open Blender's window, in FLOCK_GUI")
    run(newest_blender(), "tools/build.py")
    (OUT / "gui").mkdir(parents=True, exist_ok=True)
    run(sys.executable, "tests/gui/shoot.py", driver, zips()["linux"], OUT / "gui")


JOBS = {
    "lint": lint,
    **{f"types-{against}": (lambda against=against: types(against)) for against in FAKE_BPY},
    "core-numba": core_numba,
    "core-plain": core_plain,
    "build": build,
    **{f"addon-{version}": (lambda version=version: addon(version)) for version in BLENDERS},
    "core-long": core_long,
    **{f"long-{version}": (lambda version=version: addon(version, "-m", "long")) for version in BLENDERS},
    "bench": bench,
    "demo": demo,
    "gui": gui,
}
TARGETS = {
    "test": [
        "lint",
        "build",
        *(f"types-{a}" for a in FAKE_BPY),
        *(f"addon-{v}" for v in BLENDERS),
        "core-numba",
        "core-plain",
    ],
    "test-long": ["core-long", *(f"long-{v}" for v in BLENDERS)],
}


def carry_out(name: str) -> tuple[str, bool]:
    """Run one job: how it ended in words, and whether that is an error."""
    try:
        JOBS[name]()
    except Missing as why:
        return f"NOT RUN: {why}", CI or name in sys.argv
    except Failed as why:
        return f"FAILED: {why}", True
    return "passed", False


def alone(name: str) -> tuple[str, bool]:
    """Run one job and show what it prints: its line of the summary, and whether it is an error."""
    say(f"== {name}")
    start = time.monotonic()
    words, error = carry_out(name)
    return f"{name:12} {time.monotonic() - start:6.0f} s  {words}", error


def beside_others(name: str) -> tuple[str, bool]:
    """The same, with all that it prints shown at its end."""
    log = OUT / "log" / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"== {name} begins: {log.relative_to(ROOT)}", flush=True)
    with log.open("w") as output.file:
        line, error = alone(name)
    output.file = None
    print(log.read_text() + line, flush=True)
    return line, error


def options() -> list[str]:
    """What stands behind the jobs' names on the command line, from the first dash on: it is for the job itself."""
    words = sys.argv[1:]
    return words[next((place for place, word in enumerate(words) if word.startswith("-")), len(words)) :]


def main(names: list[str]) -> int:
    wrong = [name for name in names if name not in JOBS and name not in TARGETS]
    if wrong or not names:
        print(f"Name a job: {', '.join([*TARGETS, *JOBS])}")
        return 2
    jobs = [job for word in names for job in TARGETS.get(word, [word])]
    if len(jobs) == 1:
        results = [alone(jobs[0])]
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(beside_others, jobs))
    print("", *(line for line, _ in results), sep="\n", flush=True)
    return 1 if any(error for _, error in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1 : len(sys.argv) - len(options())]))
