"""Search for settings on validation parts: the space they are drawn from, the trials, and the choice."""
