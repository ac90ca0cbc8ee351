"""``rllib-gigpo serve-search``: a retrieval server for ``SearchQA-v0`` and the like."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from environments.search.retrieval import Retriever

DEFAULT_PORT = 8000


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "serve-search",
        help="answer Search-R1's POST /retrieve, by BM25 or a sentence encoder",
    )
    add = parser.add_argument
    add(
        "--corpus",
        type=Path,
        help=".jsonl (also .gz, .bz2, .xz) or .parquet with id and contents a row; "
        "by default the invented encyclopedia",
    )
    add("--dense-index", type=Path, metavar="FOLDER", help="of DenseRetriever.save")
    add(
        "--dense-model",
        metavar="MODEL",
        help="sentence-transformers folder or hub id: search by it instead of BM25",
    )
    add("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    add("--port", type=int, default=DEFAULT_PORT, help=f"({DEFAULT_PORT}); 0: any free")
    add("--topk", type=int, default=3, help="passages when not asked for (3)")
    add("--max-topk", type=int, default=100, help="most passages per query (100)")
    add("--max-queries", type=int, default=1024, help="most per request (1024)")
    add("--max-body-bytes", type=int, default=1 << 20, help="longest request (1 MiB)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted.

    Raises:
        ConfigError: The extra or the data is missing, or a setting is refused.
    """
    try:
        import uvicorn

        from environments.search.server import ServerLimits, create_app
    except ImportError as error:
        raise ConfigError(
            f"serve-search needs the extra: pip install 'rllib-gigpo[serve]' ({error})"
        ) from error
    try:
        limits = ServerLimits(
            default_top_k=arguments.topk,
            max_top_k=arguments.max_topk,
            max_queries=arguments.max_queries,
            max_body_bytes=arguments.max_body_bytes,
        )
        app = create_app(open_retriever(arguments), limits)
    except (ValueError, FileNotFoundError, ImportError) as error:
        raise ConfigError(str(error)) from error
    if not is_loopback(arguments.host):
        print(
            f"serve-search: {arguments.host} can be reached from other machines, and "
            "whoever reaches it may search: there is no log-in",
            file=sys.stderr,
        )
    uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="info")
    return 0


def open_retriever(arguments: argparse.Namespace) -> Retriever:
    """The retriever that the flags name."""
    from environments.search.embedded_world import world_retriever
    from environments.search.retrievers import make_retriever

    corpus = str(arguments.corpus) if arguments.corpus else None
    if arguments.dense_model:
        index = str(arguments.dense_index) if arguments.dense_index else None
        return make_retriever(
            {
                "kind": "dense",
                "model": arguments.dense_model,
                "index": index,
                "corpus": corpus,
            }
        )
    if arguments.dense_index:
        raise ValueError("--dense-index needs --dense-model, the model that made it")
    if corpus is None:
        return world_retriever("full")
    return make_retriever({"kind": "bm25", "corpus": corpus})


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
