// The GPUs of a machine as the PCI bus shows them in /sys, with or without a
// driver: links, NUMA node, address translation.
#ifndef GLM_TOOLS_GLMRUN_PCI_CARDS_H_
#define GLM_TOOLS_GLMRUN_PCI_CARDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/system_files.h"

namespace glm::tools {

// One link between a card and the processor, as one of its ends says. 0 where
// it says nothing, as many virtual machines.
struct PciLink {
  std::string address;             // of that end: "0000:03:00.0"
  double rate = 0, most_rate = 0;  // GT/s
  int width = 0, most_width = 0;   // lanes

  bool known() const { return rate > 0 && width > 0; }
  // Bytes a second in one direction, in units of 1e9, before packet headers.
  double Speed() const;
  double MostSpeed() const;
};

struct PciCard {
  std::string address;
  uint32_t vendor = 0, device = 0;
  std::string driver;  // of the kernel: "amdgpu", "nvidia"; empty: none
  int numa_node = -1;  // -1: not said
  // The card's own, then those of the bridges up to the processor. A card with
  // bridges of its own always says the best of itself: the slot's is later.
  std::vector<PciLink> links;
  // "identity": devices use addresses of memory as they are; "DMA...": they are
  // translated; empty: no IOMMU is on.
  std::string iommu;
  // Bridges that send what cards say to each other up to the processor (ACS),
  // as far as this process may read it.
  std::vector<std::string> redirecting;
  // Of AMD's driver; 0 and nullopt where it says nothing.
  uint64_t memory = 0, used_memory = 0, visible_memory = 0;
  std::optional<uint64_t> busy_percent;

  bool amd() const { return vendor == 0x1002; }
  bool nvidia() const { return vendor == 0x10de; }
  // "0000:03:00.0 (AMD 7551)"
  std::string Name() const;
};

// Display controllers and accelerators of AMD and NVIDIA, by address.
std::vector<PciCard> ReadPciCards(const SystemFiles& files);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_PCI_CARDS_H_
