#!/usr/bin/env python3
"""Make the NumPy and safetensors files that the tests of package export read.

    python make_numpy.py        # writes numpy/* beside this script

Needs numpy and safetensors.
"""
import os

import numpy as np
from safetensors.numpy import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy")


def main():
    os.makedirs(HERE, exist_ok=True)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(os.path.join(HERE, "c_order.npy"), a)
    np.save(os.path.join(HERE, "fortran.npy"), np.asfortranarray(a))
    np.save(os.path.join(HERE, "big_endian.npy"), a.astype(">f4"))
    np.save(os.path.join(HERE, "scalar.npy"), np.array(7, dtype=np.int64))
    np.save(os.path.join(HERE, "complex_big.npy"), np.array([1 + 2j], dtype=">c8"))
    np.save(os.path.join(HERE, "bool.npy"), np.array([True, False]))
    np.save(os.path.join(HERE, "empty.npy"), np.zeros((0, 3), dtype=np.float16))
    np.save(os.path.join(HERE, "object.npy"), np.array([{}], dtype=object))
    np.save(os.path.join(HERE, "struct.npy"), np.zeros(1, dtype=[("a", "<f4")]))
    np.savez(os.path.join(HERE, "two.npz"), **{"x": a, "n/y": np.array([1], dtype=np.uint8)})
    np.savez_compressed(os.path.join(HERE, "packed.npz"), x=a)
    save_file({"x": a, "n": np.array([1, 2], dtype=np.int64), "e": np.zeros((2, 0), dtype=np.uint8)},
              os.path.join(HERE, "three.safetensors"), metadata={"made by": "make_numpy.py"})


if __name__ == "__main__":
    main()
