# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine of a bake: numba, compiled once on a machine by a process of its own, so that the window lives and can be closed meanwhile.

numba is not imported before a bake needs it, and where it cannot be used the reference flies.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from ..core import simulation

log = logging.getLogger(__name__)

CORE = simulation.__package__ or ""
SOURCES = Path(simulation.__file__).parent
DONE = "compiled.json"
"""Beside compiled code: that it is complete, and what it was compiled from."""

# Our modules get the names that they have in Blender, for what is compiled remembers them; their parents are empty there.
_COMPILE = """
import importlib, json, os, sys, threading, types
def end_with_blender():
    sys.stdin.read()  # until Blender closes it, in whatever way it ends
    os._exit(1)
threading.Thread(target=end_with_blender, daemon=True).start()
told = json.loads(sys.argv[1])
assert sys.version == told["python"]
sys.path[:] = told["path"]
parts = told["core"].split(".")
for end in range(1, len(parts)):
    parent = sys.modules[".".join(parts[:end])] = types.ModuleType(".".join(parts[:end]))
    parent.__path__ = []
parent.__path__ = [told["folder"]]
from numba.core import config
config.CACHE_DIR = told["cache"]
importlib.import_module(told["core"] + ".steering").warm_up()
with open(told["done"], "w") as file:
    json.dump(told["stamp"], file)
"""


class Engine:
    """What is known of numba on this machine."""

    def __init__(self) -> None:
        self._name = ""
        """Of the one that has been loaded."""
        self.problem = ""
        """A sentence where the flock flies without numba."""
        self._process: subprocess.Popen | None = None
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether one has been loaded."""
        return bool(self._name)

    def look(self) -> None:
        """Asks whether numba is installed at all."""
        if importlib.util.find_spec("numba") is None:
            self.problem = (
                "numba is missing here: bakes are slower, and fly differently in detail. Reinstall Flock to get it"
            )

    @property
    def is_compiling(self) -> bool:
        """Whether the other process is at work."""
        process = self._process
        return process is not None and process.poll() is None

    def prepare(self, folder: str) -> None:
        """Has another process compile into the folder, unless that was done; nobody waits for it.

        Without a folder there is nothing to prepare: this process then compiles by itself at the first bake.
        """
        if self.ready or self.is_compiling or self.problem or not folder or is_compiled(folder):
            return
        cache = _cache(folder)
        _remove_others(cache)
        told = {
            "python": sys.version,
            "path": sys.path,
            "core": CORE,
            "folder": str(SOURCES.parent),
            "cache": str(cache),
        }
        told |= {"stamp": _stamp(), "done": str(cache / DONE)}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _COMPILE, json.dumps(told)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:  # there is no Python to be started here
            log.info("the engine is not compiled ahead: %s", error)
            return
        atexit.register(self.stop)

    def stop(self) -> None:
        """Ends the other process; the next bake starts it again."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()
        atexit.unregister(self.stop)

    def load(self, folder: str, cancelled: Callable[[], bool] = lambda: False) -> str:
        """Imports the fastest engine and returns its name; what it compiles is kept in the folder.

        Raises:
            Cancelled: while it waited for the other process.
        """
        with self._loading:
            if self._name:
                return self._name
            self.prepare(folder)
            process = self._process
            while process and process.poll() is None:
                if cancelled():
                    raise simulation.Cancelled
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
            if cancelled():  # also where the other process was ended, since Blender is about to be
                raise simulation.Cancelled
            self.stop()
            with _cache_in(str(_cache(folder)) if folder else ""):
                name, module = simulation.load_engine()
            if name == "NUMBA":
                module.warm_up()
            else:
                self.problem = "numba does not work here: bakes are slower, and fly differently in detail. Reinstall Flock to get it"
            self._name = name
            return name


engine = Engine()


def is_compiled(folder: str) -> bool:
    """Whether the folder holds this release, compiled for this Python and by this numba."""
    try:
        return json.loads((_cache(folder) / DONE).read_text()) == _stamp()
    except (OSError, ValueError):
        return False


def _stamp() -> list:
    """What has to be the same for compiled code to be used again."""
    sources = sorted(SOURCES.glob("*.py"))
    known = [[path.name, path.stat().st_mtime_ns, path.stat().st_size] for path in sources]
    try:
        numba = importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        numba = ""
    return [sys.version, numba, known]


def _cache(folder: str) -> Path:
    """Where compiled code lies: apart for each stamp, so that what was compiled from something else can go."""
    return Path(folder, hashlib.sha256(json.dumps(_stamp()).encode()).hexdigest()[:12])


def _remove_others(cache: Path) -> None:
    """Deletes what was compiled from something else."""
    if cache.parent.is_dir():
        for path in cache.parent.iterdir():
            if path.is_dir() and path != cache:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    """Sends what numba compiles meanwhile to our folder; its settings are the other add-ons' again afterwards."""
    try:
        from numba.core import config
    except Exception as error:  # a broken numba raises anything at all
        log.info("numba cannot be imported: %s", error)
        yield
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = folder or before
    try:
        yield
    finally:
        config.CACHE_DIR = before


def version(name: str) -> str:
    """Of an engine, once it is loaded, and of this release, which holds the model: another one may give other bits."""
    package = "numba" if name == "NUMBA" else "numpy"
    return f"{package} {importlib.import_module(package).__version__}, Flock {_release()}"


@functools.cache
def _release() -> str:
    manifest = Path(SOURCES.parent, "blender_manifest.toml").read_text(encoding="utf-8")
    return tomllib.loads(manifest)["version"]
