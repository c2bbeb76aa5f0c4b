# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user chooses: frozen dataclasses, each number with its unit, validated with sentences.

Lengths are scene lengths in the flock's own space, times are seconds, angles are radians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

VERSION = 1
"""Of the dict that `Settings.to_dict` writes."""

CHOICES = {
    "steer": ("UNIT", "RAW", "REYNOLDS"),
    "total": ("MEAN", "SUM"),
    "spawn_shape": ("BALL", "BOX"),
    "start": ("ALIGNED", "RANDOM", "REST"),
    "edge": ("SMOOTH", "HARD"),
    "falloff": ("CONSTANT", "INVERSE", "INVERSE_SQUARE", "CENTROID", "NEAREST"),
    "zones": ("OVERLAPPING", "EXCLUSIVE", "PRIORITY"),
    "alignment_of": ("VELOCITY", "HEADING"),
    "cohesion_of": ("OFFSET", "DIRECTION"),
    "acceleration": ("BOUNDED", "CONSTANT", "UNBOUNDED", "TURN"),
    "blending": ("SUM", "AVERAGE", "PRIORITISED"),
    "integration": ("VELOCITY_FIRST", "POSITION_FIRST"),
    "noise_shape": ("NORMAL", "UNIFORM"),
    "space": ("OPEN", "BOX", "SPHERE"),
    "boundary": ("STEER", "REFLECT", "WRAP", "PERIODIC"),
    "avoidance": ("STEER_AROUND", "SLIDE", "REFLECT"),
}
"""Values of each named choice; the first is the default's."""


FALLOFF_POWER = {"CONSTANT": 0, "NEAREST": 0, "INVERSE": -1, "INVERSE_SQUARE": -2, "CENTROID": 1}
"""Of the distance, in the magnitude of separation."""


class FlockError(ValueError):
    """A sentence for the user that says what to do."""


@dataclass(frozen=True)
class Rule:
    """One of separation, alignment and cohesion."""

    weight: float = 1.0
    """Share in the blend; no unit."""
    radius: float = 1.0
    """Reach, lengths; 0 switches the rule off."""
    inner_radius: float = 0.0
    """Neighbours nearer than this do not count (a shell), lengths."""
    field_of_view: float = math.tau
    """Full angle of the cone of sight ahead, radians; a whole turn sees all."""
    steer: str = "UNIT"
    """UNIT: the direction alone. RAW: the sum or mean itself. REYNOLDS: desired velocity minus velocity, within the
    response time, bounded."""
    total: str = "MEAN"
    """MEAN over the neighbours, or their SUM; separation always sums."""
    count_self: bool = False
    """Whether the boid counts as one of its neighbours, where it has any (alignment)."""


def _rule(weight: float, radius: float) -> Any:
    view = math.radians(270.0)
    return field(default_factory=lambda: Rule(weight, radius, field_of_view=view, steer="REYNOLDS"))


