"""Check where a tokenizer directory can go: its faults, its traps in other programs, the programs that read it.

`repair` mends a directory. No code that lies in it is executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import regex
from tokenizers import Tokenizer

from mws_hf.atomic import staged
from mws_hf.errors import MissingTokenizerError, MwSError, brief, quoted
from mws_hf.surgery.check_ids import REPAIR, Finding, in_some_versions, named_ids
from mws_hf.surgery.ids import PER_LAYER, model_rows
from mws_hf.surgery.model_tables import stored_tensors, vocabulary_tables
from mws_hf.text.pattern import named, problem_in_tokenizers
from mws_hf.text.sample_texts import sample_texts
from mws_hf.text.symbols import Alphabet, special_roles
from mws_hf.tokenizer.backend import alphabet_of, check_added
from mws_hf.tokenizer.client_facts import ONE_READS, TOKENIZERS_ONE, ClientFact, client_facts
from mws_hf.tokenizer.file import (
    STOCK_CLASS,
    chat_templates,
    config_files,
    load_settings,
    read_spec,
    template_setting,
    uses_stock_module,
)
from mws_hf.tokenizer.foreign import holds_other_entries
from mws_hf.tokenizer.layout import (
    ADDED_FILE,
    CONFIG_FILE,
    EVIDENCE_FILE,
    MODEL_FILE,
    NOTEBOOK_FILES,
    RECORD_FILE,
    STOCK_FILE,
    TEMPLATE_FILES,
    TOKENIZER_FILE,
    Of,
    files,
    matching,
)
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.shapes import LEARNED_MERGES
from mws_hf.tokenizer.spec import Spec, has_leading_space, parts_of, split_of, without_limits
from mws_hf.tokenizer.training_record import merges_digest, rare_entries_said, read_record

REPLACING_TYPES = {
    *("qwen2", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "hyperclovax_vision_v2", "siglip2"),
}
"""Beside models of these types transformers 5.10 and later take the model's own class, unless there is an auto_map."""

NEUTRAL_CLASSES = {STOCK_CLASS, "PreTrainedTokenizer", "TokenizersBackend", "PythonBackend"} | {
    f"MwSTokenizer{fast}" for fast in ("", "Fast")
}
"""Values of tokenizer_class that stand for tokenizer.json as it is."""

_KNOWN_EVERYWHERE = {STOCK_CLASS, "PreTrainedTokenizer"}
_MISTRAL_TYPES = {"mistral", "mistral3", "voxtral", "ministral", "pixtral"}
_LIKE_A_REGEX = regex.compile(r"\\[psSdDwW]|\[\^|\(\?|\]\+")
_MORE_TEXTS = ("e\u0301 и\u0306 가",)
"""Letters that NFC changes."""


class Report(NamedTuple):
    """What `check` finds of a directory: facts of the tokenizer, findings (errors first), and the clients' verdicts."""

    facts: dict[str, Any]
    findings: list[Finding]
    clients: list[ClientFact]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(finding.level != "error" for finding in self.findings)


