"""The table of signatures: rows are found by their content, even if digests collide."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detours.kernels.colours.signatures import UNSEEN, Rows, SignatureTable, find_rows

many_rows = st.lists(st.lists(st.integers(-3, 3), max_size=4).map(tuple), max_size=40)


def as_rows(rows: list[tuple[int, ...]]) -> Rows:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    entries = np.array([entry for row in rows for entry in row], dtype=np.int64)
    return Rows(starts, entries, np.ones(len(rows), np.bool_))


@given(known=many_rows, queried=many_rows)
def test_found_or_not(known: list[tuple[int, ...]], queried: list[tuple[int, ...]]) -> None:
    known = list(dict.fromkeys(known))
    expected = [known.index(row) if row in known else UNSEEN for row in queried]
    table = SignatureTable(as_rows(known))
    assert table.find(as_rows(queried)).tolist() == expected
    assert [tuple(table.row(id).tolist()) for id in range(len(table))] == known


@given(known=many_rows, queried=many_rows)
def test_all_digests_equal(known: list[tuple[int, ...]], queried: list[tuple[int, ...]]) -> None:
    known = list(dict.fromkeys(known))
    expected = [known.index(row) if row in known else UNSEEN for row in queried]
    table, queries = as_rows(known), as_rows(queried)
    alike = np.zeros(len(known), np.uint64), np.arange(len(known), dtype=np.int32)
    digests = np.zeros(len(queried), np.uint64)
    found = find_rows(*alike, table.starts, table.entries, digests, queries.starts, queries.entries, queries.known)
    assert found.tolist() == expected


def test_an_unknown_row_is_never_found() -> None:
    rows = as_rows([(1, 2), (3,)])
    partly = Rows(rows.starts, rows.entries, np.array([False, True]))
    assert SignatureTable(rows).find(partly).tolist() == [UNSEEN, 1]
