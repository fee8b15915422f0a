"""Check the folder of a tokenizer for faults, and find out which programs read it correctly (`check`, `repair`).

Code in the folder is never executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import regex

from mws_hf.atomic import staged
from mws_hf.errors import MwSError, brief, quoted
from mws_hf.surgery.check_ids import REPAIR, Finding, in_some_versions, named_ids
from mws_hf.surgery.checked_folder import CheckedFolder
from mws_hf.surgery.ids import PER_LAYER, model_rows
from mws_hf.surgery.model_tables import stored_tensors, vocabulary_tables
from mws_hf.text.pattern import named
from mws_hf.text.sample_texts import sample_texts
from mws_hf.text.symbols import special_roles
from mws_hf.tokenizer.backend import check_added
from mws_hf.tokenizer.client_facts import PATTERNS_OF_TOKENIZERS_ONE, TOKENIZERS_ONE, ClientFact, client_facts
from mws_hf.tokenizer.file import chat_templates
from mws_hf.tokenizer.foreign import has_other_tokens
from mws_hf.tokenizer.layout import (
    ADDED_FILE,
    CONFIG_FILE,
    EVIDENCE_FILE,
    NAMED_TEMPLATES,
    NOTEBOOK_FILES,
    RECORD_FILE,
    STOCK_FILE,
    TEMPLATE_FILES,
    TOKENIZER_FILE,
    FileKind,
    files,
    matching,
)
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.saving import STOCK_CLASS, config_files, template_setting, uses_stock_module
from mws_hf.tokenizer.shapes import LEARNED_MERGES
from mws_hf.tokenizer.spec import parts_of, without_limits
from mws_hf.tokenizer.training_record import describe_rare_tokens, merges_digest, read_record

REPLACING_TYPES = {
    *("qwen2", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "hyperclovax_vision_v2", "siglip2"),
}
"""Model types for which transformers 5.10 and later use the model's tokenizer class, unless there is an auto_map."""

NEUTRAL_CLASSES = {STOCK_CLASS, "PreTrainedTokenizer", "TokenizersBackend", "PythonBackend"} | {
    f"MwSTokenizer{fast}" for fast in ("", "Fast")
}
"""Values of tokenizer_class with which transformers uses tokenizer.json as it is."""

_KNOWN_EVERYWHERE = {STOCK_CLASS, "PreTrainedTokenizer"}
_MISTRAL_TYPES = {"mistral", "mistral3", "voxtral", "ministral", "pixtral"}
_LIKE_A_REGEX = regex.compile(r"\\[psSdDwW]|\[\^|\(\?|\]\+")
_MORE_TEXTS = ("e\u0301 и\u0306 가",)
"""Texts with letters that NFC changes."""


class Report(NamedTuple):
    """The result of `check`.

    Attributes:
        facts: properties of the tokenizer by name, such as the number of its tokens.
        findings: the faults; errors come before warnings.
        clients: for each program that reads tokenizer.json, whether it reads this one correctly.
    """

    facts: dict[str, Any]
    findings: list[Finding]
    clients: list[ClientFact]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(finding.level != "error" for finding in self.findings)


def check(place: str | os.PathLike[str], name: str | None = None) -> Report:
    """Check the folder of a tokenizer, or any file that `open_tokenizer` can open.

    Args:
        place: the folder or file.
        name: its name in messages; by default the path.

    Returns:
        The properties of the tokenizer, its faults, and the programs that read it.

    Raises:
        MwSError: there is no tokenizer, or it is so damaged that it cannot be opened.
    """
    folder = CheckedFolder(Path(place), name or str(place))
    findings = [*_decoding(folder), *_settings_of_calls(folder), *_patterns(folder)]
    if folder.has_own_file:
        findings += [
            *_configured(folder),
            *named_ids(folder),
            *_foreign_files(folder),
            *_model_config(folder),
            *_model_weights(folder),
        ]
    else:
        findings += _missing_file(folder)
    findings.sort(key=lambda finding: finding.level)
    clients = [] if folder.shape is None else client_facts(*folder.shape, folder.backend, spaced=folder.spaced)
    return Report(_facts(folder, {finding.trap for finding in findings}), findings, clients)


