"""Train a small decoder with `Trainer` of transformers on blocks of equal bytes; runs have a seed and can resume."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler, SequentialSampler
from transformers import AutoTokenizer, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from lm.bfloat16 import fast_products
from lm.config import MultiToken, RunConfig
from lm.data import Blocks, Codec, Collator, blocks_of, read_split, shuffled
from lm.model import Cost, MultiTokenModel, build_model
from mws_hf.atomic import write_text
from mws_hf.errors import MwSError
from mws_hf.tokenizer.merging import Dropout

CHECKPOINTS = "checkpoints"
CONFIG_FILE = "run.json"
REPORT_FILE = "training.json"
MODEL = "model"
CPU_SECONDS = "cpu_seconds"
_SEED_STEP = 1_000_003
"""The seed of the document order increases by this number in each pass, so that it never equals another run's seed."""
_log = logging.getLogger(__name__)


class ByteTrainer(Trainer):
    """A `Trainer` that reads blocks in order and, if the precision is "bf16", uses autocast with float32 weights."""

    def __init__(self, *, precision: str = "fp32", **options: Any) -> None:
        super().__init__(**options)
        self.precision = precision
        self.products = fast_products(self.args.device.type) if precision == "bf16" else nullcontext()

    def _get_train_sampler(self, *unused: Any, **also_unused: Any) -> Sampler:
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
        """Return the loss that the model computes, so that logits are not copied to float32 a second time."""
        with torch.autocast(self.args.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            return super().compute_loss(model, inputs, return_outputs=return_outputs, **options)

    def training_step(self, *inputs: Any, **options: Any) -> Any:
        """Return the loss of a batch after adding its gradients."""
        with self.products:
            return super().training_step(*inputs, **options)


class _Schedule(TrainerCallback):
    """A callback that sets a multi-token model's horizon and stops the training after `last_step`.

    The horizon depends only on the progress of the training, so a resumed run continues with the correct one.
    """

    def __init__(self, multi_token: MultiToken | None, last_step: int | None) -> None:
        self.multi_token, self.last_step = multi_token, last_step

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **unused: Any) -> None:
        if self.multi_token is not None:
            model.active_horizon = self.multi_token.active(state.global_step / max(1, state.max_steps))

    def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        if self.last_step is not None and state.global_step >= self.last_step:
            control.should_save = control.should_training_stop = True


