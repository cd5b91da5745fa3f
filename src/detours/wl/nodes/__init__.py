"""Colour refinement on the nodes of many graphs together (1-WL, and beyond it by colours of arcs).

`initial` has the colours of round 0, `neighbourhood` what each node sees, `rounds` the refinement itself. Colours are
ranks of rows of integers (`ranks`, `sort_numba`), never hash values. `class_tables_numba` writes the colours of one
graph in a form that does not depend on the other graphs; certificates are made of it.
"""
