"""Check where a tokenizer directory can go: its faults, its traps in other programs, the programs that read it.

`repair` mends a directory. No code that lies in it is executed.

Faults in the split patterns of a tokenizer.json of any make are found here too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import regex
from tokenizers import Tokenizer

from mws_hf.atomic import staged
from mws_hf.errors import MwSError, brief
from mws_hf.text.alphabets import Alphabet
from mws_hf.text.pattern import named
from mws_hf.text.sample_texts import sample_texts
from mws_hf.text.special import special_roles
from mws_hf.tokenizer.backend import alphabet_of, check_added
from mws_hf.tokenizer.client_facts import TOKENIZERS_ONE, ClientFact, client_facts, runs_in_one
from mws_hf.tokenizer.file import (
    STOCK_CLASS,
    STOCK_MODULE,
    STOCK_SOURCE,
    config_text,
    load_settings,
    portable_config,
    refuse_empty,
    uses_stock_module,
)
from mws_hf.tokenizer.foreign import holds_other_entries
from mws_hf.tokenizer.ids import REPAIR, Finding, model_rows, named_ids
from mws_hf.tokenizer.layout import ADDED_FILE, CONFIG_FILE, NOTEBOOK_FILES, TOKENIZER_FILE, Of, files
from mws_hf.tokenizer.layout import RECORD_FILE as TRAINING_FILE
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.rows import Table, per_layer_rows, stored_tensors, vocabulary_tables
from mws_hf.tokenizer.spec import Spec, has_leading_space, parts_of, split_of, without_limits
from mws_hf.tokenizer.training_record import belongs, rare_entries_said, read_record

_LIKE_A_REGEX = regex.compile(r"\\[psSdDwW]|\[\^|\(\?|\]\+")


def saved_as_string(state: Mapping[str, Any] | None) -> str | None:
    r"""Return the first split pattern that is a regular expression saved as plain text, so that it matches nothing.

    >>> saved_as_string({"type": "Split", "pattern": {"String": r"\p{N}{1,3}| ?[^\s]+"}})
    '\\p{N}{1,3}| ?[^\\s]+'
    """
    splits = (part for part in parts_of(state) if part.get("type") == "Split")
    texts = (part.get("pattern", {}).get("String") for part in splits)
    return next((text for text in texts if text and _LIKE_A_REGEX.search(text)), None)


def not_in_one(state: Mapping[str, Any] | None) -> str | None:
    """Return the first split pattern that `tokenizers` 1.0 has no engine for."""
    for part in parts_of(state):
        pattern = part.get("pattern", {}).get("Regex") if part.get("type") == "Split" else None
        isolates = part.get("behavior") == "Isolated" and not part.get("invert")
        if pattern is not None and not (runs_in_one(pattern) and isolates):
            return str(pattern)
    return None


REPLACING_TYPES = {
    *("qwen2", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "hyperclovax_vision_v2", "siglip2"),
}
"""Beside models of these types transformers 5.10 and later take the model's own class, unless there is an auto_map."""

NEUTRAL_CLASSES = {STOCK_CLASS, "PreTrainedTokenizer", "TokenizersBackend", "PythonBackend"} | {
    f"MwSTokenizer{fast}" for fast in ("", "Fast")
}
"""Values of tokenizer_class that stand for tokenizer.json as it is."""

_KNOWN_EVERYWHERE = {STOCK_CLASS, "PreTrainedTokenizer"}
Shape: TypeAlias = tuple[Alphabet, str]
"""Alphabet and split pattern of a tokenizer of our form."""
_MISTRAL_TYPES = {"mistral", "mistral3", "voxtral", "ministral", "pixtral"}


class Report(NamedTuple):
    """What `check` finds of a directory: facts of the tokenizer, findings (errors first), and the clients' verdicts."""

    facts: dict[str, Any]
    findings: list[Finding]
    clients: list[ClientFact]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(finding.level != "error" for finding in self.findings)