@dataclass(frozen=True)
class Settings:
    """Everything that decides how one flock flies. The defaults are the project's own flock, one length long.

    `scaled(length)` gives the same flock at another body length.
    """

    # the flock
    count: int = 200
    """Number of boids."""
    seed: int = 0
    body_length: float = 1.0
    """Size of one boid, lengths."""
    spacing: float = 3.0
    """Mean distance between neighbours at the start, lengths; with the count it gives the spawn volume."""
    spawn_shape: str = "BALL"
    spawn_proportions: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Of a BOX spawn volume, relative; no unit."""
    start: str = "ALIGNED"
    """Initial headings: all ALIGNED with +Y, RANDOM, or at REST."""
    initial_speed: float = 5.0
    """Lengths per second."""
    initial_speed_variation: float = 0.0
    """Half-width of the initial speeds around theirs, as a share (0 to 0.9)."""
    release_duration: float = 0.0
    """Seconds over which the boids leave their spawn points one by one; 0 lets all go at once."""
    size_variation: float = 0.0
    """Half-width of the boids' sizes around 1, as a share (0 to 0.9): they are drawn so; all keep the clearance of the
    largest."""
    speed_variation: float = 0.1
    """The same for the speeds."""
    weight_variation: float = 0.1
    """The same for the rules' weights."""

    # whom a boid heeds
    separation: Rule = _rule(4.0, 4.0)
    alignment: Rule = _rule(2.0, 6.0)
    cohesion: Rule = _rule(1.5, 9.0)
    neighbours: int = 7
    """The k nearest that count, 1 to 32; 0 means all within the radius."""
    edge: str = "SMOOTH"
    falloff: str = "INVERSE"
    """Magnitude of separation over distance."""
    zones: str = "OVERLAPPING"
    """OVERLAPPING: each rule has its own ball. EXCLUSIVE: a neighbour counts in the innermost alone, for the rules of
    that radius. PRIORITY: so too, and separation silences the others."""
    alignment_of: str = "VELOCITY"
    cohesion_of: str = "OFFSET"

    # how it steers
    acceleration: str = "BOUNDED"
    """BOUNDED by the maximum; CONSTANT: always the maximum; UNBOUNDED; TURN: heading only, at the cruise speed."""
    blending: str = "SUM"
    integration: str = "VELOCITY_FIRST"
    cruise_speed: float = 6.0
    """The speed that Reynolds steering asks for, lengths per second."""
    response_time: float = 1.0
    """In which Reynolds steering seeks the desired velocity, seconds."""
    min_speed: float = 5.0
    """Lengths per second."""
    max_speed: float = 9.0
    """Lengths per second."""
    max_acceleration: float = 9.0
    """Lengths per second squared."""
    max_turn_rate: float = math.inf
    """Of the flight, radians per second; what a boid touches may turn it faster."""
    max_climb: float = math.pi / 2
    """Steepest climb above the horizon, radians."""
    max_dive: float = math.pi / 2
    """Steepest dive below the horizon, radians."""
    drag: float = 0.0
    """Linear drag, per second: v <- (v + a dt) / (1 + drag dt)."""
    attraction: float = 0.3
    """Weight of attractors, sources and paths; no unit."""
    attraction_steer: str = "REYNOLDS"
    wander: float = 0.25
    """Weight of the slowly turning wander; no unit."""
    wander_rate: float = 0.5
    """How often the wander takes a new direction, per second."""
    noise: float = 0.0
    """Angular noise, radians per root of a second, that is, of one second: standard deviation (NORMAL), or the whole width
    (UNIFORM). A step's is times the root of its length, so that it gathers alike at any frame rate."""
    noise_shape: str = "NORMAL"
    level_flight: float = 1.0
    """Weight of the wish to fly level; no unit."""
    speed_control: float = 3.0
    """Weight of the wish to fly at cruise speed, per second; a boid that has it turns rather than brakes. 0 for none."""
    plane: bool = False
    """Flies in the plane z = 0 of its own space, exactly."""

    # sources: goals that jump
    sources: int = 0
    source_interval: float = 6.25
    """Seconds between jumps, the first so long after the spawn."""
    source_size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Full size of the box in which they jump, lengths, centred on the origin."""

    # the space
    space: str = "OPEN"
    boundary: str = "STEER"
    """At the border of a BOX or SPHERE. STEER: boids turn back ahead of it, by their feelers if they have any, and stop
    at it. REFLECT: they bounce, and keep their speed. WRAP: a boid that leaves is set on the opposite face, perception
    does not reach across; PERIODIC: both do; a sphere has no period and wraps."""
    space_centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    space_size: tuple[float, float, float] = (100.0, 100.0, 100.0)
    """Full size of the box, or the sphere's diameter (its x), lengths."""
    min_height: float = -math.inf
    """No boid flies below this height in the flock's space, lengths."""

    # obstacles
    avoidance: str = "STEER_AROUND"
    look_ahead: float = 1.2
    """How far ahead a boid looks for obstacles, seconds."""
    collision_decay: float = 0.8
    """Share of the speed kept after a collision."""
    clearance: float = 0.5
    """Distance kept from obstacles, lengths: half a body."""
    feelers: float = 0.0
    """Weight of the feelers, of the max acceleration: probes ahead and at 45 degrees push along the normal of what they
    meet; 0 for none."""
    feeler_length: float = 3.0
    """Lengths."""

    # how it turns its body
    banking: float = 1.0
    """Share of the bank of a level turn, tan(bank) = lateral acceleration / gravity; 0 keeps the wings level."""
    gravity: float = 9.81
    """Lengths per second squared."""
    roll_rate: float = math.radians(180.0)
    """Fastest roll, radians per second."""
    smoothing: float = 0.1
    """Time in which the body follows the velocity, seconds."""
    beat_rate: float = 3.0
    """Wing beats per second in level cruise; climbing and accelerating beat faster, gliding slower."""

    # time
    pre_roll: float = 4.0
    """Seconds flown before the first frame."""
    substeps: int = 2
    """Steps for each frame."""

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise FlockError(problem)

    @property
    def flock_width(self) -> float:
        """Diameter of the ball (in the plane: the disc) that the flock fills at its spacing, lengths."""
        if self.plane:
            return 2 * self.spacing * math.sqrt(self.count / math.pi)
        return 2 * self.spacing * math.cbrt(self.count * 3 / (4 * math.pi))

    def scaled(self, body_length: float) -> Self:
        """The same flock at another body length: lengths and speeds scale, times and angles stay."""
        _require(body_length > 0 and math.isfinite(body_length), "Set the body length above 0")
        factor = body_length / self.body_length
        powers = weight_powers(self)
        rules = {name: _scaled_fields(getattr(self, name), RULE_LENGTHS, factor) for name in RULES}
        rules = {name: replace(rule, weight=rule.weight * factor ** powers[name]) for name, rule in rules.items()}
        attraction = self.attraction * factor ** powers["attraction"]
        return replace(_scaled_fields(self, LENGTHS, factor), attraction=attraction, **rules)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, with a version; `from_dict` reads it back."""
        return {"version": VERSION} | asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Fields that are missing have their default.

        Raises:
            FlockError: an unknown field, a newer version, or a value that is out of range.
        """
        _require(isinstance(data, Mapping), "Give the settings by their names")
        values = dict(data)
        version = values.pop("version", VERSION)
        _require(isinstance(version, Integral), "Give the version of these settings as a whole number")
        _require(version <= VERSION, "These settings come from a newer Flock: install it to read them")
        for name in RULES:
            if isinstance(values.get(name), Mapping):
                values[name] = _from_mapping(Rule, values[name])
        return _from_mapping(cls, values)


