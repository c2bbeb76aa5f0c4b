# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built zip installed for real: off-line, read-only, beside a broken numba, over an older version, and away again."""

import importlib.util
import os
import shutil
import statistics
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.addon.processes import blender, with_read_only, without_network

ZIP = os.environ.get("FLOCK_ZIP", "")
pytestmark = pytest.mark.skipif(not ZIP, reason="there is no built zip: `make test` names it in FLOCK_ZIP")

BAKE = """
flock = new_flock()
bpy.ops.flock.bake()
import numba
"""


@pytest.fixture
def user(tmp_path):
    return tmp_path / "user"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A user folder in which the zip is installed and enabled; whatever else lies there, tests leave it in order."""
    user = tmp_path_factory.mktemp("installed") / "user"
    script = 'on = install(sys.argv[1]); bpy.ops.wm.save_userpref(); answer(on=on, loaded="numba" in sys.modules)'
    told = blender(script, user, ZIP)
    assert told["on"], told["printed"]
    assert not told["loaded"]
    return user


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.skipif(importlib.util.find_spec("numba") is not None, reason="the environment's own numba hides the zip's")
def test_the_zip_installs_offline_bakes_with_its_own_numba_and_its_clip_outlives_it(user, tmp_path):
    saved = tmp_path / "shot.blend"
    script = (
        """
on = install(sys.argv[1])
"""
        + BAKE
        + """
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[2])
before = matrices(1, 3.25, 10)
kept = record(flock)
uninstall()
answer(on=on, numba=numba.__file__, engine=kept["engine"], matrices=before, left=hasattr(bpy.types, "FLOCK_OT_bake"))
"""
    )
    told = blender(script, user, ZIP, saved, within=without_network())
    assert told["on"], told["printed"]
    assert Path(told["numba"]).is_relative_to(user)
    assert told["engine"] == "NUMBA"
    assert not told["left"]
    assert len(told["matrices"][0]) >= 100
    assert not list(user.rglob("flock_addon"))

    script = """
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
handlers = [str(h) for name in dir(bpy.app.handlers) if isinstance(hooks := getattr(bpy.app.handlers, name), list)
            for h in hooks if "flock" in getattr(h, "__module__", "")]
answer(matrices=matrices(1, 3.25, 10), handlers=handlers, enabled=MODULE in bpy.context.preferences.addons)
"""
    later = blender(script, user, saved)
    assert not later["enabled"]
    assert later["matrices"] == told["matrices"]
    assert later["handlers"] == []
    assert "Warning" not in later["printed"]


def test_it_bakes_from_a_folder_that_cannot_be_written(installed):
    folder = installed / "extensions" / "user_default" / "flock"
    before = files(folder)
    read_only = with_read_only(folder)
    if not read_only:
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
    try:
        told = blender(
            "enable()" + BAKE + 'answer(**record(flock) | {"enabled": MODULE in bpy.context.preferences.addons})',
            installed,
            within=read_only,
        )
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
    assert told["engine"] == "NUMBA"
    assert files(folder) == before


def code_folder(user: Path) -> Path:
    """Where the extension keeps what it compiled."""
    return user / "extensions" / ".user" / "user_default" / "flock" / "numba"


STAGES = """
enable()
flock = new_flock()
job = own("bake").Job(flock, bpy.context.scene, options=own("preferences").options())
said = []
while not job.tick(0.05):
    said.append(job.message)
answer(**record(flock) | {"compiled": any("Compiling" in line for line in said)})
"""

QUIT = """
import time
enable()
flock = new_flock(count=2000, frames=2000)
job = own("bake").Job(flock, bpy.context.scene, options=own("preferences").options())
while not (job.tick(0.05) or job.message.startswith(sys.argv[1])):
    pass
