# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation yields the frames that were asked for, can be cancelled and resumed, and flies in seconds, not in frames."""

import doctest
import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from core import Cancelled, Effectors, FlockError, Settings, Simulation, State, attractor, presets, spheres
from tests.core.engines import engines

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = Settings(count=60, pre_roll=0.5)


def arrays(state):
    return state.position, state.velocity, state.rotation, state.flap


def assert_same_bits(one, other):
    assert one.step == other.step
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        assert np.array_equal(mine, theirs)


@engines
@pytest.mark.parametrize(("first", "frames"), [(1001, 3), (-10, 21), (5, 1)])
def test_frames_have_the_numbers_that_were_asked_for(engine, first, frames):
    simulation = Simulation(SETTINGS, first=first, frames=frames, engine=engine)
    assert [frame.number for frame in simulation] == list(range(first, first + frames))
    assert simulation.steps_done == simulation.steps and simulation.progress == 1.0


@engines
def test_a_simulation_stopped_at_a_frame_goes_on_with_the_same_bits(engine):
    target = attractor(np.cumsum(np.full((11, 3), 0.5), axis=0))
    whole = list(Simulation(SETTINGS, Effectors(attractors=target), frames=6, engine=engine))
    # frame 3 is at sample 4: two steps a frame
    rest = Effectors(attractors=attractor(target.position[4:, 0]))
    resumed = list(Simulation(SETTINGS, rest, first=4, frames=3, engine=engine, resume=whole[2].state))
    assert [frame.number for frame in resumed] == [4, 5, 6]
    for one, other in zip(whole[3:], resumed, strict=True):
        assert_same_bits(one.state, other.state)


KEPT = [entry.name for entry in fields(State)]


def moving_scene(settings, samples):
    """A target that flies ahead and a sphere that comes towards the flock, sized for it."""
    ahead = np.linspace(0, 20, samples)[:, None] * settings.spacing * (0.0, 1.0, 0.1)
    ball = (0.0, 6 * settings.spacing, 0.0) - 0.1 * ahead
    return Effectors(
        attractors=attractor(ahead), spheres=spheres(ball[:, None], np.full((samples, 1), settings.spacing))
    )


def preset(name):
    settings = presets.load(name) if name != "default" else Settings()
    return replace(settings, count=60, pre_roll=min(settings.pre_roll, 0.5))


def resumed(engine, folder):
    """In a process of its own: reads each preset's state at frame 4 and flies it on to frame 10."""
    for path in sorted(folder.glob("*.npz")):
        if path.stem.endswith("-on"):
            continue
        saved = np.load(path)
        settings = Settings.from_dict(json.loads(str(saved["settings"])))
        state = State(**{name: saved[name] if saved[name].ndim else int(saved[name]) for name in KEPT})
        scene = moving_scene(settings, 9 * settings.substeps + 1)
        scene = Effectors(
            attractors=attractor(scene.attractors.position[3 * settings.substeps :, 0]),
            spheres=spheres(
                scene.spheres.centre[3 * settings.substeps :], scene.spheres.radius[3 * settings.substeps :]
            ),
        )
        *_, last = Simulation(settings, scene, first=5, frames=6, engine=engine, resume=state)
        np.savez(path.with_name(f"{path.stem}-on.npz"), **{name: getattr(last.state, name) for name in KEPT})


@engines
def test_every_preset_goes_on_in_a_new_process_with_the_same_bits(engine, tmp_path):
    ends = {}
    for name in ["default", *presets.names()]:
        settings = preset(name)
        scene = moving_scene(settings, 9 * settings.substeps + 1)
        frames = list(Simulation(settings, scene, frames=10, engine=engine))
        ends[name] = frames[-1].state
        assert np.isfinite(ends[name].position).all()
        state = {entry: getattr(frames[3].state, entry) for entry in KEPT}
        np.savez(tmp_path / f"{name}.npz", settings=json.dumps(settings.to_dict()), **state)
    script = "import sys, pathlib; from tests.core.test_simulation import resumed; resumed(sys.argv[1], pathlib.Path(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", script, engine, str(tmp_path)], cwd=ROOT, check=True)
    for name, state in ends.items():
        again = np.load(tmp_path / f"{name}-on.npz")
        for entry in KEPT:
            assert np.array_equal(getattr(state, entry), again[entry]), f"{name}: {entry}"


