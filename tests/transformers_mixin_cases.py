"""The test classes that `test_transformers_mixin.py` runs in a separate process; pytest does not collect them by name.

`MWS_TESTER_MIXIN` names the folder that `tests/fetch_tester_mixin.py` filled.
"""

import importlib
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path

import transformers

from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from tests.small_tokenizers import ALPHABET, MERGES

# the mixins' own package is called "tests" like ours, so it is mounted under another name
package = types.ModuleType("transformers_tests")
package.__path__ = [str(Path(os.environ["MWS_TESTER_MIXIN"], "tests"))]
sys.modules["transformers_tests"] = package
TokenizerTesterMixin = importlib.import_module("transformers_tests.test_tokenization_common").TokenizerTesterMixin
try:
    BackendMixin = importlib.import_module(
        "transformers_tests.test_tokenizers_backend_mixin"
    ).TokenizersBackendTesterMixin
except ImportError:
    if transformers.__version__ >= "5":
        raise
    BackendMixin = object

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = [("l", "o"), ("lo", "w"), ("e", "r"), ("low", "er"), ("i", "s"), (" ", "is"), ("n", "e"), ("ne", "w")]


def save(alphabet, merges, kind="characters", **special) -> str:
    directory = tempfile.mkdtemp()
    names = list(special.values())
    backend = build_backend(*tokenizer_tables(names, alphabet, merges, kind), special_tokens=names)
    MwSTokenizerFast(tokenizer_object=backend, **special).save_pretrained(directory)
    return directory


LATIN = save([*ALPHABET, *LETTERS], MERGES + WORDS, eos_token="<|endoftext|>", pad_token="<|pad|>", unk_token="<unk>")
BYTES = save([*ALPHABET, *LETTERS], MERGES + WORDS, "bytes", eos_token="<|endoftext|>", pad_token="<|pad|>")
RUSSIAN = save([c for c in ALPHABET if not c.isascii()], MERGES[:2], eos_token="<|endoftext|>", pad_token="<|pad|>")


class FastTest(TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = MwSTokenizerFast
    rust_tokenizer_class = MwSTokenizerFast
    from_pretrained_id = [LATIN]


class FastRussianTest(FastTest):
    from_pretrained_id = [RUSSIAN]


class FastBytesTest(FastTest):
    from_pretrained_id = [BYTES]


class SlowTest(TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = MwSTokenizer
    from_pretrained_id = [LATIN]
    test_tokenizer_from_extractor = False


class SlowBytesTest(SlowTest):
    from_pretrained_id = [BYTES]


class FastBackendTest(BackendMixin, unittest.TestCase):
    tokenizer_class = MwSTokenizerFast
    rust_tokenizer_class = MwSTokenizerFast
    from_pretrained_id = [LATIN]


class FastBytesBackendTest(FastBackendTest):
    from_pretrained_id = [BYTES]
