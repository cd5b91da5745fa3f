"""Individualised refinement: colours of copies of a graph in which one node is marked or deleted.

`copies` holds coloured copies that share the arrays of their graph, `cells_numba` refines them, `marking` and
`deletion` make the copies of the next level, and `tree` puts the levels together. `matching` searches for an
isomorphism along the same tree.
"""
