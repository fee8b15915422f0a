"""`mws train`: train a tokenizer on any source of words and save it as a Hugging Face folder."""

from __future__ import annotations

import logging
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.atomic import output_lock
from mws_hf.commands.apostrophes import apostrophe_notice
from mws_hf.commands.options import add_output, add_setting, add_writing, by_group, group_of, weight_of
from mws_hf.commands.outputs import claim_folder, note, replaced, save_card, show_written
from mws_hf.commands.parser import Parser
from mws_hf.commands.sources import Words, entries_in
from mws_hf.learn.defaults import DEFAULT_GRANULARITY
from mws_hf.learn.settings import SETTINGS
from mws_hf.text.capitals import steps_of
from mws_hf.text.phrases import counted, percent
from mws_hf.text.symbols import DEFAULT_SPECIAL_TOKENS, check_required, special_roles

if TYPE_CHECKING:
    from mws_hf.learn.evidence.labels import LabelFit
    from mws_hf.trainer import MwSTrainer

_logger = logging.getLogger(__name__)

HELP = """
Train a tokenizer on raw text, and save it as a standard Hugging Face folder with a tokenizer.json.

For example:

    mws train 'corpus/*.txt.gz' --vocab-size 32k --output my-tokenizer

    mws train 'corpus/*.txt.gz' --pattern llama3 --output for-llama.cpp

    mws train reviews.jsonl --composition 0 --output morphs-only

    mws train ru='ru/*.gz' en='en/*.gz' --weight ru=2 --labels ru=ru.tsv --vocab-size 64000 --output multilingual

    mws train en='en/*.gz' code='src/*.py' --digits right --output coder

    zcat dump.gz | mws train - --criterion classic --output classic

    mws train --lexicon ru --vocab-size 8k --composition 0 --output from-a-dictionary

In a group named code, an uppercase letter always begins a new morph: get·User·Name, HTTP·Server.

A higher granularity splits words more finely. For example, with --granularity 0.05 a Russian word may be под·вод·ник
(submariner), with 0.095 под·вод·н·ик, and with 0.13 под·вод·н·и·к.
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    Words.add_options(parser)
    add_output(parser, "The folder of the tokenizer to write.")
    for name, setting in SETTINGS.items():
        if setting.option is not None:
            add_setting(parser, name)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Train, and write the folder."""
    words, output = Words.of(given), given.output
    labels = by_group("--labels", given.labels, group_of)
    claim_folder(output, words.paths, [*labels.values()], given.required, given.keep_apart, force=given.force)
    from mws_hf.learn.limits import Apart
    from mws_hf.trainer import MwSTrainer

    settings = {name: getattr(given, name) for name, setting in SETTINGS.items() if setting.option is not None} | {
        "required": entries_in(given.required, words.reading, check_required),
        "keep_apart": entries_in(given.keep_apart, words.reading, lambda entry: Apart.of([entry])),
        "weights": by_group("--weight", given.weights, weight_of),
        "labels": labels.get("", labels),
        "show_progress": not given.quiet,
    }
    if (saved := words.source.saved_splitter) is not None:  # saved counts have defaults for settings not given
        settings["pattern"] = given.pattern or (None if given.digits else saved.pattern)
        form, marks = steps_of(saved.normalization)
        settings["normalization"] = given.normalization or form
        settings["capitals"] = given.capitals or ("marker" if marks else None)
    trainer = MwSTrainer(**{name: value for name, value in settings.items() if value not in (None, [], {})})
    _check_groups(trainer, words)
    with output_lock(output):
        result, fits = _train_and_save(trainer, words, output)
    for group, fit in fits.items():
        if fit.f1 is not None:  # if the labels were not used, a warning was already printed
            note(f"labels{f' of {group}' if group else ''}: {fit.describe()}")
    show_written(result, _summary(result), given)


