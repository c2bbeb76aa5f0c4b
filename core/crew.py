# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that fly a flock together: the one that asks for a step leads, the others help and stay awake for the next one."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from . import kernel
from .counters import ASLEEP, AWAKE, HANDS, HELPERS, STRIDE
from .gather import scratch_for
from .hash_grid import PADDING
from .motion import CHUNK

if TYPE_CHECKING:
    from .steering import Flight

ROOM = 1024
"""Boids in a window, at first."""


class Worker:
    """What one thread writes to on the way."""

    def __init__(self, number: int, neighbours: int) -> None:
        self.number = number
        self._in_hand = np.array((-1, 0))
        self._scratch = scratch_for(neighbours, 2 * ROOM + PADDING)

    def work(self, flight: Flight) -> bool:
        """Does a thread's part, of one step or of several that follow soon; whether that is all, or others have to run first."""
        while (left := kernel.work(self.number, flight.board, self._in_hand, self._scratch, *flight.arrays)) > 0:
            self._scratch = scratch_for(0, 2 * left + PADDING, self._scratch)
        return left == kernel.DONE

    def work_on(self, flight: Flight) -> None:
        """As `work`, to the end. Who is at it keeps the flight, and with it all memory that is written to."""
        while not self.work(flight):
            time.sleep(0)


class Pace:
    """Whether threads fly faster together than the lead alone, by the times that steps took lately.

    Few boids are flown sooner than others are called. And a helper whose core another program takes, in the middle of its part, keeps
    the lead waiting for as long as some steps take.
    """

    FEW, MANY = 4, 256
    """Steps that are flown alone: at first, one of which may have to compile, and to look again; and at most, when it has become slower
    together again and again."""

    LATEST = 1 / 16
    """The share of the last step in the mean."""

    HOPE = 0.75
    """What the mean begins with: of the time of a step alone."""

    def __init__(self, threads: int) -> None:
        self.together = False
        self._steps, self._until, self._pause = 0, self.FEW, self.FEW
        self._alone, self._mean = np.inf, 0.0
        self._again = 2 * threads * self.MANY  # so seldom that a step alone costs little

    def learn(self, seconds: float) -> None:
        """What a step took."""
        self._steps += 1
        if self.together:
            self._mean += self.LATEST * (seconds - self._mean)
            if self._mean > self._alone:
                self._pause = min(2 * self._pause, self.MANY) if self._steps < self.MANY else self.FEW
                self._go_on(False, self._pause)
            elif self._steps == self._until:
                self._go_on(False, self.FEW)
        else:
            self._alone = min(self._alone, seconds)
            if self._steps == self._until:
                self._mean = self.HOPE * self._alone
                self._go_on(True, self._again)

    def _go_on(self, together: bool, steps: int) -> None:
        self.together, self._steps, self._until = together, 0, steps
        if not together:
            self._alone = np.inf


class Crew:
    """So many threads, for flocks that look for so many of the nearest. They fly one step at a time."""

    def __init__(self, threads: int, neighbours: int) -> None:
        self._lead, *self._helpers = (Worker(number, neighbours) for number in range(threads))
        self._pool = ThreadPoolExecutor(max(1, threads - 1))
        self._jobs: list[Future] = []
        self._pace, self._began, self._hands = Pace(threads), 0.0, 1

    def begin(self, flight: Flight) -> None:
        """Begins a step. Who is to help and has gone to sleep is woken, and gets ready while the step is prepared."""
        self._began = time.perf_counter()
        self._jobs = [job for job in self._jobs if not job.done() or job.exception()]
        chunks = -(-len(flight.todo) // CHUNK)
        helpers = self._helpers[: chunks - 1] if self._pace.together else []
        self._hands = len(helpers) + 1
        for helper in helpers:
            mail = HELPERS + helper.number * STRIDE
            if flight.board[mail] == ASLEEP:
                flight.board[mail] = AWAKE
                try:
                    self._jobs.append(self._pool.submit(helper.work_on, flight))
                except RuntimeError:  # the system gives no thread
                    self._fly_alone()
                    break

    def _fly_alone(self) -> None:
        """From now on. What the helpers were to do is taken back; who is awake goes to sleep by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._jobs = [job for job in self._jobs if not job.cancelled()]
        self._helpers, self._hands = [], 1

    def fly(self, flight: Flight) -> None:
        """Flies those who are still to fly, by all threads that are awake."""
        flight.board[HANDS] = self._hands
        while not self._lead.work(flight):
            flight.board[HANDS] = 1  # all have been called: to call again who is done keeps the core from who is not
            for job in self._jobs:
                if job.done():
                    job.result()  # or why it failed
            time.sleep(0)

    def end(self) -> None:
        """Ends a step: all have flown."""
        if self._helpers:
            self._pace.learn(time.perf_counter() - self._began)
