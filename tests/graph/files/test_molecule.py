"""Molecules read by RDKit."""

import warnings
from pathlib import Path

import pytest

import detours
from detours.errors import FileFormatError, InputError
from detours.graph import Graph
from detours.graph.files.molecule import parse_smiles

chem = pytest.importorskip("rdkit.Chem")


@pytest.mark.parametrize("name", ["benzene.sdf", "benzene.mol", "benzene.smi"])
def test_atoms_are_nodes_and_bonds_are_edges(tmp_path: Path, name: str) -> None:
    molecule = chem.MolFromSmiles("c1ccccc1O")
    block = "c1ccccc1O phenol\n" if name.endswith(".smi") else chem.MolToMolBlock(molecule) + "$$$$\n" * ("sdf" in name)
    (tmp_path / name).write_text(block)
    graph = Graph.read(tmp_path / name)
    assert graph.num_nodes == 7 and graph.num_edges == 7
    assert graph.name(6) == "O6" and graph.degree[graph.node("O6")] == 1


def test_the_text_distinguishes_smiles_from_mol_blocks_on_standard_input(tmp_path: Path) -> None:
    molecule = chem.MolFromSmiles("c1ccccc1O")
    for text in ("c1ccccc1O phenol\n", chem.MolToMolBlock(molecule), chem.MolToMolBlock(molecule, forceV3000=True)):
        (tmp_path / "input").write_text(text)
        assert Graph.read(tmp_path / "input", format="molecule").num_edges == 7
    (tmp_path / "cut.sdf").write_text("CCO\n\n")  # a name, and no block
    with pytest.raises(FileFormatError, match="RDKit cannot read"):
        Graph.read(tmp_path / "cut.sdf")


@pytest.mark.parametrize("name", ["benzene.smina.sdf", "benzene.smiles.mol", "benzene.SDF.smi", "my.molecules.txt"])
def test_only_the_end_of_a_name_says_what_a_file_holds(tmp_path: Path, name: str) -> None:
    molecule = chem.MolFromSmiles("c1ccccc1O")
    molecule.SetProp("_Name", "CCO")  # the first line of a MOL block may be a SMILES
    lines = name.endswith((".smi", ".txt"))
    (tmp_path / name).write_text("c1ccccc1O phenol\n" if lines else chem.MolToMolBlock(molecule))
    assert Graph.read(tmp_path / name, format="molecule").num_edges == 7


def test_a_molecule_that_rdkit_cannot_read_is_named_as_such() -> None:
    with pytest.raises(InputError, match=r"Graph number 1: None .* RDKit returns None for a molecule"):
        detours.count_many([chem.MolFromSmiles("C1CC1"), None], k=2)


def test_of_several_molecules_the_first_is_read(tmp_path: Path) -> None:
    (tmp_path / "many.smi").write_text("CC\nCCC\n")
    with pytest.warns(UserWarning, match="several molecules"):
        assert Graph.read(tmp_path / "many.smi").num_nodes == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_molecules_of_an_sdf_file_are_separated_with_any_line_end(tmp_path: Path, end: str) -> None:
    blocks = [chem.MolToMolBlock(chem.MolFromSmiles(smiles)) + "$$$$\n" for smiles in ("CCO", "CC")]
    (tmp_path / "two.sdf").write_bytes("".join(blocks).replace("\n", end).encode())
    with pytest.warns(UserWarning, match="several molecules"):
        assert Graph.read(tmp_path / "two.sdf").name_list() == ["C0", "C1", "O2"]
    (tmp_path / "one.sdf").write_bytes(blocks[0].replace("\n", end).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.read(tmp_path / "one.sdf").num_nodes == 3


def test_the_header_of_a_smiles_file_is_not_a_molecule(tmp_path: Path) -> None:
    writer = chem.SmilesWriter(str(tmp_path / "ethanol.smi"))
    writer.write(chem.MolFromSmiles("CCO"))
    writer.close()
    assert (tmp_path / "ethanol.smi").read_text().startswith("SMILES Name")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.read(tmp_path / "ethanol.smi").num_nodes == 3
    (tmp_path / "header.smi").write_text("SMILES Name\n")
    with pytest.raises(FileFormatError, match="holds no molecule"):
        Graph.read(tmp_path / "header.smi")


def test_files_without_a_molecule_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.smi").write_text("C1CC(\n")
    with pytest.raises(FileFormatError, match="RDKit cannot read"):
        Graph.read(tmp_path / "bad.smi")
    with pytest.raises(InputError, match="molecules can only be read"):
        Graph.from_edge_index([[0, 1], [1, 0]]).write(tmp_path / "out.sdf")
    assert parse_smiles("no molecule") is None and parse_smiles(" ") is None and parse_smiles("C\udcff") is None
    with pytest.raises(FileFormatError, match=r"^c1ccccc1: there is no such file; of a SMILES, give a"):
        detours.count("c1ccccc1", k=5)
    with pytest.raises(FileFormatError, match=r"^graph.csv: there is no such file\.$"):
        detours.count("graph.csv", k=5)


def test_molecules_of_rdkit_are_graphs() -> None:
    molecules = [chem.MolFromSmiles(text) for text in ("C", "CC", "CCC", "C1CC2CCC1C2")]
    assert [Graph.from_any(molecule).num_nodes for molecule in molecules] == [1, 2, 3, 7]
    counts = detours.count_many(molecules, k=6)
    assert [one.cycles[5] for one in counts] == [0, 0, 0, 2] and counts[3].cycles[6] == 1  # norbornane
    assert detours.count(molecules[3], k=6).nodes_to_pandas()["node"].tolist()[:2] == ["C0", "C1"]


def test_networkx_graphs_of_molecules_have_elements_and_bonds(tmp_path: Path) -> None:
    phenol = chem.MolFromSmiles("c1ccccc1O")
    (tmp_path / "phenol.smi").write_text("c1ccccc1O\n")
    for source in (phenol, tmp_path / "phenol.smi"):
        made = detours.count(source, k=5).to_networkx()
        assert made.nodes["O6"]["element"] == "O" and made.nodes["C0"]["element"] == "C"
        assert made.edges["C5", "O6"]["bond"] == "SINGLE" and made.edges["C0", "C1"]["bond"] == "AROMATIC"
        assert made.edges["C0", "C1"]["den"] == 1 and made.nodes["O6"]["phi"] == 0
    assert "element" not in detours.count(phenol, k=5).to_networkx(attributes=False).nodes["O6"]


@pytest.mark.parametrize("name", ["ether.sdf", "ether.mol"])
def test_atoms_keep_the_numbers_of_their_file(tmp_path: Path, name: str) -> None:
    molecule = chem.AddHs(chem.MolFromSmiles("C1CO1"))
    turned = chem.RenumberAtoms(molecule, list(range(molecule.GetNumAtoms()))[::-1])
    (tmp_path / name).write_text(chem.MolToMolBlock(turned) + "$$$$\n" * ("sdf" in name))
    assert Graph.read(tmp_path / name).name_list() == ["O4", "C5", "C6"]
