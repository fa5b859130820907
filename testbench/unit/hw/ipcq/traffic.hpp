// SPDX-License-Identifier: Apache-2.0
// Random traffic over random queue pairs: the firmware of every PE sends and receives on all of its
// directions at once, and checks every byte.
#pragma once

#include <array>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::test {

/// One ring and the messages that go through it.
struct flow {
  std::uint32_t from{}, to{};  ///< ranks
  comm::direction from_dir{}, to_dir{};
  bool both_ways{};  ///< shares its queue pairs with the flow back
  std::vector<std::uint32_t> sizes;
};

struct traffic {
  std::uint32_t ranks{};
  std::uint32_t slot_bytes{};
  std::uint32_t seed{};
  std::uint32_t most_skew{};  ///< cycles between two calls
  std::vector<flow> flows;

  /// Queue pairs a PE needs.
  [[nodiscard]] std::uint32_t directions() const {
    std::uint32_t most = 0;
    for (const flow& f : flows) most = std::max<std::uint32_t>({most, f.from_dir + 1u, f.to_dir + 1u});
    return most;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const { return 2 * flows.size() * std::uint64_t{slot_bytes}; }
};

/// Between any two ranks, one way or both, more than once: `pairs` edges over custom directions.
inline traffic random_traffic(std::uint32_t ranks, std::uint32_t pairs, std::uint32_t slot_bytes,
                              std::uint32_t messages, std::uint32_t seed) {
  std::mt19937 draw(seed);
  traffic t{ranks, slot_bytes, seed, 1 + static_cast<std::uint32_t>(draw() % 2000), {}};
  std::vector<comm::direction> next(ranks);
  const auto sizes = [&] {
    std::vector<std::uint32_t> all(draw() % (messages + 1));
    for (auto& bytes : all) bytes = static_cast<std::uint32_t>(draw() % (slot_bytes + 1));
    return all;
  };
  for (std::uint32_t p = 0; p < pairs; ++p) {
    const auto a = static_cast<std::uint32_t>(draw() % ranks);
    const auto b = static_cast<std::uint32_t>((a + 1 + draw() % (ranks - 1)) % ranks);
    const comm::direction at_a = next[a]++, at_b = next[b]++;
    const bool both = draw() % 2 == 0;
    t.flows.push_back({a, b, at_a, at_b, both, sizes()});
    if (both) t.flows.push_back({b, a, at_b, at_a, true, sizes()});
  }
  return t;
}

inline std::vector<comm::edge> edges_of(const traffic& t, const std::vector<pe_coord>& members) {
  std::vector<comm::edge> edges;
  for (const flow& f : t.flows)
    edges.push_back({members.at(f.from), f.from_dir, members.at(f.to), f.both_ways, f.to_dir});
  return edges;
}

/// Byte `i` of message `k` of flow `f`.
inline std::byte content(std::size_t f, std::size_t k, std::size_t i) {
  return static_cast<std::byte>((f * 131 + k * 31 + i * 7 + (i >> 8)) & 0xff);
}

class traffic_firmware {
 public:
  traffic_firmware(const traffic& t, sw::pe_context& pe)
      : t_(t), pe_(pe), rank_(pe.args().rank), draw_(t.seed * 1000 + rank_) {}

  void run() {
    std::vector<std::function<void()>> tasks;
    std::vector<std::size_t> inbound;
    for (std::size_t f = 0; f < t_.flows.size(); ++f) {
      if (t_.flows[f].from == rank_) tasks.emplace_back([this, f] { send(f); });
      if (t_.flows[f].to == rank_) inbound.push_back(f);
    }
    if (draw_() % 4 == 0) {
      tasks.emplace_back([this, inbound] { receive_any(inbound); });
    } else {
      for (const std::size_t f : inbound) tasks.emplace_back([this, f] { receive(f); });
    }
    pe_.run_tasks(tasks);
  }

 private:
  [[nodiscard]] std::uint64_t buffer(std::size_t f, unsigned half) const {
    return pe_.args().scratch + (2 * f + half) * t_.slot_bytes;
  }
  void skew() { pe_.hal().compute(draw_() % t_.most_skew); }

  void send(std::size_t f) {
    const flow& fl = t_.flows[f];
    const std::uint64_t at = buffer(f, 0);
    for (std::size_t k = 0; k < fl.sizes.size(); ++k) {
      skew();
      std::vector<std::byte> bytes(fl.sizes[k]);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(f, k, i);
      pe_.hal().store(at, bytes);
      if (draw_() % 2 == 0) {
        pe_.send(fl.from_dir, at, fl.sizes[k]);
      } else {
        const sw::ticket sent = pe_.isend(fl.from_dir, at, fl.sizes[k]);
        skew();
        (void)pe_.wait(sent);
      }
    }
  }

  void check(std::size_t f, std::size_t k, std::uint64_t at, std::uint32_t bytes) {
    const flow& fl = t_.flows[f];
    if (bytes != fl.sizes[k]) fail(f, k, fmt::format("{} bytes, expected {}", bytes, fl.sizes[k]));
    std::vector<std::byte> got(bytes);
    pe_.hal().load(at, got);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != content(f, k, i)) fail(f, k, fmt::format("byte {} is wrong", i));
    }
  }
  [[noreturn]] void fail(std::size_t f, std::size_t k, const std::string& what) {
    throw sw::firmware_trap(pe_.hal().self(), fmt::format("message {} of flow {}: {}", k, f, what));
  }

  /// Takes message `k` of the flow in one of the ways firmware may.
  void take(std::size_t f, std::size_t k) {
    const comm::direction dir = t_.flows[f].to_dir;
    const std::uint64_t at = buffer(f, 0);
    if (draw_() % 2 == 0) {
      check(f, k, at, pe_.recv(dir, at));
      return;
    }
    const sw::slot_view slot = pe_.recv(dir);
    skew();
    pe_.fetch(slot, at);
    check(f, k, at, slot.bytes);
    pe_.release(dir);
  }

  void receive(std::size_t f) {
    const flow& fl = t_.flows[f];
    for (std::size_t k = 0; k < fl.sizes.size(); ++k) {
      skew();
      if (k + 1 < fl.sizes.size() && draw_() % 4 == 0) {
        const std::array<sw::ticket, 2> asked{pe_.recv_async(fl.to_dir, buffer(f, 0)),
                                              pe_.recv_async(fl.to_dir, buffer(f, 1))};
        skew();
        const std::uint32_t second = pe_.wait(asked[1]);  // either order does
        const std::uint32_t first = pe_.wait(asked[0]);
        check(f, k, buffer(f, 0), first);
        check(f, ++k, buffer(f, 1), second);
      } else {
        take(f, k);
      }
    }
  }

  void receive_any(const std::vector<std::size_t>& inbound) {
    std::vector<std::size_t> got(t_.flows.size());
    for (;;) {
      std::vector<comm::direction> open;
      for (const std::size_t f : inbound) {
        if (got[f] < t_.flows[f].sizes.size()) open.push_back(t_.flows[f].to_dir);
      }
      if (open.empty()) return;
      const comm::direction dir = pe_.recv_any(open);
      for (const std::size_t f : inbound) {
        if (t_.flows[f].to_dir == dir) take(f, got[f]++);
      }
    }
  }

  const traffic& t_;
  sw::pe_context& pe_;
  std::uint32_t rank_;
  std::mt19937 draw_;
};

}  // namespace diecast::test
