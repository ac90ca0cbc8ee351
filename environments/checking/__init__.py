"""The parts of :func:`environments.checker.check_text_env`, a promise each."""
