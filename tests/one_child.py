"""What `test_tokenizers_one.py` runs under `tokenizers` 1.0, without transformers; it must not need pytest.

commands JOB.json: run commands of `mws` in this process and print exit code and output of each as JSON.
ids JOB.json: ids and text of tokenizer.json files by `tokenizers` alone, with no plug-in.
"""

import json
import sys


def commands(job):
    from typer.testing import CliRunner

    from mws_hf.commands.app import app

    found = []
    for arguments in job["commands"]:
        done = CliRunner().invoke(app, arguments)
        error = "" if done.exception is None else repr(done.exception)
        found.append({"code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr + error})
    return found


def ids(job):
    from tokenizers import Tokenizer

    found = {}
    for file in job["files"]:
        tokenizer = Tokenizer.from_file(file)
        encoded = [each.ids for each in tokenizer.encode_batch(job["texts"], add_special_tokens=False)]
        found[file] = {"ids": encoded, "texts": [tokenizer.decode(each, False) for each in encoded]}
    return found


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as job_file:
        answer = {"commands": commands, "ids": ids}[sys.argv[1]](json.load(job_file))
    json.dump(answer, sys.stdout)
