"""What an extension brings: length and boundary F1 of a base, of ours, and of frequency BPE appended the same way.

Bases are stand-ins: English text and Python code, none of the language added. 8,000 tokens are learnt from 15 million
characters of a language; each 50th line is held out for lengths; gold is read to score alone. "Frequency" is the same
way of appending with composition 1 and no price; at equal length it is cut down to the number of tokens at which it is
as long as ours.
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
    english = [*begun(place.data, {"eng": 3})][-2000:] + [*begun(place.data, {"code": 7})][-40:]
    found = {name: extend(base, counts, NEW, **options) for name, options in SYSTEMS.items()}

    def length(made: Extension) -> float:
        return measure_change(before, made.tokenizer, held_out).tokens_per_word[1]

    found[AS_LONG] = as_short(found["frequency"], length, length(found["ours"]))
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


def as_short(longer: Extension, length: Callable[[Extension], float], wanted: float) -> Extension:
    """The fewest of the new tokens with which text is at most so long."""

    def shorter(number: int) -> Extension:
        return append_tokens(longer.base, longer.learned.first(number), longer.retired)

    numbers = range(len(longer.ids))
    return shorter(bisect_left(numbers, True, lo=1, key=lambda number: length(shorter(number)) <= wanted))


def same(before: Tokenizer, after: Tokenizer, texts: list[str]) -> int:
    """How many texts keep their ids."""
    new = set(after.get_vocab().values()) - set(before.get_vocab().values())
    pairs = [(before.encode(text).ids, after.encode(text).ids) for text in texts]
    if any(old != made and new.isdisjoint(made) for old, made in pairs):
        raise MwSError("a text without new tokens has other ids")
    return sum(old == made for old, made in pairs)


LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
END = "<|end_of_text|>"


def byte_level(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level BPE like those of Llama 3 and Qwen: special tokens after the vocabulary, and not in it."""
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
    """A BPE with byte fallback like Gemma's; `characters` of the texts are symbols, the commonest."""
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
    spec["pre_tokenizer"] = split  # as Gemma's: it never finds a space
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] in special]
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    spec["decoder"] = {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))


@cache
def lines(data: Path, language: str, megabytes: float, evenly: bool = True) -> list[str]:
    """Lines of about so many million characters, from all of a language's text, or the first; code is this Python's."""
    if language == "code":
        files = sorted((Path(sys.prefix) / "lib").glob("python*/site-packages/t*/**/*.py"))
        random.Random(0).shuffle(files)
        return head((file.read_text(encoding="utf-8", errors="ignore") for file in files), megabytes * 1e6, len)
    every = lines_of(data, language)
    return spread(every, megabytes * 1e6) if evenly else head(every, megabytes * 1e6, len)


def begun(data: Path, sizes: Mapping[str, float]) -> Iterator[str]:
    """The first lines of texts: million characters of each."""
    return (line for language, size in sizes.items() for line in lines(data, language, size, evenly=False))


def learnt(data: Path, sizes: Mapping[str, float]) -> Iterator[str]:
    """What stand-ins and their surgery may learn of: million characters of each text, without every 50th line."""
    for language, size in sizes.items():
        yield from (line for number, line in enumerate(lines(data, language, size)) if number % 50)


