// SPDX-License-Identifier: Apache-2.0
// Bytes of a memory, stored by pages made on the first write: an untouched memory of any size costs
// the object alone. Remembers byte by byte what was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace diecast::hw {

class sparse_memory {
 public:
  static constexpr std::uint64_t page_bytes = 4096;
  /// Value of bytes that were never written: all ones is a NaN in every float type, so that wrong results
  /// show.
  static constexpr std::byte fill{0xff};

  /// `instance` names the memory in errors. `strict`: reading a byte never written is an error.
  sparse_memory(std::string instance, std::uint64_t size, bool strict);

  /// All accesses throw protocol_error naming instance, offset and size when they leave the memory.
  void write(std::uint64_t offset, std::span<const std::byte> in);
  /// Bytes never written read as `fill` and are counted; strict: throws protocol_error instead, naming
  /// the first of them.
  void read(std::uint64_t offset, std::span<std::byte> out);
  /// As read, but neither counts nor throws for bytes never written: the backdoor's view.
  void peek(std::uint64_t offset, std::span<std::byte> out) const;
  /// Map of the bytes of a range that were ever written.
  [[nodiscard]] std::vector<bool> written(std::uint64_t offset, std::uint64_t bytes) const;
  /// Throws protocol_error unless [offset, offset + bytes) lies in the memory.
  void check_range(std::uint64_t offset, std::uint64_t bytes) const;

  [[nodiscard]] const std::string& instance() const { return instance_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t pages() const { return pages_.size(); }
  /// Bytes read that were never written.
  [[nodiscard]] std::uint64_t unwritten_bytes_read() const { return unwritten_bytes_read_; }
  /// Offset of the first such byte; 0 where there is none.
  [[nodiscard]] std::uint64_t first_unwritten_read() const { return first_unwritten_read_; }

 private:
  struct page {
    page() { data.fill(fill); }
    std::array<std::byte, page_bytes> data;
    std::array<std::uint64_t, page_bytes / 64> written{};  ///< one bit per byte
    void mark(std::uint64_t from, std::uint64_t count);
    /// First offset at or after `from` not written, or from + count.
    [[nodiscard]] std::uint64_t first_unwritten(std::uint64_t from, std::uint64_t count) const;
    [[nodiscard]] std::uint64_t unwritten(std::uint64_t from, std::uint64_t count) const;
  };
  [[nodiscard]] const page* find(std::uint64_t index) const;
  [[nodiscard]] page& find_or_make(std::uint64_t index);
  void note_unwritten(std::uint64_t offset, std::uint64_t bytes);

  std::string instance_;
  std::uint64_t size_;
  bool strict_;
  std::uint64_t unwritten_bytes_read_{};
  std::uint64_t first_unwritten_read_{};
  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;  ///< never iterated
};

}  // namespace diecast::hw
