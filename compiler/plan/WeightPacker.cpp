//===- WeightPacker.cpp - One file of weights beside the plan -------------===//

#include "compiler/plan/WeightPacker.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace glm;
using llvm::Error;

static constexpr uint64_t kChunk = 8 << 20; // bytes in flight
static constexpr int64_t kPage = 4096, kDense = 256;

/// Copies `size` bytes at `offset` of `from` to the stream.
static Error copyBytes(llvm::sys::fs::file_t from, StringRef name, uint64_t offset,
                       uint64_t size, llvm::raw_ostream &os,
                       llvm::function_ref<void(uint64_t)> copied) {
  std::vector<char> buffer(std::min(size, kChunk));
  while (size > 0) {
    size_t want = std::min<uint64_t>(size, buffer.size());
    auto got = llvm::sys::fs::readNativeFileSlice(
        from, MutableArrayRef<char>(buffer.data(), want), offset);
    if (!got)
      return llvm::createStringError(name + ": cannot be read: " +
                                     llvm::toString(got.takeError()));
    if (*got == 0)
      return llvm::createStringError(name + ": ended while it was packed");
    os.write(buffer.data(), *got);
    offset += *got, size -= *got;
    copied(*got);
  }
  return Error::success();
}

Error planfile::packWeights(ModuleOp module, ArrayRef<std::string> sources,
                            StringRef path, const PackProgress &progress) {
  std::vector<llvm::sys::fs::file_t> files;
  auto closeAll = [&] {
    for (auto &f : files)
      llvm::sys::fs::closeFile(f);
  };
  for (const std::string &source : sources) {
    auto file = llvm::sys::fs::openNativeFileForRead(source);
    if (!file) {
      closeAll();
      return llvm::createStringError(source + ": cannot be opened: " +
                                     llvm::toString(file.takeError()));
    }
    files.push_back(*file);
  }
  uint64_t total = 0, done = 0;
  for (auto weight : module.getOps<model::WeightOp>())
    for (size_t i = 2; weight.getPieces() && i < weight.getPieces()->size(); i += 3)
      total += (*weight.getPieces())[i];

  auto temp = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temp) {
    closeAll();
    return llvm::createStringError(path + ": cannot be written: " +
                                   llvm::toString(temp.takeError()));
  }
  llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
  Builder b(module.getContext());
  Error error = Error::success();
  for (auto weight : module.getOps<model::WeightOp>()) {
    if (!weight.getPieces())
      continue;
    ArrayRef<int64_t> old = *weight.getPieces();
    auto type = cast<RankedTensorType>(weight.getType());
    // Codes and scales of an expert stay together; each expert starts a page.
    int64_t perExpert = weight.getExperts() && type.getEncoding() ? 2 : 1;
    SmallVector<int64_t> fresh;
    for (size_t i = 0; i + 2 < old.size(); i += 3) {
      bool page = weight.getExperts() && (i / 3) % perExpert == 0;
      os.write_zeros(llvm::alignTo(os.tell(), page ? kPage : kDense) - os.tell());
      fresh.append({0, static_cast<int64_t>(os.tell()), old[i + 2]});
      error = copyBytes(files[old[i]], sources[old[i]], old[i + 1], old[i + 2], os,
                        [&](uint64_t n) {
                          done += n;
                          if (progress.report)
                            progress.report(done, total);
                        });
      if (error)
        break;
    }
    if (error)
      break;
    weight.setPiecesAttr(b.getDenseI64ArrayAttr(fresh));
  }
  closeAll();
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
