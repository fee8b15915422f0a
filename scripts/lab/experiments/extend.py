"""Extending a tokenizer by 8,000 tokens of another language: text length and boundary F1 with MwS and with BPE.

The base tokenizers are stand-ins for public ones. They learned from English text and Python code and from no text of
the added language. The new tokens are learned from 15 million characters of that language. One line in 50 is held out
to measure lengths, and reference segmentations are used only for scoring. *Frequency* appends tokens in the same way,
but with composition 1 and without a penalty for boundaries inside a token. *Frequency, as long as ours* has only as
many of these tokens as give the same text length as *ours*.
"""

from __future__ import annotations

import json
import random
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from lm.config import RunConfig
from lm.data import Codec, shuffled
from lm.scoring import bits_per_byte
from lm.training import pretrain
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from lab.cells import Cell, Found, Place, beside
from lab.data import GOLD, head, lines_of, spread
from lab.systems import tokens
from lab.tables import as_they_are
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.scoring.evaluation import evaluate
from mws_hf.surgery.base import open_base
from mws_hf.surgery.change_report import measure_change
from mws_hf.surgery.embeddings import transplant
from mws_hf.surgery.extension import Extension, append_tokens, extend
from mws_hf.surgery.trim import trim

BY_FREQUENCY = {"composition": 1, "hidden_boundary_price": 0}
SYSTEMS = {"ours": {}, "ours, morphs only": {"composition": 0}, "frequency": BY_FREQUENCY}
AS_LONG = "frequency, as long as ours"
AXES = {"base": ("byte-level", "byte fallback"), "language": ("rus", "tur"), "system": ("base", *SYSTEMS, AS_LONG)}
SHARED, TOGETHER = 2, True
NEW, CHARACTERS = 8000, 15_000_000
SAME = "English and code texts with the same ids"
COLUMNS = (*AXES, "new tokens", "tokens/word", "bytes/token", "fewer tokens", "F1", "95 %", "precision", "recall", SAME)


def measure(place: Place, cells: list[Cell]) -> Found:
    base, language = stand_in(place, cells[0]["base"]), cells[0]["language"]
    before = Tokenizer.from_file(str(base / "tokenizer.json"))
    lines = lines_of(place.data, language)
    lines = lines[:: max(1, sum(map(len, lines)) // CHARACTERS)]
    held_out = lines[::50][::5][:1000]
    counts = count_documents(line for number, line in enumerate(lines) if number % 50)
    english = [*first_lines(place.data, {"eng": 3})][-2000:] + [*first_lines(place.data, {"code": 7})][-40:]
    found = {name: extend(base, counts, NEW, **options) for name, options in SYSTEMS.items()}

    def length(made: Extension) -> float:
        return measure_change(before, made.tokenizer, held_out).tokens_per_word[1]

    found[AS_LONG] = shortened(found["frequency"], length, length(found["ours"]))
    tokenizers = {"base": before} | {name: each.tokenizer for name, each in found.items()}
    gold = place.data / "gold" / f"{GOLD[language]}.tsv"
    for row in evaluate(tokenizers, [gold], baselines=False, resamples=200).rows:
        after = tokenizers[row.tokenizer]
        change = measure_change(before, after, held_out)
        yield {"base": cells[0]["base"], "language": language, "system": row.tokenizer}, {
            "new tokens": after.get_vocab_size() - before.get_vocab_size(),
            "tokens/word": round(change.tokens_per_word[1], 3), "bytes/token": round(change.bytes_per_token[1], 2),
            "fewer tokens": f"{1 - change.tokens[1] / change.tokens[0]:.1%}",
            "F1": round(row.scores.f1, 3), "95 %": f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
            "precision": round(row.scores.precision, 3), "recall": round(row.scores.recall, 3),
            SAME: f"{same(before, after, english)} of {len(english)}",
        }  # fmt: skip


table = partial(as_they_are, __doc__, columns=COLUMNS)


def shortened(longer: Extension, length: Callable[[Extension], float], wanted: float) -> Extension:
    """Return the extension with the fewest of the new tokens whose text length is at most `wanted`."""

    def shorter(number: int) -> Extension:
        return append_tokens(longer.base, longer.learned.first(number), longer.retired)

    numbers = range(len(longer.ids))
    return shorter(bisect_left(numbers, True, lo=1, key=lambda number: length(shorter(number)) <= wanted))


def same(before: Tokenizer, after: Tokenizer, texts: list[str]) -> int:
    """Count the texts that keep their ids."""
    new = set(after.get_vocab().values()) - set(before.get_vocab().values())
    pairs = [(before.encode(text).ids, after.encode(text).ids) for text in texts]
    if any(old != made and new.isdisjoint(made) for old, made in pairs):
        raise MwSError("the extended tokenizer changes the ids of a text that contains no new token; check `extend`")
    return sum(old == made for old, made in pairs)


LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
END = "<|end_of_text|>"


def byte_level(texts: Iterable[str], size: int) -> Tokenizer:
    """Train a byte-level BPE like those of Llama 3 and Qwen, whose special tokens come after the vocabulary."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated")
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, whole])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in ("<|begin_of_text|>", END, "<|eot_id|>")])
    return tokenizer


def byte_fallback(texts: Iterable[str], size: int, characters: int = 200) -> Tokenizer:
    """Train a BPE with byte fallback like Gemma's, whose alphabet has the most frequent `characters` characters."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    learner = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    learner.normalizer = normalizers.Replace(" ", "▁")
    learner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special + BYTES, limit_alphabet=characters, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    spec = json.loads(learner.to_str())
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    spec["pre_tokenizer"] = split  # like Gemma's pre-tokenizer, it never finds a space
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] in special]
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    spec["decoder"] = {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))


