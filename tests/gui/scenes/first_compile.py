# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The very first bake, which compiles: the window stays alive meanwhile."""

import itertools
import time

ticks, told = [], set()


def tick():
    ticks.append(time.monotonic())
    told.update(job.message for job in bake.running.values())
    return 0.02


def watched(frames, then):
    """A bake during which the window's stops are measured."""
    ticks.clear()
    told.clear()
    bpy.context.scene.frame_end = frames
    bpy.app.timers.register(tick)
    start_bake()
    when(baked, lambda: (bpy.app.timers.unregister(tick), then(told_of_stops())))


def told_of_stops():
    stops = sorted(after - before for before, after in itertools.pairwise(ticks))
    return f"{ticks[-1] - ticks[0]:.1f} s, stops of the window up to {stops[-1]:.2f} s, in the median {stops[len(stops) // 2]:.2f} s"


def compiled(stops):
    assert any(message.startswith("Compiling") for message in told)
    print(f"FIRST COMPILE: {stops}; one redraw {redraw_seconds():.2f} s", flush=True)
    watched(2000, flown)


def flown(stops):
    assert not any(message.startswith("Compiling") for message in told)
    print(f"FIRST COMPILE: a bake that compiles nothing {stops}", flush=True)
    done()


new_flock(count=100).flock.pre_roll = 0.0
when(tab_is_open, lambda: watched(2, compiled))
