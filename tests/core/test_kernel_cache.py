# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled code on disk is read without the compiler, gives the same bits, and is made anew where any kernel has changed."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

from core.kernel_cache import with_room

ROOT = Path(__file__).resolve().parents[2]

PART = """
from core.lanes import compiled
@compiled()
def part(x, y):
    return x * x + {more} * y
"""

WHOLE = """
from core.lanes import called_from_python
from part import part
@called_from_python()
def whole(x, y):
    return part(x, y) + y / x
"""

TWICE = """
from core.lanes import called_from_python
from whole import whole
@called_from_python()
def twice(x, y):
    return whole(x, y) + whole(x, y)
"""

CALL = """
import sys
from whole import whole
from {name} import {name}
print({name}({x!r}, 3.0).hex(), sum(whole.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
"""
"""The last is a part of numba that its compiler needs."""


@pytest.fixture
def folder(tmp_path):
    """Of three kernels, each of which calls the one before."""
    (tmp_path / "part.py").write_text(PART.format(more=1))
    (tmp_path / "whole.py").write_text(WHOLE)
    (tmp_path / "twice.py").write_text(TWICE)
    return tmp_path


def called(folder, x, name="whole"):
    """The result in a new process, how often `whole` was read, and whether numba's compiler was set up."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
        "NUMBA_CACHE_DIR": str(folder / "kept"),
    }
    command = [sys.executable, "-c", CALL.format(name=name, x=x)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    result, hits, compiles = done.stdout.split()
    return float.fromhex(result), int(hits), compiles == "True"


def test_code_is_compiled_once_and_read_without_the_compiler(folder):
    result, hits, compiles = called(folder, 7.0)
    assert (hits, compiles) == (0, True)
    assert result == pytest.approx(49 + 3 + 3 / 7, rel=1e-15)
    assert called(folder, 7.0) == (result, 1, False)


def test_code_is_compiled_again_when_a_kernel_that_lies_in_it_has_changed(folder):
    assert called(folder, 1.0) == (1 + 3 + 3, 0, True)
    (folder / "part.py").write_text(PART.format(more=2))
    assert called(folder, 1.0) == (1 + 6 + 3, 0, True)
    assert called(folder, 1.0) == (1 + 6 + 3, 1, False)


def test_a_kernel_that_was_read_can_be_laid_into_another_one(folder):
    assert called(folder, 1.0) == (7, 0, True)
    assert called(folder, 1.0, "twice") == (14, 1, True)
    assert called(folder, 1.0, "twice") == (14, 0, False)


def test_code_of_the_same_file_in_another_package_is_not_read(folder):
    """A checkout may be linked in as an extension, whose name this process does not know."""
    packages = folder / "packages"
    packages.mkdir()
    (packages / "linked").symlink_to(folder)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    for module, path in (("linked.part", packages), ("part", folder), ("part", folder)):
        script = f"from {module} import part; import numba; call = numba.njit(lambda x, y: part(x, y)); print(call(2.0, 3.0))"
        environment["PYTHONPATH"] = os.pathsep.join((str(path), str(ROOT)))
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        assert done.stdout == "7.0\n"


FLY = """
import sys
from core import steering
steering.warm_up()
print("numba.np.arraymath" in sys.modules)
"""


def test_the_default_flock_takes_off_without_the_compiler():
    for _ in range(2):  # the first one may have to compile
        done = subprocess.run([sys.executable, "-c", FLY], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "False\n"


def test_garbage_is_collected_again_after_a_call_with_room():
    assert with_room(gc.isenabled) is False
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 1, 0)
    assert gc.isenabled()
    gc.disable()
    try:
        with_room(int)
        assert not gc.isenabled()
    finally:
        gc.enable()