@dataclass(frozen=True)
class _Look:
    """A directory, and what is read of it once."""

    place: Path
    name: str

    @property
    def directory(self) -> Path:
        return self.place.parent if self.place.is_file() else self.place

    @property
    def has_own_file(self) -> bool:
        """Whether it is the tokenizer.json of its directory, and not a file of another program or another name."""
        return self.place in (self.directory, self.directory / TOKENIZER_FILE) and (
            (self.directory / TOKENIZER_FILE).is_file()
        )

    @cached_property
    def opened(self) -> Opened:
        if not self.place.exists():
            raise MissingTokenizerError(f"{self.place}: no such directory; give one written by save_pretrained")
        return open_tokenizer(self.directory if self.has_own_file else self.place, name=self.name)

    @property
    def backend(self) -> Tokenizer:
        return self.opened.backend

    @property
    def spec(self) -> Spec:
        return self.opened.spec

    @cached_property
    def dropout(self) -> float | None:
        """The BPE-dropout in tokenizer.json, which an opened tokenizer leaves out."""
        found = read_spec(self.directory / TOKENIZER_FILE)["model"].get("dropout") if self.has_own_file else None
        return found if isinstance(found, float | int) else None

    @cached_property
    def settings(self) -> dict[str, Any]:
        return load_settings(self.directory / CONFIG_FILE)

    @cached_property
    def model(self) -> dict[str, Any]:
        """The config of a model beside it."""
        return load_settings(self.directory / MODEL_FILE)

    @cached_property
    def ids(self) -> int:
        """The number after the highest id."""
        return self.spec.highest_id + 1

    @cached_property
    def spaced(self) -> bool:
        return has_leading_space(self.spec.raw["pre_tokenizer"])

    @cached_property
    def shape(self) -> tuple[Alphabet, str] | None:
        """Alphabet and pattern of a tokenizer in this package's form, which may put a space first; else None."""
        parts = [*parts_of(self.spec.raw["pre_tokenizer"])]
        pattern, _ = split_of({"type": "Sequence", "pretokenizers": parts[1:] if self.spaced else parts})
        return None if self.spec.kind != "BPE" or pattern is None else (alphabet_of(self.spec.model["vocab"]), pattern)

    @cached_property
    def pattern_problem(self) -> str | None:
        """What `tokenizers` cannot do with a regular expression of the tokenizer, which then cannot encode."""
        parts = [part for step in ("normalizer", "pre_tokenizer") for part in parts_of(self.spec.raw[step])]
        found = [part["pattern"].get("Regex") for part in parts if isinstance(part.get("pattern"), dict)]
        return next(filter(None, map(problem_in_tokenizers, filter(None, found))), None)

    @property
    def has_other_added(self) -> bool:
        """Whether an added_tokens.json contradicts tokenizer.json."""
        ids, added = self.backend.get_vocab(with_added_tokens=True), load_settings(self.directory / ADDED_FILE)
        return any(ids.get(token) != number for token, number in added.items())


def check(place: Path, name: str | None = None) -> Report:
    """Check a tokenizer directory, or any file that `open_tokenizer` opens as a tokenizer.

    Args:
        place: the directory or file.
        name: what messages call it; by default the path.

    Raises:
        MwSError: there is no tokenizer, or a damaged one.
    """
    look = _Look(place, name or str(place))
    findings = [*_lossless(look), *_baked(look), *_split(look)]
    if look.has_own_file:
        findings += [
            *_configured(look),
            *named_ids(look.directory, look.backend, look.spec, look.settings),
            *_of_others(look),
            *_beside_a_model(look),
            *_beside_weights(look),
        ]
    else:
        findings += _without_own_file(look)
    findings.sort(key=lambda finding: finding.level)
    clients = [] if look.shape is None else client_facts(*look.shape, look.backend, spaced=look.spaced)
    return Report(_facts(look, {finding.trap for finding in findings}), findings, clients)


def _versions(look: _Look, traps: set[str]) -> str:
    """Return the versions of transformers that load all of a directory."""
    if look.settings.get("tokenizer_class") not in NEUTRAL_CLASSES:
        return "unknown"
    if traps & {"version-class", "version-list", "version-names"}:
        return "5.x"
    return "4.52 to 5.x" if "version-templates" in traps else "4.51 to 5.x"


def _facts(look: _Look, traps: set[str]) -> dict[str, Any]:
    backend = look.backend
    facts: dict[str, Any] = {"tokens": backend.get_vocab_size()}
    if look.shape is not None:
        kind, pattern = look.shape
        known, way = named(pattern) or (pattern, "threes")
        facts |= {"alphabet": kind, "pattern": known if way == "threes" else f"{known}, digits {way}"}
    facts["normalizer"] = None if backend.normalizer is None else type(backend.normalizer).__name__
    facts["add_prefix_space"] = look.spaced
    facts["transformers"] = _versions(look, traps)
    rows = model_rows(look.model)
    if rows is not None and rows > look.ids:
        padding = rows - look.ids
        facts["embedding_rows"] = f"{rows:,}, of which the last {padding:,} have no token (padding, which is fine)"
    rare = (look.opened.record or {}).get("rare_entries")
    if isinstance(rare, dict) and all(isinstance(rare.get(name), float) for name in ("unused", "under_5")):
        facts["hardly_used"] = rare_entries_said(rare)
    return facts


