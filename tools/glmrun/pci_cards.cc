#include "tools/glmrun/pci_cards.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace glm::tools {
namespace {

constexpr char kDevices[] = "/sys/bus/pci/devices/";

// Classes, with their subclass left out.
constexpr uint64_t kDisplay = 0x03, kAccelerator = 0x12;

// Of links and bridges on the way; more is no machine.
constexpr int kMostDepth = 16;

double Bandwidth(double rate, int width) {
  // Up to 5 GT/s 8 of 10 bits are data, then 128 of 130.
  return rate * width / 8 * (rate > 5 ? 128.0 / 130 : 0.8);
}

// "32.0 GT/s PCIe"; 0 for "Unknown".
double Rate(const SystemFiles& files, const std::string& path) {
  const double rate = std::atof(files.Line(path).value_or("").c_str());
  return rate > 0 && rate < 1000 ? rate : 0;
}

// 255 is what a device says that does not answer.
int Width(const SystemFiles& files, const std::string& path) {
  const uint64_t width = files.Number(path).value_or(0);
  return width <= 32 ? static_cast<int>(width) : 0;
}

PciLink ReadLink(const SystemFiles& files, const std::string& folder) {
  PciLink link;
  link.address = folder.substr(folder.rfind('/') + 1);
  link.rate = Rate(files, folder + "/current_link_speed");
  link.most_rate = Rate(files, folder + "/max_link_speed");
  link.width = Width(files, folder + "/current_link_width");
  link.most_width = Width(files, folder + "/max_link_width");
  return link;
}

std::string Basename(const std::optional<std::string>& path) {
  return path ? path->substr(path->rfind('/') + 1) : "";
}

// Whether a bridge's extended capability ACS redirects requests or completions
// between its ports. The kernel shows these bytes to root alone.
bool Redirects(const SystemFiles& files, const std::string& folder) {
  const std::string config = files.Bytes(folder + "/config").value_or("");
  const auto byte = [&](size_t at) -> uint32_t {
    return at < config.size() ? static_cast<unsigned char>(config[at]) : 0;
  };
  constexpr uint32_t kAcs = 0x000d, kRedirect = 0x0c;
  size_t at = 0x100;
  for (int i = 0; i < 64 && at >= 0x100 && at + 8 <= config.size(); ++i) {
    if ((byte(at) | byte(at + 1) << 8) == kAcs) {
      return (byte(at + 6) & kRedirect) != 0;
    }
    at = (byte(at + 2) >> 4 | byte(at + 3) << 4) & 0xffc;
  }
  return false;
}

PciCard ReadCard(const SystemFiles& files, const std::string& address) {
  const std::string folder = kDevices + address;
  PciCard card;
  card.address = address;
  card.vendor = files.Number(folder + "/vendor").value_or(0);
  card.device = files.Number(folder + "/device").value_or(0);
  card.driver = Basename(files.Resolve(folder + "/driver"));
  card.numa_node =
      std::atoi(files.Line(folder + "/numa_node").value_or("-1").c_str());
  if (files.Resolve(folder + "/iommu_group")) {
    card.iommu =
        files.Line(folder + "/iommu_group/type").value_or("of an unknown type");
  }
  card.memory = files.Number(folder + "/mem_info_vram_total").value_or(0);
  card.used_memory = files.Number(folder + "/mem_info_vram_used").value_or(0);
  card.visible_memory =
      files.Number(folder + "/mem_info_vis_vram_total").value_or(0);
  card.busy_percent = files.Number(folder + "/gpu_busy_percent");
  // The folder lies in those of the bridges.
  std::string at = files.Resolve(folder).value_or(folder);
  for (int depth = 0; depth < kMostDepth; ++depth) {
    if (!files.Exists(at + "/current_link_speed")) break;
    card.links.push_back(ReadLink(files, at));
    if (depth > 0 && Redirects(files, at)) {
      card.redirecting.push_back(card.links.back().address);
    }
    at.resize(at.rfind('/'));
  }
  return card;
}

}  // namespace

double PciLink::Speed() const { return Bandwidth(rate, width); }
double PciLink::MostSpeed() const { return Bandwidth(most_rate, most_width); }

std::string PciCard::Name() const {
  return absl::StrFormat("%s (%s %04x)", address,
                         amd()      ? "AMD"
                         : nvidia() ? "NVIDIA"
                                    : "?",
                         device);
}

std::vector<PciCard> ReadPciCards(const SystemFiles& files) {
  std::vector<PciCard> cards;
  for (const std::string& address : files.Names(kDevices)) {
    const uint64_t kind =
        files.Number(absl::StrCat(kDevices, address, "/class")).value_or(0) >>
        16;
    if (kind != kDisplay && kind != kAccelerator) continue;
    PciCard card = ReadCard(files, address);
    if (card.amd() || card.nvidia()) cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace glm::tools
