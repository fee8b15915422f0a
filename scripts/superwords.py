"""Superwords by experiment: n-gram bits paid for tokens saved when part of a vocabulary goes to phrases.

    python scripts/superwords.py --data ../shared/data [--languages hun rus] [--sizes 16000] [--minutes 30] [--plan]

A superword is an entry of two to four words, of which each alone is one entry. Its merge ranks after all merges of
words, so words are cut as before. Words are joined over one space; a comma may begin a superword; digits, other
punctuation and line ends are never joined. A stock BPE cannot look ahead: the merge of " в" and " дом" also acts in
" в дом|ами". So a word may end a superword only if it stands whole in most of its places (`Way.whole`).

The default of fewer entries gets superwords up to the size asked for, and is compared with the default of that size:
tokens and n-gram bits of held-out lines, and the exchange rate, per cent of bits more for a per cent of tokens fewer.
Tokenizers and superwords are learnt from all training lines, n-gram models from 4 MB (`ngram_map.parts_of`).
Writes scripts/results/superwords.json and .md after every row, and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ngram_map import SLICES, first, parts_of
from systems import train_system
from tokenizers import Tokenizer

from mws_hf import WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.ngram_bits import ngram_bits
from mws_hf.evaluate.significance import paired_bootstrap
from mws_hf.text.markdown import markdown_table

Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LANGUAGES = ("hun", "rus", "eng", "fin")
SIZES = (16000, 32000)
FEWEST = 20
"""Occurrences of a pair of neighbours, at least."""
LONGEST = 4
"""Words of a superword, at most."""
ROUNDS = 12
"""Superwords are chosen in so many rounds, so that a later one may be made of an earlier one."""
SAVES = 3.0
"""Per cent of the tokens that a way must save to be looked at further."""

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_BEFORE = r"[^\r\n\p{L}\p{N}]?"
_WORD = f"(?:{_UPPER}*{_LOWER}+{_ENDING}|{_UPPER}+{_LOWER}*{_ENDING})"
STRETCH_PATTERN = (
    f"(?:{_BEFORE}{_UPPER}*{_LOWER}+{_ENDING}|{_BEFORE}{_UPPER}+{_LOWER}*{_ENDING}|, {_WORD})(?:,? {_WORD})*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of the default, `O200K_PATTERN`, with stretches of words in place of words."""

