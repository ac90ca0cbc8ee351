"""Sokoban in text: push the boxes onto the targets."""
