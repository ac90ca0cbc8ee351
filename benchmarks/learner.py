"""The learner's update beside a bare PyTorch loop: same model, same rows, same step.

Run: ``python -m benchmarks.learner [--model FOLDER] [--num-rows N] [--dtype DTYPE]``.
The bare loop is what one would write without this project: rows sorted by length and
cut by the same token budget, padded on the left so that responses end together, logits
for the response part only, one AdamW step of the clipped policy loss. It computes no
entropy and no figures. Each of the two has a process of its own, and they take turns.

Time is of the processor on a CPU, which other programs disturb little, and of the clock
on a GPU. Memory is the peak above what a process held before its first update.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig

from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update_plan import micro_batches
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.modules.model_folder import load_model

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What both do.

    Attributes:
        model: A Hugging Face folder.
        dtype: Of the matrix products.
        num_rows: Rows of an update.
        max_prompt_tokens: Prompts have between a quarter of this and all of it.
        max_response_tokens: Responses likewise.
        budget: Most tokens of a micro-batch.
        num_threads: Of PyTorch, on a CPU.
    """

    model: str
    dtype: str
    num_rows: int
    max_prompt_tokens: int
    max_response_tokens: int
    budget: int
    num_threads: int

    def rows(self) -> TrainingRows:
        """Random rows; the same for both."""
        rng = np.random.default_rng(0)
        config = AutoConfig.from_pretrained(self.model)
        vocabulary = config.get_text_config().vocab_size

        def ids(longest: int) -> list[NDArray[np.int32]]:
            lengths = rng.integers(max(longest // 4, 1), longest + 1, self.num_rows)
            return [rng.integers(0, vocabulary, n).astype(np.int32) for n in lengths]

        prompts, responses = ids(self.max_prompt_tokens), ids(self.max_response_tokens)
        return TrainingRows(
            prompt_ids=prompts,
            response_ids=responses,
            sampled_logprobs=[np.full(len(r), -7.0, np.float32) for r in responses],
            advantage=rng.normal(size=self.num_rows),
            trajectory=np.arange(self.num_rows) // 8,
            policy_version=np.zeros(self.num_rows, np.int64),
            loss_weight=np.ones(self.num_rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One measured update.

    Attributes:
        seconds: Its time.
        peak_bytes: Highest memory above what was held before, or None if unknown.
        padding: Share of the attention's places that hold no token.
    """

    seconds: float
    peak_bytes: int | None
    padding: float


class Ours:
    """GiGPOLearner, built as for a run with one local learner."""

    def __init__(self, work: Work) -> None:
        from gymnasium.spaces import Text
        from ray.rllib.core import DEFAULT_MODULE_ID

        from rllib_gigpo import GiGPOConfig

        config = (
            GiGPOConfig()
            .llm(model_name_or_path=work.model, dtype=work.dtype)
            .learners(
                num_learners=0, num_gpus_per_learner=int(torch.cuda.is_available())
            )
            .training(
                lr=1e-5,
                kl_coeff=0.0,
                entropy_coeff=0.0,
                max_tokens_per_micro_batch=work.budget,
            )
        )
        self._settings = config.plan_settings(0)
        self._learner = config.build_learner(
            spaces={DEFAULT_MODULE_ID: (Text(1), Text(1))}
        )
        self._module_id = DEFAULT_MODULE_ID

    def update(self, rows: TrainingRows) -> float:
        """One optimizer step; the share of padding."""
        from rllib_gigpo.learning.training_data import GiGPOTrainingData

        data = GiGPOTrainingData(rows=rows, settings=self._settings)
        figures = self._learner.update(training_data=data)[self._module_id]
        return float(figures["attention_padding_fraction"].peek())


class Bare:
    """A plain loop over padded batches."""

    def __init__(self, work: Work) -> None:
        config = LLMConfig(model_name_or_path=work.model, dtype=work.dtype)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._dtype = config.torch_dtype
        self._budget = work.budget
        self._model = load_model(config, dtype=torch.float32).to(self._device).train()
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=1e-5)

    def update(self, rows: TrainingRows) -> float:
        """One optimizer step; the share of padding."""
        num_trained = sum(map(len, rows.response_ids))
        num_places = 0
        self._optimizer.zero_grad(set_to_none=True)
        every = np.arange(len(rows))
        for batch in micro_batches(every, rows.num_tokens, self._budget):
            ids, mask, response = self._pad(rows.take(batch))
            num_places += ids.numel()
            (self._loss(ids, mask, response, rows, batch) / num_trained).backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        return 1.0 - int(rows.num_tokens.sum()) / num_places

    def _loss(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        response: torch.Tensor,
        rows: TrainingRows,
        batch: NDArray[np.int64],
    ) -> torch.Tensor:
        width = response.shape[1]
        with torch.autocast(
            self._device.type, self._dtype, enabled=self._dtype != torch.float32
        ):
            logits = self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=(mask.cumsum(1) - 1).clamp(min=0),
                use_cache=False,
                logits_to_keep=width + 1,
            ).logits[:, :-1]
        logprob = -torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), ids[:, -width:].flatten(), reduction="none"
        ).view_as(response)
        advantage = torch.from_numpy(rows.advantage[batch]).to(logprob)[:, None]
        ratio = torch.exp(logprob - logprob.detach())
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        return -(gain * response).sum()

    def _pad(
        self, rows: TrainingRows
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Token ids and mask [B, L], padded on the left; the response's mask [B, W]."""
        longest = int(rows.num_tokens.max())
        width = max(map(len, rows.response_ids))
        ids = np.zeros((len(rows), longest), np.int64)
        mask = np.zeros_like(ids)
        response = np.zeros((len(rows), width), np.float32)
        for row, parts in enumerate(
            zip(rows.prompt_ids, rows.response_ids, strict=True)
        ):
            joined = np.concatenate(parts)
            ids[row, longest - len(joined) :] = joined
            mask[row, longest - len(joined) :] = 1
            response[row, width - len(parts[1]) :] = 1.0
        arrays = (ids, mask, response)
        ids_B_L, mask_B_L, response_B_W = (
            torch.from_numpy(array).to(self._device) for array in arrays
        )
        return ids_B_L, mask_B_L, response_B_W


_contestant: Ours | Bare
_rows: TrainingRows


def start(make: Callable[[Work], Ours | Bare], work: Work) -> None:
    """Prepare a process for :func:`measure`."""
    global _contestant, _rows
    torch.set_num_threads(work.num_threads)
    _contestant, _rows = make(work), work.rows()


def measure() -> Update:
    """One update in this process."""
    held = _reset_peak()
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    begin = clock()
    padding = _contestant.update(_rows)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds = clock() - begin
    peak = _peak()
    return Update(
        seconds=seconds,
        peak_bytes=None if held is None or peak is None else peak - held,
        padding=padding,
    )


def _reset_peak() -> int | None:
    """Forget the peak so far; the bytes that are held now."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        return None
    clear.write_text("5")
    return _status_bytes("VmRSS")


def _peak() -> int | None:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return _status_bytes("VmHWM")


def _status_bytes(name: str) -> int | None:
    """A figure that Linux gives of this process."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    (line,) = [x for x in status.read_text().splitlines() if x.startswith(f"{name}:")]
    return 1024 * int(line.split()[1])


def compare(work: Work, num_updates: int) -> dict[str, list[Update]]:
    """Updates of both, one after the other, the first of each included."""
    spawn = multiprocessing.get_context("spawn")
    made = {"GiGPOLearner": Ours, "bare loop": Bare}
    pools = {
        name: ProcessPoolExecutor(1, spawn, initializer=start, initargs=(make, work))
        for name, make in made.items()
    }
    updates: dict[str, list[Update]] = {name: [] for name in pools}
    for _ in range(num_updates + 1):
        for name, pool in pools.items():
            updates[name].append(pool.submit(measure).result())
    for pool in pools.values():
        pool.shutdown()
    return updates


def report(work: Work, updates: dict[str, list[Update]]) -> None:
    """Print a table, and the ratios that matter."""
    rows = work.rows()
    num_tokens = int(rows.num_tokens.sum())
    print(
        f"{len(rows)} rows, {num_tokens:,} tokens, {work.dtype}, at most "
        f"{work.budget:,} tokens in a micro-batch"
    )
    print(f"{'':<14}{'tokens/s':>12}{'padding':>10}{'peak memory':>14}")
    speed: dict[str, float] = {}
    for name, (first, *others) in updates.items():
        speed[name] = num_tokens / float(np.median([u.seconds for u in others]))
        peak = "unknown"
        if first.peak_bytes is not None:
            peak = f"{first.peak_bytes / _MIB:,.0f} MiB"
        print(f"{name:<14}{speed[name]:>12,.0f}{first.padding:>10.1%}{peak:>14}")
    ours, bare = updates.values()
    print(f"speed over the bare loop: {speed['GiGPOLearner'] / speed['bare loop']:.2f}")
    if ours[0].peak_bytes and bare[0].peak_bytes:
        ratio = ours[0].peak_bytes / bare[0].peak_bytes
        print(f"peak memory over the bare loop: {ratio:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="a Hugging Face folder; a small one is made")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--num-rows", type=int, default=256)
    parser.add_argument("--max-prompt-tokens", type=int, default=384)
    parser.add_argument("--max-response-tokens", type=int, default=32)
    parser.add_argument("--budget", type=int, default=4096)
    parser.add_argument("--num-updates", type=int, default=5)
    parser.add_argument("--num-threads", type=int, default=torch.get_num_threads())
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not flags.model:
            from benchmarks.small_model import save_small_model

            save_small_model(Path(folder))
        work = Work(
            model=flags.model or folder,
            dtype=flags.dtype,
            num_rows=flags.num_rows,
            max_prompt_tokens=flags.max_prompt_tokens,
            max_response_tokens=flags.max_response_tokens,
            budget=flags.budget,
            num_threads=flags.num_threads,
        )
        report(work, compare(work, flags.num_updates))


if __name__ == "__main__":
    main()