RULES = ("separation", "alignment", "cohesion")
RULE_LENGTHS = ("radius", "inner_radius")
LENGTHS = (
    "body_length", "spacing", "initial_speed", "cruise_speed", "min_speed", "max_speed", "max_acceleration",
    "source_size", "space_centre", "space_size", "min_height", "clearance", "feeler_length", "gravity",
)  # fmt: skip


def weight_powers(settings: Any) -> dict[str, int]:
    """With which power of the body length the weights of rules and attraction scale, so that a flock flies alike at any size.

    They all add up to an acceleration, or to a direction; what each gives before it is weighted may be neither.
    """
    raw = {
        "separation": FALLOFF_POWER[settings.falloff],
        "alignment": 1 if settings.alignment_of == "VELOCITY" else 0,
        "cohesion": 1 if settings.cohesion_of == "OFFSET" else 0,
        "attraction": 1,
    }
    steer = {name: getattr(settings, name).steer for name in RULES} | {"attraction": settings.attraction_steer}
    given = {name: {"UNIT": 0, "REYNOLDS": 1, "RAW": raw[name]}[kind] for name, kind in steer.items()}
    total = 0 if settings.acceleration in ("CONSTANT", "TURN") else 1
    return {name: total - power for name, power in given.items()}


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise FlockError(sentence)


def _scaled_fields(settings: Any, names: tuple[str, ...], factor: float) -> Any:
    def scale(value: Any) -> Any:
        return tuple(part * factor for part in value) if isinstance(value, tuple) else value * factor

    return replace(settings, **{name: scale(getattr(settings, name)) for name in names})


def _from_mapping(kind: type, values: Mapping[str, Any]) -> Any:
    known = {entry.name for entry in fields(kind)}
    unknown = sorted(set(values) - known, key=str)
    _require(not unknown, f"Remove the unknown setting '{unknown[0] if unknown else ''}'")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


