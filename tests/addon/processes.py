# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a script in a Blender of its own, with a user folder of its own, and hands back what it answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

MODULE = "bl_ext.user_default.flock"

PRELUDE = '''
import importlib, json, sys
from pathlib import Path
import bpy
import addon_utils

MODULE = "bl_ext.user_default.flock"

def install(path):
    """Install a zip as the user does; whether it is enabled then."""
    bpy.ops.extensions.package_install_files(filepath=str(path), repo="user_default", enable_on_install=True)
    return MODULE in bpy.context.preferences.addons

def enable():
    """Enable what an earlier process installed: Blender as a module reads no preferences."""
    addon_utils.extensions_refresh()
    addon_utils.enable(MODULE, default_set=True)

def uninstall(name="flock"):
    repos = [repo.module for repo in bpy.context.preferences.extensions.repos]
    bpy.ops.extensions.package_uninstall(repo_index=repos.index("user_default"), pkg_id=name)

def own(name):
    return importlib.import_module(MODULE + ".flock_addon." + name)

def new_flock(count=100, frames=10):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = frames
    bpy.ops.flock.new()
    flock = bpy.context.object
    flock.flock.count = count
    flock.flock.pre_roll = 0.5
    return flock

def record(flock):
    """What a baked clip says of itself."""
    return own("clip").record(flock.data)

def matrices(*frames):
    """Every instance's matrix at some frames, exact to the bit."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        found.append([[x.hex() for row in i.matrix_world for x in row] for i in depsgraph.object_instances if i.is_instance])
    return found

def answer(**values):
    print("ANSWER:", json.dumps(values))
'''


def blender(
    script: str, user: Path, *arguments: object, python: str = sys.executable, within: tuple[str, ...] = ()
) -> Any:
    """Run a script after the prelude, in an empty folder that Blender takes for the user's.

    Returns:
        The keywords that the script gave to `answer`, and `printed`: all that was printed.
    """
    done = _run(script, user, *arguments, python=python, within=within)
    printed = done.stdout + done.stderr
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER: ")]
    assert done.returncode == 0, printed
    assert answers, printed
    return json.loads(answers[-1].removeprefix("ANSWER: ")) | {"printed": printed}


def killed(script: str, user: Path, *arguments: object) -> None:
    """Run a script that ends its own process by `kill -9`."""
    done = _run(script, user, *arguments)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


def _run(
    script: str, user: Path, *arguments: object, python: str = sys.executable, within: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    user.mkdir(exist_ok=True)
    foreign = (
        "BLENDER_",
        "PYTEST_",
        "PYTHONDONTWRITEBYTECODE",
    )  # a user's Blender keeps the bytecode of its extensions
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.run(
        [*within, python, "-c", PRELUDE + script, *map(str, arguments)],
        env=environment | {"BLENDER_USER_RESOURCES": str(user)},
        capture_output=True,
        text=True,
        check=False,
    )


def works(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def without_network() -> tuple[str, ...]:
    """The start of a command whose process has no network, where this system allows that; else nothing."""
    cut = ("unshare", "--map-root-user", "--net")
    return cut if works(*cut, "true") else ()


def with_read_only(folder: Path) -> tuple[str, ...]:
    """The start of a command for whose process a folder is read-only, even for root, where this system allows that."""
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    cut = ("unshare", "--map-root-user", "--mount", "sh", "-c", script, str(folder))
    return cut if works(*cut, "true") else ()


def anonymous_bytes() -> int:
    """Memory of this process that no file stands behind, by /proc."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def with_small(folder: Path, size: str) -> tuple[str, ...]:
    """The start of a command for whose process a folder is a disk of this size, where this system allows that."""
    script = 'mount -t tmpfs -o size="$0" flock "$1" && shift && exec "$@"'
    cut = ("unshare", "--map-root-user", "--mount", "sh", "-c", script, size, str(folder))
    return cut if works(*cut, "true") else ()
