# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings say what is wrong with them, scale with the body, and survive a file."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from core import FlockError, Rule, Settings, spawn
from core.settings import CHOICES, RULES, VERSION


def test_settings_survive_the_way_to_a_dict_and_back():
    settings = Settings(
        count=7, separation=Rule(2.0, 3.0, steer="RAW"), max_turn_rate=math.inf, space_size=(1.0, 2.0, 3.0)
    )
    assert Settings.from_dict(settings.to_dict()) == settings


def test_settings_survive_json_where_tuples_become_lists():
    settings = Settings(spawn_proportions=(1.0, 2.0, 3.0))
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_missing_fields_have_their_defaults():
    assert Settings.from_dict({"count": 3, "cohesion": {"weight": 9.0}}) == Settings(count=3, cohesion=Rule(9.0))


def test_a_newer_version_is_refused():
    with pytest.raises(FlockError, match="newer"):
        Settings.from_dict({"version": VERSION + 1})


@pytest.mark.parametrize("data", [{"colour": 1}, {"cohesion": {"colour": 1}}])
def test_an_unknown_setting_is_named(data):
    with pytest.raises(FlockError, match="colour"):
        Settings.from_dict(data)


NUMBERS = [
    entry.name
    for entry in fields(Settings)
    if isinstance(getattr(Settings(), entry.name), (int, float)) and entry.name != "plane"
]


@pytest.mark.parametrize("name", NUMBERS)
def test_nan_is_refused_in_every_number(name):
    with pytest.raises(FlockError, match="finite"):
        replace(Settings(), **{name: math.nan})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("part", ["radius", "inner_radius", "field_of_view"])
def test_a_negative_reach_is_refused_with_the_rules_name(rule, part):
    with pytest.raises(FlockError, match=f"Set {rule.capitalize()} {part.replace('_', ' ')} to 0 or more"):
        replace(Settings(), **{rule: replace(getattr(Settings(), rule), **{part: -1.0})})


@pytest.mark.parametrize("name", [name for name in CHOICES if name not in ("steer", "total")])
def test_an_unknown_choice_is_answered_with_the_known_ones(name):
    with pytest.raises(FlockError, match=CHOICES[name][0]):
        replace(Settings(), **{name: "NONSENSE"})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"count": -1}, "count"),
        ({"neighbours": 33}, "neighbours"),
        ({"substeps": 0}, "substeps"),
        ({"body_length": 0.0}, "Body length"),
        ({"min_speed": 9.0, "max_speed": 1.0}, "Min speed"),
        ({"collision_decay": 1.5}, "Collision decay"),
        ({"speed_variation": 1.0}, "Speed variation"),
        ({"space_size": (1.0, 0.0, 1.0)}, "Space size"),
        ({"acceleration": "CONSTANT", "max_acceleration": math.inf}, "Max acceleration"),
    ],
)
def test_values_out_of_range_are_answered_with_a_sentence(values, words):
    with pytest.raises(FlockError, match=words) as caught:
        replace(Settings(), **values)
    assert str(caught.value).startswith("Set ")


WHOLE = [name for name in NUMBERS if isinstance(getattr(Settings(), name), int)]
TRIPLES = [entry.name for entry in fields(Settings) if isinstance(getattr(Settings(), entry.name), tuple)]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [2.5, 2.0, "2", None, (2,), np.float32(2.0)])
def test_what_is_counted_is_a_whole_number(name, value):
    with pytest.raises(FlockError, match=f"Set {name.capitalize()} to a whole number"):
        replace(Settings(), **{name: value})


