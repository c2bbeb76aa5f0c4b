# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where in the array that all threads share each number is counted."""

STRIDE = 8
"""Counters stand so far apart that each has a line of the cache to itself."""

COUNT, START, PLACE, SORT, FLY, RESOLVED, CROWDED, CROWD, READY = (number * STRIDE for number in range(9))
"""The next task of each phase; boids whose nearest are known; those who wait for smaller cells, and the sum of how many share
a cell with each. From READY on, how many tasks of each phase are done."""

COUNTERS = (READY // STRIDE + 4) * STRIDE
