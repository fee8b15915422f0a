"""Instruction tuning with TRL's `SFTTrainer` and a chat template; the tokenizer is an MwS directory (pip install trl).

    python scripts/finetune_sft.py runs/mws/model dialogues.jsonl --output runs/chat --max-steps 200

A line of the data is {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}.
"""

from __future__ import annotations

from pathlib import Path

import finetune_command
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

# The end token closes every message, so that a tokenizer without special tokens for roles needs no new ids.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '### ' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] + eos_token }}{% endif %}"
    "{{ '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### assistant\n' }}{% endif %}"
)


def finetune(model_dir: Path, dialogues: Path, output: Path, *, max_steps: int = 200) -> float:
    """Train on the assistant's turns, save model, tokenizer and chat template, and return the mean loss."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    tokenizer.chat_template = CHAT_TEMPLATE
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(model_dir),
        args=SFTConfig(
            output_dir=str(output),
            max_steps=max_steps,
            per_device_train_batch_size=4,
            learning_rate=3e-4,
            max_length=256,
            assistant_only_loss=True,
            gradient_checkpointing=False,
            bf16=False,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=load_dataset("json", data_files=str(dialogues), split="train"),
        processing_class=tokenizer,
    )
    loss = trainer.train().training_loss
    trainer.save_model(str(output))
    return loss


if __name__ == "__main__":
    finetune_command.run(finetune, __doc__, "dialogues", "JSON lines with messages")
