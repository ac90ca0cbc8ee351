"""The causal LM as an RLModule, and exact token logprobs."""