@cache
def lines(data: Path, language: str, megabytes: float, evenly: bool = True) -> list[str]:
    """Return lines with about the given number of million characters of a language.

    They are evenly spaced over all text of the language, or its first lines. The language "code" is source code of
    Python packages that are installed here.
    """
    if language == "code":
        files = sorted((Path(sys.prefix) / "lib").glob("python*/site-packages/t*/**/*.py"))
        random.Random(0).shuffle(files)
        return head((file.read_text(encoding="utf-8", errors="ignore") for file in files), megabytes * 1e6, len)
    every = lines_of(data, language)
    return spread(every, megabytes * 1e6) if evenly else head(every, megabytes * 1e6, len)


def first_lines(data: Path, sizes: Mapping[str, float]) -> Iterator[str]:
    """Yield the first lines of texts; `sizes` has the million characters of each."""
    return (line for language, size in sizes.items() for line in lines(data, language, size, evenly=False))


def training_lines(data: Path, sizes: Mapping[str, float]) -> Iterator[str]:
    """Yield training lines for stand-ins and for vocabulary adaptation, without one line in 50.

    `sizes` has the million characters of each text.
    """
    for language, size in sizes.items():
        yield from (line for number, line in enumerate(lines(data, language, size)) if number % 50)


def held_out_lines(data: Path, language: str, megabytes: float, most: int = 4000) -> list[str]:
    """Return held-out lines, on which lengths are measured."""
    found = [line for line in lines(data, language, megabytes)[::50] if line.strip()]
    return found[:: max(1, len(found) // most)]


MIXTURE = {"eng": 30, "deu": 20, "ces": 15, "hun": 12, "fin": 8, "ukr": 6, "tur": 5, "rus": 3}
SIZES = {**MIXTURE, "code": 10}
"""The million characters of each text in the multilingual mixture, and of source code.

A language has fewer characters if its text in the shared data is shorter.
"""

SMALL = {"eng": 12, "deu": 6, "code": 3}
ENTRIES, SPECIAL = 8_000, 3
STAND_INS: dict[str, tuple[Callable[..., Tokenizer], int, Callable[..., Iterator[str]], Mapping[str, float]]] = {
    "byte-level": (byte_level, 32_000, first_lines, {"eng": 12, "code": 6}),
    "byte fallback": (byte_fallback, 32_000, first_lines, {"eng": 12, "code": 6}),
    "English, byte-level": (byte_level, 64_000 - SPECIAL, training_lines, {"eng": SIZES["eng"], "code": SIZES["code"]}),
    "eight languages, byte fallback": (partial(byte_fallback, characters=600), 128_000, training_lines, MIXTURE),
    "decoder": (byte_level, ENTRIES - SPECIAL, training_lines, SMALL),
}
"""The stand-ins for public tokenizers: training function, vocabulary size, function that reads the text, and its sizes.

`decoder` is the tokenizer of the small models.
"""


def stand_in(place: Place, name: str) -> Path:
    """Return the directory of one of `STAND_INS`, after training it with `tokenizers` if it does not exist."""
    directory = place.work / "extend" / name.replace(", ", "-").replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        build, size, texts, sizes = STAND_INS[name]
        end = END if build is byte_level else "<eos>"
        made = PreTrainedTokenizerFast(tokenizer_object=build(texts(place.data, sizes), size), eos_token=end)
        made.save_pretrained(directory)
    return directory


KEPT_LANGUAGES = {
    "GPT-NeoX 20B": ("eng",),
    "OpenLLaMA": ("eng",),
    "English, byte-level": ("eng",),
    "eight languages, byte fallback": ("eng", "deu", "fin", "rus"),
}
"""The languages of each base whose tokens are kept when it is trimmed."""

KEPT_SHARE, ADDED, RUSSIAN = 0.6, 16_000, 12
"""The share of tokens that stay, the number of Russian tokens to add, and the million characters to learn them from."""

CHANGES = ("trimmed", f"and {ADDED:,} Russian tokens", "by frequency")


def kept_or_added(cell: Cell) -> bool:
    """Return whether the language of a cell is kept in its base or added to it."""
    return cell["language"] in (*KEPT_LANGUAGES[cell["base"]], "rus")


def trimmed_and_extended(place: Place, cells: list[Cell]) -> Found:
    """Trimming a vocabulary and extending it: the change in the number of tokens of held-out lines.

    The base tokenizers are stand-ins with the size and the mix of languages of public tokenizers, and two tokenizers of
    public models, which are in folders of `--with public=FOLDER`. Each base is trimmed to 60 % of its tokens by the
    training text of the languages that are kept (only English for the public ones). Then 16,000 Russian tokens are
    added. In the last column, these tokens are learned by frequency only.
    """
    name, data = cells[0]["base"], place.data
    folder = None if name in STAND_INS else place.path("public", "a folder with tokenizers of public models")
    directory = folder / name if folder else stand_in(place, name)
    opened = open_base(directory)
    texts = training_lines(data, {language: SIZES[language] for language in KEPT_LANGUAGES[name]})
    smaller = trim(opened, texts, keep_size=round(KEPT_SHARE * len(opened.vocab)))
    counts = count_documents(training_lines(data, {"rus": RUSSIAN}))
    made = [extend(smaller.trimmed_base, counts, ADDED, **options) for options in ({}, BY_FREQUENCY)]
    stages = [Tokenizer.from_file(str(directory / "tokenizer.json")), smaller.tokenizer, *(e.tokenizer for e in made)]
    for cell in cells:
        lines = held_out_lines(
            data, cell["language"], RUSSIAN if cell["language"] == "rus" else SIZES[cell["language"]]
        )
        first, *later = (tokens(each, lines) for each in stages)
        changes = dict(zip(CHANGES, (f"{each / first - 1:+.2%}" for each in later), strict=True))
        yield cell, {"entries": len(opened.vocab), "trimmed to": sum(smaller.kept.values()), "tokens": first, **changes}


OF_SURGERY = ("base", "entries", "trimmed to", "language", "tokens", *CHANGES)
AXES_OF_SURGERY = {"base": list(KEPT_LANGUAGES), "language": ("eng", "deu", "fin", "rus")}
surgery_table = partial(as_they_are, trimmed_and_extended.__doc__, columns=OF_SURGERY)
surgery = beside(trimmed_and_extended, surgery_table, AXES_OF_SURGERY, 1, exists=kept_or_added)


TEXTS = {"eng": 12, "fin": 9}
"""The million characters of English and Finnish that the tokenizers of the small models learn from."""

FINNISH, CONTEXT_BYTES = 2_000, 256
MODELS: dict[str, dict[str, Any]] = {
    "1.1 M": {"hidden_size": 96, "layers": 3, "learning_rate": 4e-3, "train_bytes": 5_000_000},
    "5.2 M": {"hidden_size": 256, "layers": 4, "learning_rate": 2e-3, "train_bytes": 8_000_000},
}
"""The models by their number of parameters: shape, peak learning rate and bytes of English text."""


def base_model(place: Place, size: str) -> Path:
    """Train the model of a size with the base tokenizer unless it is finished; an interrupted run is resumed."""
    torch.set_num_threads(1)
    folder = place.work / "decoder"
    text = folder / "english.txt"
    if not text.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        text.write_text("".join(training_lines(place.data, {"eng": TEXTS["eng"]})), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(stand_in(place, "decoder")), text=(str(text),), held_out_bytes=10_000,
        context_bytes=CONTEXT_BYTES, batch_blocks=8, heads=4, save_every=100, **MODELS[size],
    )  # fmt: skip
    pretrain(config, folder / size.replace(" ", ""))
    return folder / size.replace(" ", "") / "model"


def adapted_tokenizers(place: Place, kept: int) -> dict[str, Path]:
    """Trim the base tokenizer to `kept` tokens, extend the result, and return all three folders; reuse saved ones."""
    trained, folder = stand_in(place, "decoder"), place.work / "decoder"
    found = {"base": trained, "trimmed": folder / f"trimmed-{kept}", "both": folder / f"both-{kept}"}
    if not (found["both"] / "tokenizer.json").is_file():
        smaller = trim(open_base(trained), training_lines(place.data, {"eng": TEXTS["eng"]}), keep_size=kept)
        smaller.save(found["trimmed"], trained)
        larger = extend(
            smaller.trimmed_base, count_documents(training_lines(place.data, {"fin": TEXTS["fin"]})), FINNISH
        )
        larger.save(found["both"], trained)
    return found


def sample(place: Place, language: str) -> list[str]:
    """Return held-out lines with 40,000 characters."""
    lines = [line.strip()[:600] for line in held_out_lines(place.data, language, TEXTS[language], 10**9)]
    lines = shuffled(filter(None, lines), 0)
    ends = accumulate(map(len, lines))
    return [line for line, end in zip(lines, ends, strict=True) if end <= 40_000]


STAGES = {
    "base": ("base", ""),
    "trimmed": ("trimmed", "mean"),
    "trimmed and extended, --init mean": ("both", "mean"),
    "trimmed and extended, --init quiet": ("both", "quiet"),
}
OF_DECODER = ("weights", "tokenizer", "rows", "English tokens", "bits per byte, English", "bits per byte, Finnish")


def all_or_changed(cell: Cell) -> bool:
    """Return whether a cell exists: the base has all tokens, and changed tokenizers have fewer."""
    return (cell["kept"] == ENTRIES) == (cell["tokenizer"] == "base")


def before_and_after(place: Place, cells: list[Cell]) -> Found:
    """A small decoder before and after vocabulary adaptation: bits per byte of held-out English and Finnish text.

    The models have 1.1 and 5.2 million parameters and a vocabulary size of 8,000, and were trained on 5 and 8 MB of
    English novels. They are measured unchanged, trimmed to 4,800 and 6,400 tokens, and with 2,000 additional Finnish
    tokens.
    """
    directory = base_model(place, cells[0]["weights"])
    model, old = (kind.from_pretrained(directory) for kind in (AutoModelForCausalLM, AutoTokenizer))
    texts = {language: sample(place, language) for language in TEXTS}
    first: tuple[int, float] | None = None
    for cell in cells:
        stage, init = STAGES[cell["tokenizer"]]
        tokenizer = adapted_tokenizers(place, cell["kept"] if init else 4800)[stage]
        codec = Codec.open(tokenizer)
        changed = transplant(model, old, AutoTokenizer.from_pretrained(tokenizer), init)[0] if init else model
        n_tokens = sum(map(len, codec.encode(texts["eng"])))
        english, finnish = (
            bits_per_byte(changed.eval(), codec, text, CONTEXT_BYTES, batch_size=16).value for text in texts.values()
        )
        first = first or (n_tokens, english)
        yield (
            cell,
            {
                "rows": changed.config.vocab_size,
                "English tokens": f"{n_tokens:,} ({n_tokens / first[0] - 1:+.2%})",
                "bits per byte, English": f"{english:.3f} ({english / first[1] - 1:+.2%})",
                "bits per byte, Finnish": f"{finnish:.3f}",
            },
        )


AXES_OF_DECODER = {"weights": list(MODELS), "kept": (ENTRIES, 4800, 6400), "tokenizer": list(STAGES)}
decoder_table = partial(as_they_are, before_and_after.__doc__, columns=OF_DECODER)
surgery_decoder = beside(before_and_after, decoder_table, AXES_OF_DECODER, 1, exists=all_or_changed, TOGETHER=True)
