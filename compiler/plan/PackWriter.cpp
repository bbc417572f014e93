//===- PackWriter.cpp - Writes a packed file, or the rest of it -----------===//

#include "compiler/plan/PackWriter.h"

#include "compiler/InterruptedError.h"
#include "compiler/plan/PackReader.h"
#include "runtime/safetensors/packed_weights.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <span>

using namespace glm;
using namespace glm::planfile;
using llvm::Error;
using llvm::Expected;

static std::string gib(uint64_t bytes) {
  return bytes < (10 << 20) ? llvm::formatv("{0:f1} KiB", bytes / 1024.0).str()
                            : llvm::formatv("{0:f2} GiB", bytes / 1073741824.0).str();
}

static uint64_t freeOnDisk(const std::string &folder) {
  auto space = llvm::sys::fs::disk_space(folder.empty() ? "." : folder);
  return space ? space->available : ~uint64_t{0};
}

/// True for a complete file that this layout gives.
static bool isThere(const PackLayout &layout, const std::string &target) {
  auto found = ReadChecksums(target);
  return found.ok() && found->has_value() &&
         (*found)->identity == layout.identity() &&
         (*found)->data_bytes == layout.dataBytes() &&
         (*found)->blocks.size() == layout.units().size();
}

namespace {

class Writer {
public:
  Writer(const PackLayout &layout, const PackOptions &options, PackReader &reader,
         PartialFile &file, PackResult &result)
      : layout(layout), options(options), reader(reader), file(file), result(result) {}

  /// All units that are missing, the checksums behind them, all on the disk.
  Error run() {
    Error error = writeUnits();
    // What is complete counts, however this ended.
    Error recorded = file.record();
    if (error) {
      llvm::consumeError(std::move(recorded));
      return error;
    }
    if (recorded)
      return recorded;
    PackedChecksums sums{layout.dataBytes(), layout.identity(), layout.ranks, {}};
    for (auto [unit, checksum] : llvm::zip(layout.units(), file.checksums()))
      sums.blocks.push_back({unit.end - unit.begin, checksum});
    const std::vector<std::byte> end = SerializeChecksums(sums);
    if (Error e = file.write(end.data(), end.size(), layout.dataBytes()))
      return e;
    return file.sync();
  }

  /// True after a failure that the weights, not the machine, are to blame for.
  bool useless() const { return badInput; }

private:
  Error writeUnits() {
    const uint64_t total = layout.bytesToRead();
    uint64_t atRecord = 0;
    reader.start(file.checksums().size());
    while (file.checksums().size() < layout.units().size()) {
      if (options.cancel && options.cancel->load(std::memory_order_relaxed))
        return interruptedError("interrupted");
      PackChunk &chunk = reader.next();
      if (!chunk.failure.empty())
        return llvm::createStringError(chunk.failure);
      if (Error e = write(chunk))
        return e;
      result.bytes += chunk.read;
      if (options.progress)
        options.progress(result.resumed + result.bytes, total);
      if (!chunk.last || result.bytes - atRecord < options.recordBytes)
        continue;
      atRecord = result.bytes;
      if (Error e = options.recordAside ? file.recordAside() : file.record())
        return e;
    }
    if (Error e = reader.inputsUnchanged()) {
      badInput = true;
      return e;
    }
    return Error::success();
  }

  Error write(PackChunk &chunk) {
    const PackUnit &unit = layout.units()[chunk.unit];
    if (unit.matrix)
      return quantise(unit, chunk);
    hash.Add(std::as_bytes(std::span(chunk.bytes)));
    if (Error e = file.write(chunk.bytes.data(), chunk.bytes.size(), chunk.at))
      return e;
    if (chunk.last) {
      file.complete(hash.Digest());
      hash.Reset();
    }
    return Error::success();
  }