@pytest.mark.long
def test_the_process_that_compiles_flies_the_same_bits_as_the_next(tmp_path):
    pytest.importorskip("numba")
    script = """if True:
        import hashlib
        from core import Effectors, Settings, Simulation, attractor, presets, spheres
        scene = Effectors(attractors=attractor((0, 90, 0)), spheres=spheres([[0, 25, 0]], [2]))
        for settings in (Settings(count=60), presets.load("fish"), presets.load("geese")):
            *_, last = Simulation(settings, scene, frames=10, engine="NUMBA")
            arrays = (last.state.position, last.state.velocity, last.state.rotation, last.state.flap)
            print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, read = (
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert compiled == read and len(compiled.split()) == 3


def test_without_numba_a_flock_flies_by_the_reference():
    script = """if True:
        import sys
        sys.modules["numba"] = None  # its import fails
        from core import Settings, Simulation
        simulation = Simulation(Settings(count=30, pre_roll=0.5), frames=5)
        *_, last = simulation
        print(simulation.engine, last.number, bool(abs(last.state.position).max() < 1e3))
    """
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["REFERENCE", "5", "True"]


def test_the_example_of_the_package_runs_as_it_stands():
    import core

    found = doctest.DocTestFinder(recurse=False).find(core, "core", globs={})
    assert sum(len(one.examples) for one in found) >= 6
    runner = doctest.DocTestRunner()
    for one in found:
        runner.run(one)
    assert runner.failures == 0


def test_the_examples_of_the_readme_run_as_they_stand():
    pytest.importorskip("numba")
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


@engines
def test_cancel_is_asked_before_every_step(engine):
    asked = []
    simulation = Simulation(SETTINGS, frames=9, engine=engine, cancelled=lambda: len(asked) > 3 or asked.append(1))
    with pytest.raises(Cancelled):
        list(simulation)
    assert simulation.steps_done == 4 and 0 < simulation.progress < 1


@engines
def test_pre_roll_makes_frame_one_a_flight_of_that_time(engine):
    settled, spawned = (
        next(iter(Simulation(replace(SETTINGS, pre_roll=time), engine=engine))).state for time in (0.5, 0.0)
    )
    moved = np.linalg.norm(settled.position - spawned.position, axis=1)
    # every boid flies between its own least and greatest speed, each varied by a tenth
    assert moved.max() <= 0.5 * SETTINGS.max_speed * 1.1 * 1.001 and np.median(moved) >= 0.5 * SETTINGS.min_speed * 0.9


@engines
@pytest.mark.parametrize("fps", [23.976, 24.0, 25.0, 30.0, 60.0])
def test_speeds_are_per_second_at_any_frame_rate(engine, fps):
    settings = replace(
        SETTINGS,
        count=1,
        min_speed=4.0,
        cruise_speed=4.0,
        max_speed=4.0,
        initial_speed=4.0,
        speed_variation=0.0,
        wander=0.0,
        pre_roll=0.0,
    )
    frames = list(Simulation(settings, fps=fps, frames=11, engine=engine))
    flown = np.linalg.norm(frames[-1].state.position - frames[0].state.position)
    assert flown == pytest.approx(4.0 * 10 / fps, rel=1e-4)


@engines
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_flocks_fly(engine, count):
    last = list(Simulation(replace(SETTINGS, count=count), frames=3, engine=engine))[-1].state
    assert len(last) == count and all(np.isfinite(array).all() for array in arrays(last))


@engines
@pytest.mark.parametrize("count", [49, 51, 0])
def test_a_flight_of_another_number_of_boids_is_not_resumed(engine, count):
    state = next(iter(Simulation(Settings(count=50, pre_roll=0.0), engine=engine))).state
    with pytest.raises(FlockError, match="Set the count to 50"):
        Simulation(Settings(count=count), engine=engine, resume=state)


@engines
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["position", "velocity", "rotation", "flap"])
def test_a_flight_with_places_that_are_no_numbers_is_not_resumed(engine, part, number):
    state = next(iter(Simulation(SETTINGS, engine=engine))).state
    bad = np.array(getattr(state, part))
    bad[7] = number
    with pytest.raises(FlockError, match="Resume from an earlier frame"):
        Simulation(SETTINGS, engine=engine, resume=replace(state, **{part: bad}))


@engines
@pytest.mark.parametrize("part", ["position", "velocity", "rotation", "flap"])
def test_a_state_whose_parts_do_not_fit_together_is_not_resumed(engine, part):
    state = next(iter(Simulation(SETTINGS, engine=engine))).state
    with pytest.raises(FlockError, match=r"Resume|Set the count"):
        Simulation(SETTINGS, engine=engine, resume=replace(state, **{part: getattr(state, part)[:-1]}))


@engines
def test_a_simulation_that_is_flown_again_counts_its_steps_anew(engine):
    simulation = Simulation(SETTINGS, frames=3, engine=engine)
    first, second = list(simulation), list(simulation)
    assert simulation.progress == 1.0 and simulation.steps_done == simulation.steps
    assert_same_bits(first[-1].state, second[-1].state)


@pytest.mark.parametrize("values", [{"fps": 0}, {"fps": np.nan}, {"frames": 0}])
def test_an_impossible_range_is_answered_with_a_sentence(values):
    with pytest.raises(FlockError, match="Set the"):
        Simulation(SETTINGS, engine="REFERENCE", **values)
