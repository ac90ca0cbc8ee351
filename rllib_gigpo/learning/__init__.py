"""Learning: training rows to packed batches, losses, one exact optimizer step."""
