# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the built zips hold: the extension, the wheels for one platform and both Pythons, and nothing else."""

import hashlib
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ZIPS = sorted((ROOT / "dist").glob("*.zip"))
PLATFORMS = {"linux_x64": "manylinux", "windows_x64": "win_amd64", "macos_arm64": "macosx"}
MODULES = re.compile(r"(core|flock_addon)/(\w+/)*\w+\.py|core/presets/\w+\.toml")


def platform(path: Path) -> str:
    return re.sub(r"flock-[\d.]+-", "", path.stem)


pytestmark = pytest.mark.skipif(not ZIPS, reason="there is no zip in dist: `make build` makes them")


def test_there_is_a_zip_for_each_platform():
    assert {platform(path) for path in ZIPS} == set(PLATFORMS)


@pytest.mark.parametrize("path", ZIPS, ids=platform)
def test_a_zip_holds_the_extension_and_nothing_else(path):
    names = set(zipfile.ZipFile(path).namelist())
    modules = {name for name in names if MODULES.fullmatch(name)}
    wheels = {name for name in names if name.startswith("wheels/")}
    assert names - modules - wheels == {"blender_manifest.toml", "__init__.py", "LICENSE"}
    sources = [*(ROOT / "core").rglob("*.py"), *(ROOT / "core").rglob("*.toml"), *(ROOT / "flock_addon").rglob("*.py")]
    assert modules == {str(source.relative_to(ROOT)) for source in sources}


@pytest.mark.parametrize("path", ZIPS, ids=platform)
def test_a_zip_bundles_numba_and_llvmlite_for_both_pythons_and_never_numpy(path):
    wheels = [name.removeprefix("wheels/") for name in zipfile.ZipFile(path).namelist() if name.startswith("wheels/")]
    assert {tuple(wheel.split("-")[0:3:2]) for wheel in wheels} == {
        (package, python) for package in ("numba", "llvmlite") for python in ("cp311", "cp313")
    }
    assert len(wheels) == 4
    assert all(PLATFORMS[platform(path)] in wheel for wheel in wheels)


@pytest.mark.parametrize("path", ZIPS, ids=platform)
def test_every_wheel_is_the_pinned_one(path):
    pinned = re.findall(r"sha256:(\w{64})", (ROOT / "tools/wheels.txt").read_text())
    archive = zipfile.ZipFile(path)
    for name in archive.namelist():
        if name.startswith("wheels/"):
            assert hashlib.sha256(archive.read(name)).hexdigest() in pinned


@pytest.mark.parametrize("path", ZIPS, ids=platform)
def test_a_zip_tells_what_the_extension_platform_asks(path):
    manifest = tomllib.loads(zipfile.ZipFile(path).read("blender_manifest.toml").decode())
    assert manifest["license"] == ["SPDX:GPL-3.0-or-later"]
    assert manifest["blender_version_min"] == "4.5.0"
    assert len(manifest["build"]["generated"]["platforms"]) == 1
    # The extension platform's limits: 64 characters, no full stop, and a sentence for each permission.
    for line in (manifest["tagline"], *manifest["permissions"].values()):
        assert 0 < len(line) <= 64
        assert line[-1].isalnum()
    assert set(manifest["permissions"]) == {"files"}
