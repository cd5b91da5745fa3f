"""Molecules, read by RDKit: SDF and MOL files, SMILES files and SMILES strings; atoms are nodes, bonds are edges."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.convert import NUMBER, from_molecule, library
from detours.graph.edges import EdgeList
from detours.graph.files.shared.format import Format, ending
from detours.graph.files.shared.source import read_text

SMILES = ("smi", "smiles")
ENDINGS = ("sdf", "mol", *SMILES)
_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
"""The line that ends a molecule in an SDF file."""


def read_molecule(path: Path) -> Any:
    """Return the first molecule of a file as an RDKit molecule, with a warning if there are more."""
    chem = _rdkit()
    text = read_text(path).decode("utf-8", errors="replace")
    if _is_smiles(path, text):
        words = [line.split()[0] for line in text.splitlines() if line.strip()]
        has_header = words[:1] and words[0].lower() == "smiles"  # as RDKit's SmilesWriter writes it
        records, parse = words[1:] if has_header else words, chem.MolFromSmiles
    else:
        records, parse = [record for record in _END.split(text) if record.strip()], _without_hydrogens
    if not records:
        raise FileFormatError("the file holds no molecule.", path)
    if len(records) > 1:
        warn_caller(f"{path} holds several molecules; only the first is read.", UserWarning)
    molecule = parse(records[0])
    if molecule is None:
        raise FileFormatError("RDKit cannot read its first molecule.", path)
    return molecule


def _is_smiles(path: Path, text: str) -> bool:
    """Whether a file holds SMILES, by its name or, on standard input, its text: MOL blocks state their version."""
    if ending(path) in ENDINGS:
        return ending(path) in SMILES
    return "V2000" not in text and "V3000" not in text


def _without_hydrogens(block: str) -> Any | None:
    """Return the molecule of a MOL block without hydrogens; its atoms keep their numbers in the block."""
    chem = _rdkit()
    molecule = chem.MolFromMolBlock(block, removeHs=False)
    if molecule is None:
        return None
    for atom in molecule.GetAtoms():
        atom.SetIntProp(NUMBER, atom.GetIdx())
    return chem.RemoveHs(molecule)


def parse_smiles(text: str) -> Any | None:
    """Return the RDKit molecule of a SMILES; None if the text is not a SMILES or RDKit is not installed."""
    if not text.strip() or not text.isascii():  # all SMILES are ASCII, and RDKit fails on undecodable bytes
        return None
    try:
        return _rdkit().MolFromSmiles(text)
    except InputError:
        return None


def _read(path: Path) -> EdgeList:
    return from_molecule(read_molecule(path))


def _write(edges: EdgeList, path: Path) -> NoReturn:
    raise InputError(
        f"{path} cannot be written: molecules can only be read; give a name that ends in .graphml or .gml."
    )


def _rdkit() -> Any:
    chem = library("rdkit.Chem", "'detours[chem]'")
    library("rdkit.RDLogger", "'detours[chem]'").DisableLog("rdApp.*")  # our error message says what is wrong
    return chem


FORMAT = Format(ENDINGS, _read, _write)
