// The handlers of instructions by mnemonic. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_TABLE_H_
#define TEST_GFXEMU_TABLE_H_

#include <string>
#include <unordered_map>

#include "test/gfxemu/machine.h"

namespace gfxemu {

// Mnemonic, without its encoding (_e32, _e64, _dpp), to handler.
extern std::unordered_map<string, Fn> T;

void AddScalar();
void AddVectorInteger();
void AddVectorFloat();
void AddVectorHalf();
void AddVectorDouble();
void AddPermutes();

// The handler of a mnemonic; empty when there is none.
Fn lookup(const string& n);
// The handler of v_wmma_NAME.
Fn wmma(const string& nm);

}  // namespace gfxemu

#endif  // TEST_GFXEMU_TABLE_H_