def _versions(folder: CheckedFolder, traps: set[str]) -> str:
    """Return the versions of transformers that load all settings of a folder correctly."""
    if folder.settings.get("tokenizer_class") not in NEUTRAL_CLASSES:
        return "unknown"
    if traps & {"version-class", "version-list", "version-names"}:
        return "5.x"
    return "4.52 to 5.x" if "version-templates" in traps else "4.51 to 5.x"


def _facts(folder: CheckedFolder, traps: set[str]) -> dict[str, Any]:
    """Return the properties of the tokenizer; `traps` are the names of the findings."""
    backend = folder.backend
    facts: dict[str, Any] = {"tokens": backend.get_vocab_size()}
    if folder.shape is not None:
        kind, pattern = folder.shape
        known, way = named(pattern) or (pattern, "threes")
        facts |= {"alphabet": kind, "pattern": known if way == "threes" else f"{known}, digits {way}"}
    facts["normalizer"] = ", ".join(str(step["type"]) for step in folder.spec.lossy_steps) or None
    if letters := folder.spec.capitals:
        facts["capitals"] = f"a marker for {len(letters)} letters"
    facts["add_prefix_space"] = folder.spaced
    facts["transformers"] = _versions(folder, traps)
    rows = model_rows(folder.model)
    if rows is not None and rows > folder.next_id:
        padding = rows - folder.next_id
        facts["embedding_rows"] = (
            f"{rows:,}; the last {padding:,} have no token, because they are padding (which is fine)"
        )
    rare = (folder.opened.record or {}).get("rare_entries")
    if isinstance(rare, dict) and all(isinstance(rare.get(name), float) for name in ("unused", "under_5")):
        facts["hardly_used"] = f"{describe_rare_tokens(rare)} in the training text"
    return facts


def _decoding(folder: CheckedFolder) -> Iterator[Finding]:
    """Report added tokens and sample texts that change when they are encoded and decoded.

    If the split pattern does not work, texts cannot be encoded, and only this is reported.
    """
    try:
        check_added(folder.backend)
    except MwSError as error:
        yield Finding("error", "added-token", str(error))
    if folder.pattern_problem:
        yield Finding("error", "pattern", f"{folder.pattern_problem}; then train again")
        return
    bare, lost = without_limits(folder.backend), []
    for text in sample_texts():
        wanted = folder.spec.decoded(text, folder.backend)
        if folder.spaced and not wanted.startswith(" "):
            wanted = " " + wanted
        if bare.decode(bare.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) != wanted:
            lost.append(text)
    if lost:
        subject = f"{len(lost)} of {len(sample_texts())} sample texts, such as {quoted(lost[0], 40)},"
        message = f"{subject} are different after encoding and decoding; train or save the tokenizer again"
        yield Finding("error", "lossy", message)


def _settings_of_calls(folder: CheckedFolder) -> Iterator[Finding]:
    """Report settings of an earlier call or training that are saved in tokenizer.json."""
    for what in ("truncation", "padding"):
        if getattr(folder.backend, what) is not None:
            message = (
                f"{TOKENIZER_FILE} contains {what} of an earlier call, which `tokenizers` and other programs apply to "
                f"every text; {REPAIR} removes it"
            )
            yield Finding("error", f"baked-{what}", message)
    if folder.dropout:
        message = (
            f"{TOKENIZER_FILE} has a BPE-dropout of {folder.dropout:g}, so that every call returns different ids; "
            f"{REPAIR} removes it"
        )
        yield Finding("error", "baked-dropout", message)


