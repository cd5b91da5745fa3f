import numpy as np

from detours.data.attributes import Attributes


def test_attributes_are_read_once_on_first_use() -> None:
    calls = []

    def read() -> list[np.ndarray]:
        calls.append(1)
        return [np.zeros((2, 3), np.float32), np.ones((1, 3), np.float32)]

    x = Attributes(read)
    part = x.subset([1])
    assert not calls
    assert part[0].tolist() == [[1, 1, 1]] and len(x) == 2 and [len(each) for each in x] == [2, 1]
    assert len(calls) == 1
