"""Stands in for pydot, which the reference does not have: torch.fx draws with it, and what is drawn is kept."""
import sys
import types


class Item:
    def __init__(self, *args, **attrs):
        self.args, self.attrs, self.nodes, self.edges = args, attrs, [], []

    def add_node(self, n):
        self.nodes.append(n)

    def add_edge(self, e):
        self.edges.append(e)


module = types.ModuleType("pydot")
module.Dot = module.Node = module.Edge = module.Cluster = Item
sys.modules["pydot"] = module