def _patterns(folder: CheckedFolder) -> Iterator[Finding]:
    """Report split patterns, of a tokenizer from any program, that do not split words or fail in `tokenizers` 1.0."""
    splits = [part for part in parts_of(folder.spec.raw["pre_tokenizer"]) if part.get("type") == "Split"]
    texts = (part.get("pattern", {}).get("String") for part in splits)
    if text := next((text for text in texts if text and _LIKE_A_REGEX.search(text)), None):
        message = (
            f"split pattern {quoted(text, 40)} is saved as a String and not as a Regex, so it matches only that very "
            "text and words are not split; train again with tokenizers.Regex(...), unless a model was already trained "
            "with these ids"
        )
        yield Finding("error", "string-pattern", message)
    if folder.shape is not None:  # `client_facts` reports it
        return
    for part in splits:
        pattern = part.get("pattern", {}).get("Regex")
        isolates = part.get("behavior") == "Isolated" and not part.get("invert")
        if pattern is not None and not (isolates and pattern in PATTERNS_OF_TOKENIZERS_ONE):
            message = (
                f"{TOKENIZERS_ONE} cannot run split pattern {quoted(pattern, 40)}: it loads the tokenizer, and stops "
                "with an error at the first text"
            )
            yield Finding("warning", "tokenizers-1.0", message)
            return


def _missing_file(folder: CheckedFolder) -> Iterator[Finding]:
    """Report that a tokenizer was read from a file in a different format, which AutoTokenizer may not load."""
    message = (
        f"{folder.opened.place or folder.place} is not a {TOKENIZER_FILE}, so programs that read only such a file "
        "cannot load it; write one with "
        f"mws_hf.tokenizer.opened.open_tokenizer({str(folder.place)!r}).backend.save(FILE)"
    )
    yield Finding("error", "no-tokenizer-json", message)


def _configured(folder: CheckedFolder) -> Iterator[Finding]:
    """Report how transformers reads tokenizer_config.json and the files next to it."""
    settings, model = folder.settings, folder.model
    if not settings:
        other = f", and transformers 5 may use the class of {model['model_type']}, with different ids" if model else ""
        message = f"{CONFIG_FILE} is missing: transformers 4 cannot load this folder{other}; {REPAIR} writes it"
        yield Finding("error", "no-config", message)
        return
    name = settings.get("tokenizer_class")
    if name not in NEUTRAL_CLASSES:
        message = f"tokenizer_class is {name}, which may split text differently from {TOKENIZER_FILE}"
        yield Finding("warning", "foreign-class", message)
    elif name not in _KNOWN_EVERYWHERE:
        message = (
            f"tokenizer_class is {name}, which some versions of transformers from 4.51 on do not have; {REPAIR} "
            f"changes it to {STOCK_CLASS}"
        )
        yield Finding("error", "version-class", message)
    if isinstance(settings.get("extra_special_tokens"), list):
        message = f"extra_special_tokens is a list, which is an error in transformers 4; {REPAIR} renames it"
        yield Finding("error", "version-list", message)
    yield from in_some_versions(folder.directory, settings)
    if "auto_map" in settings and uses_stock_module(settings) and not (folder.directory / STOCK_FILE).is_file():
        message = (
            f"auto_map names {STOCK_FILE}, which is missing, because a standard class saved this folder: loading with "
            f"trust_remote_code=True fails; {REPAIR} writes it"
        )
        yield Finding("error", "auto-map-file", message)
    spaced = settings.get("add_prefix_space")
    if folder.shape is not None and isinstance(spaced, bool) and spaced != folder.spaced:
        message = (
            f"add_prefix_space is {json.dumps(spaced)}, but {TOKENIZER_FILE} does the opposite: MwSTokenizerFast "
            f"follows the setting and other programs follow the file, so their ids differ; {REPAIR} changes the setting"
        )
        yield Finding("error", "prefix-space", message)
    if folder.has_other_added:
        message = f"{ADDED_FILE} contradicts {TOKENIZER_FILE}; {REPAIR} removes it"
        yield Finding("error", "stale-added-tokens", message)