_POSITIVE = (
    "body_length", "spacing", "response_time", "wander_rate", "source_interval", "gravity", "roll_rate", "max_turn_rate",
)  # fmt: skip
_NOT_NEGATIVE = (
    "initial_speed", "release_duration", "cruise_speed", "min_speed", "max_speed", "max_acceleration",
    "max_climb", "max_dive", "speed_control", "drag", "noise", "look_ahead", "clearance", "feelers", "feeler_length", "banking",
    "smoothing", "beat_rate", "pre_roll",
)  # fmt: skip
_SHARES = ("initial_speed_variation", "size_variation", "speed_variation", "weight_variation")
_MAY_BE_INFINITE = ("max_turn_rate", "min_height", "max_acceleration", "max_speed")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


_KINDS = {
    "int": (lambda value: isinstance(value, Integral), "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    "tuple[float, float, float]": (
        lambda value: isinstance(value, tuple) and len(value) == 3 and all(map(_is_number, value)),
        "three numbers",
    ),
    "Rule": (lambda value: isinstance(value, Rule), "a rule: its weight, radius and what else it has, by their names"),
}
"""By the type of a field: whether a value is one, and what it is in words. numpy's numbers are numbers, too."""


def label(name: str) -> str:
    """The name as the user reads it: 'max_speed' is 'Max speed'."""
    return name.replace("_", " ").capitalize()


def _problems(settings: Settings):
    """Sentences, the first of which is shown."""
    yield from _problems_of_numbers(settings, "")
    yield from _problems_of_kinds(settings, "")
    for name in RULES:
        rule = getattr(settings, name)
        yield from _problems_of_numbers(rule, f"{label(name)} ")
        yield from _problems_of_kinds(rule, f"{label(name)} ")
        for part in ("radius", "inner_radius", "field_of_view"):
            if getattr(rule, part) < 0:
                yield f"Set {label(name)} {label(part).lower()} to 0 or more"
        yield from _problems_of_choices(rule)
    yield from _problems_of_choices(settings)
    if not -(2**63) <= settings.seed < 2**63:
        yield "Set the seed to a number of at most 18 digits"
    if settings.count < 0:
        yield "Set the count to 0 or more"
    if not 0 <= settings.neighbours <= 32:
        yield "Set the number of neighbours to 0 (all) or 1 to 32"
    if settings.substeps < 1:
        yield "Set the substeps to 1 or more"
    if settings.sources < 0:
        yield "Set the number of sources to 0 or more"
    for name in _POSITIVE:
        if getattr(settings, name) <= 0:
            yield f"Set {label(name)} above 0"
    for name in _NOT_NEGATIVE:
        if getattr(settings, name) < 0:
            yield f"Set {label(name)} to 0 or more"
    for name in _SHARES:
        if not 0 <= getattr(settings, name) <= 0.9:
            yield f"Set {label(name)} between 0 and 0.9"
    if not 0 <= settings.collision_decay <= 1:
        yield "Set Collision decay between 0 and 1"
    if settings.min_speed > settings.max_speed:
        yield "Set Min speed no higher than Max speed"
    if settings.acceleration == "CONSTANT" and math.isinf(settings.max_acceleration):
        yield "Set Max acceleration to a finite number: constant acceleration is always the greatest"
    for name in ("spawn_proportions", "space_size"):
        if min(getattr(settings, name)) <= 0:
            yield f"Set each part of {label(name)} above 0"


def _problems_of_numbers(settings: Any, prefix: str):
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        for number in value if isinstance(value, tuple) else (value,):
            if not _is_number(number) or (abs(number) == math.inf and entry.name in _MAY_BE_INFINITE):
                continue
            if not -math.inf < number < math.inf:
                yield f"Set {prefix}{label(entry.name)} to a finite number"


def _problems_of_kinds(settings: Any, prefix: str):
    for entry in fields(settings):
        if entry.type == "str":  # see the choices
            continue
        is_one, kind = _KINDS[str(entry.type)]
        if not is_one(getattr(settings, entry.name)):
            yield f"Set {prefix}{label(entry.name)} to {kind}"


def _problems_of_choices(settings: Any):
    for entry in fields(settings):
        allowed = CHOICES.get(entry.name) or (CHOICES["steer"] if entry.name == "attraction_steer" else None)
        if allowed and getattr(settings, entry.name) not in allowed:
            yield f"Set {label(entry.name)} to one of {', '.join(allowed)}"
