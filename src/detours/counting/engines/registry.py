"""The engines by name. A new one is registered here, and nowhere else.

They are named, not imported: the command line offers them before it loads anything that counts.
"""

ENGINES = {"rows": "RowEngine", "dense": "DenseEngine", "search": "SearchEngine"}
"""The class of each engine in the module `engine` of the folder with its name."""
