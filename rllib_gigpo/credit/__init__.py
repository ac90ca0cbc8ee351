"""Credit assignment: from a table of steps to advantages. Pure numpy."""