def check(directory: Path) -> Report:
    """Look at a tokenizer directory; MwSError where there is none, or a damaged one."""
    if not (directory / TOKENIZER_FILE).is_file():
        refuse_empty(str(directory), directory)
    backend = open_tokenizer(directory).backend
    settings = load_settings(directory / CONFIG_FILE)
    model = load_settings(directory / "config.json")
    ids = 1 + max(backend.get_vocab(with_added_tokens=True).values(), default=-1)
    spec = Spec.of(backend)
    spaced = has_leading_space(spec.raw["pre_tokenizer"])
    shape = _shape(spec, spaced)
    findings = [
        *_lossless(backend, spaced),
        *_baked(backend),
        *_split(spec, shape),
        *_configured(directory, backend, settings, model),
        *named_ids(directory, backend, spec, settings),
        *_of_other_merges(directory, backend),
        *_of_other_programs(directory, backend),
        *_beside_a_model(directory, backend, ids, settings, model),
        *_beside_weights(ids, model, vocabulary_tables(stored_tensors(directory), model)),
    ]
    findings.sort(key=lambda finding: finding.level)
    facts = _facts(backend, shape, settings, spaced) | _rows(ids, model) | _use(directory, backend)
    return Report(facts, findings, _clients(spec, shape, spaced))


def _of_other_merges(directory: Path, backend: Tokenizer) -> Iterator[Finding]:
    """Find a record or a generated card that another tokenizer left in the directory."""
    if (directory / TRAINING_FILE).is_file() and not belongs(directory, backend):
        message = f"{TRAINING_FILE} is the record of other merges, and a card would tell its figures; remove it"
        yield Finding("error", "other-record", message)


def _of_other_programs(directory: Path, backend: Tokenizer) -> Iterator[Finding]:
    """Find vocabularies in the form of other programs, which these, and some classes, read instead."""
    for name in files(directory, Of.FOREIGN):
        if str(name) in (
            ADDED_FILE,
            *NOTEBOOK_FILES,
        ):  # compared elsewhere, or read by the slow class where it is alone
            continue
        other = holds_other_entries(directory / name, backend)
        if other:
            message = f"{name} holds other entries than {TOKENIZER_FILE}, and some programs prefer it; remove it"
            yield Finding("error", "foreign-vocabulary", message)
        elif other is None:
            message = f"{name}, which some programs prefer, could not be compared with {TOKENIZER_FILE}"
            yield Finding("warning", "foreign-vocabulary", message)


def _facts(backend: Tokenizer, shape: Shape | None, settings: dict[str, Any], spaced: bool) -> dict[str, Any]:
    name = settings.get("tokenizer_class")
    facts: dict[str, Any] = {"tokens": backend.get_vocab_size()}
    if shape is not None:
        kind, pattern = shape
        known, way = named(pattern) or (pattern, "threes")
        facts |= {"alphabet": kind, "pattern": known if way == "threes" else f"{known}, digits {way}"}
    facts["normalizer"] = None if backend.normalizer is None else type(backend.normalizer).__name__
    facts["add_prefix_space"] = spaced
    facts["transformers"] = (
        "4.51 to 5.x" if name in _KNOWN_EVERYWHERE else "5.x" if name in NEUTRAL_CLASSES else "unknown"
    )
    return facts


def _use(directory: Path, backend: Tokenizer) -> dict[str, str]:
    """Report the share of the merges that the training text hardly uses, where the record of the training has it."""
    rare = (read_record(directory, backend) or {}).get("rare_entries")
    if not isinstance(rare, dict) or not all(isinstance(rare.get(name), float) for name in ("unused", "under_5")):
        return {}
    return {"hardly_used": rare_entries_said(rare)}


def _shape(spec: Spec, spaced: bool) -> Shape | None:
    """Return alphabet and pattern of a tokenizer in this package's form, which may put a space first; else None."""
    parts = [*parts_of(spec.raw["pre_tokenizer"])]
    pattern, _ = split_of({"type": "Sequence", "pretokenizers": parts[1:] if spaced else parts})
    return None if spec.kind != "BPE" or pattern is None else (alphabet_of(spec.model["vocab"]), pattern)


def _clients(spec: Spec, shape: Shape | None, spaced: bool) -> list[ClientFact]:
    if shape is None:
        return []
    vocab = spec.model["vocab"]
    made = [vocab[left + right] for left, right in spec.merges]
    facts = client_facts(
        *shape,
        keeps_bom="\ufeff" in vocab,
        in_rank_order=made == sorted(made),
        normalized=spec.raw["normalizer"] is not None,
    )
    if not spaced:
        return facts
    unread = ClientFact(TOKENIZERS_ONE, "refuses", "reads no Metaspace, which add_prefix_space is")
    return [unread if fact.client == TOKENIZERS_ONE else fact for fact in facts]


