#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes sequences of windows that share long-lived tensors: tests/data/windows/*.json.

  training_*: parameters, gradients, moments and activations of three networks, 20 steps each;
              the optimizer updates all parameters in one level
  inference:  two windows, a long and a short input, that share their weights
  diffusion:  a loop whose two states trade places in every step

Format (src/trace/sequence_json.hpp): a window's format with "held": true at tensors that live across
windows, "windows" (each with tasks), and "steps": indices of windows in the order in which they run.

  scripts/make_plan_windows.py tests/data/windows
"""

import json
import os
import sys

FLOAT = 4


class Sequence:
    """Tensors, windows and the order in which the windows run."""

    def __init__(self, name):
        self.name = name
        self.tensors = []
        self.windows = []
        self.steps = []
        self.tasks = None

    def tensor(self, name, elements, held=False):
        entry = {"id": len(self.tensors), "name": name, "bytes": FLOAT * elements}
        if held:
            entry["held"] = True
        self.tensors.append(entry)
        return entry["id"]

    def elements(self, tensor):
        return self.tensors[tensor]["bytes"] // FLOAT

    def window(self, name):
        self.tasks = []
        self.windows.append({"name": name, "tasks": self.tasks})
        return len(self.windows) - 1

    def task(self, name, reads, writes):
        self.tasks.append({"name": name, "reads": reads, "writes": writes})

    def write(self, folder):
        with open(os.path.join(folder, self.name + ".json"), "w", encoding="utf-8") as file:
            lines = [
                f'"name": {json.dumps(self.name)}, "alignment": 256',
                '"tensors": ' + json.dumps(self.tensors, separators=(",", ":")),
                '"windows": ' + json.dumps(self.windows, separators=(",", ":")),
                '"steps": ' + json.dumps(self.steps, separators=(",", ":")),
            ]
            file.write("{" + ",\n ".join(lines) + "}\n")


class Network:
    """Forward tasks, remembered so that backward tasks can follow."""

    def __init__(self, sequence, parameters):
        self.sequence = sequence
        self.parameters = parameters  # name -> tensor
        self.tape = []

    def op(self, name, inputs, elements, parameters=()):
        """One forward task; returns its output."""
        weights = [self.parameters[p] for p in parameters]
        output = self.sequence.tensor(name, elements)
        self.sequence.task(name, list(inputs) + weights, [output])
        self.tape.append((name, list(inputs), weights, output))
        return output

    def backward(self, loss, gradient_of):
        """Backward tasks of the whole tape. gradient_of: parameter -> tensor of its gradient."""
        sequence = self.sequence
        gradient = {loss: sequence.tensor("d_loss", sequence.elements(loss))}
        sequence.task("seed", [], [gradient[loss]])
        for name, inputs, weights, output in reversed(self.tape):
            if output not in gradient:
                continue
            above = gradient[output]
            for x in dict.fromkeys(inputs):
                fresh = x not in gradient
                part = sequence.tensor("d_" + name, sequence.elements(x))
                sequence.task("d_" + name, [above, x] + weights, [part])
                if fresh:
                    gradient[x] = part
                else:  # a second consumer: its part is added in place
                    sequence.task("add_" + name, [part, gradient[x]], [gradient[x]])
            for weight in weights:
                sequence.task("dw_" + name, [above] + inputs, [gradient_of[weight]])


def declare(sequence, sizes):
    """Held parameters and two moments of each."""
    parameters = {name: sequence.tensor(name, n, held=True) for name, n in sizes.items()}
    first = {p: sequence.tensor("m." + n, sizes[n], held=True) for n, p in parameters.items()}
    second = {p: sequence.tensor("v." + n, sizes[n], held=True) for n, p in parameters.items()}
    return parameters, first, second


def training(name, sizes, forward, held_gradients):
    """20 steps of forward, backward and one level of updates."""
    sequence = Sequence("training_" + name)
    parameters, first, second = declare(sequence, sizes)
    gradient_of = {}
    if held_gradients:
        gradient_of = {p: sequence.tensor("g." + n, sizes[n], held=True)
                       for n, p in parameters.items()}
    init = sequence.window("init")
    for parameter in parameters.values():
        for tensor in (parameter, first[parameter], second[parameter]):
            sequence.task("init", [], [tensor])
    step = sequence.window("step")
    if not held_gradients:
        gradient_of = {p: sequence.tensor("g." + n, sizes[n]) for n, p in parameters.items()}
    network = Network(sequence, parameters)
    network.backward(forward(network), gradient_of)
    for parameter in parameters.values():
        updated = [parameter, first[parameter], second[parameter]]
        sequence.task("adam", [gradient_of[parameter]] + updated, updated)
    sequence.steps = [init] + [step] * 20
    return sequence


def transformer_sizes(layers, width):
    sizes = {}
    for i in range(layers):
        for part in ("q", "k", "v", "o"):
            sizes[f"{i}.{part}"] = width * width
        sizes[f"{i}.up"] = sizes[f"{i}.down"] = 4 * width * width
        for part in ("norm1.scale", "norm1.shift", "norm2.scale", "norm2.shift",
                     "up.bias", "down.bias"):
            sizes[f"{i}.{part}"] = 4 * width if part == "up.bias" else width
    sizes["head"] = width * 1000
    return sizes


def transformer(tokens, width, layers, heads):
    def forward(net):
        x = net.op("embed", [], tokens * width)
        for i in range(layers):
            h = net.op("norm1", [x], tokens * width, (f"{i}.norm1.scale", f"{i}.norm1.shift"))
            q = net.op("q", [h], tokens * width, (f"{i}.q",))
            k = net.op("k", [h], tokens * width, (f"{i}.k",))
            v = net.op("v", [h], tokens * width, (f"{i}.v",))
            s = net.op("scores", [q, k], heads * tokens * tokens)
            p = net.op("softmax", [s], heads * tokens * tokens)
            a = net.op("mix", [p, v], tokens * width)
            o = net.op("o", [a], tokens * width, (f"{i}.o",))
            x = net.op("add1", [x, o], tokens * width)
            h = net.op("norm2", [x], tokens * width, (f"{i}.norm2.scale", f"{i}.norm2.shift"))
            u = net.op("up", [h], 4 * tokens * width, (f"{i}.up", f"{i}.up.bias"))
            g = net.op("gelu", [u], 4 * tokens * width)
            d = net.op("down", [g], tokens * width, (f"{i}.down", f"{i}.down.bias"))
            x = net.op("add2", [x, d], tokens * width)
        return net.op("head", [x], tokens * 1000, ("head",))
    return forward


def residual_sizes(stages, blocks, width):
    sizes = {"stem": 3 * 49 * width}
    for s in range(stages):
        c = width << s
        for b in range(blocks):
            before = c // 2 if b == 0 and s > 0 else c
            sizes[f"{s}.{b}.c1"] = 9 * before * c
            sizes[f"{s}.{b}.c2"] = 9 * c * c
            for part in ("n1", "n2"):
                sizes[f"{s}.{b}.{part}"] = 2 * c
            if before != c:
                sizes[f"{s}.{b}.skip"] = before * c
    sizes["fc"] = (width << (stages - 1)) * 1000
    return sizes


def residual(stages, blocks, width, batch, side):
    def forward(net):
        x = net.op("stem", [], batch * width * side * side, ("stem",))
        for s in range(stages):
            n = batch * (width << s) * (side >> s) ** 2
            for b in range(blocks):
                h = net.op("c1", [x], n, (f"{s}.{b}.c1",))
                h = net.op("n1", [h], n, (f"{s}.{b}.n1",))
                h = net.op("c2", [h], n, (f"{s}.{b}.c2",))
                h = net.op("n2", [h], n, (f"{s}.{b}.n2",))
                if f"{s}.{b}.skip" in net.parameters:
                    x = net.op("skip", [x], n, (f"{s}.{b}.skip",))
                x = net.op("add", [x, h], n)
        x = net.op("pool", [x], batch * (width << (stages - 1)))
        return net.op("fc", [x], batch * 1000, ("fc",))
    return forward


def unet_sizes(levels, width):
    sizes = {}
    for s in range(levels):
        c = width << s
        sizes[f"down{s}.a"] = 9 * (c // 2 if s else 4) * c
        sizes[f"down{s}.b"] = 9 * c * c
        sizes[f"up{s}.a"] = 9 * 3 * c * c
        sizes[f"up{s}.b"] = 9 * c * c
        for part in ("down", "up"):
            sizes[f"{part}{s}.bias"] = c
    sizes["out"] = 9 * width * 4
    return sizes


def unet(levels, width, side, first=None):
    def forward(net):
        x = first if first is not None else net.op("noise", [], 4 * side * side)
        kept = []
        for s in range(levels):
            n = (width << s) * (side >> s) ** 2
            x = net.op("down_a", [x], n, (f"down{s}.a", f"down{s}.bias"))
            x = net.op("down_b", [x], n, (f"down{s}.b",))
            kept.append(x)
            if s + 1 < levels:
                x = net.op("pool", [x], n // 4)
        for s in reversed(range(levels)):
            n = (width << s) * (side >> s) ** 2
            if s + 1 < levels:
                x = net.op("upsample", [x], 2 * n)
            x = net.op("up_a", [x, kept[s]], n, (f"up{s}.a", f"up{s}.bias"))
            x = net.op("up_b", [x], n, (f"up{s}.b",))
        return net.op("out", [x], 4 * side * side, ("out",))
    return forward


def inference():
    """A long and a short input in turn; both read the same weights."""
    sequence = Sequence("inference")
    width, layers, heads = 256, 6, 4
    sizes = transformer_sizes(layers, width)
    parameters = {n: sequence.tensor(n, size, held=True) for n, size in sizes.items()}
    load = sequence.window("load")
    for parameter in parameters.values():
        sequence.task("upload", [], [parameter])
    windows = []
    for name, tokens in (("long", 256), ("short", 32)):
        windows.append(sequence.window(name))
        transformer(tokens, width, layers, heads)(Network(sequence, parameters))
    sequence.steps = [load] + windows * 6
    return sequence


def diffusion():
    """x and y are the state before and after a step, and trade places."""
    sequence = Sequence("diffusion")
    levels, width, side = 4, 32, 64
    sizes = unet_sizes(levels, width)
    parameters = {n: sequence.tensor(n, size, held=True) for n, size in sizes.items()}
    x = sequence.tensor("x", 4 * side * side, held=True)
    y = sequence.tensor("y", 4 * side * side, held=True)
    load = sequence.window("load")
    for parameter in parameters.values():
        sequence.task("upload", [], [parameter])
    sequence.task("noise", [], [x])
    windows = []
    for before, after in ((x, y), (y, x)):
        windows.append(sequence.window("step"))
        predicted = unet(levels, width, side, before)(Network(sequence, parameters))
        sequence.task("advance", [before, predicted], [after])
    sequence.steps = [load] + windows * 10
    return sequence


def main():
    if len(sys.argv) != 2:
        print("usage: make_plan_windows.py FOLDER", file=sys.stderr)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    # 12 layers of 12 parameters and a head: 145; with the embedding's five tables: 150.
    sizes = transformer_sizes(12, 128)
    for part in ("word", "position", "type", "norm.scale", "norm.shift"):
        sizes["embed." + part] = 128 * (2000 if part == "word" else 64)

    def with_embedding(net):
        token = net.op("tokens", [], 64 * 128, ("embed.word", "embed.position", "embed.type",
                                                "embed.norm.scale", "embed.norm.shift"))
        inner = transformer(64, 128, 12, 4)
        loss = inner(net)
        return net.op("loss", [loss, token], 64)

    training("transformer", sizes, with_embedding, held_gradients=False).write(sys.argv[1])
    training("resnet", residual_sizes(4, 3, 16), residual(4, 3, 16, 4, 32),
             held_gradients=True).write(sys.argv[1])
    training("unet", unet_sizes(4, 16), unet(4, 16, 64), held_gradients=False).write(sys.argv[1])
    inference().write(sys.argv[1])
    diffusion().write(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
