# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What compiled loops need and numba does not bring: a bit for each lane, atomic counters, angles without a call to the C library."""

from __future__ import annotations

from functools import partial

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernel_cache import EntryCache, KernelCache, PartCompiler, with_room

LANES = 16
"""float32 numbers in the widest vector register there is (AVX-512); narrower ones go twice or four times."""

FAST = {"reassoc", "nsz", "contract", "arcp", "afn", "ninf"}
"""Lets sums be split into lanes, products and sums be fused, and divisions be estimated and refined. NaN keeps its meaning."""

F = np.float32
ZERO, HALF, ONE, TWO, THREE = F(0), F(0.5), F(1), F(2), F(3)
TINY, FAR, HUGE = F(1e-24), F(1e15), F(1e18)
"""The smallest square to divide by; a place where no boid is; and a limit that is not there. Their squares and cubes are finite."""

SINE = tuple(F(value) for value in (1, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800))
COSINE = tuple(F(value) for value in (1, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600))
"""Taylor's series, good to 1e-7 up to a right angle."""

ARCTANGENT = tuple(
    F(value)
    for value in (1, -0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138, -0.0161657367, 0.0028662257)
)  # fmt: skip
"""Of arctan(x) / x over x squared, good to 2e-8 up to 1: Abramowitz and Stegun, 4.4.49."""

QUARTER, STRAIGHT = F(np.pi / 2), F(np.pi)


HAS_COMPRESS = bool(llvm.get_host_cpu_features().get("avx512f", False))
"""Whether the processor packs the lanes of a mask together: see `compress_within`."""


def compiled(**options):
    """As all our kernels are compiled: without the interpreter's lock, once, and in float32 arithmetic that may use lanes.

    They allocate nothing, so that no references need be counted. Only other kernels call them: the wrappers for Python, which take as
    long to compile as the rest, are left out. All of them are laid into those that call them: the process that compiles would else call
    a function by itself, one that reads numba's cache the copy in its caller, and the two, optimised apart, differ in the last bit.
    """
    return _kept(
        KernelCache, **options | {"forceinline": True, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}
    )


def called_from_python(**options):
    """As `compiled`, where Python begins."""

    def decorate(function):
        kernel = _kept(EntryCache, **options)(function)
        kernel.compile = partial(with_room, kernel.compile)
        return kernel

    return decorate


def _kept(cache, **options):
    def decorate(function):
        kernel = numba.njit(
            nogil=True, fastmath=FAST, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, **options
        )(function)
        kernel._cache = cache(function)
        return kernel

    return decorate


def _pointer(context, builder, kind, array, index):
    native = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, native, [index])


def _splat(builder, value, kind):
    """One number in all lanes."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@intrinsic
def atomic_add(typing, array, index, value):
    """Adds to an integer that other threads add to as well; what it was before."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(context, builder, signature.args[0], *args[:2]), args[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), generate


