"""`mws train`: learn a tokenizer from any source of words and save it as a Hugging Face directory."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from mws_hf.atomic import output_lock
from mws_hf.commands import options
from mws_hf.commands.apostrophes import apostrophe_notice
from mws_hf.commands.options import Writing
from mws_hf.commands.outputs import claim_folder, counted, note, replaced, save_card, tell
from mws_hf.commands.sources import Words, entries_in
from mws_hf.learn.settings import DEFAULT_GRANULARITY, SETTINGS, Settings

if TYPE_CHECKING:
    from mws_hf.learn.evidence.labels import LabelFit
    from mws_hf.trainer import MwSTrainer

_logger = logging.getLogger(__name__)


_KINDS: dict[str, Any] = get_type_hints(Settings) | {
    **dict.fromkeys(("special_tokens", "labels", "weights"), list[str]),
    **dict.fromkeys(("required", "keep_apart"), Path),
    "composition": float,
}
"""What the settings are as they are typed, where it is not what a program gives."""
Typed: Any = make_dataclass(
    "Typed", [(name, _KINDS[name], options.setting(name)) for name, each in SETTINGS.items() if each.option is not None]
)
"""A group of options: every setting that has one."""


def train_command(*, words: Words, output: Path = options.DIRECTORY, settings: Typed, writing: Writing) -> None:
    """Learn a tokenizer, by default without labels, and save it as a stock Hugging Face directory.

    For example:

        mws train --lexicon ru --vocab-size 8k --composition 0 --output out/russian

        mws train 'corpus/*.txt.gz' --vocab-size 32k --output out/mine

        mws train 'corpus/*.txt.gz' --pattern llama3 --output out/mine

        mws train reviews.jsonl --composition 0 --output out/morphs

        mws train ru='ru/*.gz' en='en/*.gz' --weight ru=2 --labels ru=ru.tsv --vocab-size 64000 --output out/mixture

        mws train en='en/*.gz' code='src/*.py' --digits right --output out/coder

        zcat dump.gz | mws train - --criterion classic --output out/classic

    The words of a group named code are cut at their capitals for sure: get·User·Name, HTTP·Server.

    With --granularity 0.05 a word may be под·вод·ник, with 0.095 под·вод·н·ик, with 0.13 под·вод·н·и·к.
    """
    labels = options.by_group("--labels", settings.labels, options.group_of)
    claim_folder(output, words.read, [*labels.values()], settings.required, settings.keep_apart, force=writing.force)
    from mws_hf.learn.limits import Apart
    from mws_hf.trainer import MwSTrainer

    given = vars(settings) | {
        "required": entries_in(settings.required, words.reading),
        "keep_apart": entries_in(settings.keep_apart, words.reading, lambda entry: Apart.of([entry])),
        "weights": options.by_group("--weight", settings.weights, options.weight_of),
        "labels": labels.get("", labels),
        "show_progress": not writing.quiet,
    }
    trainer = MwSTrainer(**{name: value for name, value in given.items() if value not in (None, [], {})})
    _check_groups(trainer, words)
    with output_lock(output):
        asked = trainer.split_pattern if settings.digits else settings.pattern
        result, fits = _train_and_save(trainer, words, asked, settings.normalization, output)
    for group, fit in fits.items():
        if fit.f1 is not None and not writing.quiet:  # of labels that were not used there is a warning
            note(f"labels{f' of {group}' if group else ''}: {fit.describe()}")
    tell(result, _summary(result), writing.as_json)


def _train_and_save(
    trainer: MwSTrainer, sources: Words, pattern: str | None, normalization: str | None, output: Path
) -> tuple[dict[str, Any], Mapping[str, LabelFit]]:
    """Count, learn, save the tokenizer and its card; returns the facts that the command prints and what labels did."""
    started = time.perf_counter()
    cut = pattern, normalization, trainer.split_pattern, trainer.special_tokens
    counts = sources.gather(*cut, show_progress=trainer.show_progress)
    if notice := apostrophe_notice(counts.union):
        _logger.warning("%s", notice)
    words = counts.union.counts
    if trainer.composition is None and trainer.criterion == "contextual" and len(words) > 999 and words.max() == 1:
        _logger.warning("each word occurs once, so frequent words are not known: --composition 0 learns morphs alone")
    trainer = replace(trainer, pattern=counts.pattern, normalization=counts.normalization)
    trained = trainer.trained(counts)
    backend, settings, merges = trained.backend, trained.training.settings, trained.training.settings["merges"]
    with replaced(output) as stage:
        trained.save(stage)
        save_card(stage, output.resolve().name, backend, sources.describe(), settings)
    result: dict[str, Any] = {
        "directory": str(output),
        "vocab_size": backend.get_vocab_size(),
        "vocab_size_asked": trainer.wanted,
        "alphabet": settings["characters"],
        "morph_merges": merges["morph"],
        "composition_merges": merges["composition"],
        "required_merges": merges.get("required", 0),
        "word_types": settings["word_types"],
        "bytes_per_token": settings["bytes_per_token"],
        **_fineness(settings),
        "criterion": trainer.criterion,
        "seconds": round(time.perf_counter() - started, 1),
        **{name: settings[name] for name in ("rare_entries", "groups") if name in settings},
        **({"labels": settings["label_fit"]} if "label_fit" in settings else {}),
    }
    evidence = trained.training.evidence
    return result, {} if evidence is None else evidence.labels


def _check_groups(trainer: MwSTrainer, sources: Words) -> None:
    """Refuse weights and labels of groups that are not there, before hours of counting."""
    if not any(sources.by_group):
        return
    from mws_hf.corpus.groups import group_shares
    from mws_hf.corpus.segmentations import labels_of_groups

    group_shares(sources.by_group, trainer.weights)
    labels_of_groups(sources.by_group, trainer.labels)


def _fineness(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the share of places cut, and the granularity used: asked for, of labels, usual; None of several groups."""
    if "places_cut" not in settings:
        return {}
    used = settings.get("label_fit", {"granularity": DEFAULT_GRANULARITY}).get("granularity")
    return {"places_cut": settings["places_cut"], "granularity": settings["granularity"] or used}


def _summary(result: dict[str, Any]) -> str:
    """Say what came out: entries and their kinds, how long text becomes, how finely words are cut."""
    morphs, compositions, required = (result[f"{kind}_merges"] for kind in ("morph", "composition", "required"))
    base = result["vocab_size"] - morphs - compositions - required
    asked = result["vocab_size_asked"]
    short = f" of {asked:,} asked for" if asked is not None and result["vocab_size"] < asked else ""
    lines = [
        f"{result['directory']}: {counted(result['vocab_size'], 'entry', 'entries')}{short}: "
        f"{counted(morphs, 'morph')}, "
        f"{counted(compositions, 'frequent stem or word', 'frequent stems and words')} (compositions), "
        f"{f'{required:,} for --required, ' if required else ''}{base:,} bytes, characters and special tokens",
        f"learnt from {counted(result['word_types'], 'different word')} in {result['seconds']} s; "
        f"a token stands for {result['bytes_per_token']:.2f} bytes of this text",
    ]
    if "places_cut" in result:
        share = "fewer" if result["granularity"] is None else f"{result['granularity']:.1%}"
        lines.append(
            f"morphs end at {result['places_cut']:.1%} of the places inside words; at {share} a boundary is likelier "
            "than none (--granularity), at the others no merge was worth its price"
        )
    return "\n".join(lines)