def _lossless(look: _Look) -> Iterator[Finding]:
    """Decode the sample, and the added tokens; a tokenizer that cannot encode is reported instead."""
    try:
        check_added(look.backend)
    except MwSError as error:
        yield Finding("error", "added-token", str(error))
    if look.pattern_problem:
        yield Finding("error", "pattern", f"{look.pattern_problem}; then train again")
        return
    bare, normalizer, lost = without_limits(look.backend), look.backend.normalizer, []
    for text in sample_texts():
        wanted = text if normalizer is None else normalizer.normalize_str(text)
        if look.spaced and not wanted.startswith(" "):
            wanted = " " + wanted
        if bare.decode(bare.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) != wanted:
            lost.append(text)
    if lost:
        number = f"{len(lost)} of {len(sample_texts())} texts of the sample, {quoted(lost[0], 40)} for one,"
        yield Finding("error", "lossy", f"{number} do not come back when they are decoded; train or save it again")


def _baked(look: _Look) -> Iterator[Finding]:
    """Report settings of a past call or training that are saved in tokenizer.json."""
    for what in ("truncation", "padding"):
        if getattr(look.backend, what) is not None:
            message = f"{TOKENIZER_FILE} holds a past call's {what}, which bare readers obey; {REPAIR} takes it out"
            yield Finding("error", f"baked-{what}", message)
    if look.dropout:
        message = (
            f"{TOKENIZER_FILE} has a BPE-dropout of {look.dropout:g}: every call gives other ids; {REPAIR} takes it out"
        )
        yield Finding("error", "baked-dropout", message)


def _split(look: _Look) -> Iterator[Finding]:
    """Report how the split patterns of a tokenizer of any make behave here and in `tokenizers` 1.0."""
    splits = [part for part in parts_of(look.spec.raw["pre_tokenizer"]) if part.get("type") == "Split"]
    texts = (part.get("pattern", {}).get("String") for part in splits)
    if text := next((text for text in texts if text and _LIKE_A_REGEX.search(text)), None):
        message = (
            f"split pattern {quoted(text, 40)} is saved as a String, not as a Regex: it matches only that text, so "
            "words are not cut apart; train again with tokenizers.Regex(...) (a model that has learnt with these ids "
            "needs them as they are)"
        )
        yield Finding("error", "string-pattern", message)
    if look.shape is not None:  # it is reported among the clients
        return
    for part in splits:
        pattern = part.get("pattern", {}).get("Regex")
        isolates = part.get("behavior") == "Isolated" and not part.get("invert")
        if pattern is not None and not (isolates and pattern in ONE_READS):
            message = (
                f"{TOKENIZERS_ONE} cannot run split pattern {quoted(pattern, 40)}: it loads it, then stops at a text"
            )
            yield Finding("warning", "tokenizers-1.0", message)
            return


def _without_own_file(look: _Look) -> Iterator[Finding]:
    """Report that a tokenizer was read from a file in another form, which AutoTokenizer may not load."""
    message = (
        f"{look.opened.place or look.place} is not a {TOKENIZER_FILE}, and programs that read only such a file cannot "
        f"load it; write one with mws_hf.tokenizer.opened.open_tokenizer({str(look.place)!r}).backend.save(FILE)"
    )
    yield Finding("error", "no-tokenizer-json", message)


def _configured(look: _Look) -> Iterator[Finding]:
    """Report how transformers reads tokenizer_config.json and the files beside it."""
    settings, model = look.settings, look.model
    if not settings:
        beside = f", and beside {model['model_type']} maybe that model's class, with other ids" if model else ""
        message = f"{CONFIG_FILE} is missing: transformers 4 cannot load this{beside}; {REPAIR} writes it"
        yield Finding("error", "no-config", message)
        return
    name = settings.get("tokenizer_class")
    if name not in NEUTRAL_CLASSES:
        message = f"tokenizer_class is {name}, which may cut otherwise than {TOKENIZER_FILE}"
        yield Finding("warning", "foreign-class", message)
    elif name not in _KNOWN_EVERYWHERE:
        message = f"tokenizer_class is {name}, which not every version from 4.51 on knows; {REPAIR} names {STOCK_CLASS}"
        yield Finding("error", "version-class", message)
    if isinstance(settings.get("extra_special_tokens"), list):
        message = f"extra_special_tokens is a list, at which transformers 4 stops; {REPAIR} renames it"
        yield Finding("error", "version-list", message)
    yield from in_some_versions(look.directory, settings)
    if "auto_map" in settings and uses_stock_module(settings) and not (look.directory / STOCK_FILE).is_file():
        message = (
            f"auto_map names {STOCK_FILE}, which is missing (a stock class saved this): loading with "
            f"trust_remote_code=True fails; {REPAIR} writes it"
        )
        yield Finding("error", "auto-map-file", message)
    if look.has_other_added:
        message = f"{ADDED_FILE} contradicts {TOKENIZER_FILE}; {REPAIR} removes it"
        yield Finding("error", "stale-added-tokens", message)


