//===- TemplateLibrary.cpp - The kernel templates, built in ---------------===//

#include "compiler/codegen/TemplateLibrary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace glm;
using namespace glm::codegen;

static constexpr TemplateFile kFiles[] = {
#include "compiler/codegen/TemplateFiles.inc"
};

llvm::ArrayRef<TemplateFile> codegen::templateFiles() { return kFiles; }

llvm::StringRef codegen::headerOf(llvm::StringRef name) {
  name.consume_back("Tile");
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"Embed", "GatherRows", "TakeCols"}, "glm/rows.h")
      .Cases({"Linear", "HeadLinear", "LinearParts", "SumParts"}, "glm/linear.h")
      .Case("ExpertLinear", "glm/expert_linear.h")
      .Case("ShortConv", "glm/short_conv.h")
      .Case("DeltaRule", "glm/delta_rule.h")
      .Case("DeltaRuleChunk", "glm/delta_rule_chunk.h")
      .Case("LatentAppend", "glm/latent_append.h")
      .Case("KPool", "glm/kpool.h")
      .Case("IndexScores", "glm/index_scores.h")
      .Case("TopK", "glm/top_k.h")
      .Case("SparseAttention", "glm/sparse_attention.h")
      .Case("Sinkhorn", "glm/sinkhorn.h")
      .Default("glm/block.h");
}

static void inlineOne(llvm::StringRef path, llvm::StringSet<> &done,
                      std::string &out) {
  if (!done.insert(path).second)
    return;
  const TemplateFile *file = llvm::find_if(
      kFiles, [&](const TemplateFile &f) { return f.path == path; });
  if (file == std::end(kFiles))
    llvm::report_fatal_error(llvm::Twine("no kernel template ") + path);
  llvm::SmallVector<llvm::StringRef> lines;
  file->text.split(lines, '\n');
  std::string own;
  for (llvm::StringRef line : lines) {
    llvm::StringRef rest = line;
    if (rest.consume_front("#include \"glm/"))
      inlineOne(("glm/" + rest.take_until([](char c) { return c == '"'; })).str(),
                done, out);
    else if (line != "#pragma once")
      (own += line) += '\n';
  }
  out += own;
}

std::string codegen::inlineHeaders(llvm::ArrayRef<llvm::StringRef> headers) {
  llvm::StringSet<> done;
  std::string out;
  for (llvm::StringRef header : headers)
    inlineOne(header, done, out);
  return out;
}
