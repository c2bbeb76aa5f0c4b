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
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, register_model
from numba.np import arrayobj

from .kernel_cache import EntryCache, JointCompiler, KernelCache, KernelCompiler, PartCompiler, with_room

LANES = 16
"""float32 numbers in the widest vector register there is (AVX-512); narrower ones go twice or four times."""

FAST = {"reassoc", "nsz", "contract", "arcp", "afn", "ninf"}
"""Lets sums be split into lanes, products and sums be fused, and divisions be estimated and refined. NaN keeps its meaning."""
FLAGS = tuple(sorted(FAST - {"reassoc"}))

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


def _has(feature: str) -> bool:
    """Whether the processor that is compiled for has it: this one, or that which NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name."""
    if numba.config.CPU_NAME:
        return f"+{feature}" in (numba.config.CPU_FEATURES or "").split(",")
    return bool(llvm.get_host_cpu_features().get(feature, False))


HAS_AVX512 = _has("avx512f")
HAS_COMPRESS = HAS_AVX512 or _has("avx2")
"""Whether the processor packs the lanes of a mask together: see `store_packed`."""

PAUSE = (
    ("llvm.aarch64.isb", ir.IntType(32)(15))
    if llvm.get_process_triple().startswith(("arm64", "aarch64"))
    else ("llvm.x86.sse2.pause",)
)
"""What LLVM calls the instruction for who waits for another thread: it lasts some nanoseconds, in which others get on."""


def compiled():
    """As all our kernels are compiled: without the interpreter's lock, once, and in float32 arithmetic that may use lanes.

    They allocate nothing, so that no references need be counted. Only other kernels call them: the wrappers for Python, which take as
    long to compile as the rest, are left out. All of them are laid into those that call them: the process that compiles would else call
    a function by itself, one that reads numba's cache the copy in its caller, and the two, optimised apart, differ in the last bit.
    """
    return _part(PartCompiler)


def joint():
    """As `compiled`, for one that mostly calls others, outside of the inner loops: it compiles faster, and runs as fast."""
    return _part(JointCompiler)


def _part(compiler):
    return _kept(KernelCache, compiler, forceinline=True, no_cpython_wrapper=True)


def called_from_python():
    """As `compiled`, where Python begins."""

    def decorate(function):
        kernel = _kept(EntryCache, KernelCompiler)(function)
        kernel.compile = partial(with_room, kernel.compile)
        return kernel

    return decorate


def _kept(cache, compiler, **options):
    def decorate(function):
        options.update(nogil=True, fastmath=FAST, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
        kernel = numba.njit(pipeline_class=compiler, **options)(function)
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


# sixteen numbers at once


class _Vector(types.Type):
    """What LLVM calls <16 x ...>."""

    def __init__(self, name: str, element: ir.Type) -> None:
        super().__init__(name)
        self.element = element


@register_model(_Vector)
class _VectorModel(PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, ir.VectorType(kind.element, LANES))


NUMBERS, INTEGERS, MASK = (
    _Vector("numbers", ir.FloatType()), _Vector("integers", ir.IntType(32)), _Vector("mask", ir.IntType(1)),
)  # fmt: skip
"""Sixteen float32 numbers, int32 integers, and truths: types of numba's. LLVM sees to it that narrower processors can do with them."""


@intrinsic
def splat(typing, value):
    """The same number in all lanes."""

    def generate(context, builder, signature, args):
        return _splat(builder, args[0], context.get_value_type(NUMBERS))

    return NUMBERS(types.float32), generate


@intrinsic
def first_of(typing, value):
    """A number, and zeros behind it."""

    def generate(context, builder, signature, args):
        nothing = ir.Constant(context.get_value_type(NUMBERS), None)
        return builder.insert_element(nothing, args[0], ir.Constant(ir.IntType(32), 0))

    return NUMBERS(types.float32), generate


def _kind(array):
    return {types.float32: NUMBERS, types.int32: INTEGERS}[array.dtype]


@intrinsic
def load(typing, array, index):
    """The 16 float32 numbers, or int32 integers, from `index` on."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], *args)
        found = builder.load(builder.bitcast(pointer, context.get_value_type(signature.return_type).as_pointer()))
        found.align = 4
        return found

    return _kind(array)(array, types.intp), generate


@intrinsic
def store(typing, array, index, numbers):
    """Writes the 16 numbers from `index` on."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], builder.bitcast(pointer, args[2].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, NUMBERS), generate


def _arithmetic(operation):
    @intrinsic
    def calculated(typing, one, other):
        def generate(context, builder, signature, args):
            return getattr(builder, operation)(*args, flags=FLAGS)

        return NUMBERS(NUMBERS, NUMBERS), generate

    return calculated


added, minus, times = _arithmetic("fadd"), _arithmetic("fsub"), _arithmetic("fmul")
"""One plus, minus and times the other, lane by lane."""


def _choice(comparison):
    @intrinsic
    def choice(typing, one, other):
        def generate(context, builder, signature, args):
            return _chosen(builder, comparison, *args)

        return NUMBERS(NUMBERS, NUMBERS), generate

    return choice


def _chosen(builder, comparison, one, other):
    """In each lane that one of two numbers which compares so to the other."""
    return builder.select(builder.fcmp_ordered(comparison, one, other), one, other)


smaller, larger = _choice("<"), _choice(">")
"""The smaller, and the larger, of two numbers in each lane."""


def _comparison(comparison):
    @intrinsic
    def compared(typing, one, other):
        def generate(context, builder, signature, args):
            return builder.fcmp_ordered(comparison, *args)

        return MASK(NUMBERS, NUMBERS), generate

    return compared


at_most, above = _comparison("<="), _comparison(">")
"""Where one number is no larger, and where it is larger, than the other."""


@intrinsic
def inverse_root(typing, numbers):
    """1 / square root."""

    def generate(context, builder, signature, args):
        kind = args[0].type
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), "llvm.sqrt.v16f32")
        return builder.fdiv(_constant(kind, 1.0), builder.call(root, args, fastmath=FLAGS), flags=FLAGS)

    return NUMBERS(NUMBERS), generate


