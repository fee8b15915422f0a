"""Multiply bfloat16 matrices in float32 on processors that have no instructions for bfloat16."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_PRODUCTS = {
    torch.ops.aten.mm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.baddbmm.default,
}


class Float32Products(TorchDispatchMode):
    """A mode in which products of bfloat16 matrices are computed in float32 and then rounded to bfloat16.

    Instructions for bfloat16 add up in float32, too, so results differ from theirs only by the order of the additions.

    >>> ones = torch.ones(2, 300, dtype=torch.bfloat16)
    >>> with Float32Products():
    ...     ones @ ones.T
    tensor([[300., 300.],
            [300., 300.]], dtype=torch.bfloat16)
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operation of PyTorch; a product of bfloat16 matrices is computed in float32."""
        kwargs = kwargs or {}
        if function not in _PRODUCTS or args[-1].dtype is not torch.bfloat16:
            return function(*args, **kwargs)
        wider = [value.float() if isinstance(value, torch.Tensor) else value for value in args]
        return function(*wider, **kwargs).bfloat16()


def fast_products(device: str) -> AbstractContextManager[Any]:
    """Return `Float32Products` for a processor that would need ten times longer for products in bfloat16.

    PyTorch multiplies bfloat16 matrices one number at a time if the processor has neither AVX-512 nor AMX.

    Args:
        device: the type of the device that trains, such as "cpu" or "cuda".

    Returns:
        The mode, or a context that changes nothing.
    """
    if device != "cpu" or (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        return nullcontext()
    return Float32Products()
