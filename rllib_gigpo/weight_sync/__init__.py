"""How new weights reach the engines: one file per transport."""
