// Text of llvm-objdump to instructions. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_DECODE_H_
#define TEST_GFXEMU_DECODE_H_

#include <string>
#include <vector>

#include "test/gfxemu/machine.h"

namespace gfxemu {

string trim(string s);
// Pieces of s between `sep` outside of brackets.
vector<string> split_top(const string& s, char sep);
// Fills in an instruction from its text; throws when the text is not known.
void parse_one(Inst& I, const string& text);

}  // namespace gfxemu

#endif  // TEST_GFXEMU_DECODE_H_