SCORES: dict[str, Callable[[Doubles, Doubles], Doubles]] = {
    "frequency": lambda count, expected: count,
    "t x PMI": lambda count, expected: (count - expected) / np.sqrt(count) * np.log(count / expected),
    "t x PMI^2": lambda count, expected: (count - expected) / np.sqrt(count) * np.log(count / expected) ** 2,
}
"""Worth of a pair of neighbours by its count and by the count expected of two independent words."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """How superwords are chosen.

    Attributes:
        score: a key of `SCORES`.
        least_pmi: pointwise mutual information of a pair, in nats, at least.
        share: part of the entries that are superwords; 0: the default.
        whole: part of the places of a word in which it is not the head of a longer one, at least; of last words.
        granularity: of the default.
    """

    score: str = "t x PMI"
    least_pmi: float = 0.0
    share: float = 0.2
    whole: float = 0.95
    granularity: float = 0.095

    @property
    def name(self) -> str:
        """Name in the table.

        >>> Way(least_pmi=3).name, Way(share=0).name
        ('t x PMI, PMI >= 3, share 0.2, whole 0.95, granularity 0.095', 'no superwords, granularity 0.095')
        """
        if not self.share:
            return f"no superwords, granularity {self.granularity:g}"
        bound = f", PMI >= {self.least_pmi:g}" if self.least_pmi else ""
        about = f"share {self.share:g}, whole {self.whole:g}, granularity {self.granularity:g}"
        return f"{self.score}{bound}, {about}"


DEFAULT = Way(share=0.0)
FIRST = (Way(score="frequency"), Way(), Way(score="t x PMI^2"), Way(least_pmi=3.0))
SYSTEMS = {"mws-superwords": Way(score="t x PMI^2"), "mws-superwords-t": Way()}
"""What goes on to small models (`compare_lm.py`), by name; chosen by the exchange rates of 16,000 entries."""


class Kinds(NamedTuple):
    """Entries of a tokenizer by kind, bool (entries,): a space and letters; what goes on a word; the comma."""

    word: Mask
    goes_on: Mask
    comma: Mask

    @classmethod
    def of(cls, texts: Sequence[str]) -> Kinds:
        """Sort entries by their text.

        >>> [kind.tolist() for kind in Kinds.of([" дом", "ами", ",", "1"])]
        [[True, False, False, False], [False, True, False, True], [False, False, True, False]]
        """
        word = [bool(re.fullmatch(r" [^\W\d_]+", text)) for text in texts]
        goes_on = [not re.match(r"[\s.,;:!?)\]}\"'«»—–…\-(]", text) for text in texts]
        return cls(np.array(word), np.array(goes_on), np.array([text == "," for text in texts]))


def candidates(ids: Longs, kinds: Kinds) -> Mask:
    """Find the places that superwords are made of: words that are one entry, and commas before such a word.

    >>> candidates(np.array([0, 0, 1, 2, 0]), Kinds.of([" дом", "ами", ","])).tolist()
    [True, False, False, True, True]
    """
    whole = kinds.word[ids]
    whole[:-1] &= ~kinds.goes_on[ids[1:]]
    before = kinds.comma[ids]
    before[:-1] &= whole[1:]
    before[-1:] = False
    return whole | before


def whole_share(ids: Longs, kinds: Kinds) -> Doubles:
    """Compute for each entry the part of its places in which nothing goes on after it.

    >>> whole_share(np.array([0, 0, 1]), Kinds.of([" дом", "ами"])).tolist()
    [0.5, 1.0]
    """
    size = len(kinds.word)
    headed = np.bincount(ids[:-1][kinds.goes_on[ids[1:]]], minlength=size)
    return 1 - headed / np.maximum(np.bincount(ids, minlength=size), 1)


def learn(ids: Longs, kinds: Kinds, most: int, way: Way) -> list[tuple[int, int]]:
    """Choose superwords in `ROUNDS` rounds, in each the pairs of the highest score that share no side.

    Args:
        ids: of the training text.
        kinds: of the entries.
        most: superwords to choose; fewer come out when no pair is left.
        way: how.

    Returns:
        The two sides of each superword; a number past the entries is an earlier superword.

    >>> kinds = Kinds.of([" a", " b", " c", "."])
    >>> learn(np.array([0, 1, 3, 2, 3, 0, 3, 1, 3] * 1 + [0, 1, 3] * 30), kinds, 2, Way(score="frequency"))
    [(0, 1)]
    """
    size = len(kinds.word)
    stream = np.where(candidates(ids, kinds), ids, -1)
    open_right = np.append(whole_share(ids, kinds) >= way.whole, np.zeros(most, bool))
    first_is_comma = np.append(kinds.comma, np.zeros(most, bool))
    length = np.ones(size + most, np.int64)
    merges: list[tuple[int, int]] = []
    while len(merges) < most:
        pairs = scored_pairs(stream, size + most, way)
        taken: dict[int, tuple[int, int]] = {}
        used: set[int] = set()
        room = min(most - len(merges), max(1, most // ROUNDS))
        for left, right in pairs:
            fits = open_right[right] and not first_is_comma[right] and length[left] + length[right] <= LONGEST
            if fits and left not in used and right not in used:
                new = size + len(merges)
                used |= {left, right}
                taken[left] = (right, new)
                merges.append((left, right))
                open_right[new], first_is_comma[new] = open_right[right], first_is_comma[left]
                length[new] = length[left] + length[right]
                if len(taken) == room:
                    break
        if not taken:
            break
        stream = merged(stream, taken, size + most)
    return merges


def scored_pairs(stream: Longs, size: int, way: Way) -> Iterator[tuple[int, int]]:
    """Yield the pairs of neighbours by descending score; of equal scores, by ascending numbers."""
    left, right = stream[:-1], stream[1:]
    both = (left >= 0) & (right >= 0)
    keys, counts = np.unique(left[both] * size + right[both], return_counts=True)
    seen = np.bincount(stream[stream >= 0], minlength=size)
    lefts, rights = keys // size, keys % size
    expected = seen[lefts] * seen[rights] / max(1, int((stream >= 0).sum()))
    kept = (counts >= FEWEST) & (counts > expected * np.exp(way.least_pmi))
    lefts, rights = lefts[kept], rights[kept]
    scores = SCORES[way.score](counts[kept].astype(np.float64), expected[kept])
    order = np.argsort(-scores, kind="stable")
    yield from zip(lefts[order].tolist(), rights[order].tolist(), strict=True)


def merged(stream: Longs, taken: dict[int, tuple[int, int]], size: int) -> Longs:
    """Replace pairs by their superwords, where no number is both a left and a right side.

    >>> merged(np.array([0, 1, -1, 0, 0, 1]), {0: (1, 2)}, 3).tolist()
    [2, -1, 0, 2]
    """
    partner, made = np.full(size, -2), np.zeros(size, np.int64)
    for left, (right, new) in taken.items():
        partner[left], made[left] = right, new
    at = np.flatnonzero((stream[:-1] >= 0) & (partner[np.maximum(stream[:-1], 0)] == stream[1:]))
    result = stream.copy()
    result[at] = made[stream[at]]
    return np.delete(result, at + 1)


def with_superwords(base: Path, merges: Sequence[tuple[int, int]], directory: Path) -> None:
    """Write the tokenizer of `base` with superwords after its merges, and stretches of words as pre-tokens."""
    shutil.copytree(base, directory, dirs_exist_ok=True)
    file = directory / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    split, _ = content["pre_tokenizer"]["pretokenizers"]
    split["pattern"] = {"Regex": STRETCH_PATTERN}
    vocab = content["model"]["vocab"]
    spelled = [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]
    for left, right in merges:
        content["model"]["merges"].append([spelled[left], spelled[right]])
        spelled.append(spelled[left] + spelled[right])
        vocab[spelled[-1]] = len(vocab)
    write_text(file, json.dumps(content, ensure_ascii=False))


def build(base: Path, lines: Sequence[str], most: int, way: Way, directory: Path) -> None:
    """Learn superwords from lines of text, at most so many, and write the tokenizer of `base` with them."""
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    entries = range(tokenizer.get_vocab_size())
    kinds = Kinds.of([tokenizer.decode([number], skip_special_tokens=False) for number in entries])
    with_superwords(base, learn(ids_of(tokenizer, lines), kinds, most, way), directory)


def ids_of(tokenizer: Tokenizer, lines: Sequence[str]) -> Longs:
    """Encode lines, each with its line end, into one stream."""
    parts = [
        np.array(each.ids, np.int64)
        for start in range(0, len(lines), 20_000)
        for each in tokenizer.encode_batch_fast(
            [f"{line}\n" for line in lines[start : start + 20_000]], add_special_tokens=False
        )
    ]
    return np.concatenate(parts)


def inside_words(tokenizer: Tokenizer, lines: Sequence[str], first_superword: int) -> tuple[int, int]:
    """Count the superwords used, and those after which a letter follows."""
    used = inside = 0
    for line, each in zip(lines, tokenizer.encode_batch(list(lines), add_special_tokens=False), strict=True):
        for number, (_, end) in zip(each.ids, each.offsets, strict=True):
            if number >= first_superword:
                used += 1
                inside += line[end : end + 1].isalpha()
    return used, inside


@dataclass(frozen=True)
class Language:
    """Text of one language, and where its tokenizers are kept."""

    training: list[str]
    held_out: list[str]
    counts: WordCounts
    work: Path

    @classmethod
    def open(cls, data: Path, language: str, work: Path) -> Language:
        """Read the text; word counts are kept under `work`."""
        training, held_out = parts_of(data, language)
        file = work / language / "counts.parquet"
        if not file.is_file():
            count_documents(training).save(file)
        return cls(training, held_out, WordCounts.load(file), work / language)

    def base(self, system: str, size: int, **options: Any) -> Path:
        """The directory of a tokenizer without superwords, trained unless it is there."""
        marks = "".join(f"-{value:g}" for value in options.values())
        directory = self.work / f"{system}-{size}{marks}"
        if not (directory / "tokenizer.json").is_file():
            train_system(system, self.counts, size, directory, **options)
        return directory

    def tokenizer(self, size: int, way: Way) -> tuple[Path, int]:
        """The directory of a way's tokenizer, and its first superword."""
        most = round(size * way.share)
        base = self.base("mws", size - most, granularity=way.granularity)
        entries = Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab_size()
        if not most:
            return base, entries
        directory = self.work / f"{size}-{way.name.replace(' ', '_')}"
        build(base, self.training, most, way, directory)
        return directory, entries