@intrinsic
def bits_within(typing, array, index, most):
    """The 16 numbers from `index` on, a bit for each that is no larger than `most`."""

    def generate(context, builder, signature, args):
        kind = ir.VectorType(ir.FloatType(), LANES)
        pointer = builder.bitcast(_pointer(context, builder, signature.args[0], *args[:2]), kind.as_pointer())
        numbers = builder.load(pointer)
        numbers.align = 4
        within = builder.fcmp_ordered("<=", numbers, _splat(builder, args[2], kind))
        return builder.zext(builder.bitcast(within, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(array, types.intp, types.float32), generate


@intrinsic
def compress_within(typing, array, index, most, target, places, at):
    """Writes those of 16 numbers that are no larger than `most` one after the other, to `target` from `at` on, and where they stood to
    `places` int32; where the next goes. For processors with AVX-512 alone. Behind it 16 numbers are written over."""

    def generate(context, builder, signature, args):
        lane, kind = ir.IntType(32), ir.VectorType(ir.FloatType(), LANES)
        bits, whole = ir.VectorType(ir.IntType(1), LANES), ir.VectorType(ir.IntType(32), LANES)
        source = builder.bitcast(_pointer(context, builder, signature.args[0], *args[:2]), kind.as_pointer())
        numbers = builder.load(source)
        numbers.align = 4
        within = builder.fcmp_ordered("<=", numbers, _splat(builder, args[2], kind))
        first = _splat(builder, builder.trunc(args[1], lane), whole)
        stood = builder.add(first, ir.Constant(whole, list(range(LANES))))
        for array, kind_of, values, name in ((3, kind, numbers, "v16f32"), (4, whole, stood, "v16i32")):
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(kind_of, [kind_of, kind_of, bits]),
                f"llvm.x86.avx512.mask.compress.{name}",
            )
            packed = builder.call(function, [values, ir.Constant(kind_of, ir.Undefined), within])
            pointer = _pointer(context, builder, signature.args[array], args[array], args[5])
            builder.store(packed, builder.bitcast(pointer, kind_of.as_pointer()), align=4)
        found = builder.ctpop(builder.bitcast(within, ir.IntType(LANES)))
        return builder.add(args[5], builder.zext(found, ir.IntType(64)))

    return types.int64(array, types.intp, types.float32, target, places, types.intp), generate


@intrinsic
def copy_lanes(typing, target, at, source, start):
    """Copies 16 numbers from `start` on in one array to `at` in another."""

    def generate(context, builder, signature, args):
        kind = ir.VectorType(ir.FloatType(), LANES).as_pointer()
        origin = builder.bitcast(_pointer(context, builder, signature.args[2], *args[2:]), kind)
        numbers = builder.load(origin)
        numbers.align = 4
        builder.store(numbers, builder.bitcast(_pointer(context, builder, signature.args[0], *args[:2]), kind), align=4)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp), generate


@intrinsic
def prefetch(typing, array, index):
    """Asks for the cache line of `array.flat[index]`, which is soon to be read or written."""

    def generate(context, builder, signature, args):
        kind, number = signature.args[0], ir.IntType(32)
        native = context.make_array(kind)(context, builder, args[0])
        byte = ir.IntType(8).as_pointer()
        pointer = builder.bitcast(builder.gep(native.data, [args[1]]), byte)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, number, number, number]), "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def lowest_bit(typing, bits):
    """Place of the lowest bit that is set."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def bit_count(typing, bits):
    """How many bits are set."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


@compiled(forceinline=True)
def inverse_length(x, y, z):
    """1 / length; of the zero vector so large a number that its product with it is zero all the same."""
    return ONE / np.sqrt(max(x * x + y * y + z * z, TINY))


@compiled(forceinline=True)
def sine_and_cosine(angle):
    """Within a right angle of zero, radians."""
    square = angle * angle
    sine, cosine = SINE[5], COSINE[6]
    sine = sine * square + SINE[4]
    sine = sine * square + SINE[3]
    sine = sine * square + SINE[2]
    sine = sine * square + SINE[1]
    sine = sine * square + SINE[0]
    cosine = cosine * square + COSINE[5]
    cosine = cosine * square + COSINE[4]
    cosine = cosine * square + COSINE[3]
    cosine = cosine * square + COSINE[2]
    cosine = cosine * square + COSINE[1]
    cosine = cosine * square + COSINE[0]
    return sine * angle, cosine


@compiled(forceinline=True)
def angle_of(sine, cosine):
    """arctan2 for a pair of any common scale; zero for (0, 0)."""
    high, low = max(abs(sine), abs(cosine)), min(abs(sine), abs(cosine))
    ratio = low / max(high, TINY)
    square = ratio * ratio
    angle = ARCTANGENT[8]
    angle = angle * square + ARCTANGENT[7]
    angle = angle * square + ARCTANGENT[6]
    angle = angle * square + ARCTANGENT[5]
    angle = angle * square + ARCTANGENT[4]
    angle = angle * square + ARCTANGENT[3]
    angle = angle * square + ARCTANGENT[2]
    angle = angle * square + ARCTANGENT[1]
    angle = (angle * square + ARCTANGENT[0]) * ratio
    angle = QUARTER - angle if abs(sine) > abs(cosine) else angle
    angle = STRAIGHT - angle if cosine < ZERO else angle
    return -angle if sine < ZERO else angle
