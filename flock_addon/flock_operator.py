# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all operators have in common that work on the flock at hand: when they can, how they fail, and how a job runs in a window."""

from __future__ import annotations

import logging
from typing import Any

import bpy

from ..core.settings import FlockError
from . import bake, properties
from .compat import Result

log = logging.getLogger(__name__)

Said = tuple[set[str], str] | None
"""What an operator reports, and as what; None for nothing."""

_ESC_ENDS_IN = {"FILE_BROWSER", "IMAGE_EDITOR", "SEQUENCE_EDITOR"}
"""Editors in which Blender's own keymap gives Esc a meaning."""
_JOBS = ("RENDER", "OBJECT_BAKE", "COMPOSITE")
"""What else Esc ends."""


def idle_flock(context: bpy.types.Context) -> bpy.types.Object:
    """The flock at hand.

    Raises:
        FlockError: there is none, or it is being baked.
    """
    flock = properties.find_flock(context)
    if flock is None:
        raise FlockError("Select a flock, its target or one of its repulsors")
    if flock.session_uid in bake.running:
        raise FlockError("The flock is being baked: Esc cancels that")
    return flock


class FlockOperator(bpy.types.Operator):
    """Works on the flock at hand. A `FlockError` is shown, by the button where that is known before, and changes nothing."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        """Raises a `FlockError` where it cannot be done. Cheap."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        try:
            cls.require(idle_flock(context))
        except FlockError as error:
            cls.poll_message_set(str(error))
            return False
        return True

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> Said:
        """Does it. Raises a `FlockError` where it cannot be done."""
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> Result:
        try:
            return self._finished(self.work(context, idle_flock(context)))
        except FlockError as error:
            return self._failed(error)

    def _finished(self, said: Said) -> Result:
        if said:
            self.report(*said)
        return {"FINISHED"}

    def _failed(self, error: Exception) -> Result:
        sentence = str(error)
        if not isinstance(error, FlockError):
            log.error("%s stopped", self.bl_label, exc_info=error)
            sentence = (
                f"{self.bl_label} stopped: {error}. Try again; if that helps nothing, report what the console says"
            )
        self.report({"ERROR"}, sentence)
        return {"CANCELLED"}


class JobOperator(FlockOperator):
    """Runs a job: in a window beside the user's own work, else until it is done. A job has `tick`, `run`, `cancel`, `stop`,
    `message` and `progress`.
    """

    cancelled = "Cancelled"
    """What is said after Esc."""

    _job: Any = None
    _timer: bpy.types.Timer | None = None

    def begin(self, context: bpy.types.Context, flock: bpy.types.Object) -> Any:
        """The job. Raises a `FlockError` where it cannot be done."""
        raise NotImplementedError

    def done(self, job: Any) -> Said:
        """What to report at the end."""
        raise NotImplementedError

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> Said:
        job = self.begin(context, flock)
        job.run()
        return self.done(job)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._job = self.begin(context, idle_flock(context))
        except FlockError as error:
            return self._failed(error)
        self._timer = context.window_manager.event_timer_add(0.1, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        if event.type == "ESC" and event.value == "PRESS" and _is_meant(context, event):
            self._job.cancel()
            self._end(context)
            self.report({"INFO"}, self.cancelled)
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            done = self._job.tick(0.05)
        except Exception as error:  # whatever it is, timer and status text must not stay for ever
            self._job.stop()
            self._end(context)
            return self._failed(error)
        if done:
            self._end(context)
            return self._finished(self.done(self._job))
        _show(context, f"Flock: {self._job.message} ({self._job.progress:.0%}).  {way_to_cancel(context)}")
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Called by Blender when it quits or another file is opened, which is no wish to lose what is done."""
        if self._job:
            self._job.stop()
        self._end(context)

    def _end(self, context: bpy.types.Context) -> None:
        if self._timer:
            context.window_manager.event_timer_remove(self._timer)
            self._timer = None
        _show(context, None)


def _is_meant(context: bpy.types.Context, event: bpy.types.Event) -> bool:
    """Whether an Esc is to cancel the job, which may cost hours, and not to end something else: playback, a render, what an
    editor is at.
    """
    if event.shift or event.ctrl or event.alt or event.oskey:
        return False
    under = (
        area.type
        for area in context.window.screen.areas
        if 0 <= event.mouse_x - area.x < area.width and 0 <= event.mouse_y - area.y < area.height
    )
    return not _plays(context) and not any(map(bpy.app.is_job_running, _JOBS)) and _ESC_ENDS_IN.isdisjoint(under)


def _plays(context: bpy.types.Context) -> bool:
    return any(window.screen.is_animation_playing for window in context.window_manager.windows)


def way_to_cancel(context: bpy.types.Context) -> str:
    """How a job is cancelled that is under way in the window."""
    return "Press Esc to stop playing, and again to cancel" if _plays(context) else "Press Esc to cancel"


def _show(context: bpy.types.Context, text: str | None) -> None:
    """The status bar's text, and the sidebars drawn again, but not the viewports, which may be slow to draw."""
    if context.workspace:
        context.workspace.status_text_set(text)
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.type == "UI":
                    region.tag_redraw()
