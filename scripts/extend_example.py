"""From an English model to a Russian one: extend its tokenizer, carry the model along, train on; all on a CPU.

    python scripts/extend_example.py english.txt russian.txt --output out/example [--steps 200]

A tiny model learns English with a byte-level BPE. Then `extend` adds Russian tokens, `transplant_directory` fits the
model, and `Trainer` goes on in Russian; the unextended model gets the same text for as many steps. Prints held-out
bits per byte of both languages before, right after and after training; with --lora also of embeddings and LoRA alone
(pip install peft). For a real model the middle is

    mws extend MODEL russian.txt --add 16000 --also english.txt -o larger && mws transplant MODEL larger -o model
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from lab.stand_ins import END, byte_level, save
from lm.data import Codec, Collator, pack
from lm.scoring import bits_per_byte
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from mws_hf.corpus.counting import count_documents
from mws_hf.extend.checkpoint import transplant_directory
from mws_hf.extend.extension import extend

CONTEXT = 256
"""Bytes of text that a prediction can look at."""


def train(model: Any, codec: Codec, texts: list[str], output: Path, steps: int, batch: int = 8) -> None:
    """Train with transformers' `Trainer` on blocks of equal bytes; saves model and nothing else."""
    arguments = TrainingArguments(
        output_dir=str(output), max_steps=steps, per_device_train_batch_size=batch, learning_rate=3e-3, warmup_steps=10,
        report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no", use_cpu=True, seed=0,
    )  # fmt: skip
    collator = Collator(codec.padding)
    Trainer(model, arguments, train_dataset=pack(codec, texts, CONTEXT), data_collator=collator).train()
    (model.merge_and_unload() if hasattr(model, "merge_and_unload") else model).save_pretrained(output)


def with_lora(model: Any) -> Any:
    """The model with its embeddings, tied as they are, and LoRA on attention to train; nothing else."""
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], modules_to_save=["embed_tokens"],
        ensure_weight_tying=True, task_type="CAUSAL_LM",
    )  # fmt: skip
    return get_peft_model(model, lora)


def score(directory: Path, tokenizer: Path, texts: dict[str, list[str]]) -> dict[str, float]:
    """Held-out bits per byte of a saved model."""
    model, codec = AutoModelForCausalLM.from_pretrained(directory).eval(), Codec.open(tokenizer)
    return {name: round(bits_per_byte(model, codec, lines, CONTEXT).value, 4) for name, lines in texts.items()}


def run(
    english: list[str],
    russian: list[str],
    folder: Path,
    *,
    size: int,
    add: int,
    first: int,
    steps: int,
    width: int = 96,
    lora: bool = False,
) -> dict[str, dict[str, float]]:
    """The whole way; returns held-out bits per byte by stage and language."""
    held_out = {"English": english[::20][:80], "Russian": russian[::20][:80]}
    english, russian = ([line for i, line in enumerate(lines) if i % 20] for lines in (english, russian))
    base, larger = folder / "base", folder / "larger"
    save(byte_level(english, size), base, END)
    torch.manual_seed(0)
    codec = Codec.open(base)
    config = LlamaConfig(
        vocab_size=codec.vocabulary_size, hidden_size=width, intermediate_size=3 * width, num_hidden_layers=2,
        num_attention_heads=4, tie_word_embeddings=True, eos_token_id=codec.separator, bos_token_id=codec.separator,
    )  # fmt: skip
    train(LlamaForCausalLM(config), codec, english, base, first)
    extend(base, count_documents(russian), add).save(larger, base)
    transplant_directory(base, larger, folder / "transplanted")
    found = {
        "unextended, before": score(base, base, held_out),
        "extended, right after": score(folder / "transplanted", larger, held_out),
    }
    ways = [("unextended", base, base), ("extended", folder / "transplanted", larger)]
    for name, source, tokenizer in ways + [("extended, LoRA", *ways[1][1:])] * lora:
        model = AutoModelForCausalLM.from_pretrained(source)
        model = with_lora(model) if name.endswith("LoRA") else model
        train(model, Codec.open(tokenizer), russian, folder / f"{name}-trained", steps)
        found[f"{name}, after {steps} steps"] = score(folder / f"{name}-trained", tokenizer, held_out)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("english", type=Path, help="UTF-8, a document a line")
    parser.add_argument("russian", type=Path, help="the same")
    parser.add_argument("--output", type=Path, default=Path("out/extend_example"))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--first", type=int, default=600, help="steps of English before")
    parser.add_argument("--size", type=int, default=4000, help="entries of the English tokenizer")
    parser.add_argument("--add", type=int, default=2000)
    parser.add_argument("--lora", action="store_true", help="also train embeddings and LoRA alone")
    arguments = parser.parse_args()
    files = (arguments.english, arguments.russian)
    texts = [[line for line in file.read_text("utf-8").splitlines() if line] for file in files]
    found = run(
        *texts,
        arguments.output,
        size=arguments.size,
        add=arguments.add,
        first=arguments.first,
        steps=arguments.steps,
        lora=arguments.lora,
    )
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
