"""The paper's experiments: what to run, and tables of the results next to the paper's."""
