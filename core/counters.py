# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Indices into the board: an int64 array of shared counters, one for each flight, that its threads read and change atomically.

First come the task counters, with what is counted on the way, then the done counters, then what the lead sets for a pass, then one state
word for each helper.
"""

STRIDE = 8
"""Numbers that threads change stand so far apart that each has a line of the cache to itself."""

COUNT, START, PLACE, SORT, BUILT = range(5)
"""The phases of building the grid, and the one after them. Each has a counter of the tasks that were begun, at its number times STRIDE."""

FLY, RESOLVED, CROWDED, CROWD, READY = (number * STRIDE for number in range(BUILT, BUILT + 5))
"""The next chunk to fly; boids whose nearest are known; those who wait for smaller cells, and the sum of how many share a home with
each. From READY on, how many tasks of each phase are done."""

COUNTERS = READY + STRIDE
"""So many numbers are counted up from zero."""

BEFORE, AFTER, COMPLETE, THICKEST, HANDS = range(COUNTERS, COUNTERS + 5)
"""Where in memory the records of the state before the step and after it are; 1 where cells are as large as the reach; how many boids
there may be in a window: who has more around waits for smaller cells; and how many threads fly this step."""

HELPERS = COUNTERS + STRIDE
"""From here on, for each thread, what that helper does; the first one leads, and is none."""

ASLEEP, AWAKE, CALLED, WORKING = range(4)
"""A helper that is awake looks out for a call, or is about to. The lead calls it, and calls it back if it has not begun."""


def board_size(threads: int) -> int:
    """How many numbers there are."""
    return HELPERS + threads * STRIDE
