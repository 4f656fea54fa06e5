"""Fetches the layout library that the viewer bundles: python docs/fetch_dagre.py.

npm brings the package of the version below and checks it against the digest of its registry; its file and its
licence go into the package's data. The version changes here and nowhere else.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE, VERSION = "@dagrejs/dagre", "3.1.1"
DATA = Path(__file__).resolve().parents[1] / "src" / "edgewright" / "view" / "_data"
FILES = {"package/dist/dagre.min.js": "dagre.min.js", "package/LICENSE": "dagre.LICENSE"}


def main() -> None:
    """Writes the files of the package under the names that the viewer knows."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", f"{PACKAGE}@{VERSION}", "--silent"], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as stored:
            for member, name in FILES.items():
                content = stored.extractfile(member)
                assert content is not None
                text = content.read().decode()
                # The map is not shipped, and a browser would ask for it.
                lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL")]
                (DATA / name).write_text("\n".join(lines) + "\n", "utf-8")
                print(f"{name}: {len(text)} characters of {PACKAGE} {VERSION}")


if __name__ == "__main__":
    main()
