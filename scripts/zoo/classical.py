"""Models of scikit-learn's kind (ai.onnx.ml): ensembles of trees, linear models, and what prepares their inputs."""
import numpy as np
from onnx import TensorProto

from .draft import F32

INT64 = TensorProto.INT64


def grow(n, count, features, depth, modes=("BRANCH_LEQ",), missing=False):
    """Random trees: the attributes that hold their nodes, and the leaves as pairs of tree and node."""
    keys = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
            "missing_value_tracks_true")
    nodes, leaves = {key: [] for key in keys}, []

    def node(tree, number, level):
        """Writes a node and those below it; the number after the last one."""
        is_leaf = level == depth or (level > 0 and n.rng.randint(5) == 0)
        at = len(nodes["treeids"])
        row = (tree, number, 0, 0.0, "LEAF", 0, 0, int(missing and n.rng.randint(2)))
        if is_leaf:
            leaves.append((tree, number))
        else:
            threshold = float(F32(n.rng.uniform(-1, 1)))
            row = row[:2] + (int(n.rng.randint(features)), threshold, str(n.rng.choice(modes)), number + 1) + row[6:]
        for key, value in zip(keys, row):
            nodes[key].append(value)
        if is_leaf:
            return number + 1
        nodes["falsenodeids"][at] = node(tree, number + 1, level + 1)
        return node(tree, nodes["falsenodeids"][at], level + 1)

    for tree in range(count):
        node(tree, 0, 0)
    return {"nodes_" + key: values for key, values in nodes.items()}, leaves


def weights(n, kind, leaves, ids, low=-0.3):
    """What each leaf gives: to all of ids, or, where ids is a list of lists, to those of its tree's by turns."""
    rows = [(tree, node, i, float(F32(n.rng.uniform(low, 0.3)))) for tree, node in leaves
            for i in (ids[tree % len(ids)] if isinstance(ids[0], list) else ids)]
    columns = ("treeids", "nodeids", "ids", "weights")
    return {f"{kind}_{key}": [row[at] for row in rows] for at, key in enumerate(columns)}


def forests(n):
    """Ensembles of trees as each library writes them, and every comparison."""
    x = n.input("x", [9, 5])
    ways = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE")

    def classes(name, ids, labels, low=-0.3, modes=("BRANCH_LEQ",), missing=False, data=x, **attrs):
        nodes, leaves = grow(n, 6, 5, 5, modes, missing)
        label, scores = n.ml("TreeEnsembleClassifier", data, outs=2, classlabels_int64s=labels, **nodes,
                             **weights(n, "class", leaves, ids, low), **attrs)
        n.output(label, name + "_label", rank=1, dtype=INT64)
        n.output(scores, name + "_scores", rank=2)

    classes("share", [0], [0, 1], low=0.0)
    classes("boosted", [0], [4, 2], post_transform="LOGISTIC", base_values=[0.05])
    classes("votes", [0, 1, 2], [0, 1, 2], low=0.0)
    classes("rounds", [[0], [1], [2]], [7, -1, 5], modes=ways, post_transform="SOFTMAX", base_values=[0.1, -0.1, 0.0])
    hole = n.op("Where", n.const(n.rng.randint(0, 4, (9, 5)) == 0), n.f(np.nan), x)
    classes("holes", [0, 1, 3], [0, 1, 2, 3], modes=ways + ("BRANCH_NEQ",), missing=True, data=hole)
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        nodes, leaves = grow(n, 5, 5, 4)
        y = n.ml("TreeEnsembleRegressor", x, n_targets=2, aggregate_function=aggregate, base_values=[0.5, -0.25],
                 **nodes, **weights(n, "target", leaves, [0, 1]))
        n.output(y, "regressed_" + aggregate.lower(), rank=2)


def classical(n):
    """Linear models, and every preparation of features."""
    x, kinds = n.input("x", [6, 4]), n.input("type", [6, 1], INT64)
    hole = n.op("Where", n.const(n.rng.randint(0, 3, (6, 4)) == 0), n.f(np.nan), x)
    filled = n.ml("Imputer", hole, imputed_value_floats=[0.1, 0.2, 0.3, 0.4], replaced_value_float=float("nan"))
    scaled = n.ml("Scaler", filled, offset=[0.1, -0.2, 0.0, 0.3], scale=[2.0, 0.5, 1.0, 1.5])
    hot = n.reshape(n.ml("OneHotEncoder", kinds, cats_int64s=[1, 0, 5]), 6, 3)
    code = n.ml("LabelEncoder", kinds, keys_int64s=[0, 7], values_floats=[0.5, 2.5], default_float=-1.5)
    picked = n.ml("ArrayFeatureExtractor", scaled, n.ints(3, 0))
    sharp = n.ml("Binarizer", scaled, threshold=0.2)
    features = n.ml("FeatureVectorizer", scaled, hot, code, picked, sharp, inputdimensions=[4, 3, 1, 2, 4])
    rows = [float(v) for v in n.rng.uniform(-1, 1, 3 * 14).astype(F32)]
    label, scores = n.ml("LinearClassifier", features, outs=2, coefficients=rows, intercepts=[0.1, 0.0, -0.1],
                         classlabels_ints=[3, 1, 2], post_transform="LOGISTIC", multi_class=1)
    n.output(label, "label", rank=1, dtype=INT64)
    n.output(n.ml("Normalizer", scores, norm="L1"), "scores", rank=2)
    for norm in ("MAX", "L2"):
        n.output(n.ml("Normalizer", n.ml("Binarizer", scaled, threshold=0.6) if norm == "MAX" else features, norm=norm),
                 norm.lower(), rank=2)
    y = n.ml("LinearRegressor", features, coefficients=rows[:28], intercepts=[0.5, 0.25], targets=2)
    n.output(y, "fitted", rank=2)


CLASSICAL = (forests, classical)