def unlearnt(data: Path, language: str, megabytes: float, most: int = 4000) -> list[str]:
    """What lengths are measured on."""
    found = [line for line in lines(data, language, megabytes)[::50] if line.strip()]
    return found[:: max(1, len(found) // most)]


MIXTURE = {"eng": 30, "deu": 20, "ces": 15, "hun": 12, "fin": 8, "ukr": 6, "tur": 5, "rus": 3}
SIZES = {**MIXTURE, "code": 10}
"""Million characters of each text in the mixture of eight, fewer where the shared text has fewer; and of code."""

SMALL = {"eng": 12, "deu": 6, "code": 3}
ENTRIES, SPECIAL = 8_000, 3
STAND_INS: dict[str, tuple[Callable[..., Tokenizer], int, Callable[..., Iterator[str]], Mapping[str, float]]] = {
    "byte-level": (byte_level, 32_000, begun, {"eng": 12, "code": 6}),
    "byte fallback": (byte_fallback, 32_000, begun, {"eng": 12, "code": 6}),
    "English, byte-level": (byte_level, 64_000 - SPECIAL, learnt, {"eng": SIZES["eng"], "code": SIZES["code"]}),
    "eight languages, byte fallback": (partial(byte_fallback, characters=600), 128_000, learnt, MIXTURE),
    "decoder": (byte_level, ENTRIES - SPECIAL, learnt, SMALL),
}
"""Stand-ins for public tokenizers: kind, entries, text. `decoder` is that of the small models."""


def stand_in(place: Place, name: str) -> Path:
    """The directory of one of `STAND_INS`, trained with `tokenizers` alone unless it is there."""
    directory = place.work / "extend" / name.replace(", ", "-").replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        build, size, texts, sizes = STAND_INS[name]
        end = END if build is byte_level else "<eos>"
        made = PreTrainedTokenizerFast(tokenizer_object=build(texts(place.data, sizes), size), eos_token=end)
        made.save_pretrained(directory)
    return directory


KEPT = {
    "GPT-NeoX 20B": ("eng",),
    "OpenLLaMA": ("eng",),
    "English, byte-level": ("eng",),
    "eight languages, byte fallback": ("eng", "deu", "fin", "rus"),
}
"""The languages that surgery keeps of each base."""

SHARE, ADDED, RUSSIAN = 0.6, 16_000, 12
"""Of the entries that stay; Russian tokens to add, and million characters to learn them from."""

CHANGES = ("trimmed", f"and {ADDED:,} Russian tokens", "by frequency")


def kept_or_added(cell: Cell) -> bool:
    return cell["language"] in (*KEPT[cell["base"]], "rus")


def trimmed_and_extended(place: Place, cells: list[Cell]) -> Found:
    """What surgery costs and brings in length: tokens of held-out lines, trimmed, and extended in two ways.

    Bases are stand-ins of public size and mixture, and tokenizers of public models: folders of their names in
    `--with public=FOLDER`, English kept. They are trimmed to 60 % of the entries by the learnt text of the languages
    that are kept, then 16,000 Russian tokens are added; the last column has as many appended by frequency alone.
    """
    name, data = cells[0]["base"], place.data
    folder = None if name in STAND_INS else place.path("public", "a folder of tokenizers")
    directory = folder / name if folder else stand_in(place, name)
    opened = open_base(directory)
    texts = learnt(data, {language: SIZES[language] for language in KEPT[name]})
    smaller = trim(opened, texts, keep_size=round(SHARE * len(opened.vocab)))
    counts = count_documents(learnt(data, {"rus": RUSSIAN}))
    made = [extend(smaller.trimmed_base, counts, ADDED, **options) for options in ({}, BY_FREQUENCY)]
    stages = [Tokenizer.from_file(str(directory / "tokenizer.json")), smaller.tokenizer, *(e.tokenizer for e in made)]
    for cell in cells:
        lines = unlearnt(data, cell["language"], RUSSIAN if cell["language"] == "rus" else SIZES[cell["language"]])
        first, *later = (tokens(each, lines) for each in stages)
        changes = dict(zip(CHANGES, (f"{each / first - 1:+.2%}" for each in later), strict=True))
        yield cell, {"entries": len(opened.vocab), "trimmed to": sum(smaller.kept.values()), "tokens": first, **changes}


OF_SURGERY = ("base", "entries", "trimmed to", "language", "tokens", *CHANGES)
AXES_OF_SURGERY = {"base": list(KEPT), "language": ("eng", "deu", "fin", "rus")}
surgery_table = partial(as_they_are, trimmed_and_extended.__doc__, columns=OF_SURGERY)
surgery = beside(trimmed_and_extended, surgery_table, AXES_OF_SURGERY, 1, exists=kept_or_added)


TEXTS = {"eng": 12, "fin": 9}
"""Million characters of English and Finnish that the small models' tokenizers learn from."""

FINNISH, CONTEXT_BYTES = 2_000, 256
MODELS: dict[str, dict[str, Any]] = {
    "1.1 M": {"hidden_size": 96, "layers": 3, "learning_rate": 4e-3, "train_bytes": 5_000_000},
    "5.2 M": {"hidden_size": 256, "layers": 4, "learning_rate": 2e-3, "train_bytes": 8_000_000},
}
"""Models by their number of weights: shape, peak rate and bytes of English."""


def base_model(place: Place, size: str) -> Path:
    """Train the base's model of one of the sizes, once; an interrupted run goes on."""
    torch.set_num_threads(1)
    folder = place.work / "decoder"
    text = folder / "english.txt"
    if not text.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        text.write_text("".join(learnt(place.data, {"eng": TEXTS["eng"]})), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(stand_in(place, "decoder")), text=(str(text),), held_out_bytes=10_000,
        context_bytes=CONTEXT_BYTES, batch_blocks=8, heads=4, save_every=100, **MODELS[size],
    )  # fmt: skip
    pretrain(config, folder / size.replace(" ", ""))
    return folder / size.replace(" ", "") / "model"


def operated(place: Place, kept: int) -> dict[str, Path]:
    """Trim the base's tokenizer to so many entries and extend that, once."""
    trained, folder = stand_in(place, "decoder"), place.work / "decoder"
    found = {"base": trained, "trimmed": folder / f"trimmed-{kept}", "both": folder / f"both-{kept}"}
    if not (found["both"] / "tokenizer.json").is_file():
        smaller = trim(open_base(trained), learnt(place.data, {"eng": TEXTS["eng"]}), keep_size=kept)
        smaller.save(found["trimmed"], trained)
        larger = extend(smaller.trimmed_base, count_documents(learnt(place.data, {"fin": TEXTS["fin"]})), FINNISH)
        larger.save(found["both"], trained)
    return found


def sample(place: Place, language: str) -> list[str]:
    """Held-out lines of 40,000 characters."""
    lines = [line.strip()[:600] for line in unlearnt(place.data, language, TEXTS[language], 10**9)]
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
    return (cell["kept"] == ENTRIES) == (cell["tokenizer"] == "base")


def before_and_after(place: Place, cells: list[Cell]) -> Found:
    """A small decoder before and after surgery: bits per byte of held-out English and Finnish.

    Models of 1.1 and 5.2 million weights under 8,000 entries, trained on 5 and 8 MB of English novels: before surgery,
    trimmed to 4,800 and to 6,400 entries, and with 2,000 Finnish tokens more.
    """
    directory = base_model(place, cells[0]["weights"])
    model, old = (kind.from_pretrained(directory) for kind in (AutoModelForCausalLM, AutoTokenizer))
    texts = {language: sample(place, language) for language in TEXTS}
    first: tuple[int, float] | None = None
    for cell in cells:
        stage, init = STAGES[cell["tokenizer"]]
        tokenizer = operated(place, cell["kept"] if init else 4800)[stage]
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
