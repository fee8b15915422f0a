"""A model card put together: metadata for the Hub, and the template `card.md` filled. It measures nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf import __version__
from mws_hf.cards.facts import CardFacts, read_facts, write_facts
from mws_hf.cards.readme import FILE, is_free, is_untouched, marked, write_card
from mws_hf.errors import brief
from mws_hf.text.markdown import cell
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.training_record import rare_entries_said, read_record

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData
    from tokenizers import Tokenizer

    from mws_hf.evaluate.evaluation import EvaluationReport
    from mws_hf.evaluate.running_text import TextScores

_logger = logging.getLogger(__name__)


def card_of(
    tokenizer: Any,
    name: str,
    *,
    data: str | None = None,
    languages: Sequence[str] = (),
    license: str | None = None,
    words: Sequence[str] = (),
) -> str:
    """Write the text of a card of a tokenizer of one of our classes; `CardFacts` tells what the facts are."""
    backend = open_tokenizer(tokenizer).backend
    settings, facts = _known(tokenizer, backend)
    said = CardFacts(data=data or "", languages=tuple(languages), license=license or "", words=tuple(words))
    return trained_card(name, backend, facts.with_(**said.to_dict()), settings).to_markdown()


def _known(tokenizer: Any, backend: Tokenizer) -> tuple[Mapping[str, Any], CardFacts]:
    """Return settings and facts of a tokenizer: of its training just now, or from the record where it was loaded."""
    if tokenizer.__dict__.get("training") is not None:
        return tokenizer.training.settings, CardFacts()
    place = Path(getattr(tokenizer, "name_or_path", "") or "absent")
    return read_record(place, backend) or {}, read_facts(place, backend) or CardFacts()


def stage_own_card(tokenizer: Any, stage: Path, directory: Path) -> None:
    """Put the card of a tokenizer that was just learnt beside its files, unless one of another hand is there."""
    if getattr(tokenizer, "training", None) is not None and is_free(directory):
        write_card(stage, card_of(tokenizer, directory.resolve().name))


def settle_card(tokenizer: Any, folder: Path, repository: str, revision: str | None, token: Any) -> bool:
    """Decide about the card among the files that are to be pushed; returns whether it goes with them.

    A card by hand stays as the Hub has it, and so does any where the Hub does not say what it has. A tokenizer with a
    record of its training gets its own card; another one what transformers has put into the folder.
    """
    there = _card_on_hub(repository, revision, token)
    if isinstance(there, Exception):
        _logger.warning("%s: no card was written, for the Hub does not show its own (%s)", repository, brief(there))
        return False
    if there is not None and not is_untouched(there):
        return False
    backend = open_tokenizer(tokenizer).backend
    if not _known(tokenizer, backend)[0]:
        return there is None
    (folder / FILE).write_text(marked(card_of(tokenizer, repository)), encoding="utf-8", newline="\n")
    return True


def _card_on_hub(repository: str, revision: str | None, token: Any) -> Path | Exception | None:
    """Fetch the card that a commit to a branch would replace; None where there is none, or why that is not known."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RevisionNotFoundError

    try:  # never the cache's copy, which is taken where the Hub does not answer
        return Path(hf_hub_download(repository, FILE, revision=revision, token=token, force_download=True))
    except RevisionNotFoundError as error:  # a new branch begins as the main one
        return error if revision is None else _card_on_hub(repository, None, token)
    except LocalEntryNotFoundError as error:  # a kind of the next one, though it says only that there was no answer
        return error
    except EntryNotFoundError:
        return None
    except Exception as error:  # the Hub's own, requests or httpx, by version
        return error


@dataclass(frozen=True)
class Card:
    """What a card is written from; `settings` are those that the record keeps, empty for a tokenizer of others.

    `report` was measured of this tokenizer alone, `beside` of this one, first, and of others; `groups` holds measures
    by group of a mixture and tokenizer. `restored`: lines that decode to what they were, lines tried. `text` and `bits`
    name the text measured on, and that of the n-gram models.
    """

    name: str
    facts: CardFacts
    settings: Mapping[str, Any]
    vocabulary: int
    examples: Sequence[tuple[str, Sequence[str]]] = ()
    report: EvaluationReport | None = None
    restored: tuple[int, int] = (0, 0)
    text: str = ""
    bits: str = ""
    beside: EvaluationReport | None = None
    groups: Mapping[str, Mapping[str, TextScores]] = field(default_factory=dict)

    def to_markdown(self) -> str:
        """Write the card's text."""
        from jinja2 import Template  # not huggingface_hub.ModelCard, whose import takes 0.3 s of every training

        template = Template(Path(__file__).with_name("card.md").read_text(encoding="utf-8"))
        text: str = template.render(card_data=metadata(self).to_yaml(), **vars(self), **_for_template(self))
        return f"{text.strip()}\n"


