//===- PlanWriter.cpp - Plan IR to plan file ------------------------------===//

#include "compiler/plan/PlanWriter.h"

#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace glm;
using llvm::Error;

namespace {

llvm::ArrayRef<uint8_t> bytesOf(StringRef text) {
  return llvm::arrayRefFromStringRef(text);
}

plan::DType dtypeOf(Type type) {
  if (type.isBF16())
    return plan::DType::BF16;
  if (type.isF16())
    return plan::DType::F16;
  if (type.isF32())
    return plan::DType::F32;
  return plan::DType::I32;
}

/// The enumerator called `name`; the names in the IR are the schema's own.
template <typename Enum, size_t N>
Enum enumerator(const char *const *names, const Enum (&values)[N], StringRef name) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i])
      return values[i];
  llvm_unreachable("plan IR uses an enumerator that the schema lacks");
}

template <typename To> std::vector<To> vectorOf(ArrayRef<int64_t> from) {
  return std::vector<To>(from.begin(), from.end());
}

std::unique_ptr<plan::RowProgramT> programOf(planir::KernelOp op) {
  auto program = std::make_unique<plan::RowProgramT>();
  program->dims = vectorOf<int64_t>(op.getDims());
  program->operand_count = op.getOperandCount();
  program->result_count = op.getResultCount();
  program->tiles = op.getTiles();
  program->together = op.getTogether();
  for (auto inst : op.getBody().getOps<planir::RowInstOp>()) {
    auto t = std::make_unique<plan::RowInstT>();
    t->op = enumerator(plan::EnumNamesRowOp(), plan::EnumValuesRowOp(), inst.getOp());
    t->a = inst.getA();
    t->b = inst.getB();
    t->imm = inst.getImm().convertToFloat();
    t->coeff = vectorOf<int64_t>(inst.getCoeff());
    t->offset = inst.getOffset();
    t->dtype = dtypeOf(inst.getDtype());
    program->code.push_back(std::move(t));
  }
  return program;
}

std::unique_ptr<plan::KernelT> kernelOf(planir::KernelOp op) {
  auto t = std::make_unique<plan::KernelT>();
  t->name = op.getName().str();
  t->op = op.getOp().str();
  t->threads = op.getThreads();
  t->params = vectorOf<int64_t>(op.getParams());
  if (!op.getDims().empty())
    t->program = programOf(op);
  return t;
}

std::unique_ptr<plan::WeightT> weightOf(planir::WeightOp op) {
  auto t = std::make_unique<plan::WeightT>();
  t->name = op.getName().str();
  t->form = enumerator(plan::EnumNamesWeightForm(), plan::EnumValuesWeightForm(),
                       op.getForm());
  t->dtype = dtypeOf(op.getDtype());
  t->shape = vectorOf<uint64_t>(op.getShape());
  t->group = op.getGroup();
  ArrayRef<int64_t> p = op.getPieces();
  for (size_t i = 0; i + 2 < p.size(); i += 3)
    t->pieces.emplace_back(p[i + 1], p[i + 2], p[i]);
  ArrayRef<int64_t> c = op.getCuts();
  for (size_t i = 0; i + 2 < c.size(); i += 3)
    t->cuts.emplace_back(c[i], c[i + 1], c[i + 2]);
  return t;
}