@intrinsic
def differs(typing, integers, one):
    """Where an integer differs from `one`."""

    def generate(context, builder, signature, args):
        one = builder.trunc(args[1], args[0].type.element)
        return builder.icmp_signed("!=", args[0], _splat(builder, one, args[0].type))

    return MASK(INTEGERS, types.int64), generate


@intrinsic
def added_where(typing, mask, one, other):
    """One, plus the other where the mask says so."""

    def generate(context, builder, signature, args):
        return builder.select(args[0], builder.fadd(*args[1:], flags=FLAGS), args[1])

    return NUMBERS(MASK, NUMBERS, NUMBERS), generate


@intrinsic
def where(typing, mask, one, other):
    """One where the mask says so, else the other."""

    def generate(context, builder, signature, args):
        return builder.select(*args)

    return NUMBERS(MASK, NUMBERS, NUMBERS), generate


@intrinsic
def inverse(typing, numbers):
    """1 / number, to a 16,000th; zero gives what is not a number."""

    def generate(context, builder, signature, args):
        kind = args[0].type
        if not HAS_AVX512:
            return builder.fdiv(_constant(kind, 1.0), args[0], flags=FLAGS)
        estimate = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind, kind, ir.IntType(LANES)]), "llvm.x86.avx512.rcp14.ps.512"
        )
        return builder.call(estimate, [args[0], ir.Constant(kind, None), ir.Constant(ir.IntType(LANES), -1)])

    return NUMBERS(NUMBERS), generate


def _constant(kind, value):
    return ir.Constant(kind, [ir.Constant(kind.element, value)] * LANES)


@intrinsic
def both(typing, one, other):
    """Where both masks say so."""

    def generate(context, builder, signature, args):
        return builder.and_(*args)

    return MASK(MASK, MASK), generate


@intrinsic
def first_lanes(typing, number):
    """A mask of so many lanes, none for less than one."""

    def generate(context, builder, signature, args):
        kind = ir.VectorType(ir.IntType(64), LANES)
        lanes = ir.Constant(kind, list(range(LANES)))
        return builder.icmp_signed("<", lanes, _splat(builder, args[0], kind))

    return MASK(types.int64), generate


