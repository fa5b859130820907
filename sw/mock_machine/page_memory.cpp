// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/page_memory.hpp"

#include <algorithm>

namespace diecast::sw {

void page_memory::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t within = offset % page_bytes;
    const std::size_t n = std::min<std::size_t>(out.size(), page_bytes - within);
    const auto found = pages_.find(offset / page_bytes);
    if (found == pages_.end()) {
      std::fill_n(out.begin(), n, fill);
    } else {
      std::copy_n(found->second->begin() + static_cast<std::ptrdiff_t>(within), n, out.begin());
    }
    offset += n;
    out = out.subspan(n);
  }
}

void page_memory::write(std::uint64_t offset, std::span<const std::byte> in) {
  while (!in.empty()) {
    const std::uint64_t within = offset % page_bytes;
    const std::size_t n = std::min<std::size_t>(in.size(), page_bytes - within);
    auto& slot = pages_[offset / page_bytes];
    if (slot == nullptr) {
      slot = std::make_unique<page>();
      slot->fill(fill);
    }
    std::copy_n(in.begin(), n, slot->begin() + static_cast<std::ptrdiff_t>(within));
    offset += n;
    in = in.subspan(n);
  }
}

}  // namespace diecast::sw
