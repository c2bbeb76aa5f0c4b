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


def begin():
    bpy.app.timers.register(tick)
    start_bake()
    when(baked, end)


def end():
    bpy.app.timers.unregister(tick)
    stops = sorted(after - before for before, after in itertools.pairwise(ticks))
    tell = ", ".join(f"{stop:.2f}" for stop in stops[:-6:-1])
    print(
        f"FIRST COMPILE: {ticks[-1] - ticks[0]:.1f} s, the window's longest stops {tell} s, {sorted(told)}", flush=True
    )
    done()


new_flock(count=100, frames=2).flock.pre_roll = 0.0
when(tab_is_open, begin)