def measure(text: Language, size: int, name: str, directory: Path, entries: int) -> dict[str, Any]:
    """Tokens and n-gram bits of the held-out lines beside those of the default of the same size."""
    training = first(text.training, SLICES["4 MB"]) or text.training
    bits = ngram_bits(directory, training, text.held_out)
    file = text.work / f"{size}.default.npz"
    if not file.is_file():
        source = directory if name == DEFAULT.name else text.tokenizer(size, DEFAULT)[0]
        default = bits if source == directory else ngram_bits(source, training, text.held_out)
        np.savez(file, nats=default.nats, tokens=default.tokens)
    with np.load(file) as saved_bits:
        nats, tokens = saved_bits["nats"], int(saved_bits["tokens"])
    found = paired_bootstrap([bits.nats], [nats], bits.n_bytes, represented=bits.restored, resamples=1000)
    scale = 100 * found.relative / found.value if found.value else 0.0
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    used, inside = inside_words(tokenizer, text.held_out, entries)
    saved = 100 * (1 - bits.tokens / tokens)
    return {
        "entries": tokenizer.get_vocab_size(),
        "superwords": tokenizer.get_vocab_size() - entries,
        "bits_per_byte": bits.value,
        "tokens": bits.tokens,
        "tokens_saved": saved,
        "bits_more": [scale * each for each in (found.value, found.low, found.high)],
        "exchange_rate": scale * found.value / saved if saved > 0 else None,
        "superwords_used": used,
        "end_inside": inside,
        "lost": int((~bits.restored).sum()),
        "train_bytes": bits.train_bytes,
        "lines": len(text.held_out),
    }


