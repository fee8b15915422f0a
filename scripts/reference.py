"""Write the reference pages from the code, as plain Markdown: the settings of a training and the help of each command.

`docs_tables.py` puts them into docs/reference, so that GitHub shows the same pages as the site.
"""

from __future__ import annotations

import os
import re
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from unittest import mock

from mws_hf.commands.app import COMMANDS, parser_of
from mws_hf.commands.options import option_of
from mws_hf.learn.settings import SETTINGS, Settings

HELP_COLUMNS = "82"
_CODE_OR_ANGLE = re.compile(r"`+[^`]*`+|<")


def commands() -> str:
    """Write the help of every command below a heading."""
    with mock.patch.dict(os.environ, COLUMNS=HELP_COLUMNS):
        sections = [f"## mws {name}\n\n```text\n{parser_of(name).format_help().strip()}\n```" for name in COMMANDS]
    return "\n\n".join(sections)


def settings() -> str:
    """Write the name, option, type, default and description of every setting of a training."""
    headings = {
        "The settings to choose first": [name for name, each in SETTINGS.items() if each.first],
        "More settings": [name for name, each in SETTINGS.items() if not each.first and each.criterion != "classic"],
        "Settings of the classic criterion": [name for name, each in SETTINGS.items() if each.criterion == "classic"],
    }
    return "\n\n".join(
        f"## {heading}\n\n" + "\n\n".join(map(_setting, names)) for heading, names in headings.items() if names
    )


def _setting(name: str) -> str:
    setting = SETTINGS[name]
    default = getattr(Settings, name, None)
    shown = setting.default or (f"`{default!r}`" if default is not None else "none")
    option = "no option" if setting.option is None else f"`{option_of(name)}`"
    text = " ".join(filter(None, [setting.about, setting.more]))
    text = _CODE_OR_ANGLE.sub(lambda found: found[0].replace("<", "&lt;", found[0] == "<"), text)
    only = f" It belongs to the {setting.criterion} criterion." if setting.criterion else ""
    kind = type_of(get_type_hints(Settings)[name])
    return f"### `{name}`\n\n`{kind}`, {option} of `mws train`; default: {shown}.\n\n{text}{only}"


def type_of(hint: Any) -> str:
    """Format a type annotation as in source code.

    >>> from collections.abc import Sequence
    >>> type_of(Sequence[str] | None), type_of(Literal["a", "b"])
    ('Sequence[str] | None', 'Literal["a", "b"]')
    """
    parts = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(map(type_of, parts))
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(repr(part) for part in parts)}]".replace("'", '"')
    if hint is NoneType:
        return "None"
    name = getattr(hint, "__name__", str(hint))
    return f"{name}[{', '.join(map(type_of, parts))}]" if parts else name


SECTIONS = {"commands": commands, "settings": settings}
