"""Print how the operators of libtorch changed from release to release: export/history.txt.

    python scripts/record_history.py [--wheels DIR] > export/history.txt

Reads the wheels of every release, which pip downloads (0.1 GB each, kept in DIR), and installs none. The wheels for
macOS serve for all platforms: the smallest ones, and schemas are the same everywhere.

ATen's schemas come from native_functions.yaml, gone through each wheel's own torchgen, which adds the out variants that
are generated. The other namespaces of NAMESPACES are registered in C++, and their schemas are texts in the library.
What the last wheel gives is compared with the catalogue of operators that package ir embeds: the same, or the script fails.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# the last patch release of each: 2.15 is the present one
RELEASES = "2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0".split()
NAMESPACES = ("aten", "quantized", "_quantized", "onednn", "sparse")

# registered in C++, with aten's name in a macro, so that no text of the library holds it
IN_CODE = {
    "aten::quantized_lstm.input", "aten::quantized_lstm.data", "aten::quantized_lstm.input_legacy", "aten::quantized_lstm.data_legacy",
    "aten::quantized_gru.input", "aten::quantized_gru.data", "aten::quantized_gru.input_legacy", "aten::quantized_gru.data_legacy",
    "aten::get_gradients", "aten::shallow_copy_data_",
}

PARSE = """
import sys
sys.path.insert(0, sys.argv[1])
from torchgen.gen import parse_native_yaml
d = sys.argv[1] + "/torchgen/packaged/ATen/native/"
for f in parse_native_yaml(d + "native_functions.yaml", d + "tags.yaml").native_functions:
    print("aten::" + str(f.func))
"""

HEADER = """\
# How the operators of libtorch changed from torch {first} to {last}. scripts/record_history.py writes this file.
#
# A line is one form of an operator: the first and the last release that have it, and its schema. "-" as the last one
# stands for {last} and whatever comes; the schema then is that of the embedded catalogue, and only the name is here.
# What has no line is in {first} as it is in {last}. Namespaces: {namespaces}
"""


def fetch(release, folder):
    """The wheel of a release, downloaded where it is not in folder."""
    pattern = f"torch-{release}-*cp312-*macosx*.whl"
    if not list(folder.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.12",
                        "--platform", "macosx_14_0_arm64", "--platform", "macosx_11_0_arm64", "--dest", folder, f"torch=={release}"], check=True)
    (wheel,) = folder.glob(pattern)
    return wheel


def schemas(wheel):
    """Schemas by operator of one wheel."""
    with zipfile.ZipFile(wheel) as z, tempfile.TemporaryDirectory() as folder:
        z.extractall(folder, [n for n in z.namelist() if n.startswith("torchgen/")])
        found = subprocess.run([sys.executable, "-c", PARSE, folder], check=True, capture_output=True, text=True).stdout.splitlines()
        library = z.read("torch/lib/libtorch_cpu.dylib")
    printable = rb"[^\x00-\x1f\x7f-\xff]"
    names = "|".join(n for n in NAMESPACES if n != "aten").encode()
    text = re.compile(rb"(?<![\x20-\x7e])(?:" + names + rb")::\w+(?:\.\w+)?\(" + printable + rb"*\) *-> *" + printable + rb"+")
    found += sorted({m.group().decode() for m in text.finditer(library)})
    return {schema.split("(")[0]: schema for schema in found}


def check(last, catalogue):
    """The operators of the last wheel are those of the catalogue."""
    known = {line.split("(")[0] for line in catalogue.read_text().splitlines()}
    known = {op for op in known if op.split("::")[0] in NAMESPACES} - IN_CODE
    if known != set(last):
        sys.exit(f"record_history: {catalogue} and the wheel disagree about {sorted(known ^ set(last))}")


def short(release):
    return ".".join(release.split(".")[:2])


def lines(tables):
    """The forms of every operator that differs among releases, oldest first."""
    for op in sorted(set().union(*tables)):
        forms = []  # first release, last release, schema
        for i, table in enumerate(tables):
            schema = table.get(op)
            if schema and forms and forms[-1][1] == i - 1 and forms[-1][2] == schema:
                forms[-1][1] = i
            elif schema:
                forms.append([i, i, schema])
        if forms == [[0, len(tables) - 1, forms[0][2]]]:
            continue
        for first, last, schema in forms:
            present = last == len(tables) - 1
            yield f"{short(RELEASES[first])} {'-' if present else short(RELEASES[last])} {op if present else schema}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=pathlib.Path, help="folder of the wheels; default: a temporary one")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.wheels or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        tables = [schemas(fetch(release, folder)) for release in RELEASES]
    check(tables[-1], root / "ir" / f"catalogue_{RELEASES[-1]}.txt")
    print(HEADER.format(first=short(RELEASES[0]), last=short(RELEASES[-1]), namespaces=" ".join(NAMESPACES)), end="")
    for line in lines(tables):
        print(line)


if __name__ == "__main__":
    main()
