# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact sheets of a flight and what can be measured of it, for tuning a flock by eye and by number.

    python tools/contact_sheet.py OUT.png [--count N] [--frames N] [--preset NAME] [--sphere RADIUS] [--reach LENGTHS]
        [--predator RADIUS]

Needs numpy, scipy and pillow beside core. The camera follows the middle of the flock; the target flies a slow figure. With a small
reach one sees how single birds bank and beat their wings. With a predator, one crosses the flock's way in the middle of the clip.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from core import Effectors, Settings, Simulation, attractor, predator, spheres
from core.orientation import cross, forward_of, up_of

FPS = 24.0
CELL = 400
COLUMNS = 4
PICTURES = 12
SETTLED = 10.0
"""Seconds after which a flight is judged."""


def flight_effectors(settings: Settings, frames: int, sphere: float) -> Effectors:
    """A target on a slow figure of eight, as wide as a few flocks, and a sphere in its middle where one is asked for."""
    turning = settings.cruise_speed**2 / settings.max_acceleration
    reach = settings.flock_width + (10 * turning or 40 * settings.body_length)
    samples = frames * settings.substeps + 1
    # the target travels as fast as the flock in a crowd along the long way
    turn = np.arange(samples) / (FPS * settings.substeps) * settings.min_speed / (2 * reach)
    path = np.stack((reach * np.sin(2 * turn) / 2, reach * np.sin(turn), 0.25 * reach * np.sin(0.7 * turn)), axis=1)
    obstacles = {"spheres": spheres([[0.0, 0.5 * reach, 0.0]], [sphere])} if sphere else {}
    return Effectors(attractors=attractor(path, arrival=settings.flock_width), **obstacles)


def with_predator(settings: Settings, effectors: Effectors, frames: int, radius: float) -> Effectors:
    """One that flies through the middle of the flock, from its left, at one and a half times the boids' max speed, halfway through."""
    half = frames // 2
    *_, frame = Simulation(settings, effectors, fps=FPS, frames=half)
    ahead = frame.state.velocity.mean(axis=0)
    across = np.cross(ahead, (0.0, 0.0, 1.0)) / max(float(np.hypot(*ahead[:2])), 1e-9)
    way = (np.arange(frames * settings.substeps + 1) / settings.substeps - half) / FPS * 1.5 * settings.max_speed
    return replace(
        effectors, predators=predator(frame.state.position.mean(axis=0) + np.outer(way, across), radius, 12.0)
    )


def measures(position: np.ndarray, velocity: np.ndarray, length: float) -> dict[str, float]:
    """What one frame is like: nearest neighbours in body lengths, the share in the largest cluster, polarisation, speed."""
    if len(position) < 2:
        return {}
    tree = cKDTree(position)
    nearest = tree.query(position, k=2)[0][:, 1] / length
    pairs = tree.query_pairs(max(3.0, 3 * float(np.median(nearest))) * length, output_type="ndarray")
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(position),) * 2)
    sizes = np.bincount(connected_components(graph, directed=False)[1])
    speed = np.linalg.norm(velocity, axis=1)
    heading = velocity / np.maximum(speed, 1e-9)[:, None]
    return {
        "nearest 1%": float(np.percentile(nearest, 1)),
        "nearest 50%": float(np.median(nearest)),
        "largest cluster": sizes.max() / len(position),
        "polarisation": float(np.linalg.norm(heading.mean(axis=0))),
        "speed": float(speed.mean()),
    }


def bird(state, length: float) -> np.ndarray:
    """Lines of every bird: tail to nose, and from the back to the two wing tips, which the beat lifts; (N, 3, 2, 3)."""
    place, rotation = np.asarray(state.position, float), np.asarray(state.rotation, float)
    forward, up = forward_of(rotation), up_of(rotation)
    right = cross(forward, up)
    lift = np.sin(2 * np.pi * np.asarray(state.flap, float))[:, None] * up
    nose, tail = place + 0.6 * length * forward, place - 0.6 * length * forward
    tips = [place + length * (side * 0.8 * right + 0.35 * lift - 0.1 * forward) for side in (-1, 1)]
    return np.stack([np.stack(line, axis=1) for line in ((tail, nose), (place, tips[0]), (place, tips[1]))], axis=1)


