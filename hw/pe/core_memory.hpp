// SPDX-License-Identifier: Apache-2.0
// The core's access to global memory: its data cache, and the packets that fetch lines, write them back
// and add at the memory, through the terminal of the PE. Only the core's thread calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <systemc>
#include <vector>

#include "hw/base/pe_interfaces.hpp"
#include "models/abi/hal.hpp"
#include "models/protocol/data_cache.hpp"

namespace diecast::hw {

class core_memory {
 public:
  struct counters {
    std::uint64_t loads{};          ///< cacheable
    std::uint64_t stores{};         ///< cacheable
    std::uint64_t hits{};           ///< hits of loads and stores together
    std::uint64_t line_fills{};     ///< lines fetched
    std::uint64_t write_backs{};    ///< lines written, evicted ones included
    std::uint64_t evictions{};      ///< dirty lines that left for another
    std::uint64_t remote_reads{};   ///< reads and atomics at memories of other cubes
    std::uint64_t remote_writes{};  ///< line writes at memories of other cubes
    std::uint64_t remote_bytes{};   ///< payload of both, in bytes
    std::uint64_t uncached_reads{};
    std::uint64_t atomics{};

    counters& operator+=(const counters& o) {
      loads += o.loads;
      stores += o.stores;
      hits += o.hits;
      line_fills += o.line_fills;
      write_backs += o.write_backs;
      evictions += o.evictions;
      remote_reads += o.remote_reads;
      remote_writes += o.remote_writes;
      remote_bytes += o.remote_bytes;
      uncached_reads += o.uncached_reads;
      atomics += o.atomics;
      return *this;
    }
  };
  /// Functions of the core: `owe` charges cycles to be waited for later, `wait_owed` waits for them.
  struct core_hooks {
    std::function<void(std::uint64_t)> owe;
    std::function<void()> wait_owed;
  };

  core_memory(const pe_setup& setup, const block_port<dma_if>& dma, core_hooks hooks);

  void load(abi::address at, std::span<std::byte> out);
  void store(abi::address at, std::span<const std::byte> in);
  void dcci_line(abi::address at);
  void dcci_all();
  void pipe_barrier();
  void load_uncached(abi::address at, std::span<std::byte> out);
  std::uint64_t add_at_memory(abi::address at, std::uint64_t value);

  /// The DMA engine has the answer to access `tag`.
  void access_done(std::uint32_t tag, std::span<const std::byte> data);

  [[nodiscard]] const protocol::data_cache& cache() const { return cache_; }
  [[nodiscard]] const counters& statistics() const { return counters_; }

 private:
  /// An access that has not been answered.
  struct outstanding {
    std::uint32_t tag{};
    abi::address line{};
  };
  void check(abi::address at, std::uint64_t bytes, const char* what) const;
  void make_present(abi::address at);
  std::vector<std::byte> read(abi::address at, std::uint64_t bytes, core_access request);
  void write_back(const protocol::data_cache::line& line);
  void issue(core_access access);
  void count_remote(abi::address at, bool write, std::uint64_t bytes);
  void publish(events::memory_phase phase, abi::address at, std::span<const std::byte> bytes) const;
  template <class Condition>
  void await(Condition holds);
  [[nodiscard]] bool writing(abi::address line) const;

  const pe_setup& setup_;
  const block_port<dma_if>& dma_;
  core_hooks hooks_;
  sim_time phase_;
  protocol::data_cache cache_;
  std::vector<outstanding> writes_;
  std::uint32_t next_tag_{};
  std::uint32_t reading_{};  ///< tag of the read in flight
  bool answered_{true};
  std::vector<std::byte> answer_;
  sc_core::sc_event done_{"access_done"};
  counters counters_;
};

}  // namespace diecast::hw
