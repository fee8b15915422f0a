"""TokEval's `tokenizer-sanity-check` on a tokenizer directory, and what its findings mean.

It is not on PyPI; it runs where somebody has installed a checkout into the virtual environment `WORK/tokeval`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

COMMAND = "tokenizer-sanity-check"
ABSENT = "not on PyPI; install a checkout of github.com/cimeister/tokenizer-intrinsic-evals into WORK/tokeval"

EXPLAINED = {
    "C2": "characters of the alphabet that are combining marks are entries, for a mark may begin a text",
    "C6": "numbers are cut into threes from the left, as by GPT-4 and Llama 3, and of these only frequent ones are one "
    "token; `--digits` has other ways",
}
"""Check -> why our tokenizers do not pass it."""


def sanity_check(folder: Path, work: Path) -> dict[str, Any]:
    """Check -> {"name", "severity", "message"}, or {"absent": why}."""
    command = shutil.which(COMMAND, path=str(work.resolve() / "tokeval" / "bin"))
    if command is None:
        return {"absent": ABSENT}
    output = work.resolve() / f"{folder.name}.tokeval"
    shutil.rmtree(output, ignore_errors=True)
    given = [f"huggingface:{folder.resolve()}", "--output-dir", str(output), "--exit-zero"]
    done = subprocess.run([command, *given], capture_output=True, text=True, encoding="utf-8", cwd=work)
    if done.returncode != 0:
        return {"absent": done.stderr.strip()[-300:]}
    return _checks(json.loads((output / "sanity_results.json").read_text("utf-8")))


def _checks(found: dict[str, Any]) -> dict[str, Any]:
    """The one tokenizer's checks in the result file."""
    (told,) = found["tokenizer_sanity_check"]["per_tokenizer"].values()
    return {
        name.split()[0]: {"name": each["name"], "severity": each["severity"], "message": each["detail"]}
        for name, each in told["checks"].items()
    }


def sanity_report(health: dict[str, dict[str, Any]]) -> str:
    """A paragraph for the table's page: how many checks pass, and for the others what is behind them.

    >>> checks = {"C5": {"name": "C5 spaces", "severity": "pass", "message": ""}}
    >>> print(sanity_report({"a": checks, "b": {"absent": "why"}}))
    <BLANKLINE>
    TokEval's `tokenizer-sanity-check`:
    <BLANKLINE>
    * a: 1 pass
    * b: not run (why)
    <BLANKLINE>
    """
    lines = ["", f"TokEval's `{COMMAND}`:", ""]
    for folder, checks in health.items():
        if "absent" in checks:
            lines.append(f"* {folder}: not run ({checks['absent']})")
            continue
        severities = [each["severity"].replace("_", " ") for each in checks.values()]
        counts = ", ".join(f"{severities.count(each)} {each}" for each in dict.fromkeys(severities))
        behind = [
            f"; {each['severity']}: {each['name']} ({EXPLAINED.get(check, each['message'])})"
            for check, each in checks.items()
            if each["severity"] in ("warn", "fail")
        ]
        lines.append(f"* {folder}: {counts}{''.join(behind)}")
    return "\n".join(lines) + "\n"
