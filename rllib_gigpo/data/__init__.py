"""Data of other projects, fetched from where they publish it."""
