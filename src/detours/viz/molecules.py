"""Molecules as chemists draw them: positions, symbols and bonds, by RDKit."""

from __future__ import annotations

from typing import Any

import numpy as np

from detours.graph.convert import library
from detours.viz.interactive.content import Molecule


def molecule_drawing(molecule: Any) -> Molecule:
    """Return what the interactive page draws of an RDKit molecule."""
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
