"""How a broken promise is reported."""

from __future__ import annotations

from environments.errors import ContractError


def require(is_kept: bool, problem: str, cure: str) -> None:
    """Go on if a promise is kept.

    Args:
        is_kept: Whether it is.
        problem: What is wrong and where, with its value.
        cure: What to do about it.

    Raises:
        ContractError: It is not.
    """
    if not is_kept:
        raise ContractError(f"{problem}: {cure}")


def shortened(value: object, limit: int = 120) -> str:
    """The value for a message."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
