"""Time to index a corpus, and per query, at several sizes.

Run: ``python -m benchmarks.search [--sizes 15000 1000000] [--num-queries N]``. The
passages are made up: as long as those of Wikipedia cut into a hundred words, with
words as frequent as in Zipf's law. Queries are ten words of a passage. Seconds are of
processor time; all of it is on one core.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from environments.search.bm25 import Bm25Retriever
from environments.search.corpus import Corpus, Passage

_NUM_WORDS = 500_000
_WORDS_PER_PASSAGE = 100
_WORDS_PER_QUERY = 10
_PASSAGES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What was measured at one size.

    Attributes:
        build_s: To index a corpus in memory.
        open_s: To map an index that was saved.
        first_query_s: The first query of a mapped index.
        query_ms: A query, the mean.
        query_p99_ms: A query, the 99th percentile.
        folder_mb: Of the saved index, passages included.
    """

    build_s: float
    open_s: float
    first_query_s: float
    query_ms: float
    query_p99_ms: float
    folder_mb: float


def passages(num_passages: int, seed: int = 0) -> Iterator[Passage]:
    """Made-up passages; the first ones are the same for every number."""
    rng = np.random.default_rng(seed)
    words = np.array([_word(number) for number in range(_NUM_WORDS)])
    chances = 1.0 / (np.arange(_NUM_WORDS) + 2.7)
    bounds = np.cumsum(chances / chances.sum())
    for start in range(0, num_passages, _PASSAGES_AT_ONCE):
        count = min(_PASSAGES_AT_ONCE, num_passages - start)
        draws = rng.random((_PASSAGES_AT_ONCE, _WORDS_PER_PASSAGE))[:count]
        rows = words[np.searchsorted(bounds[:-1], draws)]
        for number, row in enumerate(rows, start):
            yield Passage(id=str(number), contents=f'"{row[0]}"\n{" ".join(row)}')


def measure(num_passages: int, num_queries: int) -> Speed:
    """Index and search one corpus."""
    corpus = Corpus.of(passages(num_passages))
    rng = np.random.default_rng(1)
    queries = []
    for row in rng.integers(num_passages, size=num_queries):
        text = corpus[int(row)].text.split()
        start = int(rng.integers(_WORDS_PER_PASSAGE - _WORDS_PER_QUERY))
        queries.append(" ".join(text[start : start + _WORDS_PER_QUERY]))
    start_s = time.process_time()
    retriever = Bm25Retriever.build(corpus)
    build_s = time.process_time() - start_s
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        retriever.save(folder)
        del retriever, corpus
        folder_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        start_s = time.process_time()
        retriever = Bm25Retriever.open(folder)
        open_s = time.process_time() - start_s
        seconds = []
        for query in queries:
            start_s = time.process_time()
            retriever.search([query], 3)
            seconds.append(time.process_time() - start_s)
    return Speed(
        build_s=build_s,
        open_s=open_s,
        first_query_s=seconds[0],
        query_ms=1e3 * float(np.mean(seconds[1:])),
        query_p99_ms=1e3 * float(np.quantile(seconds[1:], 0.99)),
        folder_mb=folder_mb,
    )


def _word(number: int) -> str:
    """A distinct made-up word for each number, shorter for smaller ones."""
    letters = ""
    number += 26
    while number:
        number, digit = divmod(number, 26)
        letters += chr(ord("a") + digit)
    return letters


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[15_000, 1_000_000])
    parser.add_argument("--num-queries", type=int, default=300)
    arguments = parser.parse_args()
    print(
        f"{'passages':>10}{'build s':>10}{'open s':>10}{'first s':>10}{'ms/query':>10}"
        f"{'p99 ms':>10}{'MB':>10}{'peak GB':>10}"
    )
    for size in arguments.sizes:
        speed = measure(size, arguments.num_queries)
        # Of the process so far, hence of the largest corpus up to here; KB on Linux.
        peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{size:>10,}{speed.build_s:>10.1f}{speed.open_s:>10.2f}"
            f"{speed.first_query_s:>10.3f}{speed.query_ms:>10.2f}"
            f"{speed.query_p99_ms:>10.2f}{speed.folder_mb:>10.0f}{peak_gb:>10.1f}"
        )


if __name__ == "__main__":
    main()
