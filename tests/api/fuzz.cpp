// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <cstddef>
#include <cstring>

namespace ggemm::tests::fuzz {
namespace {

constexpr std::int64_t groups_at_most = 6;
constexpr double wrong = 0.01;  // of fields that are nothing at all

std::int64_t any(Rng& random) {
  return random.pick<std::int64_t>({-1, INT64_MIN, INT64_MAX, INT64_MIN + 1, std::int64_t(1) << 31, std::int64_t(1) << 62, -(std::int64_t(1) << 40), static_cast<std::int64_t>(random.next())});
}
// Sizes that are refused; not large ones, whose memory is not there.
std::int64_t size(Rng& random) { return random.chance(wrong) ? random.pick<std::int64_t>({-1, INT64_MIN, -7}) : static_cast<std::int64_t>(random.below(Memory::most + 1)); }
// Of rows and of columns: mostly of either order with room between.
struct Strides {
  std::int64_t row = GGEMM_PACKED, column = GGEMM_PACKED;
};
Strides strides(Rng& random) {
  if (random.chance(0.6)) return {};
  if (random.chance(0.05)) return {random.between(-200, 200), random.between(-200, 200)};
  const std::int64_t apart = random.pick<std::int64_t>({0, Memory::most, 16, -16, 200}), next = random.pick<std::int64_t>({1, 1, 1, -1, 0});
  return random.chance(0.5) ? Strides{apart, next} : Strides{next, apart};
}
template <class Enum>
Enum one_of(Rng& random, int count, double none = 0) {
  if (random.chance(wrong)) return static_cast<Enum>(random.pick<int>({-1, count, 99, INT32_MIN}));
  return static_cast<Enum>(random.chance(none) ? 0 : random.below(static_cast<std::uint64_t>(count)));
}
std::uint32_t reserved(Rng& random) { return random.chance(wrong) ? static_cast<std::uint32_t>(random.next()) : 0; }
std::uint32_t flag(Rng& random) { return random.chance(wrong) ? 2 : random.chance(0.1); }

ggemm_dtype dtype(Rng& random, ggemm_dtype usual) { return random.chance(0.97) ? usual : one_of<ggemm_dtype>(random, 9); }
// Of A and B.
ggemm_dtype usual_dtype(Rng& random) { return random.chance(wrong) ? one_of<ggemm_dtype>(random, 9) : static_cast<ggemm_dtype>(random.between(GGEMM_F64, GGEMM_I8)); }

const char* text(Rng& random) {
  return random.chance(0.97) ? nullptr : random.pick<const char*>({"", "host", "host_f32_f32_f32_tt", "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", "%s%n", "host_f32"});
}

ggemm_epilogue_desc epilogue(Rng& random) {
  ggemm_epilogue_desc out = GGEMM_EPILOGUE_INIT_;
  out.activation = one_of<ggemm_activation>(random, 9, 0.6);
  out.bias = one_of<ggemm_bias>(random, 3, 0.6);
  out.bias_dtype = dtype(random, GGEMM_DTYPE_NONE);
  out.scalars_on_device = flag(random);
  out.activation_p0 = random.chance(wrong) ? __builtin_nan("") : random.pick({0.0, -1.0, 1.0, -1e308, -__builtin_inf()});
  out.activation_p1 = random.chance(wrong) ? __builtin_nan("") : random.pick({0.0, 2.0, 1.0, 1e308, __builtin_inf()});
  out.gate = one_of<ggemm_gate>(random, 3, 0.9);
  out.reserved0 = reserved(random), out.reserved1 = reserved(random);
  return out;
}

ggemm_source source(Rng& random, Memory& memory, std::int64_t value) {
  if (random.chance(0.6)) return ggemm_const(value);
  ggemm_source out = random.chance(0.5) ? ggemm_i32_at(memory.numbers(random), random.pick<std::int64_t>({0, 4, 8, 12, -4, 2})) : ggemm_i64_at(memory.numbers(random), random.pick<std::int64_t>({0, 8, 16, -8, 4}));
  if (random.chance(wrong)) out.kind = static_cast<ggemm_source_kind>(7);
  out.reserved0 = reserved(random);
  return out;
}

ggemm_grouped_matrix grouped_matrix(Rng& random, Memory& memory, ggemm_dtype type) {
  ggemm_grouped_matrix out = GGEMM_GROUPED_MATRIX_INIT_;
  out.dtype = type, out.pointers = flag(random);
  const Strides constant = strides(random);
  out.row_stride = ggemm_const(constant.row), out.col_stride = ggemm_const(constant.column);
  for (ggemm_source* one : {&out.row_stride, &out.col_stride})
    if (random.chance(0.05)) *one = source(random, memory, one->value);
  out.group_stride = random.chance(0.8) ? GGEMM_PACKED : random.between(-50, 2000);
  return out;
}

ggemm_grouped_scale grouped_scale(Rng& random, Memory& memory) {
  ggemm_grouped_scale out = GGEMM_GROUPED_SCALE_INIT_;
  if (random.chance(0.9)) return out;
  const ggemm_grouped_matrix matrix = grouped_matrix(random, memory, GGEMM_F32);
  out.kind = one_of<ggemm_scale_kind>(random, 5), out.pointers = matrix.pointers;
  out.row_stride = matrix.row_stride, out.col_stride = matrix.col_stride, out.group_stride = matrix.group_stride;
  return out;
}

void set_form(Rng& random, Memory& memory, ggemm_grouped_desc& desc) {
  desc.form = one_of<ggemm_grouped_form>(random, 5);
  const bool ragged = desc.form == GGEMM_GROUPS_RAGGED_M || desc.form == GGEMM_GROUPS_RAGGED_K;
  const auto numbers = [&] { return source(random, memory, 0); };
  if (ragged != random.chance(wrong)) desc.ends = numbers();
  if ((desc.form == GGEMM_GROUPS_MASKED) != random.chance(wrong)) desc.counts = numbers();
  desc.bias_pointers = flag(random), desc.checked = random.chance(0.2);
  desc.bias_group_stride = random.chance(0.5) ? GGEMM_PACKED : random.between(-1, 300);
  if (desc.form != GGEMM_GROUPS_RAGGED_M || random.chance(0.6)) return;
  if (random.chance(0.6)) desc.a_index = numbers(), desc.a_rows = size(random);
  if (random.chance(0.6)) desc.d_index = numbers(), desc.d_rows = size(random), desc.d_index_unique = flag(random);
}

// Where the description says that there are pointers they must be some: they are followed.
void set_operands(Rng& random, Memory& memory, Grouped& out) {
  const ggemm_grouped_desc& desc = out.desc;
  const auto given = [&](bool pointers) { return pointers || desc.form == GGEMM_GROUPS_POINTERS ? memory.pointers(random) : memory.operand(random); };
  out.args.a = given(desc.a.pointers), out.args.b = given(desc.b.pointers), out.args.d = given(desc.d.pointers);
  out.args.c = given(desc.c.pointers), out.args.bias = given(desc.bias_pointers);
  // The numbers of tensors are no pointers, in any form.
  const auto scales = [&](const ggemm_grouped_scale& scale) { return scale.kind == GGEMM_SCALE_TENSOR && !scale.pointers ? memory.operand(random) : given(scale.pointers); };
  out.args.scale_a = scales(desc.scale_a), out.args.scale_b = scales(desc.scale_b);
  for (const void** scalar : {&out.args.alpha, &out.args.beta})
    if (random.chance(0.4)) *scalar = memory.scalar(random);
  if (random.chance(desc.epilogue.scalars_on_device ? 0.3 : wrong)) out.args.alpha_byte_stride = random.pick<std::int64_t>({4, 8, -8, 3});
  if (random.chance(desc.epilogue.scalars_on_device ? 0.3 : wrong)) out.args.beta_byte_stride = random.pick<std::int64_t>({4, 8, -8, 3});
  if (random.chance(desc.d_index.kind == GGEMM_SOURCE_CONST ? wrong : 0.5)) out.args.row_weights = memory.operand(random);
  if (!random.chance(0.1)) out.args.status = memory.status();
}

// Bytes of the struct that are neither its size nor a pointer.
template <class Struct>
void spoil(Rng& random, Struct& desc, const std::vector<std::size_t>& pointers) {
  auto* const bytes = reinterpret_cast<unsigned char*>(&desc);
  for (std::uint64_t left = 1 + random.below(8); left > 0; --left) {
    const std::size_t at = sizeof(std::size_t) + random.below(sizeof desc - sizeof(std::size_t));
    bool free = true;
    for (const std::size_t pointer : pointers) free = free && (at < pointer || at >= pointer + sizeof(void*));
    if (free) bytes[at] = random.chance(0.5) ? static_cast<unsigned char>(random.next()) : static_cast<unsigned char>(bytes[at] ^ 1u << random.below(8));
  }
  if (random.chance(0.3)) desc.m = {};
  if (random.chance(wrong)) desc.struct_size = random.below(sizeof desc);
}

}  // namespace

Memory::Memory(Rng& random) : operands_(std::size_t(1) << 16), scalars_(32), small_(256), pointers_(64) {
  for (std::vector<double>* numbers : {&operands_, &scalars_})
    for (double& number : *numbers) number = random.pick({0.0, 1.0, -2.0, 0.5});
  for (std::int64_t& number : small_) number = random.chance(0.05) ? -1 : static_cast<std::int64_t>(random.below(most + 1));
  for (void*& pointer : pointers_) pointer = operand(random);
}

void* Memory::operand(Rng& random) {
  if (random.chance(wrong)) return nullptr;
  auto* const middle = reinterpret_cast<unsigned char*>(&operands_[operands_.size() / 2]);
  return middle + 8 * random.between(-100, 100) + (random.chance(wrong) ? static_cast<std::int64_t>(random.below(8)) : 0);
}
const void* Memory::scalar(Rng& random) { return random.chance(wrong) ? nullptr : reinterpret_cast<char*>(&scalars_[8 + random.below(16)]) + (random.chance(wrong) ? 1 : 0); }
const void* Memory::numbers(Rng& random) { return random.chance(wrong) ? nullptr : reinterpret_cast<char*>(&small_[64]) + (random.chance(wrong) ? 1 : 8 * random.below(32)); }
const void* Memory::pointers(Rng& random) { return random.chance(wrong) ? nullptr : reinterpret_cast<char*>(&pointers_[random.below(32)]) + (random.chance(wrong) ? 1 : 0); }

Plain plain(Rng& random, Memory& memory) {
  Plain out;
  ggemm_gemm_desc& desc = out.desc;
  desc.m = size(random), desc.n = size(random), desc.k = size(random);
  const ggemm_dtype usual = usual_dtype(random);
  for (ggemm_matrix* matrix : {&desc.a, &desc.b, &desc.c, &desc.d}) {
    matrix->dtype = matrix == &desc.c && random.chance(0.8) ? GGEMM_DTYPE_NONE : dtype(random, matrix == &desc.d && usual == GGEMM_I8 ? GGEMM_I32 : usual);
    const Strides apart = strides(random);
    matrix->row_stride = apart.row, matrix->col_stride = apart.column;
    matrix->reserved0 = reserved(random), matrix->reserved1 = reserved(random);
  }
  desc.epilogue = epilogue(random);
  desc.compute = one_of<ggemm_compute>(random, 4, 0.9);
  desc.config = text(random), desc.tune_key = text(random);
  for (ggemm_scale* scale : {&desc.scale_a, &desc.scale_b})
    if (random.chance(0.1)) {
      const Strides apart = strides(random);
      *scale = {one_of<ggemm_scale_kind>(random, 5), reserved(random), apart.row, apart.column};
    }
  desc.max_ctas = random.chance(0.9) ? 0 : static_cast<std::int32_t>(random.between(-1, 200));
  desc.reserved0 = reserved(random), desc.reserved1 = reserved(random);
  ggemm_gemm_args& args = out.args;
  for (const void** operand : {&args.a, &args.b, &args.c, &args.bias, &args.scale_a, &args.scale_b}) *operand = memory.operand(random);
  args.d = random.chance(0.2) ? const_cast<void*>(args.c) : memory.operand(random);
  for (const void** scalar : {&args.alpha, &args.beta})
    if (random.chance(0.4)) *scalar = memory.scalar(random);
  for (std::int64_t* one : {&args.m, &args.n, &args.k})
    if (random.chance(0.2)) *one = size(random);
  return out;
}

Grouped grouped(Rng& random, Memory& memory) {
  Grouped out;
  ggemm_grouped_desc& desc = out.desc;
  desc.groups = random.chance(wrong) ? random.pick<std::int64_t>({-1, INT64_MIN, std::int64_t(1) << 31, INT64_MAX}) : static_cast<std::int64_t>(random.below(groups_at_most + 1));
  set_form(random, memory, desc);
  const bool pointers = desc.form == GGEMM_GROUPS_POINTERS;
  for (ggemm_source* one : {&desc.m, &desc.n, &desc.k}) *one = pointers || desc.form == GGEMM_GROUPS_BATCH || random.chance(wrong) ? source(random, memory, size(random)) : ggemm_const(size(random));
  const ggemm_dtype usual = usual_dtype(random), result = usual == GGEMM_I8 ? GGEMM_I32 : usual;
  desc.a = grouped_matrix(random, memory, dtype(random, usual)), desc.b = grouped_matrix(random, memory, dtype(random, usual));
  desc.c = grouped_matrix(random, memory, dtype(random, GGEMM_DTYPE_NONE)), desc.d = grouped_matrix(random, memory, dtype(random, result));
  desc.epilogue = epilogue(random);
  desc.compute = one_of<ggemm_compute>(random, 4, 0.9);
  for (std::int64_t* hint : {&desc.expected_m, &desc.expected_n, &desc.expected_k})
    if (random.chance(0.05)) *hint = any(random);
  desc.config = text(random), desc.tune_key = text(random);
  desc.scale_a = grouped_scale(random, memory), desc.scale_b = grouped_scale(random, memory);
  desc.max_ctas = random.chance(0.9) ? 0 : static_cast<std::int32_t>(random.between(-1, 200));
  desc.reserved0 = reserved(random), desc.reserved1 = reserved(random);
  set_operands(random, memory, out);
  return out;
}

void spoil(Rng& random, ggemm_gemm_desc& desc) { spoil(random, desc, {offsetof(ggemm_gemm_desc, config), offsetof(ggemm_gemm_desc, tune_key)}); }
void spoil(Rng& random, ggemm_grouped_desc& desc) { spoil(random, desc, {offsetof(ggemm_grouped_desc, config), offsetof(ggemm_grouped_desc, tune_key)}); }

std::string name(Rng& random) {
  std::string out = random.pick<const char*>({"host_f32_f32_f32_tt", "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8",
                                              "sm90_bf16_bf16_f32_tn_128x128x64_w4x1x2_s6_c2x1_r8", "sm90_bf16_bf16_f32_tn_64x128x64_w1x8_s8_c1x1_m64_swap_r8",
                                              "sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c2x1x4_k33_r1"});
  for (std::uint64_t left = random.below(4); left > 0 && !out.empty(); --left) {
    const std::size_t at = random.below(out.size());
    switch (random.below(4)) {
      case 0: out[at] = static_cast<char>(1 + random.below(255)); break;
      case 1: out.erase(at, 1 + random.below(5)); break;
      case 2: out.insert(at, random.pick<const char*>({"0", "_", "x", "99999999999999999999", "-1", "k", "_swap", "r"})); break;
      default: out = out.substr(0, at) + out.substr(random.below(out.size())); break;
    }
  }
  return out;
}

}  // namespace ggemm::tests::fuzz