time.sleep(float(sys.argv[2]))
answer(said=job.message, at=time.time())
"""


def quit_while(stage: str, seconds: float, user: Path) -> None:
    """Ends a process so long after a bake has come to a stage."""
    told = blender(QUIT, user, stage, seconds)
    assert told["said"].startswith(stage)
    assert time.time() - told["at"] < 20, "it hung at its end"


def test_it_compiles_once_and_quitting_meanwhile_is_harmless(installed):
    folder = code_folder(installed)
    shutil.rmtree(folder, ignore_errors=True)
    quit_while("Compiling", 0, installed)
    quit_while("Compiling", 3, installed)
    first = blender(STAGES, installed)
    assert first["engine"] == "NUMBA" and first["compiled"]
    made = files(folder)
    assert [name for name in made if name.endswith("compiled.json")] and [
        name for name in made if name.endswith(".nbi")
    ]
    quit_while("Starting", 0.2, installed)
    quit_while("Flying", 0, installed)
    second = blender(STAGES, installed)
    assert not second["compiled"]
    assert files(folder) == made
    assert second["hash"] == first["hash"]


@pytest.mark.long
def test_without_a_python_to_start_the_bake_compiles_by_itself(installed):
    shutil.rmtree(code_folder(installed), ignore_errors=True)
    told = blender("sys.executable = '/nowhere/python'\n" + STAGES, installed)
    assert told["engine"] == "NUMBA"
    assert list(code_folder(installed).rglob("*.nbi"))


def test_other_addons_keep_their_numba_settings_and_their_cache(installed, tmp_path):
    theirs = tmp_path / "theirs.py"
    theirs.write_text("import numba\n@numba.njit(cache=True)\ndef one(x): return x + 1\n")
    script = """
