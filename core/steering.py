# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numba engine: the reference's step, with its pair sums found through a hash grid, compiled, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from . import hash_grid, reference
from .effectors import Effectors, attractor, spheres
from .settings import RULES, Settings
from .state import State, Traits, spawn

VERSION = numba.__version__

CHUNK = 512
"""Boids that a thread takes at a time."""

PLAIN_CHUNK = 2048
"""The same of the plain pair loop."""

LANES = 8
"""Windows are padded to a multiple of this."""

SUMS = 12
"""For each rule three components and the sum of the weights."""


@numba.njit(nogil=True, cache=True)
def _smoothstep(value):
    value = min(max(value, 0.0), 1.0)
    return value * value * (3.0 - 2.0 * value)


@numba.njit(nogil=True, cache=True)
def _edge_weight(distance, reach, smooth):
    if not distance < reach:
        return 0.0
    if not smooth:
        return 1.0
    share = distance / reach
    return (1.0 - share * share) ** 2


@numba.njit(nogil=True, cache=True)
def _view_weight(cosine, edge, smooth):
    """`edge` is the cosine of half the view; below -1 it is a view all round."""
    if edge < -1.0:
        return 1.0
    if smooth:
        return _smoothstep((cosine - edge) / reference.VIEW_BAND)
    return 1.0 if cosine > edge else 0.0


@numba.njit(nogil=True, cache=True)
def _shell_weight(distance, inner, smooth):
    if smooth:
        return _smoothstep((distance - inner) / max(reference.SHELL_BAND * inner, 1e-30))
    return 1.0


@numba.njit(nogil=True, cache=True)
def _rank(keys, indices, found, distance, boid, most):
    """Insertion into the sorted list of the nearest, ties by index; its new length."""
    if found == most and (distance, boid) >= (keys[most - 1], indices[most - 1]):
        return found
    place = min(found, most - 1)
    while place > 0 and (distance, boid) < (keys[place - 1], indices[place - 1]):
        keys[place], indices[place] = keys[place - 1], indices[place - 1]
        place -= 1
    keys[place], indices[place] = distance, boid
    return min(found + 1, most)


@numba.njit(nogil=True, cache=True)
def gather_range(begin, end, grid, position, velocity, heading, aligned, rules, views, widest, box, falloff, neighbours, smooth,
                 nearest_only, direction, out):  # fmt: skip
    """Pair sums of the boids `order[begin:end]` into their rows of `out`, float64 (N, 12).

    `rules` is float64 (3, 2), radius and inner radius; `views` float64 (3,), the cosines of half the fields of view;
    `box` float64 (3,), the period of space or 0; `falloff` the power of the distance. Only boids within the largest radius can count.
    """
    order, table, cells, size = grid
    reach = max(rules[0, 0], rules[1, 0], rules[2, 0])
    candidates = np.empty(len(order), np.int64)
    most = neighbours + 1 if neighbours else 1
    keys, indices = np.empty(most), np.empty(most, np.int64)
    for place in range(begin, end):
        boid = order[place]
        found = hash_grid.within(boid, reach, position, box, order, table, cells, size, candidates)
        resting = velocity[boid, 0] == 0.0 and velocity[boid, 1] == 0.0 and velocity[boid, 2] == 0.0
        ranked = 0
        cut = np.inf
        if neighbours:
            for index in range(found):
                other = candidates[index]
                offset, distance, cosine = _look(boid, other, position, heading, box, resting)
                if smooth or _view_weight(cosine, widest, False) > 0.0:
                    ranked = _rank(keys, indices, ranked, distance, other, most)
            if ranked > neighbours:
                cut = keys[neighbours] if smooth else np.inf
        best, best_index, best_away = np.inf, np.int64(-1), (0.0, 0.0, 0.0)
        sums = out[boid]
        # only those who count are weighed: the nearest, or all who were found
        counting = indices if neighbours else candidates
        for index in range(min(ranked, neighbours) if neighbours else found):
            other = counting[index]
            offset, distance, cosine = _look(boid, other, position, heading, box, resting)
            inverse = 1.0 / distance if distance > 0.0 else 0.0
            for rule in range(3):
                if distance < rules[rule, 1]:
                    continue
                weight = _edge_weight(distance, min(rules[rule, 0], cut), smooth) * _view_weight(
                    cosine, views[rule], smooth
                )
                if rules[rule, 1] > 0.0:
                    weight *= _shell_weight(distance, rules[rule, 1], smooth)
                if weight == 0.0:
                    continue
                if rule == 0:
                    scale = -weight * inverse * (distance**falloff if distance > 0.0 else 0.0)
                    away = (offset[0] * scale, offset[1] * scale, offset[2] * scale)
                    if nearest_only:
                        if (distance, other) < (best, best_index) or best_index < 0:
                            best, best_index, best_away = distance, other, away
                            sums[3] = weight
                        continue
                    sums[0] += away[0]
                    sums[1] += away[1]
                    sums[2] += away[2]
                    sums[3] += weight
                elif rule == 1:
                    sums[4] += weight * aligned[other, 0]
                    sums[5] += weight * aligned[other, 1]
                    sums[6] += weight * aligned[other, 2]
                    sums[7] += weight
                else:
                    scale = weight * (inverse if direction else 1.0)
                    sums[8] += scale * offset[0]
                    sums[9] += scale * offset[1]
                    sums[10] += scale * offset[2]
                    sums[11] += weight
        if nearest_only:
            sums[0], sums[1], sums[2] = best_away