def _lossless(backend: Tokenizer, spaced: bool) -> Iterator[Finding]:
    """Decode the sample, and the added tokens."""
    try:
        check_added(backend)
    except MwSError as error:
        yield Finding("error", "added-token", str(error))
    bare = without_limits(backend)
    lost = []
    for text in sample_texts():
        wanted = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        if spaced and not wanted.startswith(" "):
            wanted = " " + wanted
        if bare.decode(bare.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) != wanted:
            lost.append(text)
    if lost:
        number = f"{len(lost)} of {len(sample_texts())} texts of the sample, {lost[0][:40]!r} for one,"
        yield Finding("error", "lossy", f"{number} do not come back when they are decoded; train or save it again")


def _baked(backend: Tokenizer) -> Iterator[Finding]:
    for what, state in (("truncation", backend.truncation), ("padding", backend.padding)):
        if state is not None:
            message = f"{TOKENIZER_FILE} holds a past call's {what}, which bare readers obey; {REPAIR} takes it out"
            yield Finding("error", f"baked-{what}", message)


def _split(spec: Spec, shape: Shape | None) -> Iterator[Finding]:
    """Report how the split patterns behave here and in `tokenizers` 1.0."""
    state = spec.raw["pre_tokenizer"]
    text = saved_as_string(state)
    if text is not None:
        message = (
            f"split pattern {text[:40]!r}... is saved as a String, not as a Regex: it matches that very text alone, so "
            "words are not cut apart; train again with tokenizers.Regex(...) (a model that has learnt with these ids "
            "needs them as they are)"
        )
        yield Finding("error", "string-pattern", message)
    unknown = not_in_one(state)
    if unknown is not None and shape is None:  # else it is reported among the clients
        message = f"{TOKENIZERS_ONE} cannot run split pattern {unknown[:40]!r}...: it loads it, then stops at a text"
        yield Finding("warning", "tokenizers-1.0", message)


def _configured(
    directory: Path, backend: Tokenizer, settings: dict[str, Any], model: dict[str, Any]
) -> Iterator[Finding]:
    """Report how transformers reads tokenizer_config.json and the files beside it."""
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
    if "auto_map" in settings and uses_stock_module(settings) and not (directory / f"{STOCK_MODULE}.py").is_file():
        message = (
            f"auto_map names {STOCK_MODULE}.py, which is missing (a stock class saved this): loading with "
            f"trust_remote_code=True fails; {REPAIR} writes it"
        )
        yield Finding("error", "auto-map-file", message)
    if (directory / ADDED_FILE).is_file():
        ids = backend.get_vocab(with_added_tokens=True)
        if any(ids.get(token) != number for token, number in load_settings(directory / ADDED_FILE).items()):
            message = f"added_tokens.json contradicts {TOKENIZER_FILE}; {REPAIR} removes it"
            yield Finding("error", "stale-added-tokens", message)


def _beside_a_model(
    directory: Path, backend: Tokenizer, size: int, settings: dict[str, Any], model: dict[str, Any]
) -> Iterator[Finding]:
    """Find how a config.json in the same directory changes a tokenizer whose ids are below `size`."""
    kind, rows = model.get("model_type"), model_rows(model)
    if kind in REPLACING_TYPES and settings and "auto_map" not in settings:
        remedy = (
            f"{REPAIR} prevents that"
            if settings.get("tokenizer_class") in NEUTRAL_CLASSES
            else f"write its normalizer into {TOKENIZER_FILE}, or name {STOCK_CLASS} as tokenizer_class and repair"
        )
        other = _other_by_class(directory, backend)
        if other is None:
            message = f"transformers 5.10 and later take the class of type {kind} beside it; ids were equal here"
            yield Finding("warning", "replaced", message)
        else:
            message = f"transformers 5.10 and later replace it beside a config.json of type {kind} ({other}); {remedy}"
            yield Finding("error", "replaced", message)
    if rows is not None and rows < size:
        message = f"config.json has vocab_size {rows:,}, and the highest id is {size - 1:,}; resize embeddings"
        yield Finding("error", "vocab-size", message)
    if size > 100_000 and kind in _MISTRAL_TYPES:
        message = (
            f"beside a model of type {kind} transformers may call the split pattern incorrect, for the vocabulary is "
            "large; the ids are right. Do not pass fix_mistral_regex=True to stock classes: it changes them"
        )
        yield Finding("warning", "mistral-regex", message)


def _other_by_class(directory: Path, backend: Tokenizer) -> str | None:
    """Say how its class in this transformers differs from tokenizer.json on the sample; None: nowhere."""
    try:
        tokenizer = open_tokenizer(directory, by_class=True).live
        texts = [*sample_texts(), "e\u0301 и\u0306 가"]  # letters that NFC changes
        bare = without_limits(backend)
        wrong = [text for text in texts if tokenizer(text)["input_ids"] != bare.encode(text).ids]
    except Exception as error:  # whatever its parts raise
        return f"it does not load there: {brief(error)}"
    return f"ids differ on {len(wrong)} of {len(texts)} texts, {wrong[0][:30]!r} for one" if wrong else None


def _rows(ids: int, model: dict[str, Any]) -> dict[str, str]:
    """Report that a model beside it has more embedding rows than there are ids."""
    rows = model_rows(model)
    if rows is None or rows <= ids:
        return {}
    return {"embedding_rows": f"{rows:,}, of which the last {rows - ids:,} have no token (padding, which is fine)"}


def _beside_weights(ids: int, model: dict[str, Any], tables: list[Table]) -> Iterator[Finding]:
    """Compare rows of tensors by vocabulary with ids and config.json; rows after the last id are padding, no fault."""
    stated, per_layer = model_rows(model), per_layer_rows(model)
    for name, _, number, fault in tables:
        few = f"{name} has {number:,} rows, "
        if fault:
            yield Finding("warning", "rows-unknown", f"{name} {fault}; mws transplant refuses this model")
        elif number == per_layer and number != stated:
            if number < ids:
                message = f"{few}and ids from there on read its first; mws transplant gives new ones rows of their own"
                yield Finding("warning", "rows", message)
            continue
        elif number < ids:
            yield Finding("error", "rows", f"{few}fewer than the {ids:,} ids; mws transplant makes the others")
        if not fault and stated is not None and number != stated:
            remedy = (
                "its rows are of other tokens; mws transplant the first model again"
                if any(table.rows == stated for table in tables)
                else "loading fails; mend config.json"
            )
            yield Finding("error", "rows-config", f"{few}but config.json vocab_size {stated:,}: {remedy}")


def as_json(report: Report, repaired: list[str]) -> str:
    """Turn a report into plain values for scripts."""
    parts = {
        "ok": report.ok,
        **report.facts,
        "repaired": repaired,
        "findings": [finding._asdict() for finding in report.findings],
        "clients": [fact._asdict() for fact in report.clients],
    }
    return json.dumps(parts, ensure_ascii=False)


def repair(directory: Path) -> list[str]:
    """Make a directory load alike in every supported version of transformers, or change nothing; return the changes.

    tokenizer_config.json is rewritten as `save_pretrained` of our classes would write it (or made, with the customary
    roles of its special tokens), the module that its auto_map names is put back, a past call's truncation and padding
    are taken out of tokenizer.json, and an added_tokens.json that contradicts tokenizer.json is removed.
    """
    before = check(directory)
    settings = load_settings(directory / CONFIG_FILE)
    name = settings.get("tokenizer_class")
    if (name is not None and name not in NEUTRAL_CLASSES) or "alphabet" not in before.facts:
        what = f"its tokenizer_class is {name}" if name not in NEUTRAL_CLASSES else "its pre-tokenizer is of other form"
        raise MwSError(f"{directory}: no MwS tokenizer, for {what}; naming another class might change its ids")
    backend = open_tokenizer(directory).backend
    added = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
    mended = portable_config(
        settings or {"unk_token": None, "bos_token": None, "eos_token": None, **special_roles(added)}
    )
    mended |= {"add_prefix_space": True} if before.facts["add_prefix_space"] else {}
    done: list[str] = []
    stale = [ADDED_FILE] if any(each.trap == "stale-added-tokens" for each in before.findings) else []
    with staged(directory, stale) as stage:
        if backend.truncation is not None or backend.padding is not None:
            (stage / TOKENIZER_FILE).write_text(
                without_limits(backend).to_str(pretty=True), encoding="utf-8", newline="\n"
            )
            done.append(f"{TOKENIZER_FILE}: truncation and padding of a past call taken out")
        if mended != settings:
            (stage / CONFIG_FILE).write_text(config_text(mended), encoding="utf-8", newline="\n")
            changed = sorted(key for key in {*mended, *settings} if mended.get(key) != settings.get(key))
            done.append(f"{CONFIG_FILE}: {', '.join(changed)}" if settings else f"{CONFIG_FILE}: written")
        module = directory / f"{STOCK_MODULE}.py"
        if uses_stock_module(mended) and not module.is_file():
            (stage / module.name).write_text(STOCK_SOURCE, encoding="utf-8", newline="\n")
            done.append(f"{module.name}: written")
        done += [f"{name}: removed, it contradicted {TOKENIZER_FILE}" for name in stale]
    return done