def _for_template(card: Card) -> dict[str, Any]:
    """Compute what the template shows besides the card's own fields."""
    settings = card.settings
    fits = settings.get("label_fit") or {}
    fits = {"": fits} if "given" in fits else fits  # "" is the group of words that belong to none
    values: dict[str, Any] = {
        "labels": {},
        "labelled": sum(fit["used"] for fit in fits.values()),
        "rare": rare_entries_said(settings.get("rare_entries")),
        "reasons": lambda counts: ", ".join(f"{number:,} {reason}" for reason, number in counts.items()),
        "cell": cell,
        "version": __version__,
    }
    if fits:
        from mws_hf.learn.evidence.labels import LabelFit  # only now, for a card with labels alone needs it

        values["labels"] = {group: LabelFit(**fit).describe() for group, fit in fits.items()}
    if card.report is not None:
        from mws_hf.evaluate.score_tables import GOLD_COLUMNS  # only now, for most cards tell of no gold

        values["gold"] = GOLD_COLUMNS
    if card.beside is not None:
        values["beside_titles"], values["beside_rows"] = _beside(card.beside)
    return values


def _beside(report: EvaluationReport) -> tuple[list[str], list[list[str]]]:
    """Compare all tokenizers: titles of the columns, and a row for each."""
    from mws_hf.evaluate.measures import BITS, GOLD, TEXT, number_cell  # only now, for most cards tell of no gold

    names = list(dict.fromkeys([*(row.tokenizer for row in report.rows), *report.text]))
    f1 = {(row.tokenizer, row.gold): GOLD["f1"].cell(row.scores) for row in report.rows}
    golds = [gold.name for gold in report.golds]
    titles = ["tokenizer", *(f"F1, {gold}" for gold in golds)]
    rows = [[name, *(f1[name, gold] for gold in golds)] for name in names]
    if report.text:
        lengths = [TEXT["fertility"], TEXT["bytes_per_token"]]
        titles += [measure.name for measure in lengths]
        for row in rows:
            scores = report.text[row[0]]
            row += [measure.cell(scores) for measure in lengths]
    if report.bits:
        titles += [BITS.name, f"more than {names[0]} (95 %)"]
        for row in rows:
            row += [number_cell(report.bits[row[0]].value, BITS.form), report.more_bits(row[0])]
    return titles, rows


def trained_card(name: str, tokenizer: Tokenizer, facts: CardFacts, settings: Mapping[str, Any]) -> Card:
    """Describe a tokenizer of which nothing was measured: words of its training shown cut, or those of `facts`."""
    words = facts.words or settings.get("sample_words", ())
    examples = list(zip(words, open_tokenizer(tokenizer).cut(words), strict=True))
    return Card(name, facts, settings, tokenizer.get_vocab_size(), examples)


def keep_card(directory: Path, backend: Tokenizer, card: Card) -> bool:
    """Write the facts into the record, and the card beside it unless a person edited it; return whether it was."""
    write_facts(directory, backend, card.facts)
    return write_card(directory, card.to_markdown())


def metadata(card: Card) -> ModelCardData:
    """Make the head, which the Hub reads: language, license, library, tags, model-index with results."""
    from huggingface_hub import ModelCardData

    facts = card.facts
    ours = card.settings or facts.extended or facts.trimmed
    tags = ["tokenizer", *([] if facts.trimmed else ["morphology"]), *(["mws-hf"] if ours else [])]
    return ModelCardData(
        language=list(facts.languages) or None,
        license=facts.license or None,
        library_name="transformers",
        tags=tags,
        model_name=card.name,
        eval_results=_results(card) or None,
    )


def _results(card: Card) -> list[Any]:
    """List every figure of the tables as a `huggingface_hub.EvalResult`."""
    from huggingface_hub import EvalResult

    report = card.report
    if report is None:
        return []
    found: list[tuple[str, str, str, str, str, float]] = []
    for row in report.rows:
        task = ("token-classification", "Morpheme segmentation", row.gold)
        for kind, title in (("f1", "F1"), ("precision", "precision"), ("recall", "recall")):
            found.append((*task, kind, f"Boundary {title}", getattr(row.scores, kind)))
    for text in report.text.values():
        task = ("text-generation", "Tokenization", card.text)
        found.append((*task, "bytes_per_token", "Bytes per token", text.bytes_per_token))
        if text.words:
            found.append((*task, "tokens_per_word", "Tokens per word", text.fertility))
    for entry in report.bits.values():
        task = ("text-generation", "n-gram language model of the tokens", card.text)
        found.append((*task, "bits_per_byte", "Bits per byte", entry.value))
    return [
        EvalResult(
            task_type=task,
            task_name=task_title,
            dataset_type=dataset,
            dataset_name=dataset,
            metric_type=kind,
            metric_name=title,
            metric_value=round(value, 4),
        )
        for task, task_title, dataset, kind, title, value in found
    ]