class _Clock(TrainerCallback):
    """A callback that notes the processor seconds so far at each point of the loss curve.

    They are saved in checkpoints, so a resumed run adds its time to that of the interrupted one.
    """

    def __init__(self) -> None:
        self._before, self._started = 0.0, time.process_time()

    @property
    def seconds(self) -> float:
        """Processor seconds of the run so far, except those after the last point before an interruption."""
        return self._before + time.process_time() - self._started

    def on_train_begin(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        self._before = max((entry.get(CPU_SECONDS, 0.0) for entry in state.log_history), default=0.0)
        self._started = time.process_time()

    def on_log(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        state.log_history[-1][CPU_SECONDS] = self.seconds


def pretrain(
    config: RunConfig,
    output_dir: str | os.PathLike[str],
    *,
    resume: bool = True,
    max_steps: int | None = None,
) -> dict[str, Any]:
    """Train one model and save it with its tokenizer, its settings and its report.

    An interrupted run resumes from its last checkpoint and follows the same loss curve. For a finished run, the saved
    report is returned at once.

    Args:
        config: settings of the run.
        output_dir: run directory, which is created if it does not exist. You can load its folder ``model`` with
            `AutoModelForCausalLM` and `AutoTokenizer`.
        resume: whether to resume an interrupted run; if False, the run starts again.
        max_steps: stop after this many steps, like an interruption. The learning-rate schedule is that of the whole
            run.

    Returns:
        The report: tokens, bytes, steps, FLOPs, parameters, processor seconds, and the loss curve.

    Raises:
        MwSError: the text or the tokenizer cannot be used, or the directory contains a run with other settings.
    """
    directory = Path(output_dir)
    if (report := _finished(directory, config, resume)) is not None:
        return report
    if not resume:
        shutil.rmtree(directory / CHECKPOINTS, ignore_errors=True)
    config.save(directory / CONFIG_FILE)
    codec = Codec.open(config.tokenizer)
    blocks = training_blocks(config, codec)
    model, cost = _model(config, codec)
    if config.flop_budget is not None:
        blocks = cost.affordable(blocks, config.flop_budget)
    steps, clock = -(-len(blocks) // config.batch_blocks), _Clock()
    trainer = ByteTrainer(
        model=model,
        args=_arguments(config, directory, steps),
        train_dataset=blocks,
        data_collator=Collator(codec.padding),
        callbacks=[_Schedule(config.multi_token, max_steps), clock],
        precision=config.precision,
    )
    trainer.remove_callback(PrinterCallback)  # it prints each point of the loss curve
    checkpoints = directory / CHECKPOINTS
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None)
    report = {
        **_sizes(codec, blocks, cost),
        "steps": trainer.state.global_step,
        CPU_SECONDS: round(clock.seconds, 2),
        "curve": _curve(trainer.state.log_history, blocks, config.batch_blocks),
    }
    if trainer.state.global_step == steps:
        _save(directory, trainer.model, config, report)
    return report


def training_blocks(config: RunConfig, codec: Codec) -> Blocks:
    """Build the training blocks of a run from its documents, in the order of its seed."""
    train, cuts = read_split(config).train, []
    for order in (config.seed + _SEED_STEP * number for number in range(config.passes)):
        documents = shuffled(train, order)
        how = Dropout(config.dropout, order, config.drop)
        cuts += codec.encode_dropped(documents, how) if how.share else codec.encode(documents)
    return blocks_of(codec, cuts, config.context_bytes)


def _finished(directory: Path, config: RunConfig, resume: bool) -> dict[str, Any] | None:
    """Return the report of a finished run, or None; raise MwSError if the directory has a run with other settings."""
    file = directory / CONFIG_FILE
    if not resume or not file.is_file():
        return None
    if RunConfig.load(file) != config:
        raise MwSError(
            f"{directory} contains a run with other settings; choose another directory, or start again with --fresh"
        )
    report = directory / REPORT_FILE
    return json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None


def _model(config: RunConfig, codec: Codec) -> tuple[Any, Cost]:
    """Build the model, and compute the training cost of its parts for next-token prediction."""
    model = build_model(config, codec)
    cost, extra = Cost.of(model), config.multi_token
    return model if extra is None else MultiTokenModel.around(model, extra.form, extra.horizon, extra.weight), cost


def _arguments(config: RunConfig, directory: Path, steps: int) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(directory / CHECKPOINTS),
        max_steps=steps,
        per_device_train_batch_size=config.batch_blocks,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": 0.1},
        warmup_steps=round(config.warmup * steps),
        logging_steps=config.log_every,
        save_strategy="steps" if config.save_every else "no",
        save_steps=config.save_every or steps,
        save_total_limit=1,
        seed=config.seed,
        data_seed=config.seed,
        report_to=[],
        disable_tqdm=not sys.stderr.isatty(),
        dataloader_pin_memory=torch.cuda.is_available(),
        remove_unused_columns=False,
        optim="adamw_torch_fused",
    )


def _sizes(codec: Codec, blocks: Blocks, cost: Cost) -> dict[str, Any]:
    n_bytes = int(blocks.n_bytes.sum())
    return {
        "train_bytes": n_bytes,
        "train_tokens": blocks.n_tokens,
        "bytes_per_token": n_bytes / blocks.n_tokens,
        "vocabulary": codec.vocabulary_size,
        "flops": cost.of_training(blocks),
        "non_embedding_parameters": cost.non_embedding,
        "embedding_parameters": cost.embedding,
    }


def _curve(history: list[Mapping[str, Any]], blocks: Blocks, batch_blocks: int) -> list[dict[str, float]]:
    """List the points of the loss curve: step, bytes read so far, mean loss in nats per token since the last point."""
    read = blocks.n_bytes.cumsum()
    points = [(entry["step"], entry["loss"]) for entry in history if "loss" in entry]
    return [
        {"step": step, "bytes": int(read[min(len(blocks), step * batch_blocks) - 1]), "loss": loss}
        for step, loss in points
    ]


def _save(directory: Path, model: Any, config: RunConfig, report: dict[str, Any]) -> None:
    model.save_pretrained(directory / MODEL)
    AutoTokenizer.from_pretrained(config.tokenizer).save_pretrained(directory / MODEL)
    write_text(directory / REPORT_FILE, json.dumps(report, indent=1) + "\n")
    shutil.rmtree(directory / CHECKPOINTS, ignore_errors=True)
    _log.info("%s: %d steps in %.0f s of processor time", directory, report["steps"], report[CPU_SECONDS])
