"""damage_cache.py cut|change|empty FOLDER: damages every file of the folder."""

import pathlib
import sys

how, folder = sys.argv[1:]
files = list(pathlib.Path(folder).iterdir())
assert files, folder
for file in files:
    data = bytearray(file.read_bytes())
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "change":
        data[0] ^= 1
    else:
        data = b""
    file.write_bytes(data)