@numba.njit(nogil=True, cache=True)
def _threshold(radius):
    """The largest square whose root is below the radius: comparing squares then agrees with comparing distances to the last bit."""
    square = radius * radius
    while square > 0.0 and np.sqrt(square) >= radius:
        square = np.nextafter(square, 0.0)
    while np.sqrt(np.nextafter(square, np.inf)) < radius:
        square = np.nextafter(square, np.inf)
    return square if radius > 0.0 else -1.0


@numba.njit(nogil=True, cache=True)
def _fill(window, home, packed, table, cells):
    """Copies the boids of the 27 cells around the cell at place `home` into the window, which may grow; it and their number."""
    mask = len(table) - 2
    size = 0
    for dz in range(-1, 2):
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                x, y, z = cells[home, 0] + dx, cells[home, 1] + dy, cells[home, 2] + dz
                bucket = hash_grid.bucket(x, y, z, mask)
                begin, end = table[bucket], table[bucket + 1]
                if size + end - begin + LANES > window.shape[1]:
                    larger = np.empty((7, 2 * (size + end - begin + LANES)))
                    larger[:, :size] = window[:, :size]
                    window = larger
                for place in range(begin, end):
                    if cells[place, 0] == x and cells[place, 1] == y and cells[place, 2] == z:
                        for part in range(6):
                            window[part, size] = packed[place, part]
                        window[6, size] = place
                        size += 1
    while size % LANES:  # padding too far away to count, so that all lanes are full
        window[:3, size] = 1e18
        window[3:, size] = -1.0
        size += 1
    return window, size


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz"}, error_model="numpy")
def _sum_window(place, own, x, y, z, u, v, w, places, near, middle, wide, constant, inverse_square, sums):
    """One pass without branches over the window, self left out: the lanes' order depends on the window alone."""
    px, py, pz = own[0], own[1], own[2]
    sx = sy = sz = sn = ax = ay = az = an = cx = cy = cz = cn = 0.0
    for j in range(len(x)):
        dx, dy, dz = x[j] - px, y[j] - py, z[j] - pz
        square = dx * dx + dy * dy + dz * dz
        other = places[j] != place
        separate = 1.0 if (square <= near) & other else 0.0
        align = 1.0 if (square <= middle) & other else 0.0
        cohere = 1.0 if (square <= wide) & other else 0.0
        scale = separate * (constant + inverse_square / (square if square > 0.0 else 1.0))
        sx -= scale * dx
        sy -= scale * dy
        sz -= scale * dz
        sn += separate
        ax += align * u[j]
        ay += align * v[j]
        az += align * w[j]
        an += align
        cx += cohere * dx
        cy += cohere * dy
        cz += cohere * dz
        cn += cohere
    sums[0], sums[1], sums[2], sums[3] = sx, sy, sz, sn
    sums[4], sums[5], sums[6], sums[7] = ax, ay, az, an
    sums[8], sums[9], sums[10], sums[11] = cx, cy, cz, cn


@numba.njit(nogil=True, cache=True)
def gather_plain_range(begin, end, order, table, cells, packed, radii, constant, inverse_square, out):
    """As `gather_range` for hard, overlapping balls seen all round in open space, where all within the radius count.

    `packed` is float64 (N, 6), position and aligned quantity, and `cells` int64 (N, 3), both in the grid's order; the neighbours of a cell
    are copied once into a window that all its boids pass over. Separation falls off as constant + inverse_square / d², times the offset.
    """
    near, middle, wide = _threshold(radii[0]), _threshold(radii[1]), _threshold(radii[2])
    window, size, last = np.empty((7, 1024)), 0, -1
    for place in range(begin, end):
        if (
            last < 0
            or cells[place, 0] != cells[last, 0]
            or cells[place, 1] != cells[last, 1]
            or cells[place, 2] != cells[last, 2]
        ):
            window, size = _fill(window, place, packed, table, cells)
            last = place
        _sum_window(place, packed[place], window[0, :size], window[1, :size], window[2, :size], window[3, :size], window[4, :size],
                    window[5, :size], window[6, :size], near, middle, wide, constant, inverse_square, out[order[place]])  # fmt: skip