def _train_and_save(trainer: MwSTrainer, sources: Words, output: Path) -> tuple[dict[str, Any], Mapping[str, LabelFit]]:
    """Count, train, and save the tokenizer with its card; return the printed figures, and the label fits by group."""
    started = time.perf_counter()
    splitter = sources.splitter(
        trainer.split_pattern, trainer.normalization_steps, special_tokens=trainer.special_tokens
    )
    counts = sources.count(splitter, show_progress=trainer.show_progress)
    if lost := special_roles(DEFAULT_SPECIAL_TOKENS).keys() - special_roles(trainer.special_tokens).keys():
        _logger.warning(
            "the special tokens given replace the default ones, and none of them is the %s; add --special-token %s",
            " or the ".join(sorted(lost)),
            " --special-token ".join(f"'{token}'" for token in DEFAULT_SPECIAL_TOKENS),
        )
    if notice := apostrophe_notice(counts.union):
        _logger.warning("%s", notice)
    is_long_list = len(counts.union) > 999 and counts.union.is_list
    if is_long_list and trainer.composition is None and trainer.criterion == "contextual":
        _logger.warning(
            "hardly any word occurs twice, so no word is known to be frequent; --composition 0 learns morphs only"
        )
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
        **_split_shares(settings),
        "criterion": trainer.criterion,
        "seconds": round(time.perf_counter() - started, 1),
        **{name: settings[name] for name in ("rare_entries", "groups") if name in settings},
        **({"labels": settings["label_fit"]} if "label_fit" in settings else {}),
    }
    evidence = trained.training.evidence
    return result, {} if evidence is None else evidence.labels


def _check_groups(trainer: MwSTrainer, sources: Words) -> None:
    """Raise MwSError, before hours of counting, if weights or labels name groups that do not exist."""
    if not any(sources.by_group):
        return
    from mws_hf.corpus.groups import group_shares
    from mws_hf.corpus.labeled_words import labels_of_groups

    group_shares(sources.by_group, trainer.weights)
    labels_of_groups(sources.by_group, trainer.labels)


def _split_shares(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the share of split positions inside words, and the granularity, which is None if it differs by group."""
    if "places_cut" not in settings:
        return {}
    fits = settings.get("label_fit", {})
    used = {fit["granularity"] or DEFAULT_GRANULARITY for fit in ([fits] if "given" in fits else fits.values())}
    if not used or ("given" not in fits and len(fits) < len(settings.get("groups", ()))):
        used.add(DEFAULT_GRANULARITY)  # the granularity of groups without labels
    of_all = used.pop() if len(used) == 1 else None
    return {"places_cut": settings["places_cut"], "granularity": settings["granularity"] or of_all}


def _summary(result: dict[str, Any]) -> str:
    """Return the printed summary: the number of tokens by kind, bytes per token, and how finely words are split."""
    morphs, compositions, required = (result[f"{kind}_merges"] for kind in ("morph", "composition", "required"))
    base = result["vocab_size"] - morphs - compositions - required
    asked = result["vocab_size_asked"]
    short = f" of the {asked:,} that were asked for" if asked is not None and result["vocab_size"] < asked else ""
    gloss, is_classic = "morphs joined to frequent stems and words", result["criterion"] == "classic"
    kinds = [
        morphs and f"{counted(morphs, 'merge')} {'by the original MwS score' if is_classic else 'inside morphs'}",
        compositions and counted(compositions, "frequency merge") + (f" ({gloss})" if morphs else ""),
        required and f"{counted(required, 'merge')} for --required",
    ]
    shown = [kind for kind in kinds if kind]
    and_ = ("", " and ", ", and ", ", and ")[len(shown)]
    lines = [
        f"{result['directory']}: {counted(result['vocab_size'], 'token')}{short}: "
        f"{', '.join(shown)}{and_}{base:,} bytes, characters and special tokens",
        f"trained on {counted(result['word_types'], 'distinct word')} in {result['seconds']} s; "
        f"{result['bytes_per_token']:.2f} bytes per token of this text",
    ]
    if "places_cut" in result:
        granularity = result["granularity"]
        why = (
            "because a boundary is probable there (each group has a granularity of its own, from its labels), or"
            if granularity is None
            else f"at {percent(granularity)} because a boundary is probable there (--granularity), and at the others"
        )
        when = "before the frequency merges, " if compositions else ""
        lines.append(
            f"{when}words are split at {percent(result['places_cut'])} of the positions inside them: {why} "
            "because no merge across them was good enough"
        )
    return "\n".join(lines)
