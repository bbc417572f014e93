//===- TemplateLibrary.cpp - The kernel templates, built in ---------------===//

#include "compiler/codegen/TemplateLibrary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ErrorHandling.h"

using namespace glm;
using namespace glm::codegen;

static constexpr TemplateFile kFiles[] = {
#include "compiler/codegen/TemplateFiles.inc"
};

llvm::ArrayRef<TemplateFile> codegen::templateFiles() { return kFiles; }

llvm::StringRef codegen::headerOf(llvm::StringRef name) {
  const std::string definition = ("\nGLM_FN void " + name + "(Block& block, ").str();
  for (const TemplateFile &file : kFiles)
    if (file.text.contains(definition))
      return file.path;
  llvm::report_fatal_error("no kernel template " + llvm::Twine(name));
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
