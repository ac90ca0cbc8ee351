"""Which engine serves which group."""

from collections import Counter

from rllib_gigpo.inference.router import Router


def test_a_group_stays_on_its_engine_whatever_the_load() -> None:
    router = Router(3)
    first = router.route("a")
    for other in "bcdefg":
        router.route(other)
    assert {router.route("a") for _ in range(20)} == {first}


def test_new_groups_go_to_the_least_loaded_engine() -> None:
    router = Router(2)
    assert router.route("a") == 0
    assert [router.route("a") for _ in range(3)] == [0, 0, 0]
    # Engine 1 has nothing until it has as many requests in flight as engine 0.
    assert [router.route(f"b{i}") for i in range(4)] == [1, 1, 1, 1]
    router.release(1)
    assert router.route("c") == 1


def test_groups_that_start_together_are_spread_evenly() -> None:
    router = Router(4)
    engines = [router.route(f"group-{n // 8}") for n in range(16 * 8)]
    assert Counter(engines) == dict.fromkeys(range(4), 32)


def test_several_routers_begin_with_different_engines() -> None:
    assert [Router(3, offset=i).route("a") for i in range(4)] == [0, 1, 2, 0]


def test_groups_of_a_dead_engine_move_together_and_stay_there() -> None:
    router = Router(2)
    assert router.route("a") == 0
    router.mark_down(0)
    assert [router.route("a") for _ in range(2)] == [1, 1]
    router.mark_up(0)
    # Its prefixes are on engine 1 by now.
    assert router.route("a") == 1
    assert router.route("b") == 0


def test_with_all_engines_down_there_is_no_answer() -> None:
    router = Router(2)
    router.mark_down(0)
    router.mark_down(1)
    assert router.route("a") is None
    router.mark_up(1)
    assert router.route("a") == 1


def test_forgotten_groups_do_not_pile_up() -> None:
    router = Router(2)
    for n in range(40_000):
        router.release(router.route(str(n)))
    assert len(router._engine_of) < 20_000
