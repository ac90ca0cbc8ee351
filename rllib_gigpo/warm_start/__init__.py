"""A small model for a CPU: tokenizer, model, expert demonstrations, fine-tuning."""