@intrinsic
def bits_of(typing, mask):
    """A bit for each lane."""

    def generate(context, builder, signature, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(MASK), generate


@intrinsic
def store_packed(typing, mask, numbers, array, index):
    """Writes those numbers that the mask names one after the other, from `index` on. 16 numbers are written over. See HAS_COMPRESS."""
    pack = _pack_sixteen if HAS_AVX512 else _pack_eight_by_eight

    def generate(context, builder, signature, args):
        pack(builder, args[0], args[1], _pointer(context, builder, signature.args[2], args[2], args[3]))
        return context.get_dummy_value()

    return types.void(MASK, numbers, array, types.intp), generate


def _pack_sixteen(builder, mask, numbers, pointer):
    kind = numbers.type
    compress = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(kind, [kind, kind, mask.type]),
        f"llvm.x86.avx512.mask.compress.v16{'f' if kind.element == ir.FloatType() else 'i'}32",
    )
    packed = builder.call(compress, [numbers, ir.Constant(kind, ir.Undefined), mask])
    builder.store(packed, builder.bitcast(pointer, kind.as_pointer()), align=4)


def _pack_eight_by_eight(builder, mask, numbers, pointer):
    """By a table of which lanes each mask names."""
    byte, whole, integers = ir.IntType(8), ir.IntType(64), ir.VectorType(ir.IntType(32), 8)
    kind = ir.VectorType(numbers.type.element, 8)
    permute = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(kind, [kind, integers]),
        "llvm.x86.avx2.permps" if kind.element == ir.FloatType() else "llvm.x86.avx2.permd",
    )
    table = cgutils.global_constant(builder.module, "named_lanes", ir.Constant(ir.ArrayType(whole, 256), NAMED_LANES))
    for first in (0, 8):
        half = ir.Constant(integers, list(range(first, first + 8)))
        bits = builder.bitcast(builder.shuffle_vector(mask, mask, half), byte)
        entry = builder.gep(table, [ir.Constant(whole, 0), builder.zext(bits, whole)])
        order = builder.zext(builder.bitcast(builder.load(entry), ir.VectorType(byte, 8)), integers)
        packed = builder.call(permute, [builder.shuffle_vector(numbers, numbers, half), order])
        builder.store(packed, builder.bitcast(pointer, kind.as_pointer()), align=4)
        pointer = builder.gep(pointer, [builder.zext(builder.ctpop(bits), whole)])


NAMED_LANES = [int.from_bytes([lane for lane in range(8) if bits >> lane & 1], "little") for bits in range(256)]
"""Those of eight lanes that a mask of as many bits names, a byte for each."""


@intrinsic
def counted_from(typing, first):
    """`first` and the fifteen integers after it."""

    def generate(context, builder, signature, args):
        kind = context.get_value_type(INTEGERS)
        start = _splat(builder, builder.trunc(args[0], kind.element), kind)
        return builder.add(start, ir.Constant(kind, list(range(LANES))))

    return INTEGERS(types.int64), generate


def _fold(combine):
    @intrinsic
    def fold(typing, several):
        def generate(context, builder, signature, args):
            parts, width = list(cgutils.unpack_tuple(builder, args[0])), LANES
            while width > 1:
                width //= 2
                parts += [ir.Constant(parts[0].type, ir.Undefined)] * (len(parts) % 2)
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [combine(builder, *_halves(builder, one, other, width)) for one, other in pairs]
            return parts[0]

        return NUMBERS(several), generate

    return fold


totals = _fold(lambda builder, one, other: builder.fadd(one, other, flags=FLAGS))
"""The total of each of up to sixteen vectors, one in each lane."""
least = _fold(lambda builder, one, other: _chosen(builder, "<", one, other))
"""As `totals`, the least of each."""


def _halves(builder, one, other, width):
    """Of each group of twice so many lanes the one half and the other: those of one vector, then those of the other."""
    lanes = ir.VectorType(ir.IntType(32), LANES)
    lower = [lane for lane in range(LANES) if lane % (2 * width) < width]
    for places in (lower, [lane + width for lane in lower]):
        chosen = ir.Constant(lanes, places + [place + LANES for place in places])
        yield builder.shuffle_vector(one, other, chosen)


def _transposed(builder, vectors):
    """Sixteen vectors, as the columns of what they are the rows of."""
    lanes, width = ir.VectorType(ir.IntType(32), LANES), 1
    while width < LANES:
        keeps = [lane if not lane & width else lane - width + LANES for lane in range(LANES)]
        gives = [lane + width if not lane & width else lane + LANES for lane in range(LANES)]
        for one in range(LANES):
            if not one & width:
                pair = vectors[one], vectors[one | width]
                vectors[one], vectors[one | width] = (
                    builder.shuffle_vector(*pair, ir.Constant(lanes, places)) for places in (keeps, gives)
                )
        width *= 2
    return vectors