std::unique_ptr<plan::EntryT> entryOf(planir::EntryOp op) {
  auto t = std::make_unique<plan::EntryT>();
  t->name = op.getName().str();
  t->kind = enumerator(plan::EnumNamesEntryKind(), plan::EnumValuesEntryKind(),
                       op.getKind());
  t->sequences = op.getSequences();
  t->tokens = op.getTokens();
  t->logit_rows = op.getLogitRows();
  t->arena_bytes = op.getArenaBytes();
  t->ids = op.getIds();
  t->seqs = op.getSeqs();
  t->rows = op.getRows();
  t->logits = op.getLogits();
  for (auto buffer : op.getBody().getOps<planir::BufferOp>()) {
    auto b = std::make_unique<plan::BufferT>();
    b->name = buffer.getName().str();
    b->dtype = dtypeOf(buffer.getDtype());
    b->shape = vectorOf<uint64_t>(buffer.getShape());
    b->offset = buffer.getOffset();
    b->size = buffer.getSize();
    b->first = buffer.getFirst();
    b->last = buffer.getLast();
    t->buffers.push_back(std::move(b));
  }
  for (auto launch : op.getBody().getOps<planir::LaunchOp>()) {
    auto l = std::make_unique<plan::LaunchT>();
    l->kernel = launch.getKernel();
    l->grid = vectorOf<uint32_t>(launch.getGrid());
    ArrayRef<int64_t> args = launch.getArgs();
    for (size_t i = 0; i + 2 < args.size(); i += 3)
      l->args.emplace_back(args[i + 2], args[i + 1],
                           static_cast<plan::ArgKind>(args[i]));
    l->origin = launch.getOrigin().str();
    l->weight_bytes = launch.getWeightBytes();
    l->memory_bytes = launch.getMemoryBytes();
    l->flops = launch.getFlops();
    t->launches.push_back(std::move(l));
  }
  for (auto group : op.getBody().getOps<planir::GroupOp>()) {
    auto g = std::make_unique<plan::GroupT>();
    g->kernel = group.getKernel();
    g->first = group.getFirst();
    ArrayRef<int64_t> c = group.getChains();
    for (size_t i = 0; i + 4 < c.size(); i += 5) {
      g->chains.emplace_back(c[i], c[i + 1], c[i + 2], c[i + 3]);
      g->slack.push_back(c[i + 4]);
    }
    if (llvm::all_of(g->slack, [](uint32_t s) { return s == 0; }))
      g->slack.clear();
    t->groups.push_back(std::move(g));
  }
  for (auto tap : op.getBody().getOps<planir::TapOp>()) {
    auto p = std::make_unique<plan::TapT>();
    p->name = tap.getName().str();
    p->buffer = tap.getBuffer();
    p->after = tap.getAfter();
    t->taps.push_back(std::move(p));
  }
  return t;
}

plan::PlanT tablesOf(planir::PlanOp op) {
  plan::PlanT t;
  t.producer = op.getProducer().str();
  t.math = op.getMath().str();
  t.fuse = op.getFuse().str();
  t.ranks = op.getRanks();
  for (Operation &inner : op.getBody().front()) {
    if (auto model = dyn_cast<planir::ModelOp>(inner)) {
      t.model = std::make_unique<plan::ModelT>();
      t.model->name = model.getName().str();
      t.model->layers = model.getLayers();
      t.model->hidden = model.getHidden();
      t.model->vocab = model.getVocab();
      t.model->pool_tokens = model.getPoolTokens();
      t.model->max_context = model.getMaxContext();
      t.model->experts = model.getExperts();
      t.model->experts_per_token = model.getExpertsPerToken();
    } else if (auto gen = dyn_cast<planir::GenerationOp>(inner)) {
      t.generation = std::make_unique<plan::GenerationT>();
      t.generation->stop_ids.assign(gen.getStopIds().begin(), gen.getStopIds().end());
      t.generation->temperature = gen.getTemperature().convertToFloat();
      t.generation->top_p = gen.getTopP().convertToFloat();
    } else if (auto file = dyn_cast<planir::WeightFileOp>(inner)) {
      auto f = std::make_unique<plan::WeightFileT>();
      f->path = file.getPath().str();
      f->size = file.getSize();
      f->fingerprint = file.getFingerprint();
      t.weight_files.push_back(std::move(f));
    } else if (auto weight = dyn_cast<planir::WeightOp>(inner)) {
      t.weights.push_back(weightOf(weight));
    } else if (auto rows = dyn_cast<planir::ExpertRowsOp>(inner)) {
      auto r = std::make_unique<plan::ExpertRowsT>();
      r->weights = vectorOf<uint32_t>(rows.getWeights());
      t.expert_rows.push_back(std::move(r));
    } else if (auto state = dyn_cast<planir::StateOp>(inner)) {
      auto s = std::make_unique<plan::StateT>();
      s->name = state.getName().str();
      s->dtype = dtypeOf(state.getDtype());
      s->shape = vectorOf<uint64_t>(state.getShape());
      s->bytes_per_slot = state.getBytesPerSlot();
      s->tokens_per_row = state.getTokensPerRow();
      t.states.push_back(std::move(s));
    } else if (auto kernel = dyn_cast<planir::KernelOp>(inner)) {
      t.kernels.push_back(kernelOf(kernel));
    } else if (auto entry = dyn_cast<planir::EntryOp>(inner)) {
      t.entries.push_back(entryOf(entry));
    }
  }
  return t;
}

