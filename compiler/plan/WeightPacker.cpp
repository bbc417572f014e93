//===- WeightPacker.cpp - One file of weights beside the plan -------------===//

#include "compiler/plan/WeightPacker.h"

#include "compiler/plan/WeightQuantizer.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace glm;
using namespace glm::planfile;
using llvm::Error;

static constexpr int64_t kChunk = 8 << 20; // bytes in flight
static constexpr int64_t kPage = 4096, kDense = 256;

namespace {

class Packer {
public:
  Packer(ModuleOp module, ArrayRef<std::string> sources, PackWhat what,
         const PackProgress &progress)
      : module(module), sources(sources), what(what), progress(progress) {}

  ~Packer() {
    for (auto &file : files)
      llvm::sys::fs::closeFile(file);
  }

  Error openSources() {
    for (const std::string &source : sources) {
      auto file = llvm::sys::fs::openNativeFileForRead(source);
      if (!file)
        return llvm::createStringError(source + ": cannot be opened: " +
                                       llvm::toString(file.takeError()));
      files.push_back(*file);
    }
    return Error::success();
  }

  Error write(llvm::raw_fd_ostream &os) {
    for (auto weight : module.getOps<model::WeightOp>())
      total += bytesToRead(weight);
    for (auto weight : module.getOps<model::WeightOp>()) {
      if (weight.getSource()) {
        if (Error error = quantise(weight, os))
          return error;
      } else if (weight.getPieces() && what == PackWhat::All) {
        if (Error error = copy(weight, os))
          return error;
      }
    }
    return Error::success();
  }

private:
  uint64_t bytesToRead(model::WeightOp weight) {
    if (weight.getSource())
      return (*weight.getSource())[2];
    uint64_t bytes = 0;
    if (weight.getPieces() && what == PackWhat::All)
      for (size_t i = 2; i < weight.getPieces()->size(); i += 3)
        bytes += (*weight.getPieces())[i];
    return bytes;
  }

  int64_t packedFile() const { return static_cast<int64_t>(sources.size()); }

  void align(llvm::raw_ostream &os, int64_t alignment) {
    os.write_zeros(llvm::alignTo(os.tell(), alignment) - os.tell());
  }

  /// Fills `to` from byte `offset` of a source.
  Error read(int64_t file, int64_t offset, MutableArrayRef<char> to) {
    while (!to.empty()) {
      auto got = llvm::sys::fs::readNativeFileSlice(files[file], to, offset);
      if (!got)
        return llvm::createStringError(sources[file] + ": cannot be read: " +
                                       llvm::toString(got.takeError()));
      if (*got == 0)
        return llvm::createStringError(sources[file] +
                                       ": ended while it was packed");
      offset += *got, done += *got;
      to = to.drop_front(*got);
      if (progress.report)
        progress.report(done, total);
    }
    return Error::success();
  }

  Error copy(model::WeightOp weight, llvm::raw_fd_ostream &os) {
    ArrayRef<int64_t> old = *weight.getPieces();
    auto type = cast<RankedTensorType>(weight.getType());
    // Codes and scales of an expert stay together; each expert starts a page.
    size_t perExpert = type.getEncoding() ? 2 : 1;
    SmallVector<int64_t> fresh;
    for (size_t i = 0; i + 2 < old.size(); i += 3) {
      align(os, weight.getExperts() && (i / 3) % perExpert == 0 ? kPage : kDense);
      fresh.append({packedFile(), static_cast<int64_t>(os.tell()), old[i + 2]});
      for (int64_t at = 0; at < old[i + 2]; at += kChunk) {
        buffer.resize(std::min(kChunk, old[i + 2] - at));
        if (Error error = read(old[i], old[i + 1] + at, buffer))
          return error;
        os.write(buffer.data(), buffer.size());
      }
    }
    weight.setPieces(ArrayRef(fresh));
    return Error::success();
  }

