//===- TemplateLibrary.h - The kernel templates, built in -------*- C++ -*-===//
//
// glmc carries the files of compiler/codegen/templates in itself, so that it runs
// from anywhere and a plan can carry the complete source of its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_CODEGEN_TEMPLATELIBRARY_H
#define GLM_COMPILER_CODEGEN_TEMPLATELIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace glm::codegen {

struct TemplateFile {
  llvm::StringRef path; // glm/linear.h
  llvm::StringRef text;
};

/// All template files, by path.
llvm::ArrayRef<TemplateFile> templateFiles();

/// The header that defines `GLM_FN void <name>(Block& block, ...)`: glm/linear.h for
/// LinearTile.
llvm::StringRef headerOf(llvm::StringRef templateName);

/// The given headers and all that they include, each once, in an order that
/// compiles; the lines that included them are gone.
std::string inlineHeaders(llvm::ArrayRef<llvm::StringRef> headers);

} // namespace glm::codegen

#endif // GLM_COMPILER_CODEGEN_TEMPLATELIBRARY_H