def _of_others(look: _Look) -> Iterator[Finding]:
    """Report training metadata of another tokenizer or none, and vocabularies of another one that programs read."""
    if (look.directory / RECORD_FILE).is_file() and not read_record(look.directory, look.backend):
        message = f"{RECORD_FILE} is the record of other merges, and a card would tell its figures; remove it"
        yield Finding("error", "other-record", message)
    digest = look.settings.get(LEARNED_MERGES)
    if digest and not (look.directory / RECORD_FILE).is_file() and digest == merges_digest(look.backend):
        message = (
            f"{RECORD_FILE} is missing, because another program saved this: `mws evaluate` cannot leave out the words "
            f"it was trained on with labels, and `mws explain` has no boundary probabilities; copy {RECORD_FILE} and "
            f"{EVIDENCE_FILE} from the folder that `mws train` or save_pretrained of our classes wrote"
        )
        yield Finding("warning", "no-record", message)
    for name in files(look.directory, Of.FOREIGN):
        if str(name) in (ADDED_FILE, *NOTEBOOK_FILES):  # compared above, or read by import_notebook alone
            continue
        other = holds_other_entries(look.directory / name, look.backend)
        if other:
            message = f"{name} holds other entries than {TOKENIZER_FILE}, and some programs prefer it; remove it"
            yield Finding("error", "foreign-vocabulary", message)
        elif other is None:
            message = f"{name}, which some programs prefer, could not be compared with {TOKENIZER_FILE}"
            yield Finding("warning", "foreign-vocabulary", message)


def _beside_a_model(look: _Look) -> Iterator[Finding]:
    """Find how a config.json in the same directory changes the tokenizer."""
    kind, rows = look.model.get("model_type"), model_rows(look.model)
    if kind in REPLACING_TYPES and look.settings and not ("auto_map" in look.settings or look.pattern_problem):
        remedy = (
            f"{REPAIR} prevents that"
            if look.settings.get("tokenizer_class") in NEUTRAL_CLASSES
            else f"write its normalizer into {TOKENIZER_FILE}, or name {STOCK_CLASS} as tokenizer_class and repair"
        )
        other = _other_by_class(look)
        if other is None:
            message = f"transformers 5.10 and later take the class of type {kind} beside it; ids were equal here"
            yield Finding("warning", "replaced", message)
        else:
            message = f"transformers 5.10 and later replace it beside a config.json of type {kind} ({other}); {remedy}"
            yield Finding("error", "replaced", message)
    if rows is not None and rows < look.ids:
        message = f"config.json has vocab_size {rows:,}, and the highest id is {look.ids - 1:,}; resize embeddings"
        yield Finding("error", "vocab-size", message)
    if look.ids > 100_000 and kind in _MISTRAL_TYPES:
        message = (
            f"beside a model of type {kind} transformers may call the split pattern incorrect, for the vocabulary is "
            "large; the ids are right. Do not pass fix_mistral_regex=True to stock classes: it changes them"
        )
        yield Finding("warning", "mistral-regex", message)


def _other_by_class(look: _Look) -> str | None:
    """Say how its class in this transformers differs from tokenizer.json on the sample; None: nowhere."""
    texts, bare = [*sample_texts(), *_MORE_TEXTS], without_limits(look.backend)
    try:
        tokenizer = open_tokenizer(look.directory, by_class=True).live
        wrong = [text for text in texts if tokenizer(text)["input_ids"] != bare.encode(text).ids]
    except Exception as error:  # whatever its parts raise
        return f"it does not load there: {brief(error)}"
    return f"ids differ on {len(wrong)} of {len(texts)} texts, {quoted(wrong[0], 30)} for one" if wrong else None