def draw(frame, settings: Settings, effectors: Effectors, reach: float) -> Image.Image:
    """One picture from the side and slightly above, as far away as the flock is wide, or as `reach` tells."""
    position = np.asarray(frame.state.position, float)
    image = Image.new("RGB", (CELL, CELL), (205, 221, 235))
    pen = ImageDraw.Draw(image)
    centre = np.median(position, axis=0)
    if reach:  # somebody in the middle of it all
        centre = position[np.argmin(np.linalg.norm(position - centre, axis=1))]
    reach = reach or max(np.percentile(np.abs(position - centre), 98) * 1.5, 8 * settings.body_length)
    side, up = np.array((1.0, 0.0, 0.0)), np.array((0.0, 0.5, 0.87))
    moment = effectors.at((frame.number - 1) * settings.substeps)
    near = np.ones(len(position), bool)
    if (
        moment.predators.radius.size
    ):  # along its way, so that one looks through the hole; who is before or behind it is pale
        way = moment.predators.position[1, 0] - moment.predators.position[0, 0]
        way /= np.linalg.norm(way)
        side, up = np.cross(way, (0.0, 0.0, 1.0)), np.array((0.0, 0.0, 1.0))
        near = np.abs((position - moment.predators.position[0, 0]) @ way) < moment.predators.radius[0, 0] / 2

    def project(points):
        offset = points - centre
        scale = CELL / 2 / reach
        return np.stack((CELL / 2 + offset @ side * scale, CELL / 2 - offset @ up * scale), axis=-1)

    for place, radius in zip(moment.spheres.centre[0], moment.spheres.radius[0], strict=True):
        x, y = project(place)
        size = radius * CELL / 2 / reach
        pen.ellipse((x - size, y - size, x + size, y + size), fill=(160, 140, 120))
    for place, radius in zip(moment.predators.position[0], moment.predators.radius[0], strict=True):
        x, y = project(place)
        size = radius * CELL / 2 / reach
        pen.ellipse((x - size, y - size, x + size, y + size), outline=(200, 120, 110))
        pen.ellipse((x - 6, y - 6, x + 6, y + 6), fill=(120, 20, 20))
    for place in moment.attractors.position[0]:
        x, y = project(place)
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=(220, 60, 40))
    lines = project(bird(frame.state, settings.body_length))
    for boid in np.argsort(near, kind="stable"):  # the pale ones first
        body, left, right = lines[boid]
        for wing in (left, right):
            pen.line(tuple(wing.ravel()), fill=(120, 130, 150) if near[boid] else (190, 205, 220))
        pen.line(tuple(body.ravel()), fill=(50, 60, 80) if near[boid] else (175, 190, 206))
        pen.point(tuple(body[1]), fill=(200, 90, 40))
    pen.text((6, 4), f"{frame.number}", fill=(0, 0, 0))
    return image


def fly(settings: Settings, effectors: Effectors, frames: int, reach: float = 0.0):
    """Flies the flock: the pictures, the measures of each of those frames, and of each later step the share that turns back."""
    simulation = Simulation(settings, effectors, fps=FPS, frames=frames)
    chosen = set(np.linspace(1, frames, PICTURES).round().astype(int).tolist())
    drawn, found, turning, previous, flips = [], [], None, None, []
    for frame in simulation:
        velocity = np.asarray(frame.state.velocity, float)
        heading = velocity / np.maximum(np.linalg.norm(velocity, axis=1), 1e-9)[:, None]
        if previous is not None:
            turn = np.cross(previous, heading)
            if turning is not None and frame.number > SETTLED * FPS:
                flips.append((np.einsum("ij,ij->i", turn, turning) < 0).mean())
            turning = turn
        previous = heading
        if frame.number in chosen:
            found.append(measures(frame.state.position, frame.state.velocity, settings.body_length))
            drawn.append(draw(frame, settings, effectors, reach))
    return simulation, drawn, found, flips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=0, help="of boids; else the flock's own")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--preset", default="")
    parser.add_argument("--sphere", type=float, default=0.0, help="radius of a sphere in the way, body lengths")
    parser.add_argument("--predator", type=float, default=0.0, help="radius in which one is fled from, body lengths")
    parser.add_argument(
        "--reach", type=float, default=0.0, help="half the width of a picture, body lengths; else the flock's"
    )
    options = parser.parse_args()
    settings = Settings()
    if options.preset:
        from core.presets import load

        settings = load(options.preset)
    settings = replace(settings, count=options.count or settings.count)
    effectors = flight_effectors(settings, options.frames, options.sphere * settings.body_length)
    if options.predator:
        effectors = with_predator(settings, effectors, options.frames, options.predator * settings.body_length)
    simulation, drawn, found, flips = fly(settings, effectors, options.frames, options.reach * settings.body_length)
    sheet = Image.new("RGB", (COLUMNS * CELL, -(-len(drawn) // COLUMNS) * CELL))
    for index, picture in enumerate(drawn):
        sheet.paste(picture, (index % COLUMNS * CELL, index // COLUMNS * CELL))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(options.out)
    for row in found:
        sys.stdout.write("  ".join(f"{name} {value:6.3f}" for name, value in row.items()) + "\n")
    if flips:
        sys.stdout.write(f"heading rate changes sign in {np.mean(flips):.1%} of frames after {SETTLED:g} s\n")
    sys.stdout.write(f"{simulation.engine}; {options.out}\n")


if __name__ == "__main__":
    main()
