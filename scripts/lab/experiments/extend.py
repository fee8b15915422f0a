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
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch
from lm.config import RunConfig
from lm.data import Codec, shuffled
from lm.scoring import bits_per_byte
from lm.training import pretrain
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab.cells import Cell, Place, Row, beside
from lab.data import GOLD, lines_of, spread
from lab.tables import as_they_are
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.evaluation import evaluate
from mws_hf.extend.base import open_base
from mws_hf.extend.changes import measure_change
from mws_hf.extend.embeddings import transplant
from mws_hf.extend.extension import Extension, append_tokens, extend
from mws_hf.extend.trim import trim

SYSTEMS = {
    "ours": {},
    "ours, morphs only": {"composition": 0},
    "frequency": {"composition": 1, "hidden_boundary_price": 0},
}
AS_LONG = "frequency, as long as ours"
AXES = {"base": ("byte-level", "byte fallback"), "language": ("rus", "tur"), "system": ("base", *SYSTEMS, AS_LONG)}
SHARED, TOGETHER = 2, True
NEW, CHARACTERS = 8000, 15_000_000
TOLD = ("new tokens", "tokens/word", "bytes/token", "fewer tokens", "F1", "95 %", "precision", "recall",
        "English and code texts with the same ids")  # fmt: skip

# Stand-ins for public tokenizers, trained with `tokenizers` alone: `byte_level` is built as Llama 3's and Qwen's (their
# pattern, byte alphabet, special tokens after the vocabulary and not in it), `byte_fallback` as Gemma's (spaces become
# a mark, no further pre-tokenizer, bytes fallen back to). `BASES` have public sizes and mixtures.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
END = "<|end_of_text|>"
MIXTURE = {"eng": 30, "deu": 20, "ces": 15, "hun": 12, "fin": 8, "ukr": 6, "tur": 5, "rus": 3}
"""Million characters of each language in the mixture of eight; fewer where the shared text has fewer."""

CODE = 10
"""Million characters of Python code beside the English of the byte-level stand-in."""

SIZES = {**MIXTURE, "code": CODE}
BASES = {"English, byte-level": ("eng",), "eight languages, byte fallback": ("eng", "deu", "fin", "rus")}
"""The languages that surgery keeps of each."""


def base_of(place: Place, kind: str) -> Path:
    """The directory of a stand-in, trained unless it is there."""
    directory = place.work / "extend" / kind.replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        texts = chain(some(lines_of(place.data, "eng"), 12), some(code(), 6))
        built = byte_level(texts, 32_000) if kind == "byte-level" else byte_fallback(texts, 32_000)
        save(built, directory, END if kind == "byte-level" else "<eos>")
    return directory