@pytest.mark.parametrize("kind", [int, np.int8, np.int32, np.int64, np.uint16])
def test_whole_numbers_of_numpy_are_as_good(kind):
    settings = Settings(**{name: kind(2) for name in WHOLE}, pre_roll=kind(0), space_size=(kind(1), 2.0, np.float32(3)))
    assert settings == Settings(**dict.fromkeys(WHOLE, 2), pre_roll=0.0, space_size=(1.0, 2.0, 3.0))


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 10**400])
def test_a_seed_that_does_not_fit_is_refused(seed):
    with pytest.raises(FlockError, match="Set the seed"):
        Settings(seed=seed)


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63)])
def test_the_greatest_seeds_are_flown(seed):
    assert np.isfinite(spawn(Settings(count=3, seed=seed)).position).all()


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in WHOLE])
@pytest.mark.parametrize("value", ["2", None, (2.0,), 2j])
def test_every_other_number_is_a_number(name, value):
    with pytest.raises(FlockError, match="to a number"):
        replace(Settings(), **{name: value})


@pytest.mark.parametrize("name", TRIPLES)
@pytest.mark.parametrize("value", [(1.0, 2.0), (1.0, 2.0, 3.0, 4.0), (), 1.0, None, ("1", "2", "3"), [1.0, 2.0, 3.0]])
def test_what_has_three_parts_is_three_numbers(name, value):
    with pytest.raises(FlockError, match="to three numbers"):
        replace(Settings(), **{name: value})


@pytest.mark.parametrize("value", [2, 1.0, "yes", None])
def test_a_switch_is_on_or_off(value):
    with pytest.raises(FlockError, match="Set Plane to True or False"):
        Settings(plane=value)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("value", [None, 1.0, "1", (1.0, 2.0), {"weight": 1.0}])
def test_a_rule_is_a_rule(name, value):
    with pytest.raises(FlockError, match=f"Set {name.capitalize()} to a rule"):
        replace(Settings(), **{name: value})


@pytest.mark.parametrize("part", [entry.name for entry in fields(Rule)])
@pytest.mark.parametrize("value", [None, "2", (1.0,)])
def test_what_is_wrong_with_a_part_of_a_rule_is_said(part, value):
    with pytest.raises(FlockError, match=r"^Set "):
        Settings(cohesion=Rule(**{part: value}))


@pytest.mark.parametrize(
    "data",
    [
        {"version": "x"}, {"version": None}, {"version": 1.5}, {"version": [1]}, {"separation": [1, 2]}, {"separation": None},
        {"count": None}, {"count": []}, {"space_size": [1, 2]}, {"space_size": None}, {1: 2, "colour": 3}, [], None, "text", 3,
        {"cohesion": {"radius": "far"}}, {"cohesion": {1: 2, "colour": 3}}, {"edge": None}, {"edge": []},
    ],
)  # fmt: skip
def test_what_does_not_describe_settings_is_answered_with_a_sentence(data):
    with pytest.raises(FlockError, match=r"^(Set|Give|Remove) "):
        Settings.from_dict(data)


def test_scaling_multiplies_lengths_and_speeds_and_leaves_times_angles_and_weights():
    settings = Settings().scaled(3.0)
    plain = Settings()
    assert settings.body_length == 3.0 * plain.body_length
    assert settings.separation == replace(plain.separation, radius=3.0 * plain.separation.radius)
    assert settings.max_speed == 3.0 * plain.max_speed
    assert settings.max_acceleration == 3.0 * plain.max_acceleration
    assert settings.space_size == tuple(3.0 * side for side in plain.space_size)
    assert (settings.look_ahead, settings.max_climb, settings.wander) == (
        plain.look_ahead,
        plain.max_climb,
        plain.wander,
    )
    assert math.isinf(replace(plain, max_turn_rate=math.inf).scaled(3.0).max_turn_rate)


def test_a_flock_is_as_wide_as_a_ball_that_has_room_for_all_at_their_spacing():
    settings = Settings(count=1000, spacing=2.0)
    assert math.pi / 6 * settings.flock_width**3 == pytest.approx(1000 * 2.0**3)
    flat = replace(settings, plane=True)
    assert math.pi / 4 * flat.flock_width**2 == pytest.approx(1000 * 2.0**2)
