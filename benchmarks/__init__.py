"""Measurements, each against something run side by side."""
