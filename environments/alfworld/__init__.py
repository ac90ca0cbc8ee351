"""ALFWorld's household tasks: the official games on an engine of their own."""
