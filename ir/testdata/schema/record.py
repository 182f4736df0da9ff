"""Records python.txt: the schemas that Python's torch registers beside libtorch's.

Run it with the reference Python, which has torch 2.15.0:

    python ir/testdata/schema/record.py

These operators (prims and others) are not in the embedded catalogue, but
programs may name them and their texts have to be read.
"""

import pathlib

import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__

if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    embedded = {line.split("(")[0] for line in (here / "../../catalogue_2.15.0.txt").read_text().splitlines()}
    ops = sorted(set(torch._C._dispatch_get_all_op_names()) - embedded)
    schemas = [str(torch._C._get_schema(*op.partition(".")[::2])) for op in ops]
    (here / "python.txt").write_text("\n".join(schemas) + "\n")
