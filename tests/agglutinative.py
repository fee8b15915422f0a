"""A made-up agglutinative language with known morphs, and the boundary F1 of a list of merges on it."""

from collections import Counter

import numpy as np
from tokenizers import Tokenizer, models

ONSETS, VOWELS, CODAS = "ptkmnslrvz", "aeiou", ["", "", "n", "r", "s"]
SLOTS = (["", "lar", "ki"], ["", "im", "un", "eda"], ["", "dan", "ta", "go", "mi"])


def syllable(random):
    return random.choice(list(ONSETS)) + random.choice(list(VOWELS)) + random.choice(CODAS)


def make_language(n_stems=150, share=0.4, seed=5):
    """{word: morphs} of random stems with chains of suffixes; a random part of all forms is attested."""
    random = np.random.default_rng(seed)
    stems = sorted({"".join(syllable(random) for _ in range(random.integers(2, 4))) for _ in range(n_stems)})
    words = {}
    for stem in stems:
        for a in SLOTS[0]:
            for b in SLOTS[1]:
                for c in SLOTS[2]:
                    if random.random() < share:
                        words[stem + a + b + c] = [m for m in (stem, a, b, c) if m]
    return words


def inner_ends(pieces):
    ends = np.cumsum([len(p) for p in pieces])
    return set(ends[:-1].tolist())


def encoder(merges, alphabet):
    vocab = {}
    for token in [*alphabet, *(left + right for left, right in merges)]:
        vocab.setdefault(token, len(vocab))
    return Tokenizer(models.BPE(vocab=vocab, merges=list(merges)))


def boundary_f1(merges, gold, prefix=" "):
    """Micro F1 over the boundaries inside words, which are encoded with `prefix`."""
    alphabet = sorted(
        {c for word in gold for c in prefix + word} | {c for pair in merges for part in pair for c in part}
    )
    tokenizer, n = encoder(merges, alphabet), Counter()
    for word, morphs in gold.items():
        found = {end - len(prefix) for end in inner_ends(tokenizer.encode(prefix + word).tokens)} - {0}
        true = inner_ends(morphs)
        n.update(hit=len(found & true), found=len(found), true=len(true))
    return 2 * n["hit"] / max(1, n["found"] + n["true"])
