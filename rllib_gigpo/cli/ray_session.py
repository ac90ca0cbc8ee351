"""Start Ray as the ``--ray-*`` flags say, and stop what was started."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator

from rllib_gigpo.errors import ConfigError


def add_ray_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that :func:`ray_session` reads."""
    group = parser.add_argument_group("Ray")
    group.add_argument("--ray-address", help="join a running cluster, e.g. auto")
    group.add_argument("--ray-ui", action="store_true", help="start Ray's dashboard")
    group.add_argument("--ray-num-cpus", type=int, help="CPUs to use (per node)")
    group.add_argument("--ray-num-gpus", type=int, help="GPUs to use (per node)")
    group.add_argument(
        "--ray-num-nodes", type=int, help="pretend to be that many nodes, for tests"
    )
    group.add_argument(
        "--ray-object-store-memory", type=int, help="object store size in bytes"
    )
    group.add_argument("--local-mode", action="store_true", help=argparse.SUPPRESS)


@contextlib.contextmanager
def ray_session(arguments: argparse.Namespace) -> Iterator[None]:
    """Ray for the time of a command; a Ray that runs already is used and left alone.

    Raises:
        ConfigError: ``--local-mode``, or flags that exclude one another.
    """
    import ray

    refuse_impossible(arguments)
    if ray.is_initialized():
        yield
        return
    node = {
        "num_cpus": arguments.ray_num_cpus,
        "num_gpus": arguments.ray_num_gpus,
        "object_store_memory": arguments.ray_object_store_memory,
    }
    if arguments.ray_num_nodes:
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        for _ in range(arguments.ray_num_nodes):
            cluster.add_node(**{k: v for k, v in node.items() if v is not None})
        ray.init(address=cluster.address)
    elif arguments.ray_address:
        ray.init(address=arguments.ray_address)
    else:
        ray.init(include_dashboard=arguments.ray_ui, **node)
    try:
        yield
    finally:
        ray.shutdown()
        if arguments.ray_num_nodes:
            cluster.shutdown()


def refuse_impossible(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for flags that cannot work (together)."""
    if arguments.local_mode:
        raise ConfigError(
            "--local-mode is gone from Ray: to debug in one process use "
            '--config \'{"num_env_runners": 0, "num_learners": 0}\''
        )
    own = (
        arguments.ray_num_cpus,
        arguments.ray_num_gpus,
        arguments.ray_num_nodes,
        arguments.ray_object_store_memory,
    )
    if arguments.ray_address and any(value is not None for value in own):
        raise ConfigError(
            "--ray-address joins a cluster that has its resources already: drop "
            "--ray-num-cpus, --ray-num-gpus, --ray-num-nodes and "
            "--ray-object-store-memory"
        )
