// SPDX-License-Identifier: Apache-2.0
// f16 conversions by the F16C instructions, chosen at run time: the portable code takes 110 us for
// the sum of two 64 KiB vectors, which would be most of the time of simulating an all-reduce.

#include "models/numeric/convert.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define DIECAST_F16C 1
#else
#define DIECAST_F16C 0
#endif

namespace diecast::numeric::detail {

#if DIECAST_F16C
namespace {

constexpr std::size_t lanes = 8;

__attribute__((target("avx,f16c"))) void widen_f16c(const std::uint16_t* in, float* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
  for (; i < n; ++i) out[i] = _cvtsh_ss(in[i]);
}

__attribute__((target("avx,f16c"))) void narrow_f16c(const float* in, std::uint16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  for (; i < n; ++i) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace

bool has_f16_instructions() {
  // clang 14 does not know "f16c" as a name of __builtin_cpu_supports.
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return has;
}

void f16_to_f32_fast(const std::uint16_t* in, float* out, std::size_t n) {
  has_f16_instructions() ? widen_f16c(in, out, n) : f16_to_f32_portable(in, out, n);
}

void f32_to_f16_fast(const float* in, std::uint16_t* out, std::size_t n) {
  has_f16_instructions() ? narrow_f16c(in, out, n) : f32_to_f16_portable(in, out, n);
}

#else

bool has_f16_instructions() { return false; }
void f16_to_f32_fast(const std::uint16_t* in, float* out, std::size_t n) { f16_to_f32_portable(in, out, n); }
void f32_to_f16_fast(const float* in, std::uint16_t* out, std::size_t n) { f32_to_f16_portable(in, out, n); }

#endif

}  // namespace diecast::numeric::detail