sys.path.insert(0, sys.argv[1])
enable()
import numba
from numba.core import config
before = {name: getattr(config, name) for name in dir(config) if name.isupper()}
before["threads"] = numba.get_num_threads()
flock = new_flock()
bpy.ops.flock.bake()
after = {name: getattr(config, name) for name in dir(config) if name.isupper()} | {"threads": numba.get_num_threads()}
import theirs
answer(one=theirs.one(1), same=before == after, engine=record(flock)["engine"])
"""
    told = blender(script, installed, tmp_path)
    assert told["engine"] == "NUMBA" and told["same"] and told["one"] == 2
    assert list((tmp_path / "__pycache__").glob("theirs.one-*.nbi"))
    assert not list(code_folder(installed).rglob("*theirs*"))


def extension_with_a_broken_numba(folder: Path) -> Path:
    """An extension of somebody else's that bundles a numba which is newer than ours and cannot be imported."""
    wheel = folder / "numba-99.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("numba/__init__.py", "raise SystemError('initialization of _internal failed')\n")
        archive.writestr("numba-99.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: numba\nVersion: 99.0\n")
        archive.writestr("numba-99.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("numba-99.0.dist-info/RECORD", "")
    other = folder / "other.zip"
    manifest = f"""
schema_version = "1.0.0"
id = "other"
version = "1.0.0"
name = "Other"
tagline = "Brings another numba"
maintainer = "Nobody"
type = "add-on"
blender_version_min = "4.5.0"
license = ["SPDX:GPL-3.0-or-later"]
wheels = ["./wheels/{wheel.name}"]
"""
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("blender_manifest.toml", manifest)
        archive.writestr("__init__.py", "def register(): pass\ndef unregister(): pass\n")
        archive.write(wheel, f"wheels/{wheel.name}")
    return other


@pytest.mark.skipif(importlib.util.find_spec("numba") is not None, reason="the environment's own numba hides the zip's")
def test_a_broken_numba_of_another_extension_is_survived_and_said(user, tmp_path):
    script = """
install(sys.argv[1])
on = install(sys.argv[2])
flock = new_flock()
bpy.ops.flock.bake()
answer(on=on, engine=record(flock)["engine"], sentence=own("bake").engine.problem)
"""
    told = blender(script, user, extension_with_a_broken_numba(tmp_path), ZIP)
    assert told["on"], told["printed"]
    assert told["engine"] == "REFERENCE"
    assert "numba" in told["sentence"]


def older_version(path: Path, folder: Path) -> Path:
    """An older release, which is today's code but for what it says of itself: a lower version, of its node groups too."""
    older = folder / "flock-0.0.1.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(older, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "blender_manifest.toml":
                content = content.replace(b'\nversion = "', b'\nversion = "0.0.1" # ', 1)
            if name == "flock_addon/nodes.py":
                content = content.replace(b"\nVERSION = ", b"\nVERSION = -1 + ", 1)
            target.writestr(name, content)
    return older


def test_an_upgrade_while_enabled_leaves_a_working_addon(user, tmp_path):
    script = """
import tomllib
def version():
    return tomllib.loads(Path(sys.modules[MODULE].__file__).with_name("blender_manifest.toml").read_text())["version"]
def groups():
    return sorted(group["flock_nodes"]["version"] for group in bpy.data.node_groups)
install(sys.argv[1])
flock = new_flock()
before = dict(version=version(), groups=groups())
on = install(sys.argv[2])
bpy.ops.flock.bake()
after = dict(version=version(), groups=groups())
answer(before=before, after=after, on=on, engine=record(flock)["engine"], boids=len(matrices(10)[0]))
"""
    told = blender(script, user, older_version(Path(ZIP), tmp_path), ZIP)
    before, after = told["before"], told["after"]
    assert told["on"], told["printed"]
    assert before["version"] == "0.0.1" and after["version"] != "0.0.1"
    assert after["groups"] == [number + 1 for number in before["groups"]]
    assert told["engine"] in {"NUMBA", "REFERENCE"} and told["boids"] >= 100
    assert "already registered" not in told["printed"]


def add_twin(user: Path, name: str) -> None:
    """An extension beside ours with the same wheels, and nothing of its own: what it takes to enable it is Blender's own cost."""
    ours = user / "extensions" / "user_default" / "flock"
    twin = ours.with_name(name)
    twin.mkdir()
    manifest = (ours / "blender_manifest.toml").read_text()
    (twin / "blender_manifest.toml").write_text(manifest.replace('id = "flock"', f'id = "{name}"'))
    (twin / "__init__.py").write_text("def register(): pass\ndef unregister(): pass\n")
    (twin / "wheels").symlink_to(ours / "wheels")


def test_enabling_imports_nothing_slow(installed, capsys):
    add_twin(installed, "first")
    add_twin(installed, "second")
    # The first twin is there to have the wheels unpacked, which Blender does once for a new extension, and as a module each time.
    script = """
import time
addon_utils.extensions_refresh()
def seconds(name):
    start = time.perf_counter()
    addon_utils.enable("bl_ext.user_default." + name, default_set=True)
    return time.perf_counter() - start
unpacking, twin = seconds("first"), seconds("second")
before = set(sys.modules)
ours = seconds("flock")
answer(own=ours - twin, twin=twin, unpacking=unpacking, on=MODULE in bpy.context.preferences.addons,
       loaded=sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
    told = [blender(script, installed) for _ in range(5)]
    assert all(each["on"] for each in told)
    assert not {"numba", "llvmlite", "scipy", "requests"} & set(told[0]["loaded"])
    median = {name: 1000 * statistics.median(each[name] for each in told) for name in ("own", "twin", "unpacking")}
    with capsys.disabled():
        print(
            f"\nenabling Flock takes {median['own']:.0f} ms more than an empty extension with the same wheels, which takes"
            f" {median['twin']:.0f} ms; Blender unpacks the wheels in {median['unpacking']:.0f} ms, once (medians of 5)"
        )


# Blender promises that a file opens in every later version.
PYTHONS = dict(pair.split("=", 1) for pair in os.environ.get("FLOCK_BLENDERS", "").split(os.pathsep) if pair)
THIS = next((version for version, python in PYTHONS.items() if python == sys.executable), "")
OLDER = [
    version for version in PYTHONS if THIS and tuple(map(int, version.split("."))) < tuple(map(int, THIS.split(".")))
]


def numbers(matrices: list[list[list[str]]]) -> np.ndarray:
    return np.array([[[float.fromhex(number) for number in one] for one in frame] for frame in matrices])


@pytest.mark.parametrize("older", OLDER)
def test_a_clip_of_an_older_blender_plays(installed, tmp_path, older):
    saved = tmp_path / "shot.blend"
    script = (
        "install(sys.argv[1])\n"
        + BAKE
        + "bpy.ops.wm.save_as_mainfile(filepath=sys.argv[2])\nanswer(matrices=matrices(1, 3, 10))"
    )
    told = blender(script, tmp_path / "older", ZIP, saved, python=PYTHONS[older])
    script = """
enable()
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
seen = matrices(1, 3, 10)
flock = next(item for item in bpy.data.objects if item.flock.is_flock)
bpy.context.view_layer.objects.active = flock
bpy.ops.flock.bake()
answer(matrices=seen, again=len(matrices(10)[0]))
"""
    later = blender(script, installed, saved)
    # Another Blender may round otherwise: float32 matrices within a few dozen lengths of the origin.
    np.testing.assert_allclose(numbers(later["matrices"]), numbers(told["matrices"]), atol=1e-5)
    assert later["again"] >= 100
