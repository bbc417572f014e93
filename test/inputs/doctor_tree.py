"""doctor_tree.py FOLDER: /proc and /sys of a machine with two cards, one of them in a slot of four
lanes, an IOMMU that translates, a memlock limit of 64 KiB and a control group of 1 GiB."""

import os
import sys

ROOT = sys.argv[1]


def put(path, text):
    full = ROOT + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def put_card(port, bus, lanes):
    card = f"/sys/devices/pci0000:00/{port}/{bus}"
    for folder in (os.path.dirname(card), card):
        put(folder + "/current_link_speed", "32.0 GT/s PCIe")
        put(folder + "/current_link_width", str(lanes))
        put(folder + "/max_link_speed", "32.0 GT/s PCIe")
        put(folder + "/max_link_width", str(lanes if folder != card else 16))
    for name, text in (("class", "0x038000"), ("vendor", "0x1002"), ("device", "0x7551")):
        put(f"{card}/{name}", text)
    put(f"{card}/iommu_group/type", "DMA-FQ")
    os.makedirs(ROOT + "/sys/bus/pci/devices", exist_ok=True)
    os.symlink(f"../../../devices/pci0000:00/{port}/{bus}", f"{ROOT}/sys/bus/pci/devices/{bus}")


put("/proc/meminfo", f"MemTotal: {128 << 20} kB\nMemAvailable: {120 << 20} kB")
put("/proc/cmdline", "quiet amd_iommu=on")
put("/proc/self/cgroup", "0::/box")
put("/sys/fs/cgroup/box/memory.max", str(1 << 30))
put("/sys/fs/cgroup/box/memory.current", "0")
put("/proc/self/limits", "Max locked memory   65536   65536   bytes")
put_card("0000:00:01.1", "0000:01:00.0", 16)
put_card("0000:00:02.1", "0000:02:00.0", 4)
