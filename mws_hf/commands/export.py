"""`mws export`: write a tokenizer in the format of another program."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.commands.options import add_output, add_tokenizer, add_writing
from mws_hf.commands.outputs import claim_file, claim_folder, note, replaced, show_faults, show_written
from mws_hf.commands.parser import Parser
from mws_hf.errors import MwSError, quoted
from mws_hf.text.phrases import counted

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

HELP = """
Write a tokenizer in the format of another program. If a format cannot represent it exactly, the command stops with an
error that gives the reason.

gguf and tiktoken need a byte-level tokenizer. If the program that reads them is installed (`pip install
llama-cpp-python` or `pip install tiktoken`), it encodes sample texts before the output is written, and the command
stops with an error if its ids differ from those of `tokenizers`. A byte-level tokenizer made from one of characters, or
with a different split pattern, may give different ids; the command prints for how many sample texts.

For example:

    mws export my-tokenizer --format gguf --output my-tokenizer.gguf

    mws export of-characters --format byte-level --pattern llama3 --output of-bytes

    mws export imported --format notebook --output notebook/
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizer(parser)
    add_output(parser, "What to write: a file for gguf, otherwise a folder.")
    form = (
        "gguf: for llama.cpp. tiktoken: a Python module. byte-level: a tokenizer of bytes, made from one of "
        "characters, or with a different --pattern. notebook: the files of the original MwS notebook."
    )
    formats = ("gguf", "tiktoken", "byte-level", "notebook")
    parser.add_argument("--format", dest="form", required=True, choices=formats, help=form)
    pattern = "With --format byte-level: a new split pattern, such as llama3 [default: the pattern of the tokenizer]."
    parser.add_argument("--pattern", metavar="NAME|REGEX", help=pattern)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Compare ids with those of the other program, and write the file or folder."""
    tokenizer, output, form, pattern = given.tokenizer, given.output, given.form, given.pattern
    if pattern is not None and form != "byte-level":
        raise MwSError(
            "--pattern works only with --format byte-level, because the other formats keep the pattern of the tokenizer"
        )
    from mws_hf.tokenizer.opened import open_tokenizer

    opened = open_tokenizer(tokenizer)
    folder = opened.folder or Path()
    read = [*([opened.place] if opened.place else []), *([folder, *folder.glob("*")] if opened.folder else [])]
    claim = claim_file if form == "gguf" else claim_folder
    claim(output, read, force=given.force)
    if form == "notebook":
        size, remark = _to_notebook(opened.backend, output)
    elif form == "byte-level":
        size, remark = _to_byte_level(opened.backend, folder, output, pattern)
    else:
        size, remark = _to_client(opened.backend, folder, output, form, Path(tokenizer).resolve().name)
    if remark:
        note(remark)
    result = {"output": str(output), "format": form, "tokens": size, "note": remark}
    show_written(result, f"{output}: {counted(size, 'token')}, {form}", given)


def _to_notebook(backend: Backend, output: Path) -> tuple[int, str]:
    """Write the files of the notebook; return the number of tokens and a remark for the user, or ""."""
    from mws_hf.text.pattern import GPT4_PATTERN
    from mws_hf.tokenizer.backend import pattern_of
    from mws_hf.tokenizer.notebook import VOCABULARY_FILE, export_notebook

    with replaced(output, VOCABULARY_FILE) as stage:
        export_notebook(backend, stage)
    remark = (
        "its split pattern is not that of the notebook: mws_hf.import_notebook reads the pattern from merges.json, but "
        "the notebook itself always splits by its own pattern"
    )
    return backend.get_vocab_size(), "" if pattern_of(backend) == GPT4_PATTERN else remark


def _to_byte_level(old: Backend, folder: Path, output: Path, pattern: str | None) -> tuple[int, str]:
    """Write a byte-level tokenizer with the settings of `folder`; return the number of tokens and a remark."""
    from mws_hf.text.sample_texts import sample_texts
    from mws_hf.tokenizer.export import to_byte_level_backend
    from mws_hf.tokenizer.file import chat_templates, load_settings
    from mws_hf.tokenizer.id_comparison import compare_ids
    from mws_hf.tokenizer.layout import CONFIG_FILE
    from mws_hf.tokenizer.links import file_inside
    from mws_hf.tokenizer.saving import save_backend, template_setting
    from mws_hf.tokenizer.spec import without_limits

    new = to_byte_level_backend(old, pattern)
    plain = without_limits(new)
    found = compare_ids(
        old, sample_texts(),
        encode=lambda text: plain.encode(text, add_special_tokens=False).ids,
        decode=lambda ids: plain.decode(ids, skip_special_tokens=False),
    )  # fmt: skip
    found._replace(ids=[]).raise_if_different("a byte-level tokenizer")  # texts with other ids are only counted
    config = folder / CONFIG_FILE
    settings = load_settings(file_inside(folder, CONFIG_FILE)) if config.is_file() else {}
    if templates := chat_templates(folder, settings):
        settings["chat_template"] = template_setting(templates)
    with replaced(output) as stage:
        save_backend(stage, new, settings)
    show_faults(output)
    shown = f", such as {quoted(found.ids[0])}" if found.ids else ""
    return new.get_vocab_size(), f"ids differ on {len(found.ids):,} of {found.texts:,} sample texts{shown}"


def _to_client(backend: Backend, folder: Path, output: Path, form: str, name: str) -> tuple[int, str]:
    """Write a GGUF file, or a folder for tiktoken; return the number of tokens and a remark on the comparison."""
    from mws_hf.text.sample_texts import sample_texts
    from mws_hf.tokenizer.export import MODULE_FILE, write_gguf, write_tiktoken
    from mws_hf.tokenizer.file import chat_templates, load_settings, roles_in
    from mws_hf.tokenizer.layout import CONFIG_FILE

    if form == "gguf":
        settings = load_settings(folder / CONFIG_FILE)
        roles = {role: token for role, token in roles_in(settings).items() if isinstance(token, str)}
        found = write_gguf(backend, roles, output, sample_texts(), name, chat_templates(folder, settings))
        reader = "llama-cpp-python"
    else:
        with replaced(output, MODULE_FILE) as stage:
            found = write_tiktoken(backend, stage, sample_texts(), name)
        reader = "tiktoken"
    if found is None:
        return backend.get_vocab_size(), f"not compared, because {reader} is not installed: pip install {reader}"
    return backend.get_vocab_size(), f"{reader} gives the same ids on all {found.texts:,} sample texts"
