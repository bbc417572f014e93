#include "compiler/plan/PackWriter.h"

#include "compiler/InterruptedError.h"
#include "runtime/safetensors/packed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

using namespace glm;
using namespace glm::planfile;
using testing::HasSubstr;

namespace {

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeAll(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

uint64_t hashOf(std::string_view bytes) {
  ByteHash hash;
  hash.Add(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return hash.Digest();
}

/// Runs `work` in another process; its exit code, or minus the signal that ended it.
int inChild(const std::function<int()> &work) {
  const pid_t pid = fork();
  if (pid == 0)
    _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

class Packing : public testing::Test {
protected:
  Packing() {
    folder = testing::TempDir() + "/packing-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::mt19937 random(7);
    for (const char *name : {"a", "b"}) {
      std::string bytes(300000, '\0');
      // Pairs are bf16 of ordinary size.
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = i % 2 ? char(0x3d + random() % 2) : char(random());
      writeAll(folder + "/" + name, bytes);
    }
    describeInputs();
    layOut(layout);
    target = folder + "/x.glmweights";
    options.chunkBytes = 4096;
    options.recordBytes = 30000;
    options.recordAside = false;
    options.note = [&](llvm::StringRef text) { notes += text.str() + "\n"; };
  }
  ~Packing() override { std::filesystem::remove_all(folder); }

  void describeInputs() {
    layout.inputs.clear();
    for (const char *name : {"a", "b"}) {
      PackInput input{folder + "/" + name};
      struct stat info;
      ASSERT_EQ(stat(input.path.c_str(), &info), 0);
      input.size = info.st_size;
      input.modified = info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
      input.fingerprint = 5;
      layout.inputs.push_back(input);
    }
  }

  static void layOut(PackLayout &layout) {
    layout.ranks = 2;
    layout.addPiece(0, 100, 20001);
    std::vector<PackPart> row;
    for (uint64_t e = 0; e < 6; ++e) {
      row = {{0, 30000 + e * 9000, 8000, 0}, {1, e * 300, 260, 0}, {1, 5000, 1000, 0}};
      layout.addRow(row);
    }
    // Runs that are read together, and one by one.
    row = {{0, 40003, 7000, 0, 35, 110}, {1, 100, 2400, 0, 600, 90000}};
    layout.addRow(row);
    for (CodeForm form : {CodeForm::Int8, CodeForm::Int4}) {
      PackMatrix m{"m", 1, 20000, StoredFloat::BF16, form, 60, 320, 128};
      layout.addMatrix(m);
    }
    layout.addPiece(1, 1, 30001);
    layout.finish();
  }

  /// Packs and publishes; the error's text when it fails.
  std::string pack() {
    notes.clear();
    auto packed = writePacked(layout, target, options);
    if (!packed)
      return llvm::toString(packed.takeError());
    resumed = packed->resumed;
    reused = packed->reused;
    if (!packed->file)
      return "";
    return llvm::toString(packed->file->publish());
  }

  /// The file of an undisturbed packing.
  std::string whole() {
    EXPECT_EQ(pack(), "");
    std::string bytes = readAll(target);
    std::filesystem::remove(target);
    return bytes;
  }

  size_t chunks() {
    size_t count = 0;
    options.progress = [&](uint64_t, uint64_t) { ++count; };
    whole();
    options.progress = {};
    return count;
  }

  void killAfter(size_t count) {
    const int end = inChild([&] {
      options.progress = [&](uint64_t, uint64_t) {
        if (--count == 0)
          raise(SIGKILL);
      };
      return pack().empty() ? 0 : 1;
    });
    ASSERT_EQ(end, -SIGKILL);
  }

  void expectNothingLeft() const {
    EXPECT_FALSE(std::filesystem::exists(target + ".partial"));
    EXPECT_FALSE(std::filesystem::exists(target + ".journal"));
  }

  std::string folder, target, notes;
  PackLayout layout;
  PackOptions options;
  uint64_t resumed = 0;
  bool reused = false;
};

TEST_F(Packing, BytesLieWhereTheLayoutSays) {
  const std::string bytes = whole();
  ASSERT_EQ(bytes.size(), layout.fileBytes());
  const std::string inputs[] = {readAll(folder + "/a"), readAll(folder + "/b")};
  std::string want(layout.dataBytes(), '\0');
  for (const PackUnit &unit : layout.units()) {
    for (const PackPart &part : unit.parts) {
      EXPECT_EQ(part.at % 256, 0u);
      std::string bytes;
      const uint64_t run = part.run ? part.run : part.size;
      for (uint64_t at = part.from; bytes.size() < part.size; at += part.stride)
        bytes += inputs[part.input].substr(at, run);
      want.replace(part.at, part.size, bytes);
    }
    if (const auto &m = unit.matrix) {
      auto made = quantizeRows(m->form, m->stored, inputs[1].data() + m->from, m->rows,
                               m->columns, m->group, 0);
      ASSERT_TRUE(bool(made));
      want.replace(m->codesAt, m->codesSize(),
                   reinterpret_cast<char *>(made->codes.data()), made->codes.size());
      want.replace(m->scalesAt, m->scalesSize(),
                   reinterpret_cast<char *>(made->scales.data()),
                   made->scales.size() * 2);
    }
  }
  EXPECT_TRUE(bytes.starts_with(want));
  expectNothingLeft();
}

TEST_F(Packing, RowsBeginAndEndAtPages) {
  for (size_t e = 1; e <= 6; ++e) {
    const PackUnit &row = layout.units()[e];
    EXPECT_EQ(row.begin % 4096, 0u);
    EXPECT_EQ(row.end - row.begin, 12288u);
    EXPECT_EQ(row.parts[1].at - row.begin, 8192u); // 8000, to 256
    EXPECT_EQ(row.parts[2].at - row.begin, 8704u);
  }
}

TEST_F(Packing, LargePiecesAreSeveralUnits) {
  PackLayout large;
  EXPECT_EQ(large.addPiece(0, 0, PackLayout::kUnitBytes + 10), 0u);
  EXPECT_EQ(large.addPiece(0, 7, 10), PackLayout::kUnitBytes + 256);
  ASSERT_EQ(large.units().size(), 3u);
  EXPECT_EQ(large.units()[1].parts[0].from, PackLayout::kUnitBytes);
}

TEST_F(Packing, EachBlockHasItsChecksum) {
  EXPECT_EQ(pack(), "");
  const std::string bytes = readAll(target);
  auto sums = ReadChecksums(target);
  ASSERT_TRUE(sums.ok() && sums->has_value()) << sums.status();
  ASSERT_EQ((*sums)->blocks.size(), layout.units().size());
  EXPECT_EQ((*sums)->ranks, 2u);
  uint64_t at = 0;
  for (const PackedBlock &block : (*sums)->blocks) {
    EXPECT_EQ(block.xxh3, hashOf(std::string_view(bytes).substr(at, block.size)));
    at += block.size;
  }
}

TEST_F(Packing, ChunkSizesDoNotShow) {
  const std::string bytes = whole();
  for (uint64_t size : {33ull, 777ull, 1ull << 20}) {
    options.chunkBytes = size;
    EXPECT_EQ(whole(), bytes) << size;
  }
}

TEST_F(Packing, KilledAfterAnyChunkItGoesOn) {
  const std::string bytes = whole();
  const size_t count = chunks();
  ASSERT_GT(count, 40u);
  bool wentOn = false;
  for (size_t n = 1; n <= count; ++n) {
    killAfter(n);
    EXPECT_EQ(pack(), "");
    wentOn |= resumed > 0;
    ASSERT_EQ(readAll(target), bytes) << n;
    std::filesystem::remove(target);
  }
  EXPECT_TRUE(wentOn);
}

TEST_F(Packing, RecordsOnAThreadAreAsGood) {
  const std::string bytes = whole();
  options.recordBytes = 1;
  options.recordAside = true;
  killAfter(chunks() - 3);
  EXPECT_EQ(pack(), "");
  EXPECT_EQ(readAll(target), bytes);
}

TEST_F(Packing, KilledAgainAndAgainItComesToAnEnd) {
  const std::string bytes = whole();
  options.recordBytes = 1;
  int ended = -SIGKILL;
  for (size_t runs = 0; ended == -SIGKILL; ++runs) {
    ASSERT_LT(runs, 100u);
    ended = inChild([&] {
      size_t left = 12; // more than any unit has
      options.progress = [&](uint64_t, uint64_t) {
        if (--left == 0)
          raise(SIGKILL);
      };
      return pack().empty() ? 0 : 1;
    });
  }
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(readAll(target), bytes);
}

TEST_F(Packing, KilledAtAnyTimeItGoesOn) {
  const std::string bytes = whole();
  options.recordBytes = 5000;
  options.recordAside = true;
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const pid_t pid = fork();
    if (pid == 0)
      _exit(pack().empty() ? 0 : 1);
    usleep(random() % 12000);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    if (i % 3 == 2) {
      EXPECT_EQ(pack(), "");
      ASSERT_EQ(readAll(target), bytes) << i;
      std::filesystem::remove(target);
    }
  }
}

TEST_F(Packing, AJournalThatWasCutOrDamagedCostsTimeAlone) {
  const std::string bytes = whole();
  options.recordBytes = 1;
  killAfter(chunks() - 3);
  const std::string partial = readAll(target + ".partial");
  const std::string journal = readAll(target + ".journal");
  ASSERT_GT(journal.size(), 200u);
  for (size_t i = 0; i < journal.size(); i += 7) {
    for (bool cut : {true, false}) {
      std::string bad = cut ? journal.substr(0, i) : journal;
      if (!cut)
        bad[i] ^= 1;
      writeAll(target + ".partial", partial);
      writeAll(target + ".journal", bad);
      EXPECT_EQ(pack(), "");
      ASSERT_EQ(readAll(target), bytes) << i;
      std::filesystem::remove(target);
    }
  }
}

TEST_F(Packing, APartialFileThatIsNotWhatTheJournalSaysIsWrittenAnew) {
  const std::string bytes = whole();
  options.recordBytes = 1;
  killAfter(chunks() - 3);
  const std::string journal = readAll(target + ".journal");
  for (const std::string &partial :
       {std::string(), std::string(5000, 'x'), std::string(layout.dataBytes(), 'x')}) {
    writeAll(target + ".partial", partial);
    writeAll(target + ".journal", journal);
    EXPECT_EQ(pack(), "");
    EXPECT_EQ(resumed, 0u);
    EXPECT_EQ(readAll(target), bytes);
    EXPECT_EQ(notes.empty(), partial.empty()) << notes;
    std::filesystem::remove(target);
  }
}

TEST_F(Packing, AnotherPackingBeginsAnewAndSaysSo) {
  killAfter(chunks() - 3);
  layout.inputs[0].fingerprint = 6;
  EXPECT_EQ(pack(), "");
  EXPECT_EQ(resumed, 0u);
  EXPECT_THAT(notes, HasSubstr("x.glmweights.partial: is of other weights or options"));
}

TEST_F(Packing, TheIdentityIsOfContentsAndPlaces) {
  const uint64_t identity = layout.identity();
  PackLayout same = layout;
  same.inputs[0].path = "elsewhere";
  EXPECT_EQ(same.identity(), identity);
  for (int what = 0; what < 6; ++what) {
    PackLayout other = layout;
    switch (what) {
    case 0: other.inputs[1].size += 1; break;
    case 1: other.inputs[1].modified += 1; break;
    case 2: other.addPiece(0, 0, 1); break;
    case 3: other.finish(), other.addPiece(0, 1, 1); break;
    case 4: other.ranks = 4; break;
    case 5: other.ranks = 1; break;
    }
    EXPECT_NE(other.identity(), identity) << what;
  }
  uint64_t last = 0;
  for (uint64_t stride : {80, 81}) {
    PackLayout cut = layout;
    std::vector<PackPart> row = {{0, 0, 800, 0, 40, stride}};
    cut.addRow(row);
    EXPECT_NE(cut.identity(), last);
    last = cut.identity();
  }
}

// What was packed before rows could be those of ranks is not packed again.
TEST_F(Packing, RowsOfWholeExpertsKeepTheirIdentity) {
  PackLayout whole;
  whole.inputs = {{"a", 300000, 5, 77}};
  whole.addPiece(0, 100, 20001);
  std::vector<PackPart> row = {{0, 30000, 8000, 0}, {0, 5000, 1000, 0}};
  whole.addRow(row);
  whole.finish();
  for (uint32_t ranks : {0, 1}) {
    whole.ranks = ranks;
    EXPECT_EQ(whole.identity(), 16484682502996398849u);
  }
}

TEST_F(Packing, AFileOfOtherRanksIsReplacedWithAWord) {
  EXPECT_EQ(pack(), "");
  layout.ranks = 4;
  EXPECT_EQ(pack(), "");
  EXPECT_FALSE(reused);
  EXPECT_THAT(notes, HasSubstr("x.glmweights: its experts are packed for 2 ranks, the "
                               "plan is for 4; it is replaced"));
}

TEST_F(Packing, ASecondOneIsRefused) {
  options.progress = [&](uint64_t, uint64_t) {
    options.progress = {};
    PackOptions other;
    auto second = writePacked(layout, target, other);
    ASSERT_FALSE(bool(second));
    EXPECT_THAT(llvm::toString(second.takeError()),
                HasSubstr("x.glmweights: another glmc is writing it"));
  };
  EXPECT_EQ(pack(), "");
}

TEST_F(Packing, WhatIsThereIsKept) {
  const std::string bytes = whole();
  writeAll(target, bytes);
  options.progress = [](uint64_t, uint64_t) { FAIL(); };
  EXPECT_EQ(pack(), "");
  EXPECT_TRUE(reused);
  options.progress = {};
  writeAll(target, "something else");
  EXPECT_EQ(pack(), "");
  EXPECT_FALSE(reused);
  EXPECT_EQ(readAll(target), bytes);
}

TEST_F(Packing, AnInterruptionKeepsWhatIsDone) {
  const std::string bytes = whole();
  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  options.progress = [&, left = 20](uint64_t, uint64_t) mutable {
    if (--left == 0)
      cancel = true;
  };
  options.recordBytes = 1 << 30;
  auto packed = writePacked(layout, target, options);
  ASSERT_FALSE(bool(packed));
  llvm::Error error = packed.takeError();
  EXPECT_TRUE(error.isA<InterruptedError>());
  EXPECT_THAT(llvm::toString(std::move(error)),
              HasSubstr("x.glmweights.partial is kept: the same command goes on"));
  cancel = false;
  EXPECT_EQ(pack(), "");
  EXPECT_GT(resumed, 0u);
  EXPECT_THAT(notes, HasSubstr("are packed already; going on from there"));
  EXPECT_EQ(readAll(target), bytes);
}

TEST_F(Packing, ADiskWithoutRoomIsToldBeforeAnythingIsWritten) {
  options.freeBytes = [](const std::string &) { return 20000; };
  const std::string error = pack();
  EXPECT_THAT(error, HasSubstr("needs 164.2 KiB more"));
  EXPECT_THAT(error, HasSubstr("has 19.5 KiB free; make room for "));
  expectNothingLeft();
  // What is done already needs no more room.
  options.freeBytes = {};
  killAfter(chunks() - 3);
  options.freeBytes = [](const std::string &) { return 70000; };
  EXPECT_EQ(pack(), "");
}

TEST_F(Packing, AFileSizeLimitIsAnError) {
  EXPECT_EQ(inChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit = {50000, 50000};
              setrlimit(RLIMIT_FSIZE, &limit);
              const std::string error = pack();
              return error.find("ulimit -f") != std::string::npos ? 3 : 0;
            }),
            3);
  expectNothingLeft();
}

TEST_F(Packing, ADiskThatFillsUpIsToldAndPackingGoesOn) {
  const std::string bytes = whole();
  const std::string disk = folder + "/disk";
  std::filesystem::create_directory(disk);
  const int end = inChild([&] {
    // A disk of our own, in a name space of our own.
    const std::string user = std::to_string(getuid()), group = std::to_string(getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return 77;
    writeAll("/proc/self/uid_map", "0 " + user + " 1");
    writeAll("/proc/self/setgroups", "deny");
    writeAll("/proc/self/gid_map", "0 " + group + " 1");
    if (mount("none", disk.c_str(), "tmpfs", 0, "size=96k") != 0)
      return 77;
    target = disk + "/x.glmweights";
    options.freeBytes = [](const std::string &) { return 1u << 30; };
    const std::string error = pack();
    EXPECT_THAT(error, HasSubstr("No space left on device; make room"));
    EXPECT_THAT(error, HasSubstr("the same command goes on"));
    if (mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=1m") != 0)
      return 77;
    EXPECT_EQ(pack(), "");
    EXPECT_GT(resumed, 0u);
    EXPECT_TRUE(readAll(target) == bytes);
    return HasFailure() ? 1 : 0;
  });
  if (end == 77)
    GTEST_SKIP() << "no name spaces here";
  EXPECT_EQ(end, 0);
}

TEST_F(Packing, AnInputThatChangesIsToldAndNothingIsKept) {
  options.progress = [&](uint64_t, uint64_t) {
    const timespec times[] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, (folder + "/b").c_str(), times, 0);
  };
  EXPECT_THAT(pack(), HasSubstr("/b: changed while it was packed"));
  expectNothingLeft();
}

TEST_F(Packing, AnInputThatEndsEarlyIsTold) {
  layout.inputs[0].size = 400000;
  EXPECT_THAT(pack(), HasSubstr("/a: changed while it was packed"));
  expectNothingLeft();
}

TEST_F(Packing, ValuesWithoutACodeAreToldAndNothingIsKept) {
  std::string bytes = readAll(folder + "/b");
  bytes[20000 + 2 * 320 * 7 + 1] = '\x7f', bytes[20000 + 2 * 320 * 7] = '\xc0';
  writeAll(folder + "/b", bytes);
  describeInputs();
  EXPECT_THAT(pack(), HasSubstr("/b: tensor 'm' cannot be quantised: row 7"));
  expectNothingLeft();
}

} // namespace