def _foreign_files(folder: CheckedFolder) -> Iterator[Finding]:
    """Report training metadata that are missing or belong to a different tokenizer, and foreign vocabularies."""
    if (folder.directory / RECORD_FILE).is_file() and not read_record(folder.directory, folder.backend):
        message = (
            f"{RECORD_FILE} has the training metadata of a different tokenizer, whose figures a model card would show; "
            "remove it"
        )
        yield Finding("error", "other-record", message)
    digest = folder.settings.get(LEARNED_MERGES)
    if digest and not (folder.directory / RECORD_FILE).is_file() and digest == merges_digest(folder.backend):
        message = (
            f"{RECORD_FILE} is missing, because another program saved this folder: `mws evaluate` cannot leave out the "
            f"labeled words of its training, and `mws explain` has no boundary probabilities; copy {RECORD_FILE} and "
            f"{EVIDENCE_FILE} from the folder that `mws train` or save_pretrained of MwSTokenizerFast wrote"
        )
        yield Finding("warning", "no-record", message)
    for name in files(folder.directory, FileKind.FOREIGN):
        if str(name) in (ADDED_FILE, *NOTEBOOK_FILES):  # compared above, or read only by import_notebook
            continue
        other = has_other_tokens(folder.directory / name, folder.backend)
        if other:
            message = f"{name} has a different vocabulary from {TOKENIZER_FILE}, and some programs prefer it; remove it"
            yield Finding("error", "foreign-vocabulary", message)
        elif other is None:
            message = f"{name}, which some programs prefer, could not be compared with {TOKENIZER_FILE}"
            yield Finding("warning", "foreign-vocabulary", message)


def _model_config(folder: CheckedFolder) -> Iterator[Finding]:
    """Report how the config.json of a model in the same folder changes the tokenizer, or contradicts it."""
    kind, rows = folder.model.get("model_type"), model_rows(folder.model)
    if kind in REPLACING_TYPES and folder.settings and not ("auto_map" in folder.settings or folder.pattern_problem):
        remedy = (
            f"{REPAIR} prevents that"
            if folder.settings.get("tokenizer_class") in NEUTRAL_CLASSES
            else f"write its normalizer into {TOKENIZER_FILE}, or name {STOCK_CLASS} as tokenizer_class and repair"
        )
        other = _difference_by_class(folder)
        if other is None:
            message = (
                f"config.json has model type {kind}, so transformers 5.10 and later use that model's tokenizer class; "
                "the ids of the sample texts are the same"
            )
            yield Finding("warning", "replaced", message)
        else:
            message = (
                f"config.json has model type {kind}, so transformers 5.10 and later use that model's tokenizer class "
                f"({other}); {remedy}"
            )
            yield Finding("error", "replaced", message)
    if rows is not None and rows < folder.next_id:
        message = (
            f"config.json has vocab_size {rows:,}, and the highest id is {folder.next_id - 1:,}; resize the embeddings"
        )
        yield Finding("error", "vocab-size", message)
    if folder.next_id > 100_000 and kind in _MISTRAL_TYPES:
        message = (
            f"config.json has model type {kind}, so transformers may warn of an incorrect split pattern, because the "
            "vocabulary is large; the ids are right. Do not pass fix_mistral_regex=True to standard classes, because "
            "it changes the ids"
        )
        yield Finding("warning", "mistral-regex", message)


def _difference_by_class(folder: CheckedFolder) -> str | None:
    """Return how the class that transformers uses differs from tokenizer.json on sample texts; None if it does not."""
    texts, bare = [*sample_texts(), *_MORE_TEXTS], without_limits(folder.backend)
    try:
        tokenizer = open_tokenizer(folder.directory, by_class=True).live
        wrong = [text for text in texts if tokenizer(text)["input_ids"] != bare.encode(text).ids]
    except Exception as error:  # its parts can raise errors of any type
        return f"it does not load there: {brief(error)}"
    return f"ids differ on {len(wrong)} of {len(texts)} texts, such as {quoted(wrong[0], 30)}" if wrong else None


def _model_weights(folder: CheckedFolder) -> Iterator[Finding]:
    """Report tensors in the same folder with too few rows for the ids, or a different number than in config.json.

    More rows than ids are padding, which is fine.
    """
    tables = vocabulary_tables(stored_tensors(folder.directory), folder.model)
    stated, per_layer = model_rows(folder.model), model_rows(folder.model, PER_LAYER)
    for name, _, number, fault in tables:
        rows = f"{name} has {number:,} rows, "
        if fault:
            yield Finding("warning", "rows-unknown", f"{name} {fault}; mws transplant stops at this model")
        elif number == per_layer and number != stated:
            if number < folder.next_id:
                message = (
                    f"{rows}and ids from {number:,} on use its first row; mws transplant gives each new id its own row"
                )
                yield Finding("warning", "rows", message)
            continue
        elif number < folder.next_id:
            message = f"{rows}fewer than the {folder.next_id:,} ids; mws transplant adds the others"
            yield Finding("error", "rows", message)
        if not fault and stated is not None and number != stated:
            remedy = (
                "its rows belong to other tokens; run mws transplant on the original model again"
                if any(table.rows == stated for table in tables)
                else "loading fails; correct config.json"
            )
            yield Finding("error", "rows-config", f"{rows}but config.json has vocab_size {stated:,}: {remedy}")


