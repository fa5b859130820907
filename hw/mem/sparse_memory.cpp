// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/sparse_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

/// The part of a range in one page.
struct page_piece {
  std::uint64_t page{};
  std::uint64_t at{};    ///< offset in the page
  std::uint64_t done{};  ///< offset in the range
  std::uint64_t bytes{};
};

/// Calls body(page_piece) for every page a range touches.
template <class Body>
void for_each_piece(std::uint64_t offset, std::uint64_t bytes, Body&& body) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = (offset + done) % sparse_memory::page_bytes;
    const std::uint64_t n = std::min(bytes - done, sparse_memory::page_bytes - at);
    body(page_piece{(offset + done) / sparse_memory::page_bytes, at, done, n});
    done += n;
  }
}

/// Calls body(word, mask) for the words of a bit map that hold bits [from, from + count).
template <class Body>
void for_each_word(std::uint64_t from, std::uint64_t count, Body&& body) {
  const std::uint64_t end = from + count;
  for (std::uint64_t bit = from; bit < end;) {
    const std::uint64_t n = std::min(end - bit, 64 - bit % 64);
    const std::uint64_t ones = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    body(bit / 64, ones << bit % 64);
    bit += n;
  }
}

}  // namespace

void sparse_memory::page::mark(std::uint64_t from, std::uint64_t count) {
  for_each_word(from, count, [this](std::uint64_t word, std::uint64_t mask) { written[word] |= mask; });
}

std::uint64_t sparse_memory::page::first_unwritten(std::uint64_t from, std::uint64_t count) const {
  std::uint64_t first = from + count;
  for_each_word(from, count, [&](std::uint64_t word, std::uint64_t mask) {
    const std::uint64_t missing = ~written[word] & mask;
    if (missing != 0) first = std::min(first, word * 64 + static_cast<unsigned>(std::countr_zero(missing)));
  });
  return first;
}

std::uint64_t sparse_memory::page::unwritten(std::uint64_t from, std::uint64_t count) const {
  std::uint64_t total = 0;
  for_each_word(from, count, [&](std::uint64_t word, std::uint64_t mask) {
    total += static_cast<unsigned>(std::popcount(~written[word] & mask));
  });
  return total;
}

sparse_memory::sparse_memory(std::string instance, std::uint64_t size, bool strict)
    : instance_(std::move(instance)), size_(size), strict_(strict) {}

void sparse_memory::check_range(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset <= size_ && bytes <= size_ - offset) return;
  throw protocol_error(
      "{}: access outside the memory (value offset {:#x}, {} bytes; expected within {} bytes)", instance_,
      offset, bytes, size_);
}

const sparse_memory::page* sparse_memory::find(std::uint64_t index) const {
  const auto it = pages_.find(index);
  return it == pages_.end() ? nullptr : it->second.get();
}

sparse_memory::page& sparse_memory::find_or_make(std::uint64_t index) {
  auto& p = pages_[index];
  if (!p) p = std::make_unique<page>();
  return *p;
}

void sparse_memory::write(std::uint64_t offset, std::span<const std::byte> in) {
  check_range(offset, in.size());
  for_each_piece(offset, in.size(), [&](const page_piece& s) {
    page& p = find_or_make(s.page);
    std::memcpy(p.data.data() + s.at, in.data() + s.done, s.bytes);
    p.mark(s.at, s.bytes);
  });
}

void sparse_memory::read(std::uint64_t offset, std::span<std::byte> out) {
  check_range(offset, out.size());
  for_each_piece(offset, out.size(), [&](const page_piece& s) {
    const page* p = find(s.page);
    if (p == nullptr) {
      note_unwritten(offset + s.done, s.bytes);
      std::memset(out.data() + s.done, std::to_integer<int>(fill), s.bytes);
      return;
    }
    const std::uint64_t missing = p->unwritten(s.at, s.bytes);
    if (missing != 0) note_unwritten(s.page * page_bytes + p->first_unwritten(s.at, s.bytes), missing);
    std::memcpy(out.data() + s.done, p->data.data() + s.at, s.bytes);
  });
}

void sparse_memory::note_unwritten(std::uint64_t offset, std::uint64_t bytes) {
  if (strict_) {
    throw protocol_error("{}: read of memory never written (value offset {:#x}; expected a write before)",
                         instance_, offset);
  }
  if (unwritten_bytes_read_ == 0) first_unwritten_read_ = offset;
  unwritten_bytes_read_ += bytes;
}

std::vector<bool> sparse_memory::written(std::uint64_t offset, std::uint64_t bytes) const {
  check_range(offset, bytes);
  std::vector<bool> known(bytes);
  for_each_piece(offset, bytes, [&](const page_piece& s) {
    const page* p = find(s.page);
    for (std::uint64_t i = 0; p != nullptr && i < s.bytes; ++i)
      known[s.done + i] = p->first_unwritten(s.at + i, 1) != s.at + i;
  });
  return known;
}

void sparse_memory::peek(std::uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size());
  for_each_piece(offset, out.size(), [&](const page_piece& s) {
    const page* p = find(s.page);
    if (p == nullptr) {
      std::memset(out.data() + s.done, std::to_integer<int>(fill), s.bytes);
    } else {
      std::memcpy(out.data() + s.done, p->data.data() + s.at, s.bytes);
    }
  });
}

}  // namespace diecast::hw
