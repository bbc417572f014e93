//===- KernelCompiler.cpp - Source to code object -------------------------===//

#include "compiler/codegen/KernelCompiler.h"

#include "compiler/InterruptedError.h"
#include "compiler/UsageError.h"
#include "compiler/codegen/SharedMemory.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace glm;
using namespace glm::codegen;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

Error fail(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

Expected<std::string> findClang(StringRef wanted) {
  for (StringRef name : {wanted, StringRef("clang++-22"),
                         StringRef("/usr/lib/llvm-22/bin/clang++")})
    if (!name.empty())
      if (auto path = llvm::sys::findProgramByName(name))
        return *path;
  return fail("clang++-22 was not found; install the package clang-22 or pass "
              "--clang PATH");
}

/// Flags of one compilation, without input and output. The same contraction of
/// a * b + c everywhere, so that targets differ in the order of sums alone.
std::vector<std::string> flagsFor(const CodeTarget &target) {
  std::vector<std::string> flags = {"-std=c++20", "-O3",       "-ffp-contract=fast",
                                    "-fno-exceptions", "-fno-rtti", "-fno-ident",
                                    "-w"};
  auto add = [&](std::initializer_list<std::string> more) {
    flags.insert(flags.begin(), more.begin(), more.end());
  };
  if (target.name == "gfx1201") {
    // Nothing of ROCm: neither headers nor device libraries nor a bundle. Without
    // a unit id, and with version 5 of the format, bytes are the same everywhere
    // and older drivers take them.
    add({"-x", "hip", "--offload-arch=gfx1201", "--offload-device-only", "-nogpuinc",
         "-nogpulib", "--no-gpu-bundle-output", "-fuse-cuid=none",
         "-mcode-object-version=5", "-ffreestanding"});
  } else if (target.name == "sm_90") {
    // Nothing of CUDA; the path and the feature pin the version of PTX, which
    // would follow the toolkit that a machine happens to have. sm_90a: with the
    // matrix instructions of warpgroups, which no other architecture has.
    add({"-x", "cuda", "--cuda-gpu-arch=sm_90a", "--cuda-device-only", "-nocudainc",
         "-nocudalib", "--cuda-path=/nonexistent", "--cuda-feature=+ptx80",
         "-ffreestanding", "-S"});
  } else {
    add({"-x", "c++", "-march=" + target.isa, "-fPIC", "-fvisibility=hidden",
         "-fno-math-errno", "-c"});
    if (target.isa == "x86-64-v4")
      flags.push_back("-mprefer-vector-width=512");
  }
  return flags;
}

Expected<std::string> readFile(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Error writeFile(StringRef path, StringRef text) {
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os << text;
    os.close();
    ec = os.error();
    os.clear_error();
  }
  return ec ? fail(path + ": " + ec.message()) : Error::success();
}

/// A running compiler with its messages in a file.
struct Job {
  llvm::sys::ProcessInfo process;
  std::string log;
  std::string command;
};

Expected<Job> start(const std::vector<std::string> &argv, std::string log) {
  llvm::SmallVector<StringRef> args(argv.begin(), argv.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  bool failed = false;
  Job job{llvm::sys::ExecuteNoWait(argv[0], args, std::nullopt, redirects, 0,
                                   &message, &failed),
          log, llvm::join(argv, " ")};
  if (failed)
    return fail("cannot run " + argv[0] + ": " + message);
  return job;
}

/// What a job that ended left behind.
Error resultOf(const Job &job, const llvm::sys::ProcessInfo &ended) {
  if (ended.ReturnCode == 0)
    return Error::success();
  Expected<std::string> log = readFile(job.log);
  std::string text = log ? *log : llvm::toString(log.takeError());
  return fail("the kernel compiler failed: " + job.command + "\n" +
              StringRef(text).take_front(4000));
}

/// Waits for all of `jobs`, so that nothing is left behind; the errors of all. Ends
/// them when `cancel` is set.
Error finish(llvm::ArrayRef<Job> jobs, const std::atomic<bool> *cancel,
             llvm::function_ref<void(size_t done)> progress) {
  llvm::SmallVector<const Job *> running(llvm::make_pointer_range(jobs));
  Error errors = Error::success();
  bool ended = false;
  progress(0);
  for (unsigned polls = 1; !running.empty(); ++polls) {
    if (!ended && cancel && cancel->load()) {
      ended = true;
      for (const Job *job : running)
        ::kill(job->process.Pid, SIGTERM);
    }
    const size_t before = running.size();
    llvm::erase_if(running, [&](const Job *job) {
      auto ended = llvm::sys::Wait(job->process, /*SecondsToWait=*/0);
      if (ended.Pid == 0)
        return false;
      errors = llvm::joinErrors(std::move(errors), resultOf(*job, ended));
      return true;
    });
    if (running.size() < before || polls % 25 == 0)
      progress(jobs.size() - running.size());
    if (!running.empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!ended)
    return errors;
  llvm::consumeError(std::move(errors));
  return interruptedError("interrupted while kernels were compiled");
}

std::string cacheRoot(StringRef wanted) {
  if (!wanted.empty())
    return wanted.str();
  llvm::SmallString<256> path;
  if (auto xdg = llvm::sys::Process::GetEnv("XDG_CACHE_HOME"))
    path = *xdg;
  else if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "glmc");
  return path.str().str();
}

} // namespace

Expected<CodeTarget> CodeTarget::parse(StringRef text) {
  auto [name, isa] = text.split(':');
  if (text == "gfx1201" || text == "sm_90")
    return CodeTarget{text.str(), ""};
  if (name != "host")
    return usageError("unknown target '" + text +
                "'; this version makes code for: host, host:x86-64-v3, "
                "host:x86-64-v4, gfx1201, sm_90");
  if (isa.empty()) {
    if (__builtin_cpu_supports("x86-64-v4"))
      isa = "x86-64-v4";
    else if (__builtin_cpu_supports("x86-64-v3"))
      isa = "x86-64-v3";
    else
      return usageError("this CPU has neither AVX2 nor AVX-512 (x86-64-v3, v4), which "
                  "the host target needs");
  }
  if (isa != "x86-64-v3" && isa != "x86-64-v4")
    return usageError("unknown instruction set '" + isa +
                "'; known are x86-64-v3 and x86-64-v4");
  return CodeTarget{name.str(), isa.str()};
}

/// What ends a file of the cache: a power cut or a full disk may have cut it.
static std::string checksum(StringRef code) {
  uint64_t hash = llvm::xxh3_64bits(llvm::arrayRefFromStringRef(code));
  std::string text(sizeof(hash), '\0');
  llvm::support::endian::write64le(text.data(), hash);
  return text;
}

/// The code of a whole file of the cache; nothing when there is none, and it is
/// compiled anew.
static std::optional<std::string> cachedCode(const llvm::Twine &path) {
  Expected<std::string> file = readFile(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  StringRef code = *file;
  if (code.size() <= sizeof(uint64_t))
    return std::nullopt;
  code = code.drop_back(sizeof(uint64_t));
  if (!StringRef(*file).ends_with(checksum(code)))
    return std::nullopt;
  return code.str();
}

/// The code object, from the cache or compiled.
static Expected<std::string> produceKernels(const std::vector<KernelSource> &sources,
                                            const CodeTarget &target,
                                            const CompileOptions &options) {
  assert((target.isHost() || sources.size() == 1) && "a GPU's code is not linked");
  Expected<std::string> clang = findClang(options.clang);
  if (!clang)
    return clang.takeError();
  std::vector<std::string> flags = flagsFor(target);
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());

  // The version of the compiler is part of the key: its size and date stand for it.
  std::string key = llvm::join(flags, " ") + *clang;
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(*clang, status))
    key += std::to_string(status.getSize()) + "." +
           std::to_string(status.getLastModificationTime().time_since_epoch().count());
  for (const KernelSource &source : sources)
    key += source.text;
  llvm::SmallString<256> cached(options.useCache ? cacheRoot(options.cacheDir) : "");
  if (!cached.empty()) {
    auto hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(key));
    llvm::sys::path::append(cached, llvm::utohexstr(hash.high64) +
                                        llvm::utohexstr(hash.low64) + ".code");
    if (std::optional<std::string> code = cachedCode(cached))
      return *code;
  }

  llvm::SmallString<256> dir;
  if (std::error_code ec = llvm::sys::fs::createUniqueDirectory("glmc", dir))
    return fail("cannot make a temporary directory: " + ec.message());
  llvm::scope_exit cleanup(
      [&] { llvm::sys::fs::remove_directories(dir); });

  std::vector<std::string> objects;
  std::vector<Job> jobs;
  for (size_t i = 0; i < sources.size(); ++i) {
    std::string stem = (dir + "/kernels" + llvm::Twine(i)).str();
    if (Error e = writeFile(stem + ".cpp", sources[i].text))
      return std::move(e);
    std::vector<std::string> argv = {*clang};
    argv.insert(argv.end(), flags.begin(), flags.end());
    argv.insert(argv.end(), {stem + ".cpp", "-o", stem + ".o"});
    Expected<Job> job = start(argv, stem + ".log");
    if (!job) {
      llvm::consumeError(finish(jobs, options.cancel, [](size_t) {}));
      return job.takeError();
    }
    jobs.push_back(*job);
    objects.push_back(stem + ".o");
  }
  if (Error e = finish(jobs, options.cancel, [&](size_t done) {
        if (options.progress)
          options.progress(done, jobs.size());
      }))
    return std::move(e);

  std::string object = objects.front();
  if (target.isHost()) {
    object = (dir + "/kernels.so").str();
    std::vector<std::string> link = {*clang,         "-shared",
                                     "-nostdlib++",  "-fuse-ld=lld",
                                     "-Wl,-s",       "-Wl,--build-id=none",
                                     "-o",           object};
    link.insert(link.end(), objects.begin(), objects.end());
    Expected<Job> job = start(link, (dir + "/link.log").str());
    if (!job)
      return job.takeError();
    if (Error e = finish(*job, options.cancel, [](size_t) {}))
      return std::move(e);
  }
  Expected<std::string> bytes = readFile(object);
  // The driver takes PTX as a C string.
  if (bytes && target.name == "sm_90")
    bytes->push_back('\0');
  if (bytes && !cached.empty()) {
    // A cache that cannot be written costs time, not the result.
    llvm::SmallString<256> fresh(cached);
    fresh += "." + std::to_string(llvm::sys::Process::getProcessId());
    if (!llvm::sys::fs::create_directories(llvm::sys::path::parent_path(cached))) {
      if (Error e = writeFile(fresh, *bytes + checksum(*bytes))) {
        llvm::consumeError(std::move(e));
        llvm::sys::fs::remove(fresh);
      } else
        llvm::sys::fs::rename(fresh, cached);
    }
  }
  return bytes;
}

Error codegen::checkCompiler(const CompileOptions &options) {
  Expected<std::string> clang = findClang(options.clang);
  if (!clang)
    return clang.takeError();
  if (!llvm::sys::fs::can_execute(*clang))
    return fail("cannot run " + *clang + ": it is no program");
  return Error::success();
}

Expected<std::string>
codegen::compileKernels(const std::vector<KernelSource> &sources,
                        const CodeTarget &target, const CompileOptions &options) {
  Expected<std::string> code = produceKernels(sources, target, options);
  if (code)
    if (Error e = checkSharedMemory(*code, target))
      return std::move(e);
  return code;
}