def as_values(report: Report, repaired: list[str]) -> dict[str, Any]:
    """Convert a report to plain values, which `mws check --json` prints.

    Args:
        report: the report.
        repaired: the changes that `repair` made.

    Returns:
        ``ok``, the facts by name, ``repaired``, ``findings`` and ``clients``; the last two are lists of dicts.
    """
    return {
        "ok": report.ok,
        **report.facts,
        "repaired": repaired,
        "findings": [finding._asdict() for finding in report.findings],
        "clients": [fact._asdict() for fact in report.clients],
    }


def repair(directory: str | os.PathLike[str]) -> list[str]:
    """Change a folder so that every supported version of transformers loads the same tokenizer from it.

    If an error occurs, nothing is changed.

    * tokenizer_config.json is rewritten as `save_pretrained` of `MwSTokenizerFast` would write it. If it is missing, it
      is created with the usual roles of the special tokens. It gets the chat templates if some have names.
    * Files that it needs, such as the module that its auto_map names, are written if they are missing.
    * Truncation and padding of an earlier call, and a BPE-dropout, are removed from tokenizer.json.
    * An added_tokens.json that contradicts tokenizer.json is removed.

    Args:
        directory: the folder.

    Returns:
        A description of each change.

    Raises:
        MwSError: there is no tokenizer, the folder cannot be written, or the tokenizer has a class or a pre-tokenizer
            whose settings cannot be changed without the risk of different ids.
    """
    directory = Path(directory)
    folder = CheckedFolder(directory, str(directory))
    backend, settings, name = folder.backend, folder.settings, folder.settings.get("tokenizer_class")
    is_foreign = name is not None and name not in NEUTRAL_CLASSES
    if is_foreign or folder.shape is None:
        what = f"its tokenizer_class is {name}" if is_foreign else "mws_hf does not write pre-tokenizers of its form"
        raise MwSError(f"{directory}: cannot be repaired, because {what}; a different class might change its ids")
    special = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
    roles = {"unk_token": None, "bos_token": None, "eos_token": None, **special_roles(special)}
    has_setting = folder.spaced or settings.get("add_prefix_space")
    repaired = (settings or roles) | ({"add_prefix_space": folder.spaced} if has_setting else {})
    stale = {ADDED_FILE: f"it contradicted {TOKENIZER_FILE}"} if folder.has_other_added else {}
    if matching(directory, [NAMED_TEMPLATES]):
        repaired = repaired | {"chat_template": template_setting(chat_templates(directory, settings))}
        stale |= {file.as_posix(): f"{CONFIG_FILE} has it" for file in matching(directory, TEMPLATE_FILES)}
    new: dict[str, tuple[str, str]] = {}  # by name: the content, and a description of the change
    if backend.truncation is not None or backend.padding is not None or folder.dropout:
        text = without_limits(backend).to_str(pretty=True)
        new[TOKENIZER_FILE] = text, "truncation, padding and dropout of an earlier call removed"
    for file, text in config_files(repaired).items():
        if file != CONFIG_FILE and not (directory / file).is_file():
            new[file] = text, "written"
        elif file == CONFIG_FILE and (repaired := json.loads(text)) != settings:
            changed = sorted(key for key in {*repaired, *settings} if repaired.get(key) != settings.get(key))
            new[file] = text, ", ".join(changed) if settings else "written"
    with staged(directory, [*stale]) as stage:
        for name, (text, _) in new.items():
            (stage / name).write_text(text, encoding="utf-8", newline="\n")
    changes = [f"{name}: {what}" for name, (_, what) in new.items()]
    return changes + [f"{name}: removed, {why}" for name, why in stale.items()]