@intrinsic
def transpose(typing, source, rows, target, columns, high, wide):
    """Turns a table of `high` rows of `wide` numbers, no more than 16 either way, into one of `wide` rows of `high`.

    `rows` int64 (16,): where each row starts in `source`; `columns` int64 (16,): where each of the new rows goes in `target`. Nothing
    else there is touched.
    """

    def generate(context, builder, signature, args):
        kind, mask, lanes = (
            context.get_value_type(NUMBERS), context.get_value_type(MASK), ir.VectorType(ir.IntType(64), LANES),
        )  # fmt: skip
        pointer, byte, align = kind.as_pointer(), ir.IntType(32), ir.Constant(ir.IntType(32), 4)
        counting = ir.Constant(lanes, list(range(LANES)))
        in_high, in_wide = (builder.icmp_signed("<", counting, _splat(builder, count, lanes)) for count in args[4:])

        def place(array, places, number):
            index = ir.Constant(ir.IntType(64), number)
            at = builder.load(_pointer(context, builder, signature.args[places], args[places], index))
            return builder.bitcast(_pointer(context, builder, signature.args[array], args[array], at), pointer)

        def those(within, number, count):
            there = builder.icmp_signed("<", ir.Constant(ir.IntType(64), number), count)
            return builder.select(there, within, ir.Constant(mask, None))

        read, write = (
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(*function), f"llvm.masked.{name}.v16f32.p0")
            for name, function in (
                ("load", (kind, [pointer, byte, mask, kind])),
                ("store", (ir.VoidType(), [kind, pointer, byte, mask])),
            )
        )
        nothing = ir.Constant(kind, None)
        vectors = [
            builder.call(read, [place(0, 1, row), align, those(in_wide, row, args[4]), nothing]) for row in range(LANES)
        ]
        for column, numbers in enumerate(_transposed(builder, vectors)):
            builder.call(write, [numbers, place(2, 3, column), align, those(in_high, column, args[5])])
        return context.get_dummy_value()

    return types.void(source, rows, target, columns, types.int64, types.int64), generate


@intrinsic
def lane_of(typing, numbers, lane):
    """One of the numbers."""

    def generate(context, builder, signature, args):
        return builder.extract_element(args[0], args[1])

    return types.float32(NUMBERS, types.int32), generate


@intrinsic
def atomic_add(typing, array, index, value):
    """Adds to an integer that other threads add to as well; what it was before."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(context, builder, signature.args[0], *args[:2]), args[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), generate


@intrinsic
def atomic_read(typing, array, index):
    """An integer that other threads change; what they wrote before it is there as well."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], *args)
        return builder.load_atomic(pointer, "acquire", signature.return_type.bitwidth // 8)

    return array.dtype(array, types.intp), generate


@intrinsic
def atomic_change(typing, array, index, old, new):
    """Whether an integer that other threads change was the old one; the new one is there then."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(pointer, *args[2:], "seq_cst"), 1)

    return types.boolean(array, types.intp, array.dtype, array.dtype), generate


@intrinsic
def linger(typing):
    """Waits for some nanoseconds: see PAUSE."""

    def generate(context, builder, signature, args):
        name, *options = PAUSE
        kind = ir.FunctionType(ir.VoidType(), [option.type for option in options])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), options)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def numbers_at(typing, address, count):
    """So many float32 numbers from an address on."""
    kind = types.Array(types.float32, 1, "C")

    def generate(context, builder, signature, args):
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, 4)
        data = builder.inttoptr(args[0], ir.FloatType().as_pointer())
        arrayobj.populate_array(array, data, [args[1]], [size], size, None)
        return array._getvalue()

    return kind(types.int64, types.int64), generate


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


@compiled()
def inverse_length(x, y, z):
    """1 / length; of the zero vector so large a number that its product with it is zero all the same."""
    return ONE / np.sqrt(max(x * x + y * y + z * z, TINY))


@compiled()
def root(square):
    """Square root, by way of its inverse, which is estimated and refined: the processor's own takes twice as long in sixteen lanes."""
    return square / np.sqrt(max(square, TINY))


@compiled()
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


@compiled()
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
