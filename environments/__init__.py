"""Text environments for LLM agents. Importing this package registers them all."""

from __future__ import annotations

from environments.registration import register_environments

register_environments()
