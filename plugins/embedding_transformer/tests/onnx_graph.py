# SPDX-License-Identifier: MIT
"""The ONNX graph of a BERT or MPNet folder, written node by node from its weights: an exporter without torch, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rocketride_embedding_transformer.bert import NumpyEncoder

__all__ = ["export"]


class _Graph:
    """Nodes and weights in the order in which they are made; every method returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def affine(self, x: str, pair: Any) -> str:
        return self("Add", self("MatMul", x, self.weight(pair[0])), self.weight(pair[1]))

    def norm(self, x: str, pair: Any, epsilon: float) -> str:
        return self("LayerNormalization", x, self.weight(pair[0]), self.weight(pair[1]), axis=-1, epsilon=epsilon)


def export(folder: Path, to: Path, *, ready: bool = False) -> None:
    """Write the graph of the model in `folder` to the file `to`; `ready`: with pooled vectors (by the mean) as its output."""
    model, graph = NumpyEncoder.load(folder), _Graph()
    about, heads = model.about, model.about.heads
    size = about.width // heads
    ids, mask = "input_ids", "attention_mask"
    count = graph("Gather", graph("Shape", ids), graph.weight(np.array(1, np.int64)), axis=0)
    zero, one = graph.weight(np.array(0, np.int64)), graph.weight(np.array(1, np.int64))
    steps = graph("Range", zero, count, one)
    x = graph("Add", graph("Gather", graph.weight(model.words), ids), graph("Gather", graph.weight(model.positions), steps))
    x = graph.norm(x, model.norm, about.epsilon)
    axes = graph.weight(np.array([1, 2], np.int64))
    off = graph("Sub", graph.weight(np.float32(1)), graph("Unsqueeze", graph("Cast", mask, to=TensorProto.FLOAT), axes))
    bias = graph("Mul", off, graph.weight(np.float32(-1e9)))
    if model.bias is not None:
        rows = graph("Gather", graph.weight(model.bias), steps, axis=1)
        bias = graph("Add", bias, graph("Gather", rows, steps, axis=2))
    split = graph.weight(np.array([0, 0, 3, heads, size], np.int64))
    join = graph.weight(np.array([0, 0, about.width], np.int64))
    for layer in model.layers:
        mixed = graph("Reshape", graph.affine(x, layer.qkv), split)
        parts = [
            graph("Transpose", graph("Gather", mixed, graph.weight(np.array(i, np.int64)), axis=2), perm=[0, 2, 1, 3])
            for i in range(3)
        ]
        scores = graph("MatMul", parts[0], graph("Transpose", parts[1], perm=[0, 1, 3, 2]))
        scores = graph("Softmax", graph("Add", graph("Mul", scores, graph.weight(np.float32(size**-0.5))), bias), axis=-1)
        context = graph("Reshape", graph("Transpose", graph("MatMul", scores, parts[2]), perm=[0, 2, 1, 3]), join)
        x = graph.norm(graph("Add", graph.affine(context, layer.out), x), layer.norm, about.epsilon)
        inner = graph.affine(x, layer.up)
        if about.activation == "relu":
            inner = graph("Relu", inner)
        else:
            erf = graph("Erf", graph("Mul", inner, graph.weight(np.float32(0.5**0.5))))
            inner = graph(
                "Mul", graph("Mul", inner, graph.weight(np.float32(0.5))), graph("Add", erf, graph.weight(np.float32(1)))
            )
        x = graph.norm(graph("Add", graph.affine(inner, layer.down), x), layer.last, about.epsilon)
    outputs, shape = ["last_hidden_state"], ["batch", "tokens", about.width]
    if ready:
        shown = graph("Unsqueeze", graph("Cast", mask, to=TensorProto.FLOAT), graph.weight(np.array([2], np.int64)))
        axis = graph.weight(np.array([1], np.int64))
        sums = graph("ReduceSum", graph("Mul", x, shown), axis, keepdims=0)
        x = graph("Div", sums, graph("ReduceSum", shown, axis, keepdims=0))
        outputs, shape = ["sentence_embedding"], ["batch", about.width]
    graph.nodes.append(helper.make_node("Identity", [x], outputs))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in (ids, mask)]
    made = helper.make_graph(
        graph.nodes, "bert", inputs, [helper.make_tensor_value_info(outputs[0], TensorProto.FLOAT, shape)], graph.weights
    )
    to.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(to))