std::string serialise(const plan::PlanT &tables) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  builder.Finish(plan::Plan::Pack(builder, &tables), plan::PlanIdentifier());
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                     builder.GetSize());
}

} // namespace

std::string planfile::planTables(planir::PlanOp op) { return serialise(tablesOf(op)); }

Error planfile::writePlan(planir::PlanOp op, const Attachments &attachments,
                          StringRef path) {
  plan::PlanT tables = tablesOf(op);
  // Segments follow the tables, whose size does not depend on where: structs
  // have a fixed size, so a first serialisation with zeros tells it.
  std::vector<StringRef> segments;
  auto segment = [&](StringRef bytes) {
    segments.push_back(bytes);
    return plan::Segment(0, bytes.size(), llvm::xxh3_64bits(bytesOf(bytes)));
  };
  for (const Attachments::Code &code : attachments.code) {
    auto c = std::make_unique<plan::CodeObjectT>();
    c->target = code.target;
    c->isa = code.isa;
    c->segment = std::make_unique<plan::Segment>(segment(code.bytes));
    tables.code_objects.push_back(std::move(c));
  }
  tables.source = std::make_unique<plan::Segment>(segment(attachments.source));
  tables.tokenizer = std::make_unique<plan::Segment>(segment(attachments.tokenizer));

  uint64_t end = plan::kFlatbufferOffset + serialise(tables).size();
  std::vector<uint64_t> offsets;
  for (StringRef bytes : segments) {
    offsets.push_back(plan::AlignSegment(end));
    end = offsets.back() + bytes.size();
  }
  size_t next = 0;
  auto place = [&](plan::Segment &s) {
    s = plan::Segment(offsets[next++], s.size(), s.xxh3());
  };
  for (auto &code : tables.code_objects)
    place(*code->segment);
  place(*tables.source);
  place(*tables.tokenizer);
  std::string flatbuffer = serialise(tables);
  if (flatbuffer.size() > plan::kMaxFlatbufferBytes)
    return llvm::createStringError("the plan's tables take " +
                                   llvm::Twine(flatbuffer.size()) +
                                   " bytes, more than a plan file may hold");

  plan::FileHeader header = plan::MakeFileHeader(
      flatbuffer.size(), end, llvm::xxh3_64bits(bytesOf(flatbuffer)),
      plan::FileVersion(/*paged=*/!tables.expert_rows.empty()));
  auto temp = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temp)
    return llvm::createStringError(path + ": cannot be written: " +
                                   llvm::toString(temp.takeError()));
  llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  os << flatbuffer;
  for (auto [bytes, offset] : llvm::zip(segments, offsets)) {
    os.write_zeros(offset - os.tell());
    os << bytes;
  }
  os.flush();
  if (os.has_error()) {
    std::error_code ec = os.error();
    os.clear_error();
    llvm::consumeError(temp->discard());
    return llvm::createStringError(ec, path + ": " + ec.message());
  }
  return temp->keep(path);
}
