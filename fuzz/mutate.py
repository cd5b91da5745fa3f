"""Careless and malicious changes of files: of bytes, words, numbers, arrays, and members of archives."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from random import Random

import numpy as np

NUMBERS = (
    *(
        b"0 -1 1 2 3 7 127 255 256 65535 2147483647 2147483648 -2147483648 4294967296 99999999 9223372036854775807"
    ).split(),
    *(b"18446744073709551616 1e308 -1e-9 0.5 nan inf 1_0 0x10 +3 00 " + b"9" * 400).split(),
)
WORDS = (
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b",",
    b"#",
    b"%",
    b'"',
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b":",
    b"&",
    b"~",
    b"?",
)
WORDS += (
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    "‮".encode(),
    b"\xed\xa0\x80",
    b"<!ENTITY a 'b'>",
    b"<node id='x'/>",
    b"edge [",
    b"None",
)
MAX_BYTES = 200_000  # of a changed file


def change(random: Random, name: str, content: bytes, others: list[bytes]) -> bytes:
    """Return a changed file; the change depends on its suffix, and checksums of containers are mostly repaired."""
    if random.random() < 0.15:
        return change_bytes(random, content, others)
    if name.endswith(".gz"):
        inner = change(random, name.removesuffix(".gz"), gzip.decompress(content), others)
        return gzip.compress(inner, mtime=0)
    if name.endswith((".npz", ".pt", ".ckpt")):
        return _change_archive(random, content, others)
    if name.endswith(".npy"):
        return _change_array(random, content, others)
    return change_text(random, content, others) if random.random() < 0.7 else change_bytes(random, content, others)


def change_bytes(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Flip, set, insert, repeat, cut or mix bytes."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4, 8))):
        start = random.randrange(len(changed) + 1)
        end = min(len(changed), start + int(random.expovariate(0.1)))
        match random.randrange(8):
            case 0 if start < len(changed):
                changed[start] ^= 1 << random.randrange(8)
            case 1 if start < len(changed):
                changed[start] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            case 2:
                changed[start:start] = random.choice(WORDS + NUMBERS)
            case 3:
                del changed[start:end]
            case 4:
                changed[start:start] = changed[start:end] * random.randint(1, 3)
            case 5:
                del changed[start:]
            case 6 if others:
                other = random.choice(others)
                other_start = random.randrange(len(other) + 1)
                changed[start:end] = other[other_start : other_start + random.randrange(40)]
            case _ if len(changed) >= 8:  # may hit a length or a size
                start, width = random.randrange(len(changed) - 7), random.choice((2, 4, 8))
                value = random.choice((0, 1, 2**15, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1))
                changed[start : start + width] = (value % 256**width).to_bytes(width, "little")
    return bytes(changed[:MAX_BYTES])


def change_text(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Replace numbers; drop, repeat, swap or mix lines and words."""
    for _ in range(random.choice((1, 1, 2, 3))):
        lines = content.split(b"\n")
        i = random.randrange(len(lines))
        match random.randrange(7):
            case 0 | 1:
                numbers = list(re.finditer(rb"-?\d+", content))
                if numbers:
                    number = random.choice(numbers)
                    content = content[: number.start()] + random.choice(NUMBERS) + content[number.end() :]
            case 2:
                lines.pop(i)
                content = b"\n".join(lines)
            case 3:
                lines[i:i] = [lines[i]] * random.choice((1, 2, 50))
                content = b"\n".join(lines)
            case 4:
                j = random.randrange(len(lines))
                lines[i], lines[j] = lines[j], lines[i]
                content = b"\n".join(lines)
            case 5 if others:
                lines[i] = random.choice(random.choice(others).split(b"\n"))
                content = b"\n".join(lines)
            case _:
                words = lines[i].split(b" ")
                words[random.randrange(len(words))] = random.choice(WORDS + NUMBERS)
                lines[i] = b" ".join(words)
                content = b"\n".join(lines)
    return content[:MAX_BYTES]


def _change_array(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Change the header of a .npy file, or the values, type or shape of its array."""
    choice = random.random()
    if choice < 0.3:
        return change_bytes(random, content, others)
    if choice < 0.5:
        start = content.find(b"{")
        return content[:start] + change_text(random, content[start : start + 118], others) + content[start + 118 :]
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return change_bytes(random, content, others)
    buffer = io.BytesIO()
    try:
        with np.errstate(all="ignore"):
            np.save(buffer, _changed_values(random, array), allow_pickle=False)
    except ValueError:  # for example, a string that cannot be converted to a number
        return change_bytes(random, content, others)
    return buffer.getvalue()


def _changed_values(random: Random, array: np.ndarray) -> np.ndarray:
    match random.randrange(6):
        case 0 | 1 | 2 if array.size and array.dtype.kind in "iufb":
            array = array.copy()
            for _ in range(random.choice((1, 1, 3))):
                value = random.choice((-1, 0, 1, 2, array.size, 2**31 - 1, 2**31, 2**40, 2**62, -(2**63)))
                array.flat[random.randrange(array.size)] = np.array(value).astype(array.dtype)
        case 3 if array.size:
            array = array.ravel()[: random.randrange(array.size)]
        case 4:
            array = array.astype(random.choice(("<i4", "<i8", ">i8", "<f8", "u1", "bool", "<c16", "S3", "<U2", "<u8")))
        case _:
            array = array.reshape(random.choice((array.shape[::-1], (1, *array.shape), (-1,), (*array.shape, 1))))
    return array


def _change_archive(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Change, drop, rename or repeat members of an archive, and update its checksums."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info), info.compress_type) for info in archive.infolist()]
    except Exception:
        return change_bytes(random, content, others)
    for _ in range(random.choice((1, 1, 2))):
        if not members:
            break
        i = random.randrange(len(members))
        name, data, method = members[i]
        match random.randrange(8):
            case 0:
                members.pop(i)
            case 1:
                members[i] = (random.choice(members)[0] + random.choice(("", "x", ".npy")), data, method)
            case 2:
                members.append((name + "2", data, method))
            case 3:
                members[i] = (name, data, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))
            case _:
                change_member = _change_array if name.endswith(".npy") else change_bytes
                members[i] = (name, change_member(random, data, others), method)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data, method in members:
            info = zipfile.ZipInfo(name or "x")
            info.compress_type = method
            archive.writestr(info, data)
    return buffer.getvalue()


def with_correct_checksums(manifest: bytes, files: dict[str, bytes]) -> bytes:
    """Return the manifest with the lengths and checksums of these files, so that their contents are read."""

    def repaired(match: re.Match[bytes]) -> bytes:
        data = files.get(match[1].decode(), b"")
        return b'"%s": [%d, "%08x"]' % (match[1], len(data), zlib.crc32(data))

    return re.sub(rb'"([a-z_]+\.npy)":\s*\[\s*\d+,\s*"[0-9a-f]{8}"\s*\]', repaired, manifest)