def due(rows: list[dict[str, Any]], languages: Sequence[str], sizes: Sequence[int]) -> tuple[str, int, str, Way] | None:
    """The next row to measure: its language, size, name and way."""
    done = {(row["language"], row["size"], row["name"]) for row in rows}
    ways: list[tuple[str, Way]] = [(way.name, way) for way in (DEFAULT, *FIRST)]
    ways.insert(1, ("byte-level BPE", DEFAULT))
    stages: list[Callable[[], list[tuple[str, Way]]]] = [lambda: ways, lambda: [(w.name, w) for w in around(rows)]]
    for stage in stages:
        for size in sizes:
            for language in languages:
                for name, way in stage():
                    if (language, size, name) not in done:
                        return language, size, name, way
    return None


def around(rows: list[dict[str, Any]]) -> list[Way]:
    """Ways that differ in one thing from the best of the first ones, and the other granularity without superwords."""
    best = best_way([row for row in rows if row["name"] in {way.name for way in FIRST}])
    changes: list[dict[str, Any]] = [{"share": 0.1}, {"whole": 0.98}, {"whole": 0.99}, {"granularity": 0.13}]
    return [*(replace(best, **change) for change in changes), replace(DEFAULT, granularity=0.13)]


def best_way(rows: list[dict[str, Any]]) -> Way:
    """The way of the lowest exchange rate, mean over its cells, among those that save `SAVES` per cent in the mean."""
    cells: dict[Way, list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault(Way(**row["way"]), []).append(row)
    enough = {way: own for way, own in cells.items() if _mean(own, "tokens_saved") >= SAVES}
    return min(enough or {Way(): []}, key=lambda way: _mean(enough.get(way, []), "exchange_rate"))


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else float("inf")


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown of all rows, by language and size."""
    header = ["language", "entries", "chosen by", "superwords", "tokens", "n-gram bits, %", "bits a token saved",
              "end inside a word", "lines lost"]  # fmt: skip
    cells = []
    for row in sorted(rows, key=lambda each: (LANGUAGES.index(each["language"]), each["size"])):
        value, low, high = row["bits_more"]
        rate, used = row["exchange_rate"], row["superwords_used"]
        inside = f"{100 * row['end_inside'] / used:.2f} %" if used else ""
        cells.append([row["language"], f"{row['entries']:,}", row["name"], f"{row['superwords']:,}",
                      f"{-row['tokens_saved']:+.1f} %", f"{value:+.2f} ({low:+.2f} to {high:+.2f})",
                      "" if rate is None else f"{rate:.3f}", inside, str(row["lost"])])  # fmt: skip
    return (
        "Default with part of its entries given to superwords, beside the default of equal size: tokens and n-gram "
        "bits of held-out lines (95 % interval over lines). *Bits a token saved*: per cent of bits more for a per cent "
        "of tokens fewer, lower is better. *End inside a word*: of the superwords used. One tokenizer a row; n-gram "
        f"models of 4 MB. Written by scripts/superwords.py.\n\n{markdown_table(header, cells)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("out/superwords"))
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no row after that many")
    parser.add_argument("--plan", action="store_true", help="print what is measured and the next row, and stop")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/superwords.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    started = time.monotonic()
    texts: dict[str, Language] = {}
    while time.monotonic() - started < 60 * arguments.minutes:
        following = due(rows, arguments.languages, arguments.sizes)
        if arguments.plan or following is None:
            print(f"{len(rows)} rows measured; next: {following}")
            return
        language, size, name, way = following
        if language not in texts:
            texts = {language: Language.open(arguments.data, language, arguments.work)}
        text = texts[language]
        if name == way.name:
            directory, entries = text.tokenizer(size, way)
        else:
            directory, entries = text.base("bpe-byte", size), size
        row = measure(text, size, name, directory, entries)
        rows.append({"language": language, "size": size, "name": name, "way": asdict(way), **row})
        write_text(arguments.results, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        write_text(arguments.results.with_suffix(".md"), table(rows))
        print(f"{time.monotonic() - started:5.0f} s  {language} {size} {name}: {row['tokens_saved']:+.2f} % tokens "
              f"saved, bits {row['bits_more'][0]:+.2f} %", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
