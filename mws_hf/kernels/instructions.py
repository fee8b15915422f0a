"""Processor instructions that numba has no word for, for kernels. No index is checked."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mws_hf.kernels.jit import instruction

WINDOW = 64  # bytes that `range_mask` looks at

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(_I8, WINDOW)


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return the pointer to row `index` of an array."""
    view = context.make_array(kind)(context, builder, array)
    row = builder.extract_value(view.strides, 0)
    start = builder.ptrtoint(view.data, row.type)
    return builder.inttoptr(builder.add(start, builder.mul(row, index)), _I8.as_pointer())


@instruction
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index, 0]`` (C order), without waiting for it."""
    from numba import types
    from numba.core import cgutils

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments)
        kind = ir.FunctionType(ir.VoidType(), [place.type, *[_I32] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, *(ir.Constant(_I32, flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@instruction
def load_word(_typing: Any, text: Any, at: Any) -> Any:
    """Read the 8 bytes of a uint8 array from byte `at` on, at any address, as uint64 (little-endian)."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(place, _I64.as_pointer()), align=1)

    return types.uint64(text, types.int64), codegen


@instruction
def store_word(_typing: Any, text: Any, at: Any, word: Any) -> Any:
    """Write the 8 bytes of a uint64 (little-endian) to a uint8 array from byte `at` on."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(place, _I64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(text, types.int64, types.uint64), codegen


@instruction
def range_mask(_typing: Any, text: Any, at: Any, first: Any, count: Any) -> Any:
    """Mark the bytes of a `WINDOW` from byte `at` on that are `first` or up to ``count - 1`` more, as a uint64.

    The first byte is the lowest bit; `count` is 1 to 255. It takes a handful of vector instructions.
    """
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments[:2])
        window = builder.load(builder.bitcast(place, _LANES.as_pointer()), align=1)
        low, size = (_repeated(builder, byte) for byte in arguments[2:])
        return builder.bitcast(builder.icmp_unsigned("<", builder.sub(window, low), size), _I64)

    return types.uint64(text, types.int64, types.uint8, types.uint8), codegen


def _repeated(builder: Any, byte: Any) -> Any:
    empty = ir.Constant(_LANES, ir.Undefined)
    one = builder.insert_element(empty, byte, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(_I32, WINDOW), [0] * WINDOW))


@instruction
def trailing_zeros(_typing: Any, word: Any) -> Any:
    """Count the zero bits below the lowest one of a uint64; 64 if it is 0."""
    from numba import types

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@instruction
def leading_zeros(_typing: Any, word: Any) -> Any:
    """Count the zero bits above the highest one of a uint64; 64 if it is 0."""
    from numba import types

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen
