# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job in a window: which Esc ends it, and that nothing of it stays there, whatever ends it.

Only a window sends events to an operator, so here the tests do: what they send them to has the operator's own functions, a real timer, a
real job, and the screen of the start-up file. `tests/gui/scenes/escape.py` presses the keys.
"""

import importlib
from types import SimpleNamespace

import bpy
import pytest

TIMER = SimpleNamespace(type="TIMER", value="NOTHING")


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "checking", "flock_operator", "sampling")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


@pytest.fixture
def flock(modules):
    bpy.context.scene.frame_end = 6
    bpy.ops.flock.new(count=5)
    flock = bpy.context.object
    bpy.ops.flock.bake()
    return flock


@pytest.fixture(params=["Job", "Check"])
def running(request, modules, flock):
    """A bake, or a flight check, as the operator runs it in a window."""
    base = modules.flock_operator.JobOperator

    class Running:
        bl_label, cancelled = "The Work", "Cancelled"
        modal, cancel, _end, _failed = base.modal, base.cancel, base._end, base._failed

        def __init__(self, job):
            self._job, self.said = job, []
            self._timer = bpy.context.window_manager.event_timer_add(10.0, window=bpy.context.window)

        def report(self, kind, sentence):
            self.said.append((kind, sentence))

    kind = modules.bake.Job if request.param == "Job" else modules.checking.Check
    made = Running(kind(flock, bpy.context.scene))
    yield made
    made._job.cancel()


def press(running, over="VIEW_3D", **modifiers):
    """Esc with the mouse in the middle of an editor."""
    area = next(area for area in bpy.context.screen.areas if area.type == over)
    keys = dict.fromkeys(("shift", "ctrl", "alt", "oskey"), False) | modifiers
    place = {"mouse_x": area.x + area.width // 2, "mouse_y": area.y + area.height // 2}
    return running.modal(bpy.context, SimpleNamespace(type="ESC", value="PRESS", **place, **keys))


# -- Esc -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("over", ["VIEW_3D", "OUTLINER", "PROPERTIES", "DOPESHEET_EDITOR"])
def test_esc_cancels_the_job(modules, running, over):
    assert press(running, over) == {"CANCELLED"}
    assert running._timer is None and running.said == [({"INFO"}, "Cancelled")]
    assert not modules.bake.running


def test_esc_while_the_animation_plays_is_for_that(modules, running):
    assert modules.flock_operator.way_to_cancel(bpy.context) == "Press Esc to cancel"
    bpy.ops.screen.animation_play()
    try:
        assert press(running) == {"PASS_THROUGH"}
        assert "to stop playing, and again to cancel" in modules.flock_operator.way_to_cancel(bpy.context)
    finally:
        bpy.ops.screen.animation_cancel()
    assert running._timer and not running.said, "the job goes on"
    assert press(running) == {"CANCELLED"}


@pytest.mark.parametrize("editor", ["FILE_BROWSER", "IMAGE_EDITOR", "SEQUENCE_EDITOR"])
def test_esc_over_an_editor_with_an_esc_of_its_own_is_for_that(running, editor):
    area = next(area for area in bpy.context.screen.areas if area.type == "PROPERTIES")
    area.type = editor
    assert press(running, over=editor) == {"PASS_THROUGH"}
    assert press(running) == {"CANCELLED"}


@pytest.mark.parametrize("modifier", ["shift", "ctrl", "alt", "oskey"])
def test_esc_with_a_modifier_is_another_key(running, modifier):
    assert press(running, **{modifier: True}) == {"PASS_THROUGH"}


def test_other_keys_are_the_users(running):
    assert running.modal(bpy.context, SimpleNamespace(type="G", value="PRESS")) == {"PASS_THROUGH"}
    assert running.modal(bpy.context, SimpleNamespace(type="ESC", value="RELEASE")) == {"PASS_THROUGH"}


# -- other ends ------------------------------------------------------------------------------------------------------


def check_ended(modules, running, sentence):
    assert running.modal(bpy.context, TIMER) == {"CANCELLED"}
    ((kind, said),) = running.said
    assert running._timer is None and kind == {"ERROR"} and sentence in said
    assert not modules.bake.running


def test_a_sentence_ends_it(modules, flock, running):
    bpy.data.objects.remove(flock.flock.repulsors.objects[0])
    check_ended(modules, running, "'Flock Repulsor' was deleted while the scene was sampled")


def test_a_fault_of_ours_ends_it(modules, running, monkeypatch):
    monkeypatch.setattr(modules.sampling, "_stand_ins", lambda *arguments: 1 / 0)
    check_ended(modules, running, "stopped")


def test_quitting_ends_it(modules, running):
    running.cancel(bpy.context)
    assert running._timer is None and not modules.bake.running
