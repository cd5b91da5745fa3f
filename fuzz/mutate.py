"""Changes of files that a careless or hostile hand makes: of bytes, words, numbers, arrays, members of archives."""

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
LARGEST = 200_000  # bytes of a changed file


def change(random: Random, name: str, content: bytes, others: list[bytes]) -> bytes:
    """Return a changed file, in a way that suits its ending; checksums of containers are often made right again."""
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
        at = random.randrange(len(changed) + 1)
        end = min(len(changed), at + int(random.expovariate(0.1)))
        match random.randrange(8):
            case 0 if at < len(changed):
                changed[at] ^= 1 << random.randrange(8)
            case 1 if at < len(changed):
                changed[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            case 2:
                changed[at:at] = random.choice(WORDS + NUMBERS)
            case 3:
                del changed[at:end]
            case 4:
                changed[at:at] = changed[at:end] * random.randint(1, 3)
            case 5:
                del changed[at:]
            case 6 if others:
                other = random.choice(others)
                begin = random.randrange(len(other) + 1)
                changed[at:end] = other[begin : begin + random.randrange(40)]
            case _ if len(changed) >= 8:  # a length or a size somewhere
                at, width = random.randrange(len(changed) - 7), random.choice((2, 4, 8))
                value = random.choice((0, 1, 2**15, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1))
                changed[at : at + width] = (value % 256**width).to_bytes(width, "little")
    return bytes(changed[:LARGEST])


def change_text(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Replace numbers, and drop, repeat, swap or mix lines and words."""
    for _ in range(random.choice((1, 1, 2, 3))):
        lines = content.split(b"\n")
        at = random.randrange(len(lines))
        match random.randrange(7):
            case 0 | 1:
                found = list(re.finditer(rb"-?\d+", content))
                if found:
                    one = random.choice(found)
                    content = content[: one.start()] + random.choice(NUMBERS) + content[one.end() :]
            case 2:
                lines.pop(at)
                content = b"\n".join(lines)
            case 3:
                lines[at:at] = [lines[at]] * random.choice((1, 2, 50))
                content = b"\n".join(lines)
            case 4:
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
                content = b"\n".join(lines)
            case 5 if others:
                lines[at] = random.choice(random.choice(others).split(b"\n"))
                content = b"\n".join(lines)
            case _:
                words = lines[at].split(b" ")
                words[random.randrange(len(words))] = random.choice(WORDS + NUMBERS)
                lines[at] = b" ".join(words)
                content = b"\n".join(lines)
    return content[:LARGEST]


def _change_array(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Change the header of a .npy file, or the values, type or shape of its array."""
    way = random.random()
    if way < 0.3:
        return change_bytes(random, content, others)
    if way < 0.5:
        start = content.find(b"{")
        return content[:start] + change_text(random, content[start : start + 118], others) + content[start + 118 :]
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return change_bytes(random, content, others)
    buffer = io.BytesIO()
    try:
        with np.errstate(all="ignore"):
            np.save(buffer, _other_values(random, array), allow_pickle=False)
    except ValueError:  # a text that is no number, say
        return change_bytes(random, content, others)
    return buffer.getvalue()


def _other_values(random: Random, array: np.ndarray) -> np.ndarray:
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
    """Change, drop, rename or repeat members of an archive, whose checksums are right afterwards."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(each.filename, archive.read(each), each.compress_type) for each in archive.infolist()]
    except Exception:
        return change_bytes(random, content, others)
    for _ in range(random.choice((1, 1, 2))):
        if not members:
            break
        at = random.randrange(len(members))
        name, held, method = members[at]
        match random.randrange(8):
            case 0:
                members.pop(at)
            case 1:
                members[at] = (random.choice(members)[0] + random.choice(("", "x", ".npy")), held, method)
            case 2:
                members.append((name + "2", held, method))
            case 3:
                members[at] = (name, held, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))
            case _:
                kind = _change_array if name.endswith(".npy") else change_bytes
                members[at] = (name, kind(random, held, others), method)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, held, method in members:
            info = zipfile.ZipInfo(name or "x")
            info.compress_type = method
            archive.writestr(info, held)
    return buffer.getvalue()


def with_right_checksums(manifest: bytes, files: dict[str, bytes]) -> bytes:
    """Return a manifest whose lengths and checksums are those of these files, so that their content is looked at."""

    def repaired(found: re.Match[bytes]) -> bytes:
        held = files.get(found[1].decode(), b"")
        return b'"%s": [%d, "%08x"]' % (found[1], len(held), zlib.crc32(held))

    return re.sub(rb'"([a-z_]+\.npy)":\s*\[\s*\d+,\s*"[0-9a-f]{8}"\s*\]', repaired, manifest)