  /// Words of int4 lie across all rows, so some rows are many small writes, and the
  /// checksum is taken of what was written.
  Error quantise(const PackUnit &unit, PackChunk &chunk) {
    const PackMatrix &m = *unit.matrix;
    auto made = quantizeRows(m.form, m.stored, chunk.bytes.data(), chunk.rows,
                             m.columns, m.group, chunk.firstRow);
    if (!made) {
      badInput = true;
      return llvm::createStringError(
          layout.inputs[m.input].path + ": tensor '" + m.name +
          "' cannot be quantised: " + llvm::toString(made.takeError()) +
          "; compile it with --dense=bf16, or store finite weights");
    }
    const bool bytes = m.form == CodeForm::Int8;
    const int64_t words = llvm::divideCeil(m.columns, 8);
    const int64_t groups = llvm::divideCeil(m.columns, m.group);
    const int64_t codes = bytes ? m.columns : 4;      // bytes a row and line
    const int64_t scales = 2 * (bytes ? groups : 1);
    if (Error e = place(made->codes.data(), m.codesAt, bytes ? 1 : words,
                        m.rows * codes, chunk.firstRow * codes, chunk.rows * codes))
      return e;
    if (Error e = place(made->scales.data(), m.scalesAt, bytes ? 1 : groups,
                        m.rows * scales, chunk.firstRow * scales, chunk.rows * scales))
      return e;
    if (!chunk.last)
      return Error::success();
    auto checksum = file.checksum(unit.begin, unit.end);
    if (!checksum)
      return checksum.takeError();
    file.complete(*checksum);
    return Error::success();
  }

  /// Writes `lines` pieces of `size` bytes, the i-th at `at + i * stride + column`.
  Error place(const void *data, uint64_t at, int64_t lines, int64_t stride,
              int64_t column, int64_t size) {
    for (int64_t i = 0; i < lines; ++i)
      if (Error e = file.write(static_cast<const char *>(data) + i * size, size,
                               at + i * stride + column))
        return e;
    return Error::success();
  }

  const PackLayout &layout;
  const PackOptions &options;
  PackReader &reader;
  PartialFile &file;
  PackResult &result;
  ByteHash hash;
  bool badInput = false;
};

} // namespace

/// Whether what is missing finds room.
static Error checkRoom(const PackLayout &layout, const PartialFile &file,
                       const std::string &target, const PackOptions &options) {
  const size_t done = file.checksums().size();
  const uint64_t needed =
      layout.fileBytes() - (done ? layout.units()[done - 1].end : 0);
  const std::string folder = llvm::sys::path::parent_path(target).str();
  const uint64_t room = (options.freeBytes ? options.freeBytes : freeOnDisk)(folder);
  if (needed <= room)
    return Error::success();
  return llvm::createStringError(
      target + ": needs " + gib(needed) + " more on this disk, which has " + gib(room) +
      " free; make room for " + gib(needed - room) + ", or name another disk with -o");
}

Expected<PackResult> planfile::writePacked(const PackLayout &layout,
                                           const std::string &target,
                                           const PackOptions &options) {
  PackResult result;
  result.fileBytes = layout.fileBytes();
  if (isThere(layout, target)) {
    result.reused = true;
    return result;
  }
  bool restarted = false;
  auto file = PartialFile::open(target, layout, restarted);
  if (!file)
    return file.takeError();
  const size_t done = (*file)->checksums().size();
  auto note = [&](const llvm::Twine &text) {
    if (options.note)
      options.note(text.str());
  };
  if (layout.ranks > 0)
    if (std::string why = PackedForOthers(target, layout.ranks); !why.empty())
      note(target + ": " + why + "; it is replaced");
  if (restarted)
    note((*file)->path() + ": is of other weights or options; packing begins anew");
  result.resumed = layout.bytesToRead() - layout.bytesToRead(done);
  if (done)
    note((*file)->path() + ": " + gib(result.resumed) + " of " +
         gib(layout.bytesToRead()) + " are packed already; going on from there");
  auto reader = PackReader::open(layout, options.chunkBytes);
  Error error = reader ? checkRoom(layout, **file, target, options)
                       : reader.takeError();
  bool useless = done == 0; // nothing was begun
  if (!error) {
    const auto begun = std::chrono::steady_clock::now();
    Writer writer(layout, options, **reader, **file, result);
    error = writer.run();
    useless = writer.useless();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                                   begun)
                         .count();
  }
  if (error && useless) {
    (*file)->discard();
    return std::move(error);
  }
  if (error) {
    const bool interrupted = error.isA<InterruptedError>();
    const std::string text = llvm::toString(std::move(error)) + "; " +
                             (*file)->path() +
                             " is kept: the same command goes on from there";
    return interrupted ? interruptedError(text) : llvm::createStringError(text);
  }
  result.file = std::move(*file);
  return result;
}