  /// Room for codes and scales first, then rows as they come: words of int4 lie
  /// across all rows.
  Error quantise(model::WeightOp weight, llvm::raw_fd_ostream &os) {
    auto type = cast<RankedTensorType>(weight.getType());
    const int64_t n = type.getDimSize(0), k = type.getDimSize(1);
    const int64_t group = cast<model::GroupQuantAttr>(type.getEncoding()).getGroup();
    const int64_t groups = llvm::divideCeil(k, group), words = llvm::divideCeil(k, 8);
    const bool bytes = type.getElementType().isInteger(8);
    Type stored = *weight.getSourceType();
    const StoredFloat from = stored.isF32()    ? StoredFloat::F32
                           : stored.isBF16() ? StoredFloat::BF16
                                             : StoredFloat::F16;
    const int64_t rowBytes = k * (stored.isF32() ? 4 : 2);
    ArrayRef<int64_t> source = *weight.getSource();

    align(os, kDense);
    const int64_t codesAt = os.tell(), codesSize = n * (bytes ? k : 4 * words);
    os.write_zeros(codesSize);
    align(os, kDense);
    const int64_t scalesAt = os.tell(), scalesSize = n * groups * 2;
    os.write_zeros(scalesSize);

    const int64_t step = std::max<int64_t>(kChunk / rowBytes, 1);
    for (int64_t first = 0; first < n; first += step) {
      const int64_t rows = std::min(step, n - first);
      buffer.resize(rows * rowBytes);
      if (Error error = read(source[0], source[1] + first * rowBytes, buffer))
        return error;
      auto made = quantizeRows(bytes ? CodeForm::Int8 : CodeForm::Int4, from,
                               buffer.data(), rows, k, group, first);
      if (!made)
        return llvm::createStringError(
            sources[source[0]] + ": tensor '" + weight.getSymName() +
            "' cannot be quantised: " + llvm::toString(made.takeError()) +
            "; compile it with --dense=bf16, or store finite weights");
      place(os, made->codes.data(), codesAt, bytes ? 1 : words, bytes ? n * k : 4 * n,
            first * (bytes ? k : 4), rows * (bytes ? k : 4));
      place(os, made->scales.data(), scalesAt, bytes ? 1 : groups,
            2 * n * (bytes ? groups : 1), first * 2 * (bytes ? groups : 1),
            rows * 2 * (bytes ? groups : 1));
    }
    const int64_t pieces[] = {packedFile(), codesAt,  codesSize,
                              packedFile(), scalesAt, scalesSize};
    weight.setPieces(ArrayRef(pieces));
    weight.removeSourceAttr();
    weight.removeSourceTypeAttr();
    return Error::success();
  }

  /// Writes `lines` pieces of `size` bytes, the i-th at `at + i * stride + column`.
  static void place(llvm::raw_fd_ostream &os, const void *data, int64_t at,
                    int64_t lines, int64_t stride, int64_t column, int64_t size) {
    for (int64_t i = 0; i < lines; ++i)
      os.pwrite(static_cast<const char *>(data) + i * size, size,
                at + i * stride + column);
  }

  ModuleOp module;
  ArrayRef<std::string> sources;
  PackWhat what;
  const PackProgress &progress;
  std::vector<llvm::sys::fs::file_t> files;
  std::vector<char> buffer;
  uint64_t total = 0, done = 0;
};

} // namespace

bool planfile::hasSources(ModuleOp module) {
  return llvm::any_of(module.getOps<model::WeightOp>(),
                      [](model::WeightOp w) { return w.getSource().has_value(); });
}

Error planfile::packWeights(ModuleOp module, ArrayRef<std::string> sources,
                            StringRef path, PackWhat what,
                            const PackProgress &progress) {
  Packer packer(module, sources, what, progress);
  if (Error error = packer.openSources())
    return error;
  auto temp = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temp)
    return llvm::createStringError(path + ": cannot be written: " +
                                   llvm::toString(temp.takeError()));
  llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
  Error error = packer.write(os);
  os.flush();
  if (os.has_error()) {
    error = llvm::joinErrors(
        std::move(error),
        llvm::createStringError(os.error(), path + ": " + os.error().message()));
    os.clear_error();
  }
  if (error) {
    llvm::consumeError(temp->discard());
    return error;
  }
  return temp->keep(path);
}
