"""`mws transplant`: give a pretrained model another tokenizer."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from mws_hf.commands.options import add_output, add_writing
from mws_hf.commands.outputs import claim_folder, show_faults, show_written
from mws_hf.commands.parser import Parser
from mws_hf.errors import needed

_KINDS = {
    "copied": "copied",
    "special": "of special tokens",
    "mixed": "means of the old tokens that spell the new one",
    "fallback": "means of all old embeddings",
    "padding": "padding",
}
"""How the numbers of a `TransplantReport` are printed."""

HELP = """
Give a pretrained model another tokenizer, for example its own after `mws trim` or `mws extend`. Nothing is trained.

The embeddings of old tokens are copied bit for bit. If the folder of the new tokenizer has the file ids.json of `mws
trim` or `mws extend`, it maps old ids to new ones. Only embeddings are loaded into memory, so this works for models of
any size. Files and folders of the model are copied, except the files of its tokenizer and weights in other formats,
which a warning lists. If there is a LoRA adapter next to the weights, merge it into the weights first.

For example:

    mws transplant Qwen/Qwen3-0.6B out/qwen-ru --output out/qwen-ru-model

    mws transplant Qwen/Qwen3-0.6B out/qwen-ru --init quiet --output out/qwen-ru-model
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="A folder with a causal language model and its tokenizer, or a name on the Hub.")
    add("tokenizer", metavar="TOKENIZER", help="A folder with the new tokenizer, or a name on the Hub.")
    add_output(parser, "The folder of the new model.")
    init = (
        "Initial embedding of a new token. mean: the mean of the embeddings of its old tokens. quiet: half of that, "
        "plus half of the mean embedding of bytes that no text contains."
    )
    add("--init", default="mean", choices=("mean", "quiet"), help=init)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Map the embeddings and write the model."""
    model, tokenizer, output = given.model, given.tokenizer, given.output
    claim_folder(output, model, tokenizer, force=given.force)
    needed("torch", "a model", "torch accelerate")
    from mws_hf.surgery.checkpoint import transplant_directory

    report = asdict(transplant_directory(model, tokenizer, output, given.init))
    show_faults(output)
    kinds = ", ".join(f"{number:,} {_KINDS[name]}" for name, number in report.items() if number)
    show_written({"directory": str(output), **report}, f"{output}: {sum(report.values()):,} embeddings: {kinds}", given)
