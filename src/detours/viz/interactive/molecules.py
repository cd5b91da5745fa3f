"""Molecules as chemists draw them: positions, symbols and bonds, by RDKit."""

from __future__ import annotations

from typing import Any

import numpy as np

from detours.graph import Graph
from detours.graph.convert import MoleculeOrigin, library
from detours.viz.interactive.content import Molecule

MAX_ATOMS = 500
"""Larger molecules are drawn as graphs, since RDKit takes long to find positions for them."""


def drawing_of(graph: Graph) -> Molecule | None:
    """Return the drawing of a graph that comes from an RDKit molecule or a file of one; else None."""
    if isinstance(graph.origin, MoleculeOrigin) and graph.num_nodes <= MAX_ATOMS:
        return molecule_drawing(graph.origin.molecule)
    return None


def molecule_drawing(molecule: Any) -> Molecule:
    """Return the drawing of an RDKit molecule, whose own positions are not changed."""
    molecule = library("rdkit.Chem", "'detours[chem]'").Mol(molecule)
    library("rdkit.Chem.rdDepictor", "'detours[chem]'").Compute2DCoords(molecule)
    points = molecule.GetConformer().GetPositions()[:, :2]
    bonds = {}
    for bond in molecule.GetBonds():
        u, v = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        bonds[u, v] = float(bond.GetBondTypeAsDouble())
    lengths = [np.linalg.norm(points[u] - points[v]) for u, v in bonds]
    return Molecule(points / (np.mean(lengths) if lengths else 1.0), _symbols(molecule), bonds)


def _symbols(molecule: Any) -> list[str]:
    return [atom.GetSymbol() for atom in molecule.GetAtoms()]
