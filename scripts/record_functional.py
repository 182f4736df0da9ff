"""Writes nn/functional/forms.txt: the functions of torch.nn.functional that are Python code, with their
signatures and the call that torch.fx records for them. Run with the reference Python of the project."""
import ast, inspect, sys
import torch, torch.nn.functional as F
if not torch.__version__.startswith("2.15.0"):
    sys.exit(f"torch 2.15.0 is wanted, this is {torch.__version__}")
def default(n):
    v = eval(ast.unparse(n))
    return repr(v)
rows = {}
for fn in ast.parse(inspect.getsource(F)).body:
    if not isinstance(fn, ast.FunctionDef): continue
    for node in ast.walk(fn):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "handle_torch_function":
            target, _, *pos = node.args
            t = ast.unparse(target)
            target_obj = eval(t, vars(F) | {"torch": torch})
            a = fn.args
            params, star = [], False
            defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults
            for p, d in list(zip(a.args, defaults)) + list(zip(a.kwonlyargs, a.kw_defaults)):
                if p in a.kwonlyargs and not star:
                    params.append("*"); star = True
                ann = ast.unparse(p.annotation) if p.annotation else "Tensor"
                params.append(f"{p.arg}: {ann}" + ("" if d is None else f" = {default(d)}"))
            name = t.split(".")[-1]
            if name == "_threshold": name = "threshold"
            printed = torch._C._get_qualified_name(target_obj) if False else f"{target_obj.__module__}.{target_obj.__name__}"
            rows[name] = f"{name}\t{printed}\t{', '.join(params)}\t{', '.join(ast.unparse(p) for p in pos)}\t{', '.join(k.arg for k in node.keywords)}"
            break
print(f"# Made by scripts/record_functional.py with torch {torch.__version__.split('+')[0]}: function, target, parameters, recorded by position, recorded by keyword.")
for n in sorted(rows): print(rows[n])
