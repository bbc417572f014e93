#!/usr/bin/env python3
"""Checks that each source file includes only what its layer may use.

The table below is the architecture: an arrow that is not in it does not exist. Prints
`file:line: rule` for each violation and fails when there is one.

    tools/check-layers.py [--root DIR]
"""

import argparse
import os
import re
import sys

MLIR = {"mlir", "llvm"}
BASE = {"runtime/base", "absl"}

# layer -> what its files may include besides their own layer and the system's headers.
# The longest name that begins a path is its layer. Names without a folder of ours are
# libraries (EXTERNAL, or the first part of <name/...>).
ALLOWED = {
    # The compiler. dialects and passes know no model, no file format, no runtime.
    "dialects": MLIR,
    "passes": {"dialects"} | MLIR,
    # A model reads checkpoints, with the reader that glmrun has.
    "models/glm53": {"dialects", "runtime/safetensors"} | BASE | MLIR,
    # Plans and checkpoints are formats of files that both programs know.
    "compiler": {"dialects", "passes", "models/glm53", "runtime/plan",
                 "runtime/safetensors", "flatbuffers"} | BASE | MLIR,
    # Source for devices: no host header, see SYSTEM_OF.
    "compiler/codegen/templates": set(),
    # The runtime. Nothing below knows the compiler.
    "runtime/base": {"absl"},
    "runtime/plan": {"flatbuffers", "xxhash"} | BASE,
    "runtime/safetensors": {"nlohmann", "xxhash"} | BASE,
    "runtime/reference": set(),
    "runtime/device": BASE,
    "runtime/device/host": {"runtime/device"} | BASE,
    # Drivers of GPUs are opened at run time; no vendor's header is read.
    "runtime/device/gpu": {"runtime/device"} | BASE,
    "runtime/device/conformance": {"runtime/device", "runtime/device/gpu",
                                   "runtime/device/host"} | BASE,
    # Devices are behind the seam: the executor names none.
    "runtime/executor": {"runtime/device", "runtime/paging", "runtime/plan",
                         "runtime/safetensors"} | BASE,
    # Policies of the expert cache, their simulator, what kernels share with the
    # host: no device, no plan.
    "runtime/paging": BASE,
    # Text and sequences know neither devices nor plans.
    "runtime/sequence": {"runtime/executor/step_runner.h"} | BASE,
    # Many sequences at a time.
    "runtime/engine": {"runtime/executor/step_runner.h", "runtime/sequence"} | BASE,
    "runtime/text": {"nlohmann", "pcre2", "utf8proc"} | BASE,
    # What texts a schema allows, and which tokens lead to them.
    "runtime/grammar": {"runtime/sequence/token_constraint.h", "runtime/text", "nlohmann"} | BASE,
    # HTTP: the engine, the grammar and sequences behind their interfaces.
    "runtime/serve": {"runtime/engine", "runtime/executor/step_runner.h", "runtime/grammar",
                      "runtime/sequence", "runtime/text", "boost", "nlohmann",
                      "prometheus"} | BASE,
    # Programs put layers together.
    "tools/glmc": {"compiler", "runtime/base", "runtime/plan", "runtime/text", "CLI"} | BASE | MLIR,
    "tools/glm-opt": {"dialects", "passes"} | MLIR,
    "tools/options": {"CLI"} | BASE,
    "tools/device": {"tools/options", "runtime/device", "runtime/device/gpu", "runtime/device/host",
                     "runtime/executor", "runtime/paging", "runtime/plan", "CLI"} | BASE,
    "tools/glmrun": {"tools/device", "tools/options", "runtime/device", "runtime/executor", "runtime/paging", "runtime/plan",
                     "runtime/safetensors", "runtime/engine", "runtime/grammar", "runtime/sequence", "runtime/serve",
                     "runtime/text", "CLI", "nlohmann"} | BASE,
    "tools/glm-check": {"tools/device", "tools/options", "runtime/device", "runtime/executor",
                        "runtime/plan", "runtime/reference", "runtime/safetensors",
                        "CLI", "nlohmann"} | BASE,
    "tools/glm-cachesim": {"tools/options", "runtime/paging", "CLI", "nlohmann"} | BASE,
    "tools/glm-tokenize": {"runtime/text", "nlohmann"} | BASE,
    "test/gfxemu": set(),
    "test/kernels": {"compiler/codegen/templates", "runtime/paging", "runtime/reference",
                     "runtime/sequence", "test/gfxemu"},
    "test/plans": {"runtime/device", "runtime/device/gpu", "runtime/device/host",
                   "runtime/engine", "runtime/executor", "runtime/paging", "runtime/plan",
                   "runtime/sequence", "runtime/text", "test/gfxemu", "tools/glm-check"} | BASE,
    "test/differential": {"compiler", "dialects", "passes", "runtime/device/host",
                          "runtime/executor", "runtime/plan", "runtime/safetensors",
                          "tools/glm-check"} | BASE | MLIR,
    "test/codegen": set(),
    "test/browser": {"runtime/engine", "runtime/serve", "runtime/text"} | BASE,
}

