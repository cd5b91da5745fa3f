"""The engines by name. A new engine is registered here; `on_disk/whole_graph.py` says how it counts in blocks.

They are named instead of imported: the command line lists them before it loads anything that counts.
"""

ENGINES = {"rows": "RowEngine", "dense": "DenseEngine", "search": "SearchEngine"}
"""Name of each engine, which is also its folder, and its class in the module `engine` there."""
