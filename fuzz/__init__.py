"""Long tests: a differential fuzzer of the counts, a mutational fuzzer of the readers, and a soak test with kill -9.

    python -m fuzz.differential --seconds 60
    python -m fuzz.mutation --seconds 60
    python -m fuzz.soak --seconds 60

Each runs for a given time in several processes, prints its seed, and writes a JSON summary. Failing inputs are
minimised and stored in tests/corpus, whose files the tests check again. The fuzzers need only what `detours` needs.
"""
