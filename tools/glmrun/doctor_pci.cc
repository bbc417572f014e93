// What lies between cards, processor and memory.
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

constexpr char kLink[] = "pcie link";
constexpr char kPeers[] = "iommu and p2p";

// Cards lower the rate to this or less while they have nothing to do.
constexpr double kIdleRate = 5;

// Rounding of what the kernel prints.
constexpr double kNearly = 0.99;

std::string Shape(double rate, int width) {
  return absl::StrFormat("%g GT/s x%d", rate, width);
}

void CheckLink(const PciCard& card, Report& report) {
  const PciLink* slowest = nullptr;
  const PciLink* weakest = nullptr;  // that can do least
  for (const PciLink& link : card.links) {
    if (!link.known()) continue;
    if (slowest == nullptr || link.Speed() < slowest->Speed()) slowest = &link;
    const double most = link.MostSpeed();
    if (most > 0 && (weakest == nullptr || most < weakest->MostSpeed())) {
      weakest = &link;
    }
  }
  if (slowest == nullptr || weakest == nullptr) {
    report.Note(kLink, absl::StrCat(card.Name(), ": the system does not say"),
                "in a virtual machine look at the host; glmrun bench measures "
                "the rate of copies");
    return;
  }
  const PciLink& best =
      card.links[0].MostSpeed() > 0 ? card.links[0] : *weakest;
  const std::string now =
      absl::StrFormat("%s: %s, %.1f GB/s", card.Name(),
                      Shape(slowest->rate, slowest->width), slowest->Speed());
  if (slowest->Speed() >= kNearly * best.MostSpeed()) {
    report.Ok(kLink, now);
    return;
  }
  const std::string text = absl::StrFormat(
      "%s at %s, of %s, %.1f GB/s, that the card can do; paged experts come no "
      "faster",
      now, slowest->address, Shape(best.most_rate, best.most_width),
      best.MostSpeed());
  if (weakest->MostSpeed() < kNearly * best.MostSpeed()) {
    report.Problem(
        kLink, text,
        absl::StrFormat(
            "%s does %s at most: use a slot of 16 lanes that the processor "
            "has itself; cards beside each other may share its lanes",
            weakest->address, Shape(weakest->most_rate, weakest->most_width)));
  } else if (slowest->rate <= kIdleRate &&
             slowest->width >= weakest->most_width) {
    report.Note(kLink, text,
                "cards lower the rate while idle: run doctor again while "
                "glmrun bench runs; if it stays, set the slot's generation in "
                "the firmware");
  } else {
    report.Problem(
        kLink, text,
        "seat the card again, leave risers and adapters out, set "
        "the slot to x16 and its highest generation in the firmware");
  }
}

}  // namespace

void CheckLinks(const Machine& machine, Report& report) {
  for (const PciCard& card : machine.cards) CheckLink(card, report);
}

void CheckNuma(const Machine& machine, Report& report) {
  constexpr char kNuma[] = "numa";
  std::vector<std::string> nodes;
  for (const std::string& name :
       machine.files.Names("/sys/devices/system/node")) {
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' &&
        name[4] <= '9') {
      nodes.push_back(name.substr(4));
    }
  }
  if (nodes.size() < 2) {
    report.Ok(kNuma, "one node");
    return;
  }
  std::set<int> of_cards;
  std::string text = absl::StrCat(nodes.size(), " nodes");
  for (const PciCard& card : machine.cards) {
    of_cards.insert(card.numa_node);
    absl::StrAppend(&text, "; ", card.Name(),
                    card.numa_node < 0
                        ? ": at none that the system names"
                        : absl::StrCat(": at node ", card.numa_node));
  }
  if (of_cards.empty()) {
    report.Ok(kNuma, text);
  } else if (of_cards.size() == 1 && *of_cards.begin() >= 0) {
    const int node = *of_cards.begin();
    report.Note(kNuma, text,
                absl::StrCat("rows of experts in another node's memory cross "
                             "the processors' link: numactl --cpunodebind=",
                             node, " --preferred=", node,
                             " glmrun ..., or NUMAPolicy=preferred and "
                             "NUMAMask=",
                             node, " in the unit"));
  } else {
    report.Note(kNuma, text,
                "put the cards at slots of one node and start glmrun there");
  }
}

void CheckPeers(const Machine& machine, Report& report) {
  if (machine.cards.empty()) return;
  std::vector<std::string> words;
  for (const absl::string_view word :
       absl::StrSplit(machine.files.Line("/proc/cmdline").value_or(""), ' ')) {
    words.emplace_back(word);
  }
  std::vector<std::string> said;
  for (const std::string& word : words) {
    if (absl::StrContains(word, "iommu=") || absl::StrContains(word, "acs")) {
      said.push_back(word);
    }
  }
  const std::string cmdline =
      said.empty() ? "" : absl::StrCat(" (", absl::StrJoin(said, " "), ")");
  std::set<std::string> translated, redirecting;
  for (const PciCard& card : machine.cards) {
    if (!card.iommu.empty() && card.iommu != "identity") {
      translated.insert(card.Name());
    }
    redirecting.insert(card.redirecting.begin(), card.redirecting.end());
  }
  const bool several = machine.cards.size() > 1;
  const std::string remedy =
      "add iommu=pt to the kernel's command line, or turn the IOMMU off in the "
      "firmware where no virtual machine needs it";
  if (translated.empty()) {
    report.Ok(kPeers,
              absl::StrCat("addresses of memory are not translated", cmdline));
  } else if (several) {
    report.Problem(
        kPeers,
        absl::StrCat("the IOMMU translates what the cards read and write",
                     cmdline, ": ", absl::StrJoin(translated, ", "),
                     "; work between cards gets slow or hangs"),
        remedy);
  } else {
    report.Note(
        kPeers,
        absl::StrCat("the IOMMU translates what the card reads", cmdline, ": ",
                     absl::StrJoin(translated, ", ")),
        absl::StrCat("rows in the host's memory may come slower: ", remedy));
  }
  if (!several) return;
  if (!redirecting.empty()) {
    report.Note(kPeers,
                absl::StrCat("ACS sends what the cards say to each other up to "
                             "the processor at ",
                             absl::StrJoin(redirecting, ", ")),
                "only --p2p is slowed: turn ACS off in the firmware");
  }
  const bool small = std::any_of(
      machine.cards.begin(), machine.cards.end(), [](const PciCard& card) {
        return card.memory > 0 && card.visible_memory < card.memory;
      });
  if (small) {
    report.Note(kPeers, "the bus reaches a part of a card's memory alone",
                "--p2p needs all of it: turn on Above 4G Decoding and "
                "Resizable BAR in the firmware");
  }
  report.Ok(kPeers,
            "the direct path between cards is off unless --p2p is given; on "
            "cards of AMD it has hung whole machines, so leave it out");
}

}  // namespace glm::tools
