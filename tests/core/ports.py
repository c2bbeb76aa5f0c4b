# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published flocks in plain loops, one step each, from their formulas alone: what the presets are checked against.

They are synchronous and without their random terms. Places x and velocities v are (N, 3), in each one's own units.
"""

import numpy as np


def unit(vector):
    size = np.sqrt(vector @ vector)
    return vector / size if size > 0 else np.zeros(3)


def cut(vector, most):
    size = np.sqrt(vector @ vector)
    return vector * (most / size) if size > most else vector


GODOT = {"separation": 4.2, "alignment": 1.6, "cohesion": 1.0, "purpose": 1.6}


def godot(x, v, dt, target, repulsors=(), weights=GODOT):
    """Seconds; repulsors are pairs of centre and radius."""
    after = v.copy()
    for i in range(len(x)):
        intruders, places, speeds = [], [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 1.0:
                intruders.append(x[j])
            elif j != i and d < 16.0:
                places.append(x[j])
                speeds.append(v[j])
        total = weights["purpose"] * unit(target - x[i])
        if intruders:
            total += weights["separation"] * unit(x[i] - np.mean(intruders, axis=0))
        if places:
            total += weights["cohesion"] * unit(np.mean(places, axis=0) - x[i])
            total += weights["alignment"] * unit(np.mean(speeds, axis=0))
        after[i] = cut(v[i] + 26.0 * unit(total) * dt, 13.0)
        for centre, radius in repulsors:
            after[i] = godot_repulsed(x[i], after[i], np.asarray(centre, float), radius)
    return x + after * dt, after


def godot_repulsed(x, v, centre, radius, decay=0.8):
    """The velocity of one boid once one repulsor has had its turn."""
    way = centre - x
    heading = v / np.sqrt(v @ v)
    nearest = way @ heading
    square = way @ way - nearest**2
    if nearest >= 0 and square < radius**2:
        entry = x + (nearest - np.sqrt(radius**2 - square)) * heading
        normal = unit(entry - centre)
        return decay * (v - 2 * (v @ normal) * normal)
    return v


def godot_facing(v):
    """Rows right, forward and up of a body that looks along v, by two cross products with straight up."""
    forward = v / np.sqrt(v @ v)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right = right / np.sqrt(right @ right)
    return np.array((right, forward, np.cross(right, forward)))


def unity(x, v, dt):
    """Seconds, in a room of 16 by 12 around the origin."""
    after, place = v.copy(), x.copy()
    room = np.array((8.0, 6.0))
    for i in range(len(x)):
        wall, nearest = np.zeros(3), 1.0
        heading = unit(v[i])
        right = np.array((heading[1], -heading[0], 0.0))
        for feeler in (heading, unit(heading + right), unit(heading - right)):
            for axis in range(2):
                for side in (1.0, -1.0):
                    if feeler[axis] * side > 0:
                        way = (room[axis] - side * x[i][axis]) / (side * feeler[axis])
                        if way < nearest:
                            nearest, wall = way, np.zeros(3)
                            wall[axis] = -2.0 * side
        separation, places, headings = np.zeros(3), [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 2.0:
                places.append(x[j])
                headings.append(unit(v[j]))
                if d > 0:
                    separation += unit(x[i] - x[j]) / d
        cohesion = alignment = np.zeros(3)
        if places:
            cohesion = unit(np.mean(places, axis=0) - x[i]) - v[i]
            alignment = np.mean(headings, axis=0) - unit(v[i])
        force = np.zeros(3)
        for term in (wall, 2.0 * separation, 2.0 * cohesion, 1.0 * alignment):
            left = 4.0 - np.sqrt(force @ force)
            if left > 0:
                force = force + cut(term, left)
        after[i] = (v[i] + force * dt) / (1.0 + 1.0 * dt)
        place[i] = x[i] + after[i] * dt
        # a wall stops who comes so far: the formulas leave it to the engine's physics
        for axis in range(2):
            if abs(place[i][axis]) > room[axis]:
                side = np.sign(place[i][axis])
                place[i][axis], after[i][axis] = side * room[axis], side * min(side * after[i][axis], 0.0)
    return place, after


def rust(x, v, target):
    """Steps."""
    after = v.copy()
    for i in range(len(x)):
        total, places, speeds = 0.0005 * unit(target - x[i]), [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j == i:
                continue
            if d <= 0.05:
                total += 0.01 * unit(x[i] - x[j])
            if d <= 0.5:
                places.append(x[j])
            if d <= 0.1:
                speeds.append(v[j])
        if places:
            total += 0.008 * (np.mean(places, axis=0) - x[i])
        if speeds:
            total += 0.06 * (np.mean(speeds, axis=0) - v[i])
        after[i] = v[i] + cut(total, 0.01)
    return x + after, after


def p5(x, v):
    """Frames and pixels, on a canvas of 640 by 360 around the origin."""
    place, after = x + v, v.copy()
    half = np.array((320.0, 180.0))
    for i in range(len(x)):
        separation, places, speeds = [], [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 50.0:
                speeds.append(v[j])
            if j != i and d < 100.0:
                places.append(x[j])
                if d > 0:
                    separation.append((x[i] - x[j]) / d**2)
        total = np.zeros(3)
        for wishes, base in ((speeds, 0.0), (places, x[i]), (separation, 0.0)):
            if wishes:
                total += cut(unit(np.mean(wishes, axis=0) - base) * 4.0 - v[i], 0.2)
        after[i] = cut(v[i] + total, 4.0)
        for axis in range(2):
            if place[i][axis] > half[axis]:
                place[i][axis] = -half[axis]
            elif place[i][axis] < -half[axis]:
                place[i][axis] = half[axis]
    return place, after


def article(x, v, dt):
    """Seconds."""
    after = v.copy()
    for i in range(len(x)):
        seen = []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 4.0 and unit(x[j] - x[i]) @ unit(v[i]) > -0.5:
                seen.append((d, j))
        seen = sorted(seen)[:7]
        total = np.zeros(3)
        apart = [unit(x[i] - x[j]) / d for d, j in seen if 0 < d < 1.0]
        speeds = [v[j] for d, j in seen if d < 2.0]
        places = [x[j] - x[i] for d, j in seen]
        for weight, wishes in ((1.5, apart), (1.0, speeds), (1.0, places)):
            if wishes:
                total += weight * cut(unit(np.sum(wishes, axis=0)) * 4.0 - v[i], 3.0)
        after[i] = cut(v[i] + total * dt, 4.0)
    return x + after * dt, after
