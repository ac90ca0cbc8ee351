"""Text environments for LLM agents. Importing this package registers them all."""
