"""The table of integers and the heap against a dict and `heapq`."""

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.kernels.heap import pop, push
from mws_hf.kernels.tables import enlarged, find_pair, new_table, pair_key, put
from tests.examples import examples

NUMBERS = st.integers(0, 2**31 - 1) | st.integers(0, 3)


@examples(60)
@given(st.dictionaries(st.tuples(NUMBERS, NUMBERS), NUMBERS, max_size=40), st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_the_table_is_a_dict_and_stays_one_when_enlarged(known, others):
    keys, values = new_table(len(known))
    for pair, value in known.items():
        put(keys, values, pair_key(*pair), value)
    for table in ((keys, values), enlarged(keys, values, 4 * len(keys))):
        for pair in [*known, *others]:
            assert find_pair(*table, *pair) == known.get(pair, -1)


@examples(60)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)) | st.none(), max_size=60))
def test_the_heap_gives_its_entries_in_order(steps):
    heap, size, expected = np.empty((60, 2), np.int64), 0, []
    for entry in steps:
        if entry is not None:
            size = push(heap, size, *entry)
            heapq.heappush(expected, entry)
        elif expected:
            assert tuple(heap[0].tolist()) == heapq.heappop(expected)
            size = pop(heap, size)
        assert size == len(expected)
