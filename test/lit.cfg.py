# Tests of the compiler: IR, passes, generated source, the command line of glmc.
#
#   lit-22 -sv build/test          all; build/ is the configured build folder
#   lit-22 -sv build/test --filter passes/
#
# Substitutions: %nano is the checkpoint in the repository, %config the release's
# config.json, %exits N runs a command that must end with exit code N.

import os
import subprocess

import lit.formats

config.name = "glm"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = [
    "gfxemu", "golden", "inputs", "kernels", "node_modules", "oracle", "plans",
    "tokenizer"
]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.glm_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [config.glm_bin_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
)
# Code objects of the tests are cached beside them, never in the user's cache.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

# Whether control groups of one's own can limit memory: of containers often not.
if subprocess.run([config.python, os.path.join(config.test_source_root, "inputs",
                                               "memory_group.py"), "--probe"],
                  check=False, capture_output=True).returncode == 0:
    config.available_features.add("memory-group")

# Node's clients, which are no Debian packages.
clients = subprocess.run([os.path.join(config.test_source_root, "clients", "run.sh"), "--probe"],
                         check=False, capture_output=True, text=True)
if clients.returncode == 0:
    config.available_features.add("node-clients")
else:
    lit_config.note(clients.stderr.strip())

glm53 = os.path.join(config.glm_source_dir, "models", "glm53")
config.substitutions += [
    ("%nano", os.path.join(glm53, "nano", "checkpoint")),
    ("%tiny", os.path.join(config.test_source_root, "oracle", "tiny-a")),
    ("%config", os.path.join(glm53, "glm53-flash-config.json")),
    ("%exits", "%python " + os.path.join(config.test_source_root, "inputs", "exits.py")),
    ("%python", config.python),
    ("%source", config.glm_source_dir),
    ("%bin", config.glm_bin_dir),
]
