"""Question answering with a search engine, after Search-R1's protocol."""
