"""The three graphs of the paper's WL figure and its appendix "Detour paths", typed from the text (k = 3)."""

GRAPHS = {
    "G1": "ab ac bd cd ce cf de df",
    "G2": "ab ac bd cd ce df ef",
    "G3": "ab ac bc cd de df ef",
}

DETOURS = {
    "G1": {
        "ab": "acdb",
        "ac": "abdc",
        "bd": "bacd",
        "cd": "cabd ced cfd",
        "ce": "cde cfde",
        "cf": "cdf cedf",
        "de": "dce dfce",
        "df": "dcf decf",
    },
    "G2": {
        "ab": "acdb",
        "ac": "abdc",
        "bd": "bacd",
        "cd": "cabd cefd",
        "ce": "cdfe",
        "df": "dcef",
        "ef": "ecdf",
    },
    "G3": {
        "ab": "acb",
        "ac": "abc",
        "bc": "bac",
        "cd": "",
        "de": "dfe",
        "df": "def",
        "ef": "edf",
    },
}

# "G1 in (a) has 6 cycles, G2 in (b) has 3 cycles, and G3 in (c) has 2 cycles"
ALL_CYCLES = {"G1": 6, "G2": 3, "G3": 2}

# 3-DeN of the edge cd, the difference that the figure's table shows
DETOURS_OF_CD = {"G1": 3, "G2": 2, "G3": 0}
