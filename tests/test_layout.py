# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which module may know what: the rules that keep core free of Blender and the user interface free of work."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = sorted((ROOT / "core").rglob("*.py"))
ADDON = sorted((ROOT / "flock_addon").rglob("*.py"))
OF_BLENDER = {"bpy", "bpy_extras", "bmesh", "mathutils", "addon_utils", "gpu", "bl_ext"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def import_statements(path: Path, top_only: bool = False) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.parse(path.read_text())
    return [
        node for node in (tree.body if top_only else ast.walk(tree)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def imported(path: Path, node: ast.Import | ast.ImportFrom) -> set[str]:
    """Modules that a statement imports, ours by their path from the root: `core.settings`."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    package = path.relative_to(ROOT).parent.parts
    base = package[: len(package) - node.level + 1] if node.level else ()
    module = ".".join([*base, *([node.module] if node.module else [])])
    return {module} | {f"{module}.{alias.name}" for alias in node.names}


def imports(path: Path, top_only: bool = False) -> set[str]:
    return set().union(*(imported(path, node) for node in import_statements(path, top_only)))


def tops(modules: set[str]) -> set[str]:
    return {module.split(".")[0] for module in modules}


def attributes(path: Path) -> set[str]:
    """Every dotted name that a file reads: `bpy.app.version`."""
    return {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("path", CORE, ids=name)
def test_core_knows_nothing_of_blender(path):
    assert not tops(imports(path)) & (OF_BLENDER | {"flock_addon"})


def test_importing_core_imports_neither_numba_nor_anything_beyond_numpy():
    script = "import sys, core; print(*sorted({'numba', 'llvmlite', 'scipy', 'bpy'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""


def test_the_root_imports_only_inside_register_and_unregister():
    body = ast.parse((ROOT / "__init__.py").read_text()).body
    assert [type(node).__name__ for node in body] == ["Expr", "FunctionDef", "FunctionDef"]


@pytest.mark.parametrize("path", ADDON, ids=name)
def test_the_addon_reaches_core_only_by_its_own_package(path):
    absolute = [node for node in import_statements(path) if not getattr(node, "level", 0)]
    assert not tops(set().union(*(imported(path, node) for node in absolute))) & {"core", "flock_addon", "tests"}


@pytest.mark.parametrize("path", [path for path in ADDON if path.name != "compat.py"], ids=name)
def test_only_compat_asks_which_blender_this_is(path):
    assert not {
        read for read in attributes(path) if read.endswith((".app.version", ".app.version_string", ".app.version_file"))
    }


@pytest.mark.parametrize("path", [path for path in ADDON if path.name != "preview.py"], ids=name)
def test_no_frame_handler_plays_a_clip(path):
    assert not {read for read in attributes(path) if ".frame_change_" in read or ".depsgraph_update_" in read}


@pytest.mark.parametrize("path", ADDON, ids=name)
def test_no_module_of_the_addon_imports_numba_at_its_top(path):
    reached = imports(path, top_only=True)
    assert not reached & {"numba", "core.steering", "core.hash_grid", "core.sight_sums"}


def test_panels_compute_nothing():
    reached = imports(ROOT / "flock_addon/panels.py")
    assert not tops(reached) & {"numpy", "math", "numba", "core"}
    assert "flock_addon.sampling" not in reached


@pytest.mark.parametrize("module", ["operators", "cli"])
def test_operators_and_the_command_line_are_thin_above_bake(module):
    reached = imports(ROOT / f"flock_addon/{module}.py")
    assert "flock_addon.bake" in reached
    assert not tops(reached) & {"numpy", "numba"}
    assert not {"core.simulation", "core.steering", "core.reference"} & reached


@pytest.mark.parametrize("module", ["bake", "plan", "clip"])
def test_a_bake_knows_neither_user_interface_nor_preferences(module):
    reached = imports(ROOT / f"flock_addon/{module}.py")
    assert not {f"flock_addon.{name}" for name in ("operators", "panels", "cli", "preferences")} & reached


@pytest.mark.parametrize("module", ["flight", "scratch", "arrays", "memory"])
def test_what_runs_beside_blender_knows_nothing_of_it(module):
    seen, to_see = set(), {f"flock_addon.{module}"}
    while to_see:
        reached = imports(ROOT / f"{to_see.pop().replace('.', '/')}.py")
        assert not tops(reached) & OF_BLENDER
        new = {f"flock_addon.{path.stem}" for path in ADDON} & reached - seen
        seen, to_see = seen | new, to_see | new


@pytest.mark.parametrize("path", [*CORE, *ADDON, ROOT / "__init__.py"], ids=name)
def test_every_module_says_its_licence_and_what_it_is_for(path):
    text = path.read_text()
    assert text.startswith(
        "# SPDX-FileCopyrightText: 2026 Flock Authors\n# SPDX-License-Identifier: GPL-3.0-or-later\n"
    )
    assert ast.get_docstring(ast.parse(text))
