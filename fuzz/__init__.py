"""Long tests: a differential fuzzer of the counts, a mutational fuzzer of the readers, and a soak test with kill -9.

    python -m fuzz.differential --seconds 60
    python -m fuzz.mutation --seconds 60
    python -m fuzz.soak --seconds 60

Each runs for a time, in several processes, prints its seed, and writes a JSON summary; what fails is made as small as
it gets and kept in tests/corpus, whose files the tests read again. They need nothing but what `detours` itself needs.
"""
