"""Mending a tokenizer directory that other classes saved or that lost files; ids are never touched."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from mws_hf.atomic import staged
from mws_hf.check import NEUTRAL_CLASSES, check
from mws_hf.errors import MwSError
from mws_hf.portable import STOCK_MODULE, STOCK_SOURCE, portable_config, uses_stock_module, write_config
from mws_hf.special import special_roles
from mws_hf.tokenizer_file import CONFIG_FILE, TOKENIZER_FILE, load_settings, read_tokenizer


def repair(directory: Path) -> list[str]:
    """Make a directory load alike in every supported version of transformers, or change nothing.

    tokenizer_config.json is rewritten as `save_pretrained` of our classes would write it (or made, with the customary
    roles of its special tokens), the module that its auto_map names is put back, a past call's truncation and padding
    are taken out of tokenizer.json, and an added_tokens.json that contradicts it is removed.

    Args:
        directory: with tokenizer.json.

    Returns:
        What was changed, a line each; none where all was well.

    Raises:
        MwSError: it holds no tokenizer.json, a damaged one, one of a class that may cut otherwise than tokenizer.json
            says, or it cannot be written.
    """
    before = check(directory)
    settings = load_settings(directory / CONFIG_FILE)
    name = settings.get("tokenizer_class")
    if (name is not None and name not in NEUTRAL_CLASSES) or "alphabet" not in before.facts:
        what = f"its tokenizer_class is {name}" if name not in NEUTRAL_CLASSES else "its pre-tokenizer is of other form"
        raise MwSError(f"{directory}: no MwS tokenizer, for {what}; naming another class might change its ids")
    backend = read_tokenizer(directory / TOKENIZER_FILE)
    added = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
    mended = portable_config(
        settings or {"unk_token": None, "bos_token": None, "eos_token": None, **special_roles(added)}
    )
    mended |= {"add_prefix_space": True} if before.facts["add_prefix_space"] else {}
    done: list[str] = []
    stale = ["added_tokens.json"] if any(each.trap == "stale-added-tokens" for each in before.findings) else []
    with staged(directory, stale) as stage:
        if backend.truncation is not None or backend.padding is not None:
            (stage / TOKENIZER_FILE).write_text(_bare(backend), encoding="utf-8", newline="\n")
            done.append(f"{TOKENIZER_FILE}: truncation and padding of a past call taken out")
        if mended != settings:
            write_config(stage / CONFIG_FILE, mended)
            changed = sorted(key for key in {*mended, *settings} if mended.get(key) != settings.get(key))
            done.append(f"{CONFIG_FILE}: {', '.join(changed)}" if settings else f"{CONFIG_FILE}: written")
        module = directory / f"{STOCK_MODULE}.py"
        if uses_stock_module(mended) and not module.is_file():
            (stage / module.name).write_text(STOCK_SOURCE, encoding="utf-8", newline="\n")
            done.append(f"{module.name}: written")
        done += [f"{name}: removed, it contradicted {TOKENIZER_FILE}" for name in stale]
    return done


def _bare(backend: Tokenizer) -> str:
    bare = Tokenizer.from_str(backend.to_str())
    bare.no_truncation()
    bare.no_padding()
    return bare.to_str(pretty=True)
