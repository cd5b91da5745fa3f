"""Vendor the drawing library of the interactive page from npm; needs npm.

    python scripts/vendor_force_graph.py

The bundle is the file `dist/force-graph.min.js` of the npm package, unchanged; npm checks its digest. It contains code
of the libraries that force-graph depends on, so their licences are included. `force-graph.json` records the version,
the digest of the bundle, and the digests of the two style sheets that it adds to a page: the page's
content-security policy allows only these.
"""

import base64
import hashlib
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

VERSION = "1.52.0"
TARGET = Path(__file__).resolve().parents[1] / "src/detours/viz/interactive/assets/vendor"
STYLE = re.compile(r'\("(\.(?:force-graph|float-tooltip)[^"]*)"\)')


def sha256(data: bytes) -> str:
    """Return a digest in the format of content-security policies."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


def licences(modules: Path) -> str:
    """Return the licences of all packages, each distinct text once, below the names of its packages."""
    packages = defaultdict(list)
    for manifest in sorted([*modules.glob("*/package.json"), *modules.glob("@*/*/package.json")]):
        package = json.loads(manifest.read_text("utf-8"))
        files = [file for file in manifest.parent.iterdir() if file.name.lower().startswith("licen")]
        text = (
            files[0].read_text("utf-8") if files else f"{package['license']} licence; the package has no other text.\n"
        )
        owners = [line.strip() for line in text.splitlines() if re.match(r"\s*(The MIT.*)?Copyright", line)]
        body = "\n".join(line.rstrip() for line in text.splitlines() if line.strip() not in owners).strip()
        packages[body].append(
            f"{package['name']} {package['version']} ({package['license']}). {' '.join(owners)}".strip()
        )
    return "\n\n".join("\n".join([*names, "", body]) for body, names in sorted(packages.items())) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = f"force-graph@{VERSION}"
        subprocess.run(["npm", "install", "--prefix", folder, "--omit=dev", "--ignore-scripts", package], check=True)
        modules = Path(folder, "node_modules")
        bundle = modules.joinpath("force-graph/dist/force-graph.min.js").read_bytes()
        texts = licences(modules)
    styles = [json.loads(f'"{text}"').encode() for text in STYLE.findall(bundle.decode())]
    assert len(styles) == 2 and b"</script" not in bundle.lower(), "the bundle is not as this script expects"
    manifest = {"version": VERSION, "sha256": hashlib.sha256(bundle).hexdigest(), "styles": [sha256(s) for s in styles]}
    TARGET.mkdir(parents=True, exist_ok=True)
    TARGET.joinpath("force-graph.min.js").write_bytes(bundle)
    TARGET.joinpath("force-graph.json").write_text(json.dumps(manifest, indent=2) + "\n")
    TARGET.joinpath("LICENSES.txt").write_text(texts, "utf-8")
    print(f"{TARGET}: force-graph {VERSION}, {len(bundle):,} bytes")


if __name__ == "__main__":
    main()
