"""Text adventures made and played by the textworld package."""
