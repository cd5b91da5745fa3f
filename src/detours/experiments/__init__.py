"""The paper's experiments: what to run, the store of finished cells, and tables beside the paper's numbers."""
