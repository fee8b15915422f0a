"""Fine-tune a causal language model on your text with transformers' `Trainer`; the tokenizer is an MwS directory.

    python scripts/finetune_trainer.py runs/mws/model corpus.txt --output runs/tuned --max-steps 200

The model directory is that of `python -m lm pretrain` or `transplant`: model and tokenizer together.
"""

from __future__ import annotations

from pathlib import Path

import finetune_command
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)


def finetune(model_dir: Path, text: Path, output: Path, *, max_steps: int = 200, block: int = 256) -> float:
    """Train on lines of text, save model and tokenizer, and return the mean loss."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    model = AutoModelForCausalLM.from_pretrained(model_dir)
    lines = [line for line in text.read_text(encoding="utf-8").splitlines() if line]
    encoded = Dataset.from_dict({"text": lines}).map(
        lambda batch: tokenizer(
            [line + tokenizer.eos_token for line in batch["text"]], truncation=True, max_length=block
        ),
        batched=True,
        remove_columns=["text"],
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(output),
            max_steps=max_steps,
            per_device_train_batch_size=8,
            learning_rate=3e-4,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=encoded,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,
    )
    loss = trainer.train().training_loss
    trainer.save_model(str(output))
    return loss


if __name__ == "__main__":
    finetune_command.run(finetune, __doc__, "text", "UTF-8, a document a line")