def as_short(longer: Extension, before: Tokenizer, lines: list[str], wanted: float) -> Extension:
    """The fewest of the new tokens with which text is at most `wanted` tokens a word."""

    def shorter(number: int) -> Extension:
        return append_tokens(longer.base, longer.learned.first(number), longer.retired)

    low, high = 1, len(longer.ids)
    while low < high:
        middle = (low + high) // 2
        if measure_change(before, shorter(middle).tokenizer, lines).tokens_per_word[1] <= wanted:
            high = middle
        else:
            low = middle + 1
    return shorter(high)


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Append in all ways to one base, and compare."""
    base, language = base_of(place, cells[0]["base"]), cells[0]["language"]
    before = Tokenizer.from_file(str(base / "tokenizer.json"))
    lines = lines_of(place.data, language)
    lines = lines[:: max(1, sum(map(len, lines)) // CHARACTERS)]
    held_out = lines[::50][::5][:1000]
    counts = count_documents(line for number, line in enumerate(lines) if number % 50)
    english = [*some(lines_of(place.data, "eng"), 3)][-2000:] + [*some(code(), 7)][-40:]
    found = {name: extend(base, counts, NEW, **options) for name, options in SYSTEMS.items()}
    length = {name: measure_change(before, each.tokenizer, held_out).tokens_per_word[1] for name, each in found.items()}
    found[AS_LONG] = as_short(found["frequency"], before, held_out, length["ours"])
    tokenizers = {"base": before} | {name: each.tokenizer for name, each in found.items()}
    gold = place.data / "gold" / f"{GOLD[language]}.tsv"
    for row in evaluate(tokenizers, [gold], baselines=False, resamples=200).rows:
        after = tokenizers[row.tokenizer]
        change = measure_change(before, after, held_out)
        figures = {
            "new tokens": after.get_vocab_size() - before.get_vocab_size(),
            "tokens/word": round(change.tokens_per_word[1], 3), "bytes/token": round(change.bytes_per_token[1], 2),
            "fewer tokens": f"{1 - change.tokens[1] / change.tokens[0]:.1%}",
            "F1": round(row.scores.f1, 3), "95 %": f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
            "precision": round(row.scores.precision, 3), "recall": round(row.scores.recall, 3),
            "English and code texts with the same ids": f"{same(before, after, english)} of {len(english)}",
        }  # fmt: skip
        yield {"base": cells[0]["base"], "language": language, "system": row.tokenizer}, figures


def same(before: Tokenizer, after: Tokenizer, texts: list[str]) -> int:
    """How many texts keep their ids.

    Raises:
        MwSError: a text has other ids though it holds no new token.
    """
    new = set(after.get_vocab().values()) - set(before.get_vocab().values())
    pairs = [(before.encode(text).ids, after.encode(text).ids) for text in texts]
    if any(old != made and new.isdisjoint(made) for old, made in pairs):
        raise MwSError("a text without new tokens has other ids")
    return sum(old == made for old, made in pairs)


def table(rows: list[Row]) -> str:
    """The rows as they are."""
    return as_they_are(__doc__, rows, [*AXES, *TOLD])


def byte_level(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level BPE like Llama 3's."""
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


def save(tokenizer: Tokenizer, directory: Path, end: str) -> None:
    """Write a directory that transformers opens."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "model_max_length": 8192}
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def some(texts: Iterable[str], megabytes: float) -> Iterator[str]:
    """Texts until so many million characters are given."""
    given = 0
    for text in texts:
        given += len(text)
        if given > megabytes * 1e6:
            return
        yield text


def code() -> Iterator[str]:
    """Python files of this interpreter, in one order for all."""
    files = sorted((Path(sys.prefix) / "lib").glob("python*/site-packages/t*/**/*.py"))
    random.Random(0).shuffle(files)
    return (file.read_text(encoding="utf-8", errors="ignore") for file in files)


@cache
def lines(data: Path, language: str, megabytes: float) -> list[str]:
    """Lines of a language, evenly spread over all its text, of about so many million characters."""
    return list(some(code(), megabytes)) if language == "code" else spread(lines_of(data, language), megabytes * 1e6)


def learnt(data: Path, language: str, megabytes: float) -> Iterator[str]:
    """What stand-ins and their surgery may learn of."""
    return (line for number, line in enumerate(lines(data, language, megabytes)) if number % 50)


def unlearnt(data: Path, language: str, megabytes: float, most: int = 4000) -> list[str]:
    """What lengths are measured on."""
    found = [line for number, line in enumerate(lines(data, language, megabytes)) if number % 50 == 0 and line.strip()]
    return found[:: max(1, len(found) // most)]


def stand_in(data: Path, work: Path, name: str) -> Path:
    """The directory of one of `BASES`, trained unless it is there."""
    directory = work / name.replace(", ", "-").replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        if name.startswith("English"):
            texts = chain(learnt(data, "eng", MIXTURE["eng"]), learnt(data, "code", CODE))
            save(byte_level(texts, 64_000 - 3), directory, END)
        else:
            mixture = chain.from_iterable(learnt(data, language, size) for language, size in MIXTURE.items())
            save(byte_fallback(mixture, 128_000, 600), directory, "<eos>")
    return directory


KEPT = {"GPT-NeoX 20B": ("eng",), "OpenLLaMA": ("eng",), **BASES}
SHARE, ADDED, RUSSIAN = 0.6, 16_000, 12
"""Of the entries that stay; Russian tokens to add, and million characters to learn them from."""

CHANGES = ("trimmed", f"and {ADDED:,} Russian tokens", "by frequency")
OF_SURGERY = ("base", "entries", "trimmed to", "language", "tokens", *CHANGES)


def kept_or_added(cell: Cell) -> bool:
    """Whether the language is kept, or added."""
    return cell["language"] in (*KEPT[cell["base"]], "rus")


def trimmed_and_extended(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """What surgery costs and brings in length: tokens of held-out lines, trimmed, and extended in two ways.

    Bases are stand-ins of public size and mixture, and tokenizers of public models: folders of their names in
    `--with public=FOLDER`, English kept. They are trimmed to 60 % of the entries by the learnt text of the languages
    that are kept, then 16,000 Russian tokens are added; the last column has as many appended by frequency alone.
    """
    name, data = cells[0]["base"], place.data
    public = name not in BASES
    directory = place.path("public", "a folder of tokenizers") / name if public else stand_in(data, place.work, name)
    opened = open_base(directory)
    texts = chain.from_iterable(learnt(data, language, SIZES[language]) for language in KEPT[name])
    smaller = trim(opened, texts, keep_size=round(SHARE * len(opened.vocab)))
    counts = count_documents(learnt(data, "rus", RUSSIAN))
    larger = extend(smaller.trimmed_base, counts, ADDED)
    plain_bpe = extend(smaller.trimmed_base, counts, ADDED, composition=1, hidden_boundary_price=0)
    before = Tokenizer.from_file(str(directory / "tokenizer.json"))
    for cell in cells:
        lines = unlearnt(data, cell["language"], RUSSIAN if cell["language"] == "rus" else SIZES[cell["language"]])
        stages = (before, smaller.tokenizer, larger.tokenizer, plain_bpe.tokenizer)
        first, *later = (tokens(each, lines) for each in stages)
        changes = dict(zip(CHANGES, (f"{each / first - 1:+.2%}" for each in later), strict=True))
        yield cell, {"entries": len(opened.vocab), "trimmed to": sum(smaller.kept.values()), "tokens": first, **changes}


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of lines."""
    return sum(len(item.ids) for item in tokenizer.encode_batch_fast(lines, add_special_tokens=False))


