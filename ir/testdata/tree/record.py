"""Records specs.json: structures of nested values as PyTorch writes and prints them.

Run it with the reference Python, which has torch 2.15.0:

    python ir/testdata/tree/record.py

Every case is [treespec_dumps(spec), repr(spec), number of leaves].
"""

import collections
import dataclasses
import enum
import json
import pathlib

import torch
import torch.return_types
import torch.utils._pytree as pytree
from torch.fx.immutable_collections import immutable_dict, immutable_list

assert torch.__version__.startswith("2.15.0"), torch.__version__

Point = collections.namedtuple("Point", "left right")
Point.__module__ = "fixtures"  # its repr names the registered class
pytree._register_namedtuple(Point, serialized_type_name="fixtures.Point")


@dataclasses.dataclass
class Pair:
    a: object
    b: object = None
    c: object = None


torch.export.register_dataclass(Pair, serialized_type_name="fixtures.Pair")


class Color(enum.Enum):
    RED = 1


VALUES = [
    1, (), (1,), [1, 2], [], {}, {"a": 1, "b": [2, (3,)]}, {1: 1, 2.5: 2, None: 3, 'é"\n😀\x7f': 4, True: 5}, {1e-7: 1, -3: 2},
    collections.OrderedDict(z=1, a=2), collections.defaultdict(list, {"k": 1}), collections.deque([1, 2], maxlen=5),
    collections.deque([1]), Point(1, [2]), immutable_list([1]), immutable_dict(a=1), torch.Size([1, 2]), Pair(1, None, 2),
    torch.max(torch.ones(2, 2), 0), {Color.RED: 1}, ((1, (2, {"x": 3})), {"k": 4}),
]

if __name__ == "__main__":
    specs = [pytree.tree_structure(v) for v in VALUES]
    cases = [json.dumps([pytree.treespec_dumps(s), str(s), s.num_leaves]) for s in specs]
    (pathlib.Path(__file__).parent / "specs.json").write_text("[\n" + ",\n".join(cases) + "\n]\n")
