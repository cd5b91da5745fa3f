"""The data sets of the paper: what is known of EXP and CEXP, and NCI1 in a batch against its graphs one by one."""

import numpy as np
import pytest

import detours
from detours import wl
from tests.real_data import molecule_graphs, pair_graphs


def told_apart(name: str, **options: object) -> list[bool]:
    graphs = [detours.Graph.from_edge_index(arcs, nodes) for nodes, arcs in pair_graphs(name)]
    certificates = wl.certificates(graphs, **options)  # type: ignore[arg-type]
    return [certificates[i] != certificates[i + 1] for i in range(0, len(graphs), 2)]


@pytest.mark.parametrize(("k", "expected"), [(2, 0), (3, 0), (4, 600), (5, 600)])
def test_exp(k: int, expected: int) -> None:
    assert sum(told_apart("EXP", init="den-sum", k=k)) == expected


def test_exp_and_cexp_by_degree() -> None:
    assert sum(told_apart("EXP", init="degree")) == 0
    assert told_apart("CEXP", init="degree") == [index % 2 == 0 for index in range(600)]
    assert sum(told_apart("CEXP", init="den", k=4)) == 600


def test_certificates_of_molecules_do_not_depend_on_the_batch() -> None:
    graphs = [detours.Graph.from_edge_index(arcs, nodes) for nodes, arcs in molecule_graphs("NCI1")]
    some = np.random.default_rng(0).choice(len(graphs), 40, replace=False).tolist()
    for options in ({"init": "den", "k": 5}, {"init": "uniform", "edges": "den", "k": 6, "rounds": 4}):
        together = wl.certificates(graphs, **options)  # type: ignore[arg-type]
        assert [together[g] for g in some] == [wl.certificate(graphs[g], **options) for g in some]  # type: ignore[arg-type]
        members: dict[str, list[int]] = {}
        for g, name in enumerate(together):
            members.setdefault(name, []).append(g)
        assert wl.groups(graphs, **options) == list(members.values())  # type: ignore[arg-type]
