//===- WeightPacker.cpp - One file of weights beside the plan -------------===//

#include "compiler/plan/WeightPacker.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace glm;
using namespace glm::planfile;

namespace {

class Planner {
public:
  Planner(ModuleOp module, std::vector<PackInput> inputs, PackWhat what)
      : module(module), packedFile(inputs.size()), what(what) {
    layout.inputs = std::move(inputs);
  }

  PackLayout run() {
    SmallVector<model::WeightOp> weights(module.getOps<model::WeightOp>());
    for (auto it = weights.begin(); it != weights.end();) {
      auto end = std::next(it);
      if (it->getSource()) {
        quantise(*it);
      } else if (it->getPieces() && what == PackWhat::All) {
        if (it->getExperts()) {
          end = std::find_if(end, weights.end(), [&](model::WeightOp other) {
            return !other.getExperts() || !other.getPieces() ||
                   layerOf(other) != layerOf(*it) ||
                   expertsOf(other) != expertsOf(*it);
          });
          copyRows(ArrayRef(it, end));
        } else {
          copy(*it);
        }
      }
      it = end;
    }
    layout.finish();
    return std::move(layout);
  }

private:
  static StringRef layerOf(model::WeightOp weight) {
    return weight.getSymName().rsplit('.').first;
  }

  static int64_t expertsOf(model::WeightOp weight) {
    return cast<RankedTensorType>(weight.getType()).getDimSize(0);
  }

  void copy(model::WeightOp weight) {
    ArrayRef<int64_t> old = *weight.getPieces();
    SmallVector<int64_t> fresh;
    for (size_t i = 0; i + 2 < old.size(); i += 3) {
      const uint64_t at = layout.addPiece(old[i], old[i + 1], old[i + 2]);
      fresh.append({packedFile, static_cast<int64_t>(at), old[i + 2]});
    }
    weight.setPieces(ArrayRef(fresh));
  }

  /// The experts of one layer: a row has the pieces that one rank has of one expert
  /// of each weight. Those of an expert lie side by side, as they are read from one
  /// place.
  void copyRows(ArrayRef<model::WeightOp> weights) {
    SmallVector<SmallVector<int64_t>> fresh;
    for (model::WeightOp weight : weights)
      fresh.emplace_back(*weight.getPieces());
    const int64_t experts = expertsOf(weights.front());
    const int64_t ranks = fresh.front().size() / (experts * numbersOf(weights.front()));
    layout.ranks = ranks;
    std::vector<PackPart> parts;
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t rank = 0; rank < ranks; ++rank) {
        parts.clear();
        for (auto [weight, pieces] : llvm::zip(weights, fresh))
          addParts(weight, piecesOf(weight, pieces, rank * experts + e), parts);
        layout.addRow(parts);
        auto part = parts.begin();
        for (auto [weight, pieces] : llvm::zip(weights, fresh)) {
          MutableArrayRef<int64_t> row = piecesOf(weight, pieces, rank * experts + e);
          for (; !row.empty(); row = row.drop_front(3), ++part) {
            row[0] = packedFile;
            row[1] = static_cast<int64_t>(part->at);
            row[2] = static_cast<int64_t>(part->size);
          }
        }
      }
    for (auto [weight, pieces] : llvm::zip(weights, fresh)) {
      model::WeightOp(weight).setPieces(ArrayRef(pieces));
      model::WeightOp(weight).removeCutsAttr();
    }
  }

  /// Where the pieces of one matrix are taken from.
  static void addParts(model::WeightOp weight, ArrayRef<int64_t> pieces,
                       std::vector<PackPart> &parts) {
    ArrayRef<int64_t> cut = weight.getCuts().value_or(ArrayRef<int64_t>());
    for (; !pieces.empty(); pieces = pieces.drop_front(3)) {
      PackPart part{static_cast<uint32_t>(pieces[0]), static_cast<uint64_t>(pieces[1]),
                    static_cast<uint64_t>(pieces[2]), 0};
      if (!cut.empty()) {
        part.size = cut[0] * cut[1];
        part.run = cut[1];
        part.stride = cut[2];
        cut = cut.drop_front(3);
      }
      parts.push_back(part);
    }
  }

  /// Of the pieces of one matrix: a triple, two with scales.
  static size_t numbersOf(model::WeightOp weight) {
    return cast<RankedTensorType>(weight.getType()).getEncoding() ? 6 : 3;
  }
  static MutableArrayRef<int64_t> piecesOf(model::WeightOp weight,
                                           MutableArrayRef<int64_t> pieces,
                                           int64_t matrix) {
    return pieces.slice(matrix * numbersOf(weight), numbersOf(weight));
  }

  void quantise(model::WeightOp weight) {
    auto type = cast<RankedTensorType>(weight.getType());
    const Type stored = *weight.getSourceType();
    ArrayRef<int64_t> source = *weight.getSource();
    PackMatrix matrix{
        weight.getSymName().str(), static_cast<uint32_t>(source[0]),
        static_cast<uint64_t>(source[1]),
        stored.isF32()    ? StoredFloat::F32
        : stored.isBF16() ? StoredFloat::BF16
                          : StoredFloat::F16,
        type.getElementType().isInteger(8) ? CodeForm::Int8 : CodeForm::Int4,
        type.getDimSize(0), type.getDimSize(1),
        cast<model::GroupQuantAttr>(type.getEncoding()).getGroup()};
    layout.addMatrix(matrix);
    const int64_t pieces[] = {packedFile,
                              static_cast<int64_t>(matrix.codesAt),
                              static_cast<int64_t>(matrix.codesSize()),
                              packedFile,
                              static_cast<int64_t>(matrix.scalesAt),
                              static_cast<int64_t>(matrix.scalesSize())};
    weight.setPieces(ArrayRef(pieces));
    weight.removeSourceAttr();
    weight.removeSourceTypeAttr();
  }

  ModuleOp module;
  const int64_t packedFile;
  const PackWhat what;
  PackLayout layout;
};

} // namespace

bool planfile::hasSources(ModuleOp module) {
  return llvm::any_of(module.getOps<model::WeightOp>(),
                      [](model::WeightOp w) { return w.getSource().has_value(); });
}

PackLayout planfile::layOutPacked(ModuleOp module, std::vector<PackInput> inputs,
                                  PackWhat what) {
  return Planner(module, std::move(inputs), what).run();
}
