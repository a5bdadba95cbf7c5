#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of examples/minilm: reference token ids and float64 embeddings of all-MiniLM-L6-v2.

    pip install numpy==2.4.6 tokenizers==0.23.3
    scripts/minilm_reference.py [--model .deps/minilm]            write tests/examples/data again
    scripts/minilm_reference.py [--model .deps/minilm] --check    compare it, write nothing

It reads sentences_200.txt and the model, and makes
    embeddings_200.npy   float32, 200 x 384, rounded from float64 (error below 3e-8)
    tokens_2000.txt      2,000 lines of nasty text, from the recipe below and a fixed seed
    ids_2000.txt         the ids of each of those lines, [CLS] and [SEP] included
The ids come from the `tokenizers` package; the network is written out here in NumPy and shares
nothing with berth. The first 200 lines of tokens_2000.txt are sentences_200.txt. Takes some seconds.
"""

import argparse
import json
import math
import pathlib
import random
import struct
import sys
import unicodedata

import numpy as np
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "examples" / "data"
LAYERS, HIDDEN, HEADS, EPSILON = 6, 384, 12, 1e-12
MAX_TOKENS = 256
SEED = 20_240_601


def load_tokenizer(model):
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)  # replaces the file's own 128
    return tokenizer


# ---- the network, in float64 -----------------------------------------------------------------------


def load_weights(path):
    """All F32 tensors of a safetensors file as float64."""
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = np.frombuffer(raw[begin:end], dtype="<f4").reshape(entry["shape"])
        weights[name] = values.astype(np.float64)
    return weights


ERF = np.frompyfunc(math.erf, 1, 1)


def gelu(x):
    return 0.5 * x * (1.0 + ERF(x / math.sqrt(2.0)).astype(np.float64))


def embed(weights, ids):
    """One sentence's embedding. Without padding, so that the mask is all ones."""

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def layer_norm(x, name):
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        normal = (x - mean) / np.sqrt(variance + EPSILON)
        return normal * weights[name + ".weight"] + weights[name + ".bias"]

    def heads(x):
        return x.reshape(len(ids), HEADS, HIDDEN // HEADS).transpose(1, 0, 2)

    table = "embeddings."
    x = weights[table + "word_embeddings.weight"][ids]
    x = x + weights[table + "position_embeddings.weight"][: len(ids)]
    x = x + weights[table + "token_type_embeddings.weight"][0]
    x = layer_norm(x, table + "LayerNorm")
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}."
        query, key, value = (
            heads(linear(x, f"{layer}attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        context = (scores @ value).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        context = linear(context, layer + "attention.output.dense")
        x = layer_norm(x + context, layer + "attention.output.LayerNorm")
        inner = gelu(linear(x, layer + "intermediate.dense"))
        x = layer_norm(x + linear(inner, layer + "output.dense"), layer + "output.LayerNorm")
    pooled = x.mean(axis=0)
    return pooled / max(np.linalg.norm(pooled), 1e-12)


# ---- the recipe of tokens_2000.txt -----------------------------------------------------------------

SPECIAL = (
    "[CLS] [SEP] [MASK] [PAD] [UNK] [mask] [Cls] [MASK MASK] [[MASK]] [CLS][SEP] [unused1] [unk] "
    "[MA\u0301SK] [MASK\u0301] \u200b[SEP] [\u200bSEP]"
).split(" ") + ["[ MASK ]", "[]", "##ing", "# #", "##"]

# Borders of the rules: control, white space, marks, case, CJK blocks, Hangul, code points whose
# category changed between Unicode versions, unassigned, private use, noncharacters.
EDGES = [int(code, 16) for code in """
    0 1 7 8 9 B C 1B 7F 80 85 A0 AD DF 130 131 149 1C4 1C5 300 301 327 334 344 345 378 37E 3A3 3C2 5B0
    5D0 61C 61D 627 64B 890 8E2 8E3 915 93C 94D 958 9DC AFA B95 BCB E01 E33 EBA F73 F75 F81 1100 1161
    11A8 166D 1680 1734 180E 1885 1886 1C89 1D15 1E9E 1FBC 1FC1 1FEF 2000 200B 200C 200D 200E 2010
    2011 2028 2029 202E 202F 203F 205F 2060 20E3 2126 212A 212B 2160 2E43 2E52 2FFF 3000 3001 3007 302E
    302F 3400 4DBF 4DC0 4E00 9FFF A7CB A7DC A9BD AC00 AC01 D7A3 D7A4 E000 F8FF F900 FA0E FAFF FB01
    FB1D FDFA FE0F FEFF FF01 FF21 FFF9 FFFD FFFE FFFF 10A0D 10D24 10D50 110BD 110CD 111C9 1133B 11938
    13430 16EA0 1BCA0 1D15E 1D165 1D400 1E2AE 1F1E9 1F3FD 1F468 1F600 1FAE8 20000 2A6DF 2A700 2B73F
    2B820 2B91F 2B920 2CEAF 2CEB0 2F800 2FA1F 30000 E0001 E0020 E0100 F0000 10FFFD 10FFFF
""".split()]


class Recipe:
    def __init__(self, vocabulary, sentences):
        self.random = random.Random(SEED)
        self.pieces = [word.removeprefix("##") for word in vocabulary]
        self.sentences = sentences
        self.marks = [code for code in range(0x20000) if unicodedata.category(chr(code))[0] == "M"]

    def any_char(self):
        pick = self.random.random()
        if pick < 0.30:
            return chr(self.random.choice(EDGES))
        if pick < 0.45:
            return chr(self.random.choice(self.marks))
        if pick < 0.55:
            return chr(self.random.randrange(0x20, 0x7F))
        if pick < 0.70:
            return chr(self.random.randrange(0x80, 0x3000))
        if pick < 0.75:
            return chr(self.random.randrange(0x10000, 0x20000))
        return self.random.choice(" \t.,-aeiouAEIOUst")

    def noise(self, low, high):
        return "".join(self.any_char() for _ in range(self.random.randrange(low, high)))

    def words(self, low, high):
        parts = []
        for _ in range(self.random.randrange(low, high)):
            word = self.random.choice(self.pieces)
            form = self.random.choice(["", "", "", "upper", "NFD", "NFKD", "special", "noise", "case"])
            if form == "upper":
                word = word.upper()
            elif form == "case":
                word = "".join(self.random.choice([c, c.upper()]) for c in word)
            elif form == "special":
                word = self.random.choice(SPECIAL)
            elif form == "noise":
                word = self.noise(1, 5)
            elif form:
                word = unicodedata.normalize(form, word)
            parts += [word, self.random.choice(["", "", " ", " ", "  ", "\t", "\u3000", "\r", "-"])]
        return "".join(parts)

    def long_word(self):
        unit = self.random.choice(["a", "ing", "\u00e9", "\u00df", "\u00dc", "\ud55c", "\uac00", "e\u0301",
                                   "x\u200b", "\U0001F600", "\u0416", "\u0915\u094d", "\u4e2d", "["])
        count = self.random.choice([49, 50, 98, 99, 100, 101, 102, 150])
        return self.random.choice(["", "x ", "-"]) + unit * count + self.random.choice(["", " y", "."])

    def marked(self):
        codes = [self.random.choice(self.marks if self.random.random() < 0.7 else EDGES)
                 for _ in range(self.random.randrange(1, 9))]
        return (self.random.choice(["", "a", "[MASK]", "\uac00", "\u0915"]) + "".join(map(chr, codes))
                + self.random.choice(["", "b", " c"]))

    def lines(self):
        made = list(self.sentences)
        made += [f"a{chr(code)}b {chr(code)}ing play{chr(code)} {chr(code)}" for code in EDGES]
        made += [f"e\u0301{chr(code)}\u0327o" for code in EDGES]
        made += SPECIAL
        made += [f"x{token}y {token}" for token in SPECIAL]
        made += ["q " * count + "internationalization" for count in (252, 253, 254, 255)]
        made += ["[MASK]" * count for count in (253, 254, 255, 300)]
        made += [self.long_word() for _ in range(100)]
        made += [self.marked() for _ in range(250)]
        made += [self.noise(150, 600) for _ in range(20)]
        made += [self.words(60, 120) for _ in range(20)]
        made += [self.noise(1, 25) for _ in range(400)]
        while len(made) < 2000:
            made.append(self.words(1, 12))
        # A line must survive a file of lines: LF ends it, CR before LF belongs to the end.
        lines = [line.replace("\n", " ").rstrip("\r") or "empty" for line in made]
        return lines[:2000]


# ---- files -----------------------------------------------------------------------------------------


def npy_bytes(matrix):
    """Version 1.0 of numpy.lib.format, as the C++ side writes it too."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {matrix.shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + matrix.tobytes()


def make(model):
    tokenizer = load_tokenizer(model)
    sentences = (DATA / "sentences_200.txt").read_bytes().decode().split("\n")[:-1]
    vocabulary = (model / "vocab.txt").read_bytes().decode().split("\n")[:-1]
    if len(sentences) != 200 or "" in sentences:
        sys.exit(f"sentences_200.txt has {len(sentences)} lines and must have 200, none empty.")

    weights = load_weights(model / "model.safetensors")
    vectors = np.array([embed(weights, tokenizer.encode(line).ids) for line in sentences])
    lines = Recipe(vocabulary, sentences).lines()
    ids = [tokenizer.encode(line).ids for line in lines]
    return {
        "embeddings_200.npy": npy_bytes(vectors.astype("<f4")),
        "tokens_2000.txt": "".join(line + "\n" for line in lines).encode(),
        "ids_2000.txt": "".join(" ".join(map(str, row)) + "\n" for row in ids).encode(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".deps" / "minilm",
                        help="folder of model.safetensors, vocab.txt and tokenizer.json")
    parser.add_argument("--check", action="store_true", help="compare with the committed files")
    arguments = parser.parse_args()
    made = make(arguments.model)
    failed = False
    for name, content in made.items():
        path = DATA / name
        if not arguments.check:
            path.write_bytes(content)
            print(f"wrote {path.relative_to(ROOT)}: {len(content)} bytes")
        elif name.endswith(".npy"):  # another BLAS rounds differently, far below float32
            old, new = (np.frombuffer(raw[-200 * HIDDEN * 4:], "<f4") for raw in (path.read_bytes(), content))
            error = float(np.abs(old.astype(np.float64) - new).max())
            failed |= error > 1e-7
            print(f"{name}: largest difference {error:.1e}")
        else:
            same = path.read_bytes() == content
            failed |= not same
            print(f"{name}: {'equal' if same else 'DIFFERENT'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