# What tests and their helpers may include besides.
TEST_FILE = re.compile(
    r"(_test|_fuzz|_bench|_launch)\.cc$|/test_[^/]*$|_test_(data|files)\.h$"
    r"|/(TinyCheckpoint|program_builder|plan_run|gfx1201_code|kernel_case|(gfx1201|host|sm_90)_launch)\.h$")
TEST_LIBRARIES = {"gtest", "gmock", "benchmark", "nlohmann", "xxhash"}
TEST_ALLOWED = {
    "runtime/executor": {"runtime/device/gpu", "runtime/device/host"},
    "tools/glmrun": {"runtime/device/gpu"},
}

# Layers that may include these headers of the system alone.
SYSTEM_OF = {"compiler/codegen/templates": {"stddef.h", "stdint.h"}}

# Libraries whose headers lie in no folder of their own.
EXTERNAL = {"pcre2.h": "pcre2", "utf8proc.h": "utf8proc", "xxhash.h": "xxhash",
            "dlfcn.h": "system", "sys": "system", "linux": "system",
            "arpa": "system", "netinet": "system"}

OURS = {"compiler", "dialects", "models", "passes", "runtime", "test", "tools"}
SOURCE = re.compile(r"\.(h|c|cc|cpp|td)$")
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*(?:"([^"]+)"|<([^>]+)>)')
SKIPPED = re.compile(r"^(\..*|build.*|scratch|node_modules|__pycache__)$")


def layer_of(path):
    """The longest name of the table that begins `path`; None when there is none."""
    names = [n for n in ALLOWED if path == n or path.startswith(n + "/")]
    return max(names, key=len, default=None)


def target_of(name):
    """What an include names: (layer or library, path); library None: the system."""
    first = name.split("/")[0]
    if first in OURS:
        return layer_of(name) or name, name
    if name.startswith("glm/"):
        return "compiler/codegen/templates", "compiler/codegen/templates/" + name
    library = EXTERNAL.get(first, first if "/" in name else "system")
    return (None if library == "system" else library), name


def why_not(path, layer, name):
    """The rule that this include breaks; None when it breaks none."""
    target, full = target_of(name)
    if target is None:
        only = SYSTEM_OF.get(layer)
        if only is None or name in only:
            return None
        return f"{layer} includes {name}; of the system it may use {', '.join(sorted(only))}"
    allowed = set(ALLOWED[layer])
    if TEST_FILE.search(path):
        allowed |= TEST_LIBRARIES | TEST_ALLOWED.get(layer, set())
    if target == layer or target in allowed or full in allowed:
        return None
    uses = ", ".join(sorted(ALLOWED[layer])) or "nothing"
    return f"{layer} includes {name} of {target}; it may use {uses}"


def violations(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED.match(f))
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), root)
            if not SOURCE.search(path):
                continue
            layer = layer_of(path)
            if layer is None:
                yield path, 1, "belongs to no layer; add one to tools/check-layers.py"
                continue
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                for number, line in enumerate(text, 1):
                    found = INCLUDE.match(line)
                    rule = found and why_not(path, layer, found[1] or found[2])
                    if rule:
                        yield path, number, rule


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=here, help="folder of the sources")
    found = list(violations(parser.parse_args().root))
    for path, number, rule in found:
        print(f"{path}:{number}: {rule}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