AXES_OF_SURGERY = {"base": list(KEPT), "language": ("eng", "deu", "fin", "rus")}
surgery_table = partial(as_they_are, trimmed_and_extended.__doc__, columns=OF_SURGERY)
surgery = beside(trimmed_and_extended, surgery_table, AXES_OF_SURGERY, 1, exists=kept_or_added)


LEARNT = {"eng": 12, "deu": 6, "code": 3, "fin": 9}
"""Million characters of each text that tokenizers learn from."""

ENTRIES, FINNISH, CONTEXT_BYTES = 8_000, 2_000, 256
MODELS: dict[str, dict[str, Any]] = {
    "1.1 M": {"hidden_size": 96, "layers": 3, "learning_rate": 4e-3, "train_bytes": 5_000_000},
    "5.2 M": {"hidden_size": 256, "layers": 4, "learning_rate": 2e-3, "train_bytes": 8_000_000},
}
"""Models by their number of weights: shape, peak rate and bytes of English."""


def base_tokenizer(place: Place) -> Path:
    """Train the base's tokenizer, once."""
    directory = place.work / "decoder" / "tokenizer"
    if not (directory / "tokenizer.json").is_file():
        texts = chain.from_iterable(learnt(place.data, name, LEARNT[name]) for name in ("eng", "deu", "code"))
        save(byte_level(texts, ENTRIES - 3), directory, END)
    return directory


def base_model(place: Place, size: str) -> Path:
    """Train the base's model of one of the sizes, once; an interrupted run goes on."""
    torch.set_num_threads(1)
    tokenizer, text = base_tokenizer(place), place.work / "decoder" / "english.txt"
    if not text.is_file():
        text.write_text("".join(learnt(place.data, "eng", LEARNT["eng"])), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(tokenizer), text=(str(text),), held_out_bytes=10_000,
        context_bytes=CONTEXT_BYTES, batch_blocks=8, heads=4, save_every=100, **MODELS[size],
    )  # fmt: skip
    directory = place.work / "decoder" / size.replace(" ", "")
    pretrain(config, directory)
    return directory / "model"