def _beside_weights(look: _Look) -> Iterator[Finding]:
    """Compare rows of tensors by vocabulary with ids and config.json; rows after the last id are padding, no fault."""
    tables = vocabulary_tables(stored_tensors(look.directory), look.model)
    stated, per_layer = model_rows(look.model), model_rows(look.model, PER_LAYER)
    for name, _, number, fault in tables:
        few = f"{name} has {number:,} rows, "
        if fault:
            yield Finding("warning", "rows-unknown", f"{name} {fault}; mws transplant refuses this model")
        elif number == per_layer and number != stated:
            if number < look.ids:
                message = f"{few}and ids from there on read its first; mws transplant gives new ones rows of their own"
                yield Finding("warning", "rows", message)
            continue
        elif number < look.ids:
            yield Finding("error", "rows", f"{few}fewer than the {look.ids:,} ids; mws transplant makes the others")
        if not fault and stated is not None and number != stated:
            remedy = (
                "its rows are of other tokens; mws transplant the first model again"
                if any(table.rows == stated for table in tables)
                else "loading fails; mend config.json"
            )
            yield Finding("error", "rows-config", f"{few}but config.json vocab_size {stated:,}: {remedy}")


def as_values(report: Report, repaired: list[str]) -> dict[str, Any]:
    """Turn a report into plain values for scripts."""
    return {
        "ok": report.ok,
        **report.facts,
        "repaired": repaired,
        "findings": [finding._asdict() for finding in report.findings],
        "clients": [fact._asdict() for fact in report.clients],
    }


def repair(directory: Path) -> list[str]:
    """Make a directory load alike in every supported version of transformers, or change nothing; return the changes.

    * tokenizer_config.json is rewritten as `save_pretrained` of our classes would write it, or is made with the
      customary roles of its special tokens. It gets the chat templates if some have names.
    * Files that it needs, such as the module that its auto_map names, are written if they are missing.
    * Truncation and padding of a past call, and a BPE-dropout, are removed from tokenizer.json.
    * An added_tokens.json that contradicts tokenizer.json is removed.
    """
    look = _Look(directory, str(directory))
    backend, settings, name = look.backend, look.settings, look.settings.get("tokenizer_class")
    if (name is not None and name not in NEUTRAL_CLASSES) or look.shape is None:
        what = f"its tokenizer_class is {name}" if name not in NEUTRAL_CLASSES else "its pre-tokenizer is of other form"
        raise MwSError(f"{directory}: no MwS tokenizer, for {what}; naming another class might change its ids")
    special = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
    roles = {"unk_token": None, "bos_token": None, "eos_token": None, **special_roles(special)}
    mended = (settings or roles) | ({"add_prefix_space": True} if look.spaced else {})
    stale = {ADDED_FILE: f"it contradicted {TOKENIZER_FILE}"} if look.has_other_added else {}
    if matching(directory, TEMPLATE_FILES[1:]):
        mended = mended | {"chat_template": template_setting(chat_templates(directory, settings))}
        stale |= {file.as_posix(): f"{CONFIG_FILE} has it" for file in matching(directory, TEMPLATE_FILES)}
    new: dict[str, tuple[str, str]] = {}  # name -> content, and what is said of it
    if backend.truncation is not None or backend.padding is not None or look.dropout:
        text = without_limits(backend).to_str(pretty=True)
        new[TOKENIZER_FILE] = text, "truncation, padding and dropout of a past call taken out"
    for file, text in config_files(mended).items():
        if file != CONFIG_FILE and not (directory / file).is_file():
            new[file] = text, "written"
        elif file == CONFIG_FILE and (mended := json.loads(text)) != settings:
            changed = sorted(key for key in {*mended, *settings} if mended.get(key) != settings.get(key))
            new[file] = text, ", ".join(changed) if settings else "written"
    with staged(directory, [*stale]) as stage:
        for name, (text, _) in new.items():
            (stage / name).write_text(text, encoding="utf-8", newline="\n")
    said = [f"{name}: {what}" for name, (_, what) in new.items()]
    return said + [f"{name}: removed, {why}" for name, why in stale.items()]
