"""eager_layers.py CONFIG: transformers_eager.py's sum over layers, with made-up times.

Each layer takes 1, 2 or 3 ms by its kind and the rest 10; prints what is measured and found.
"""

import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "oracle"))
import transformers_eager  # noqa: E402  (found through the line above)

COST = {"dense KDA": 1, "MoE KDA": 2, "MoE DSA": 3}


class Bench:
    """Stands for the one that runs models."""

    flags = types.SimpleNamespace(context=2048)

    def measure(self, config):
        layers = [transformers_eager.kind_name(k) for k in transformers_eager.layer_kinds(config)]
        print("measured:", ", ".join(layers))
        time = 10 + sum(COST[layer] for layer in layers)
        return {"step_ms": time, "prefill_ms": 100 * time}


found = transformers_eager.extrapolate(Bench(), transformers_eager.read_text_config(sys.argv[1]))
print("step", found["step_ms"], found["step_ms_parts"])
print("prompt", round(found["prefill_tok_s"], 1), "layers", found["layers"])