def operated(place: Place, kept: int) -> dict[str, Path]:
    """Trim the base's tokenizer to so many entries and extend that, once."""
    trained, folder = base_tokenizer(place), place.work / "decoder"
    found = {"base": trained, "trimmed": folder / f"trimmed-{kept}", "both": folder / f"both-{kept}"}
    if not (found["both"] / "tokenizer.json").is_file():
        smaller = trim(open_base(trained), learnt(place.data, "eng", LEARNT["eng"]), keep_size=kept)
        smaller.save(found["trimmed"], trained)
        larger = extend(smaller.trimmed_base, count_documents(learnt(place.data, "fin", LEARNT["fin"])), FINNISH)
        larger.save(found["both"], trained)
    return found


def sample(place: Place, language: str) -> list[str]:
    """Held-out lines of 40,000 characters."""
    lines = [line.strip()[:600] for line in unlearnt(place.data, language, LEARNT[language], 10**9)]
    lines = shuffled(filter(None, lines), 0)
    ends = accumulate(map(len, lines))
    return [line for line, end in zip(lines, ends, strict=True) if end <= 40_000]


def scores(model: Any, codec: Codec, place: Place) -> dict[str, float]:
    """Bits per byte of held-out text."""
    return {
        name: round(bits_per_byte(model.eval(), codec, sample(place, code), CONTEXT_BYTES, batch_size=16).value, 4)
        for name, code in (("English", "eng"), ("Finnish", "fin"))
    }


STAGES = {
    "base": ("base", ""),
    "trimmed": ("trimmed", "mean"),
    "trimmed and extended, --init mean": ("both", "mean"),
    "trimmed and extended, --init quiet": ("both", "quiet"),
}
OF_DECODER = ("weights", "tokenizer", "rows", "English tokens", "bits per byte, English", "bits per byte, Finnish")


def all_or_changed(cell: Cell) -> bool:
    """Whether all entries are kept for the base alone."""
    return (cell["kept"] == 8000) == (cell["tokenizer"] == "base")


def before_and_after(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """A small decoder before and after surgery: bits per byte of held-out English and Finnish.

    Models of 1.1 and 5.2 million weights under 8,000 entries, trained on 5 and 8 MB of English novels: before surgery,
    trimmed to 4,800 and to 6,400 entries, and with 2,000 Finnish tokens more.
    """
    directory = base_model(place, cells[0]["weights"])
    model, old = (kind.from_pretrained(directory) for kind in (AutoModelForCausalLM, AutoTokenizer))
    first: dict[str, float] = {}
    for cell in cells:
        stage, init = STAGES[cell["tokenizer"]]
        tokenizer = operated(place, cell["kept"] if init else 4800)[stage]
        codec = Codec.open(tokenizer)
        changed = transplant(model, old, AutoTokenizer.from_pretrained(tokenizer), init)[0] if init else model
        tokens = sum(map(len, codec.encode(sample(place, "eng"))))
        found = {"tokens": tokens, **scores(changed, codec, place)}
        first = first or found
        figures = {
            "rows": changed.config.vocab_size,
            "English tokens": f"{tokens:,} ({tokens / first['tokens'] - 1:+.2%})",
            "bits per byte, English": f"{found['English']:.3f} ({found['English'] / first['English'] - 1:+.2%})",
            "bits per byte, Finnish": f"{found['Finnish']:.3f}",
        }
        yield cell, figures


AXES_OF_DECODER = {"weights": list(MODELS), "kept": (8000, 4800, 6400), "tokenizer": list(STAGES)}
decoder_table = partial(as_they_are, before_and_after.__doc__, columns=OF_DECODER)
surgery_decoder = beside(before_and_after, decoder_table, AXES_OF_DECODER, 1, exists=all_or_changed, TOGETHER=True)