@numba.njit(nogil=True, cache=True)
def _look(boid, other, position, heading, box, resting):
    """Offset, distance and cosine of the angle from the heading; a boid at rest sees all round."""
    x = hash_grid.wrapped(position[other, 0] - position[boid, 0], box[0])
    y = hash_grid.wrapped(position[other, 1] - position[boid, 1], box[1])
    z = hash_grid.wrapped(position[other, 2] - position[boid, 2], box[2])
    distance = np.sqrt(x * x + y * y + z * z)
    cosine = 1.0
    if distance > 0.0 and not resting:
        cosine = (x * heading[boid, 0] + y * heading[boid, 1] + z * heading[boid, 2]) / distance
    return (x, y, z), distance, cosine


class Stepper(reference.Stepper):
    """The reference's step with compiled pair sums. The bits do not depend on the number of threads: each boid gathers by itself."""

    def __init__(self, settings: Settings, traits: Traits, threads: int | None = None) -> None:
        super().__init__(settings, traits)
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)

    def gather(self, state: State) -> reference.Sums:
        """As `reference.gather`."""
        settings, count = self.settings, len(state)
        rules = [getattr(settings, name) for name in RULES]
        periodic = settings.space == "BOX" and settings.boundary == "PERIODIC"
        box = np.array(settings.space_size if periodic else (0.0, 0.0, 0.0))
        reaches = np.array(list(zip([rule.radius for rule in rules], reference.inner_radii(settings), strict=True)))
        views = np.array([_view_edge(rule.field_of_view) for rule in rules])
        heading = reference.unit(state.velocity)
        aligned = heading if settings.alignment_of == "HEADING" else state.velocity
        grid = hash_grid.build(state.position, max(float(reaches[:, 0].max()), 1e-6), box)
        out = np.zeros((count, SUMS))
        if _is_plain(settings, periodic):
            self._gather_plain(grid, state.position, aligned, reaches[:, 0].copy(), out)
            return self._sums(out)
        power = reference.FALLOFF_POWER[settings.falloff]
        choices: tuple[Any, ...] = (box, power, settings.neighbours, settings.edge == "SMOOTH",
                                   settings.falloff == "NEAREST", settings.cohesion_of == "DIRECTION", out)  # fmt: skip
        widest = _view_edge(reference.widest_view(settings))
        jobs = [
            self._pool.submit(gather_range, begin, min(begin + CHUNK, count), grid, state.position, state.velocity, heading, aligned,
                              reaches, views, widest, *choices)
            for begin in range(0, count, CHUNK)
        ]  # fmt: skip
        for job in jobs:
            job.result()
        return self._sums(out)

    def _gather_plain(
        self, grid: tuple, position: np.ndarray, aligned: np.ndarray, radii: np.ndarray, out: np.ndarray
    ) -> None:
        order, table, cells, _ = grid
        packed = np.concatenate((position, aligned), axis=1)[order].astype(np.float64, copy=False)
        constant, inverse_square = (1.0, 0.0) if self.settings.falloff == "CENTROID" else (0.0, 1.0)
        shared = (order, table, cells[order], packed, radii, constant, inverse_square, out)
        begins = range(0, len(order), PLAIN_CHUNK)
        jobs = [self._pool.submit(gather_plain_range, at, min(at + PLAIN_CHUNK, len(order)), *shared) for at in begins]
        for job in jobs:
            job.result()

    def _sums(self, out: np.ndarray) -> reference.Sums:
        sums = reference.Sums(len(out))
        for index, name in enumerate(RULES):
            sums.vector[name] = out[:, 4 * index : 4 * index + 3].copy()
            sums.weight[name] = out[:, 4 * index + 3].copy()
        return sums


def _is_plain(settings: Settings, periodic: bool) -> bool:
    """Whether the pair loop without branches serves these settings."""
    rules = [getattr(settings, name) for name in RULES]
    return (
        settings.edge == "HARD"
        and settings.zones == "OVERLAPPING"
        and settings.neighbours == 0
        and settings.falloff in ("INVERSE", "CENTROID")
        and settings.cohesion_of == "OFFSET"
        and not periodic
        and all(rule.inner_radius == 0 and rule.field_of_view >= 2 * np.pi for rule in rules)
    )


def _view_edge(field_of_view: float) -> float:
    return -2.0 if field_of_view >= 2 * np.pi else float(np.cos(field_of_view / 2))


def warm_up() -> None:
    """Compiles, or reads from numba's cache, all that the default flock needs: it takes seconds the first time, and may run in a thread.

    Three boids fly one step towards a target and around a repulsor.
    """
    settings = Settings(count=3)
    effectors = Effectors(attractors=attractor((0.0, 9.0, 0.0)), spheres=spheres([[0.0, 6.0, 0.0]], [1.0])).at(0)
    stepper = Stepper(settings, Traits(settings), 1)
    stepper.step(stepper.settle(spawn(settings), effectors), effectors, 1 / 24)
