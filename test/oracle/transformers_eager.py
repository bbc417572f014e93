#!/usr/bin/env python3
"""Times the same model in transformers, uncompiled, on a GPU, to compare glmrun with.

    test/oracle/transformers_eager.py models/glm53/slices/four-layer.json
    test/oracle/transformers_eager.py models/glm53/glm53-flash-config.json --layers 4
    test/oracle/transformers_eager.py models/glm53/slices/four-layer.json \\
        --extrapolate models/glm53/glm53-flash-config.json --glmrun gpu-report/results.json

Builds the text model of a config.json with random weights on the GPU, feeds a prompt, then
decodes: the median time of a step from token to token, the time its kernels take, and how
many there are. --extrapolate measures models of two and three layers of a larger
configuration, takes from them what a layer of each kind costs, and adds up all its layers,
which would not fit. Weights are bf16, the experts' too (transformers has no fused
int4 experts), so a step reads more bytes than glmrun's does; the JSON says how many.

Needs PyTorch with CUDA or ROCm, and transformers 5.17 or newer. The last line of stdout is one
JSON object, which --output also writes to a file.
"""

import argparse
import copy
import gc
import json
import os
import statistics
import sys
import time

# Beside the weights: caches, and what a prompt's chunks take while they are computed.
WORKING_BYTES = 28 << 30
PROFILED_STEPS = 3
WARM_UP_STEPS = 5


def read_text_config(path):
    """The text model's part of a config.json, whether nested or flat."""
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    text = config.get("text_config", config)
    for key in ("num_hidden_layers", "layer_types", "mlp_layer_types"):
        if key not in text:
            sys.exit(f"{path}: has no {key}; is it a config.json of glm5_next?")
    return text


def with_layers(config, chosen):
    """The configuration with these of its layers, in this order."""
    cut = copy.deepcopy(config)
    count = config["num_hidden_layers"]
    for key in ("layer_types", "mlp_layer_types", "indexer_types"):
        if isinstance(config.get(key), list):
            if len(config[key]) < count:
                sys.exit(f"{key} has {len(config[key])} entries for {count} layers")
            cut[key] = [config[key][i] for i in chosen]
    cut["num_hidden_layers"] = len(chosen)
    cut["num_nextn_predict_layers"] = 0
    # Written of all layers; transformers goes by layer_types.
    if isinstance(cut.get("linear_attn_config"), dict):
        cut["linear_attn_config"].pop("kda_layers", None)
        cut["linear_attn_config"].pop("full_attn_layers", None)
    cut.pop("quantization_config", None)
    return cut


def layer_kinds(config):
    """(attention, feed-forward) of each layer."""
    count = config["num_hidden_layers"]
    return list(zip(config["layer_types"][:count], config["mlp_layer_types"][:count]))


def first_attention(config):
    """The first layer whose cache counts tokens; transformers cannot do without one."""
    for i, kind in enumerate(layer_kinds(config)):
        if kind[0] != "linear_attention":
            return i
    sys.exit(f"none of the {config['num_hidden_layers']} layers is a DSA layer; transformers' "
             "cache needs one to count tokens: use more --layers")


def kind_name(kind):
    attention = "KDA" if kind[0] == "linear_attention" else "DSA"
    return ("MoE " if kind[1] == "sparse" else "dense ") + attention


def add_up(base, more, counts, base_layers):
    """A number of the whole model from those of small ones.

    base: of the model with the kinds of layers base_layers; more: by kind, of that model with
    one more layer of the kind; counts: layers of each kind in the whole model. Returns the
    total, what a layer of each kind adds, and what is left for embedding and head.
    """
    parts = {kind: value - base for kind, value in more.items()}
    rest = base - sum(parts[kind] for kind in base_layers)
    return rest + sum(counts[kind] * each for kind, each in parts.items()), parts, rest


