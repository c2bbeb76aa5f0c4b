# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that fly a flock together: the one that asks for a step leads, the others help and stay awake for the next one."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from . import kernel
from .counters import ASLEEP, AWAKE, HELPERS, STRIDE
from .gather import scratch_for
from .hash_grid import PADDING

ROOM = 1024
"""Boids in a window, at first."""


class Worker:
    """What one thread writes to on the way."""

    def __init__(self, number: int, neighbours: int) -> None:
        self.number = number
        self._in_hand = np.array((-1, 0))
        self._scratch = scratch_for(neighbours, 2 * ROOM + PADDING)

    def work(self, board: np.ndarray, flight: tuple) -> bool:
        """Does a thread's part, of one step or of several that follow soon; whether that is all, or others have to run first."""
        while (left := kernel.work(self.number, board, self._in_hand, self._scratch, *flight)) > 0:
            self._scratch = scratch_for(0, 2 * left + PADDING, self._scratch)
        return left == kernel.DONE

    def work_on(self, board: np.ndarray, flight: tuple) -> None:
        """As `work`, to the end."""
        while not self.work(board, flight):
            time.sleep(0)


class Crew:
    """So many threads, for flocks that look for so many of the nearest. They fly one step at a time."""

    def __init__(self, threads: int, neighbours: int) -> None:
        self._lead, *self._helpers = (Worker(number, neighbours) for number in range(threads))
        self._pool = ThreadPoolExecutor(max(1, threads - 1))
        self._jobs: dict[int, Future] = {}

    def wake(self, board: np.ndarray, flight: tuple) -> None:
        """Wakes those who have gone to sleep: they get ready while the step is prepared."""
        for helper in self._helpers:
            mail = HELPERS + helper.number * STRIDE
            if board[mail] == ASLEEP:
                board[mail] = AWAKE
                self._jobs[helper.number] = self._pool.submit(helper.work_on, board, flight)

    def fly(self, board: np.ndarray, flight: tuple) -> None:
        """Flies those who are still to fly, by all threads that are awake."""
        while not self._lead.work(board, flight):
            for job in self._jobs.values():
                if job.done():
                    job.result()  # or why it failed
            time.sleep(0)
