"""The processor's prefetch instruction for numba kernels; numba itself has none. It changes no value."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index, 0]`` (C order), without waiting for it.

    For use inside kernels; on a processor without such an instruction it does nothing.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = builder.extract_value(view.strides, 0)
        start = builder.ptrtoint(view.data, row.type)
        place = builder.inttoptr(builder.add(start, builder.mul(row, arguments[1])), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, *[ir.IntType(32)] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, *(ir.Constant(ir.IntType(32), flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen
