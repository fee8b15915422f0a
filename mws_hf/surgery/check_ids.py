"""Check the ids and names of special tokens in all files of a folder, for all versions of transformers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import regex
from tokenizers import Tokenizer

from mws_hf.surgery.checked_folder import CheckedFolder
from mws_hf.surgery.ids import model_ids, model_rows, processor_ids, unknown_ids
from mws_hf.tokenizer.backend import HIGHEST_ID
from mws_hf.tokenizer.file import chat_templates, content_of, load_settings, roles_in, tokens_by_name
from mws_hf.tokenizer.layout import CONFIG_FILE, MAP_FILE, NAMED_TEMPLATES, TOKENIZER_FILE, FileKind, matching, patterns


class Finding(NamedTuple):
    """One problem of a tokenizer's folder.

    Attributes:
        level: "error" if some program gets wrong ids, loses text, special tokens or templates, or cannot load the
            folder; "warning" if this is only possible.
        trap: name of the kind of problem, for scripts.
        message: what is wrong, and what to do.
    """

    level: Literal["error", "warning"]
    trap: str
    message: str


REPAIR = "`mws check DIR --repair`"
"""The command that repairs a folder, for messages."""
_IN_TEMPLATES = regex.compile(r"""<\|[^\s<>|{}+~'"]+\|>""")
"""Special tokens as chat templates write them, without those that a template puts together, as `<|{{ role }}|>`."""


def named_ids(folder: CheckedFolder) -> Iterator[Finding]:
    """Compare all ids and special tokens in files with the vocabulary, and report fields that may be ids."""
    backend, spec, settings = folder.backend, folder.spec, folder.settings
    again = "train or save it again"
    stated = [(TOKENIZER_FILE, "post_processor", *pair, again) for pair in processor_ids(spec.raw["post_processor"])]
    # `tokenizers` gives a different id to an added token whose id does not follow the vocabulary
    stated += [(TOKENIZER_FILE, "added_tokens", token["content"], token["id"], again) for token in folder.stored_added]
    if padding := spec.raw.get("padding"):
        stated.append((TOKENIZER_FILE, "padding", padding["pad_token"], padding["pad_id"], f"{REPAIR} removes it"))
    for key, token in (settings.get("added_tokens_decoder") or {}).items():
        number: Any = int(key) if key.isdecimal() else key
        stated.append((CONFIG_FILE, "added_tokens_decoder", str(content_of(token)), number, "save it again"))
    for file, field, token, number, advice in stated:
        actual = backend.token_to_id(token)
        if actual != number:
            problem = "which is not a token" if actual is None else f"whose id is {actual}"
            yield _stale(file, field, number, f" for {token!r}, {problem}", advice)
    for name, content in roles_in(settings).items():
        if backend.token_to_id(content) is None:
            message = f"{CONFIG_FILE}: {name} {content!r} is not a token of {TOKENIZER_FILE}, so it would get a new id"
            yield Finding("error", "token-unknown", message)
    for file in patterns(FileKind.MODEL):
        yield from _model_ids(file, load_settings(folder.directory / file), backend, folder.next_id)
    yield from _in_template(folder.directory, settings, backend)


def _stale(file: str, field: str, number: Any, problem: str, advice: str) -> Finding:
    return Finding("error", "stale-id", f"{file}: {field} has id {number}{problem}; {advice}")


def _model_ids(file: str, model: dict[str, Any], backend: Tokenizer, size: int) -> Iterator[Finding]:
    """Compare the ids in a config of the model with the tokenizer, whose ids are below `size`."""
    added = backend.get_added_tokens_decoder()
    rows = max(size, model_rows(model) or 0)
    found = model_ids(model)
    listed = Counter(named.path for named in found)
    advice = "change it to the id in this tokenizer"
    for named in found:
        token = backend.id_to_token(named.number) if 0 <= named.number <= HIGHEST_ID else None
        if named.token not in (None, token):
            problem = "which is not a token" if token is None else f"which is the id of {token!r}"
            yield _stale(file, named.path, named.number, f" for {named.token!r}, {problem}", advice)
        elif token is None and named.number >= rows:
            yield _stale(file, named.path, named.number, ", which is not a token", advice)
        elif named.special and token is not None and named.number not in added:
            regular = f", which is {token!r} and not a special token"
            if listed[named.path] == 1:
                yield _stale(file, named.path, named.number, regular, advice)
            else:  # generation may also stop at a regular token, such as a line break
                message = f"{file}: {named.path} lists id {named.number}{regular}; check whether this is intended"
                yield Finding("warning", "maybe-id", message)
    for path in unknown_ids(model, size):
        message = (
            f"{file}: {path} is an unknown field that could be an id; a change of the tokenizer leaves it as it is"
        )
        yield Finding("warning", "maybe-id", message)


def _in_template(directory: Path, settings: Mapping[str, Any], backend: Tokenizer) -> Iterator[Finding]:
    """Find special tokens of the chat templates that are not in the vocabulary."""
    templates = chat_templates(directory, settings)
    written = {token for template in templates.values() for token in _IN_TEMPLATES.findall(template)}
    if absent := sorted(token for token in written if backend.token_to_id(token) is None):
        names = ", ".join(absent[:3]) + ", ..." * (len(absent) > 3)
        one = len(absent) == 1
        which = "which is not a token of this tokenizer, so it" if one else "which are not tokens of it, so each"
        yield Finding("warning", "template-token", f"the chat template writes {names}, {which} is split into several")


def in_some_versions(directory: Path, settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Report special tokens and chat templates that only some versions of transformers find."""
    named = tokens_by_name(settings)
    everywhere = settings.get("extra_special_tokens")
    if hidden := sorted(named.keys() - (everywhere.keys() if isinstance(everywhere, dict) else ())):
        message = (
            f"transformers 4 does not find the special token {hidden[0]} ({len(hidden)} such names), because it reads "
            f"names of tokens only from an object extra_special_tokens; {REPAIR} writes that"
        )
        yield Finding("error", "version-names", message)
    elif named and settings.get("additional_special_tokens") and not (directory / MAP_FILE).is_file():
        message = (
            f"transformers 5.10 loses additional_special_tokens if there are extra_special_tokens, too, unless "
            f"{MAP_FILE} repeats them; {REPAIR} writes that file"
        )
        yield Finding("error", "version-map", message)
    if files_of_names := matching(directory, [NAMED_TEMPLATES]):
        message = (
            f"transformers 4.51 does not find the chat template in {files_of_names[0].as_posix()}, because it reads "
            f"named templates only from {CONFIG_FILE}; {REPAIR} writes all of them there"
        )
        yield Finding("error", "version-templates", message)