class Bench:
    """Builds and times models on one device."""

    def __init__(self, flags):
        try:
            import torch
        except ImportError as error:
            sys.exit(f"no PyTorch: {error}; install torch for this GPU")
        try:
            import transformers
            from transformers.models.glm5_next import configuration_glm5_next as configuration
            from transformers.models.glm5_next import modeling_glm5_next as modeling
        except ImportError as error:
            sys.exit(f"no glm5_next in transformers: {error}; 5.17 or newer has it")
        if flags.device != "cpu" and not torch.cuda.is_available():
            sys.exit("PyTorch sees no GPU; --device cpu runs small models without one")
        self.torch, self.flags = torch, flags
        self.gpu = flags.device != "cpu"
        if self.gpu:
            torch.cuda.set_device(flags.device if ":" in flags.device else 0)
        self.config_class = self.find(configuration, "Glm5NextTextConfig")
        self.model_class = self.find(modeling, "Glm5NextTextModel")
        self.versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        self.device_name = torch.cuda.get_device_name() if self.gpu else "cpu"

    @staticmethod
    def find(module, name):
        found = getattr(module, name, None)
        if found is None:
            names = ", ".join(n for n in dir(module) if n.startswith("Glm5Next"))
            sys.exit(f"{module.__name__} has no {name}, only {names}")
        return found

    def synchronize(self):
        if self.gpu:
            self.torch.cuda.synchronize()

    def fitting_experts(self, config):
        """Routed experts that fit; all of them where memory allows."""
        wanted = config["n_routed_experts"]
        if self.flags.experts:
            return min(wanted, self.flags.experts)
        layers = sum(kind[1] == "sparse" for kind in layer_kinds(config))
        if not self.gpu or layers == 0:
            return wanted
        expert = 3 * config["hidden_size"] * config["moe_intermediate_size"] * 2 * layers
        free = self.torch.cuda.mem_get_info()[0] - WORKING_BYTES
        experts = min(wanted, free // expert)
        if experts < config["num_experts_per_tok"]:
            sys.exit(f"{free / 2**30:.1f} GiB are left for experts, "
                     f"{config['num_experts_per_tok']} of {layers} layers take "
                     f"{config['num_experts_per_tok'] * expert / 2**30:.1f}; use fewer --layers")
        return int(experts)

    def build(self, config):
        """The text model and its head, weights random, in bf16 on the device."""
        torch = self.torch
        before = torch.get_default_dtype()
        made = self.config_class(**config)
        if self.flags.attention:
            made._attn_implementation = self.flags.attention
        try:
            torch.set_default_dtype(torch.bfloat16)
            with torch.device(self.flags.device):
                try:
                    model = self.model_class._from_config(made, dtype=torch.bfloat16)
                except TypeError:  # another name for the argument
                    model = self.model_class(made)
                head = torch.nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        finally:
            torch.set_default_dtype(before)
        return model.eval(), head.eval()

    def step(self, model, head, ids, cache):
        """One forward pass and the token that follows: [1, 1], and the cache."""
        out = model(input_ids=ids, past_key_values=cache, use_cache=True)
        logits = head(out.last_hidden_state[:, -1:])
        return logits.argmax(-1), out.past_key_values, logits

    def timed(self, work):
        self.synchronize()
        begin = time.perf_counter()
        result = work()
        self.synchronize()
        return time.perf_counter() - begin, result

    def profile(self, work):
        """Seconds that kernels take and how many there are, of one call; or why not."""
        torch = self.torch
        if not self.gpu:
            return {}
        try:
            from torch.profiler import ProfilerActivity, profile
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
                for _ in range(PROFILED_STEPS):
                    work()
                self.synchronize()
            events = [event for event in found.events()
                      if event.device_type == torch.autograd.DeviceType.CUDA]
            kernels = [event for event in events
                       if not event.name.startswith(("Memcpy", "Memset", "ProfilerStep"))]
            busy = sum(event.time_range.elapsed_us() for event in events)
            return {"device_ms": 1e-3 * busy / PROFILED_STEPS,
                    "launches": len(kernels) / PROFILED_STEPS}
        except (AttributeError, RuntimeError) as error:
            return {"profile_error": str(error)}

    def measure(self, config):
        """Times of one model: a prompt, then steps after it."""
        config = copy.deepcopy(config)
        config["n_routed_experts"] = self.fitting_experts(config)
        try:
            with self.torch.no_grad():
                result = self.measure_built(config, *self.build(config))
        except self.torch.cuda.OutOfMemoryError as error:
            sys.exit(f"out of GPU memory with {config['num_hidden_layers']} layers of "
                     f"{config['n_routed_experts']} experts: {str(error).splitlines()[0]}; use "
                     "fewer --experts or a shorter --context")
        gc.collect()
        if self.gpu:
            self.torch.cuda.empty_cache()
        print_model(result)
        return result

    def measure_built(self, config, model, head):
        torch, flags = self.torch, self.flags
        generator = torch.Generator().manual_seed(1)
        prompt = torch.randint(0, config["vocab_size"], (1, flags.context), generator=generator)
        prompt = prompt.to(flags.device)
        if not torch.isfinite(self.step(model, head, prompt, None)[2]).all():
            for parameter in model.parameters():
                parameter.normal_(0, 0.02)
        prefills, steps = [], []
        for _ in range(flags.repeat):
            ids = cache = None  # one cache at a time
            seconds, (ids, cache, logits) = self.timed(
                lambda: self.step(model, head, prompt, None))
            prefills.append(seconds)
        for _ in range(WARM_UP_STEPS + flags.steps):
            seconds, (ids, cache, _) = self.timed(
                lambda i=ids, c=cache: self.step(model, head, i, c))
            steps.append(seconds)
        state = [ids, cache]

        def one_more():
            state[0], state[1], _ = self.step(model, head, *state)

        profiled = self.profile(one_more)
        steps = steps[WARM_UP_STEPS:]
        prefill = statistics.median(prefills)
        return {
            "layers": [kind_name(kind) for kind in layer_kinds(config)],
            "experts": config["n_routed_experts"],
            "attention": getattr(model.config, "_attn_implementation", None),
            "experts_implementation": getattr(model.config, "_experts_implementation", None),
            "finite": bool(torch.isfinite(logits).all()),
            "step_ms": 1e3 * statistics.median(steps),
            "step_ms_min": 1e3 * min(steps),
            "step_ms_max": 1e3 * max(steps),
            "weight_bytes": self.bytes_read(config, model, head),
            "prefill_ms": 1e3 * prefill,
            "prefill_tok_s": flags.context / prefill,
            **profiled,
        }

    @staticmethod
    def bytes_read(config, model, head):
        """Bytes of weights that a step reads: all but the embedding and unchosen experts."""
        share = config["num_experts_per_tok"] / config["n_routed_experts"]
        embedding = model.get_input_embeddings().weight
        total = 0.0
        for name, parameter in [*model.named_parameters(), *head.named_parameters()]:
            if parameter is not embedding:
                size = parameter.numel() * parameter.element_size()
                total += size * (share if ".experts." in name else 1)
        return int(total)


def print_model(result):
    layers = result["layers"]
    text = " + ".join(dict.fromkeys(
        f"{layers.count(kind)} {kind}" for kind in layers))
    print(f"{text}, {result['experts']} experts: a step {result['step_ms']:.2f} ms, "
          f"kernels {result.get('device_ms', 0):.2f} ms in {result.get('launches', 0):.0f} "
          f"launches; prompt {result['prefill_tok_s']:,.0f} tok/s"
          + ("" if result["finite"] else "; LOGITS ARE NOT FINITE")
          + (f"; no profile: {result['profile_error']}" if "profile_error" in result else ""),
          flush=True)


def extrapolate(bench, config):
    """All layers of a configuration from models of two and three of them."""
    kinds = layer_kinds(config)
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    # Its cache counts tokens in attention layers, so every model gets one.
    layers = sorted({0, first_attention(config)})
    base = bench.measure(with_layers(config, layers))
    more = {kind: bench.measure(with_layers(config, sorted([*layers, kinds.index(kind)])))
            for kind in counts}
    result = {"layers": {kind_name(kind): count for kind, count in counts.items()}}
    for key in ("step_ms", "device_ms", "launches", "prefill_ms", "weight_bytes"):
        if any(key not in found for found in (base, *more.values())):
            continue
        result[key], parts, rest = add_up(
            base[key], {kind: found[key] for kind, found in more.items()}, counts,
            [kinds[i] for i in layers])
        result[key + "_parts"] = {**{kind_name(kind): each for kind, each in parts.items()},
                                  "embedding and head": rest}
    result["prefill_tok_s"] = 1e3 * bench.flags.context / result["prefill_ms"]
    return result


def read_glmrun(path):
    """What glmrun bench measured of the slice and of the whole model, where it is there."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    if "benches" in found:  # results.json of tools/gpu-report
        benches = found["benches"]
        slices, whole, prompt = (benches.get(key) for key in ("four-layer", "decode", "prefill"))
    elif "step_us" in found:
        slices, whole, prompt = found, None, None
    else:
        sys.exit(f"{path}: is neither glmrun bench --json nor tools/gpu-report's results.json")

    def numbers(decode, prefill):
        result = {}
        if decode:
            result["step_ms"] = 1e-3 * decode["step_us"]["median"]
        if prefill and "prefill_tokens_per_second" in prefill:
            result["prefill_tok_s"] = prefill["prefill_tokens_per_second"]["median"]
        return result

    return {"slice": numbers(slices, slices), "whole": numbers(whole, prompt)}


def compare(name, theirs, ours):
    """Ratios of the two, printed: how many times faster glmrun is."""
    ratios = {}
    if "step_ms" in theirs and "step_ms" in ours:
        ratios["decode"] = theirs["step_ms"] / ours["step_ms"]
        print(f"{name}: a step {theirs['step_ms']:.2f} ms, glmrun {ours['step_ms']:.2f} ms: "
              f"{ratios['decode']:.1f} x")
    if "prefill_tok_s" in theirs and "prefill_tok_s" in ours:
        ratios["prefill"] = ours["prefill_tok_s"] / theirs["prefill_tok_s"]
        print(f"{name}: prompt {theirs['prefill_tok_s']:,.0f} tok/s, glmrun "
              f"{ours['prefill_tok_s']:,.0f} tok/s: {ratios['prefill']:.1f} x")
    return ratios


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="config.json of the model to measure")
    parser.add_argument("--layers", type=int, metavar="N", help="only its first N layers")
    parser.add_argument("--experts", type=int, metavar="N",
                        help="routed experts of a layer, at most (default: what fits, all of "
                        "them where possible); the router is then as narrow")
    parser.add_argument("--context", type=int, default=2048, metavar="N",
                        help="tokens of the prompt (default 2048)")
    parser.add_argument("--steps", type=int, default=30, metavar="N",
                        help="measured decode steps (default 30)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N",
                        help="measured prompts (default 3)")
    parser.add_argument("--attention", metavar="NAME",
                        help="attention of transformers: eager or sdpa (default: its own choice)")
    parser.add_argument("--device", default="cuda", help="cuda (also ROCm's name), cuda:1 or cpu")
    parser.add_argument("--extrapolate", metavar="CONFIG",
                        help="estimate this whole configuration from single layers of it")
    parser.add_argument("--glmrun", metavar="FILE",
                        help="to compare with: results.json of tools/gpu-report, or the JSON of "
                        "glmrun bench of the same model")
    parser.add_argument("--output", metavar="FILE", help="write the JSON there too")
    flags = parser.parse_args()
    for name in ("context", "steps", "repeat"):
        if getattr(flags, name) < 1:
            parser.error(f"--{name} {getattr(flags, name)}: at least 1")
    return flags


def check_early(flags, configs):
    """What would otherwise stop the program after it has measured for minutes."""
    for config in configs:
        first_attention(config)
        if flags.experts is not None and flags.experts < config.get("num_experts_per_tok", 1):
            sys.exit(f"--experts {flags.experts}: a token takes {config['num_experts_per_tok']}")
    if flags.output:
        folder = os.path.dirname(flags.output) or "."
        if os.path.isdir(flags.output) or not os.access(folder, os.W_OK):
            sys.exit(f"--output {flags.output}: is a folder, or {folder} cannot be written")


def main():
    flags = parse()
    config = read_text_config(flags.config)
    layers = flags.layers or config["num_hidden_layers"]
    if not 1 <= layers <= config["num_hidden_layers"]:
        sys.exit(f"--layers {layers}: {flags.config} has {config['num_hidden_layers']}")
    config = with_layers(config, range(layers))
    whole = read_text_config(flags.extrapolate) if flags.extrapolate else None
    check_early(flags, [config, whole] if whole else [config])
    glmrun = read_glmrun(flags.glmrun) if flags.glmrun else None
    bench = Bench(flags)
    print(f"device: {bench.device_name}, {bench.versions}", flush=True)

    result = {"device": bench.device_name, **bench.versions, "context": flags.context,
              "model": bench.measure(config)}
    if whole:
        result["extrapolated"] = extrapolate(bench, whole)
        found = result["extrapolated"]
        print(f"all {whole['num_hidden_layers']} layers: a step {found['step_ms']:.1f} ms, kernels "
              f"{found.get('device_ms', 0):.1f} ms in {found.get('launches', 0):,.0f} launches; "
              f"prompt {found['prefill_tok_s']:,.0f} tok/s")
    if glmrun:
        result["glmrun"] = glmrun
        result["ratio"] = {"slice": compare("slice", result["model"], glmrun["slice"])}
        if whole:
            result["ratio"]["whole"] = compare("all layers", result["extrapolated"],
                                               glmrun["whole"])
    text = json.dumps(result)
    if flags.output:
        with open(flags.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
