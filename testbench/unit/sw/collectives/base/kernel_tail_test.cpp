// SPDX-License-Identifier: Apache-2.0
// Kernels that follow each other over the same queue pairs, on the mock machine.
#include <functional>
#include <numeric>
#include <vector>

#include "support/test.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/stream.hpp"
#include "unit/sw/collectives/rings/ring_bench.hpp"

namespace diecast::test {
namespace {

using side = sw::kernel_tail::side;
using pipelines = std::vector<pe_context::pipeline>;
using kernel = std::function<void(pe_context&)>;

words counting_words(std::uint32_t first, std::size_t count) {
  words values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_CASE("a side of a queue pair is the next kernel's when all pipelines are through with it") {
  sw::kernel_tail tail;
  CHECK(!tail.has_left(3, side::send));  // not in its last stream: anything may come
  tail.need(2, side::send);
  tail.need(2, side::send);
  tail.need(2, side::receive);
  CHECK(!tail.begun());
  tail.begin();
  CHECK(tail.begun());
  CHECK(tail.has_left(3, side::send));
  CHECK(!tail.has_left(2, side::send));
  const std::uint64_t seen = tail.departures();
  tail.leave(2, side::send);
  CHECK(!tail.has_left(2, side::send));
  CHECK(tail.departures() == seen);
  tail.leave(2, side::send);
  CHECK(tail.has_left(2, side::send));
  CHECK(!tail.has_left(2, side::receive));
  CHECK(tail.departures() > seen);
  CHECK(!tail.ended());
  tail.end();
  CHECK(tail.has_left(2, side::receive));
  CHECK(tail.ended());
}

TEST_CASE("a kernel that ends without a last stream has left everything") {
  sw::kernel_tail tail;
  tail.end();
  CHECK(tail.begun());
  CHECK(tail.has_left(0, side::receive));
}

kernel streaming(const pipelines& l) {
  return [l](pe_context& pe) { pe.last_stream(l, "kernel"); };
}

/// Two kernels on a PE, as run_on_chunks runs them.
void two_kernels(abi::hal& hal, const sw::runtime_options& options, const kernel& first,
                 const kernel& second) {
  sw::pe_runtime runtime{hal, options};
  abi::kernel_arguments a;
  a.type = numeric::dtype::i32;
  std::vector<sw::kernel_tail> tails(2);
  const auto run = [&](std::size_t k, const kernel& body) {
    if (k > 0) runtime.tasks().block([&] { return tails[k - 1].begun(); });
    pe_context pe{runtime, a, k > 0 ? &tails[k - 1] : nullptr, tails[k]};
    body(pe);
    tails[k].end();
  };
  runtime.tasks().run({[&] { run(0, first); }, [&] { run(1, second); }});
  runtime.driver().finish();
}

pe_context::pipeline sending(comm::direction dir, std::uint64_t at, std::uint64_t bytes) {
  return {{dir}, {pe_context::outgoing{at, bytes}}, {}, {}};
}
pe_context::pipeline receiving(comm::direction dir, std::uint64_t at, std::uint64_t bytes) {
  return {{}, {}, {dir}, {pe_context::stage{at, bytes}}};
}

/// The neighbor answers the first kernel when it has heard from the second: only a kernel that sends while
/// the one before waits comes to an end.
TEST_CASE("a kernel sends while the one before it still receives") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      for (const std::uint64_t slots : {1U, 2U}) {
        CAPTURE(seed, slots);
        ring_bench b{2, slots, {order, seed}};
        const sw::runtime_options options = b.machine().firmware_options(b.pe(0));
        b.put(0, 0, counting_words(100, 96));
        b.put(1, 1024, counting_words(500, 80));
        b.also(0, [&](abi::hal& hal) {
          two_kernels(hal, options,
                      streaming({sending(comm::east, 0, 192), receiving(comm::east, 1024, 192)}),
                      streaming({sending(comm::east, 192, 192), receiving(comm::east, 1216, 128)}));
        });
        b.on(1, [](pe_context& pe) {
          pe.recv_all(comm::west, {0, 192}, pe_context::arrival::copy);
          pe.recv_all(comm::west, {192, 192}, pe_context::arrival::copy);
          pe.send_all(comm::west, {1024, 192});
          pe.send_all(comm::west, {1216, 128});
        });
        CHECK(b.run().deadlock == "");
        CHECK(b.get(1, 0, 96) == counting_words(100, 96));
        CHECK(b.get(0, 1024, 80) == counting_words(500, 80));
      }
    }
  }
}

/// Both kernels of both PEs send and receive both ways round, of different lengths: what is the second's
/// comes behind what is the first's.
TEST_CASE("messages of kernels that follow each other are told apart by their order") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const bool overlaps : {false, true}) {
        CAPTURE(seed, overlaps);
        ring_bench b{3, 2, {order, seed}};
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
          b.put(rank, 0, counting_words(1000 * rank, 200));
          const sw::runtime_options options = b.machine().firmware_options(b.pe(rank));
          b.also(rank, [options, overlaps](abi::hal& hal) {
            const auto from_west = [overlaps](std::uint64_t at, std::uint64_t bytes) {
              pe_context::pipeline l = receiving(comm::west, at, bytes);
              l.overlaps = overlaps;
              return l;
            };
            two_kernels(hal, options,
                        streaming({sending(comm::east, 0, 260), from_west(1024, 260),
                                   sending(comm::west, 0, 40), receiving(comm::east, 1284, 40)}),
                        streaming({sending(comm::east, 400, 72), from_west(2048, 72),
                                   sending(comm::west, 600, 200), receiving(comm::east, 2120, 200)}));
          });
        }
        CHECK(b.run().deadlock == "");
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
          const std::uint32_t west = 1000 * ((rank + 2) % 3), east = 1000 * ((rank + 1) % 3);
          CHECK(b.get(rank, 1024, 65) == counting_words(west, 65));
          CHECK(b.get(rank, 1284, 10) == counting_words(east, 10));
          CHECK(b.get(rank, 2048, 18) == counting_words(west + 100, 18));
          CHECK(b.get(rank, 2120, 50) == counting_words(east + 150, 50));
        }
      }
    }
  }
}

/// The neighbor takes nothing until a while has passed: the first kernel's slots are under way, or still to
/// come, when the second one would send and receive.
TEST_CASE("messages outside of streams wait for the end of the kernel before") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      ring_bench b{2, 1, {order, seed}};
      const sw::runtime_options options = b.machine().firmware_options(b.pe(0));
      b.put(0, 0, counting_words(100, 96));
      b.put(1, 1024, counting_words(500, 96));
      b.also(0, [&](abi::hal& hal) {
        two_kernels(hal, options, streaming({sending(comm::east, 0, 192), receiving(comm::east, 1024, 192)}),
                    [](pe_context& pe) {
                      pe.send_all(comm::east, {192, 192});
                      pe.recv_all(comm::east, {1216, 192}, pe_context::arrival::copy);
                    });
      });
      b.on(1, [](pe_context& pe) {
        pe.send_all(comm::west, {1024, 192});
        pe.recv_all(comm::west, {0, 192}, pe_context::arrival::copy);
        pe.recv_all(comm::west, {192, 192}, pe_context::arrival::copy);
        pe.send_all(comm::west, {1216, 192});
      });
      CHECK(b.run().deadlock == "");
      CHECK(b.get(1, 0, 96) == counting_words(100, 96));
      CHECK(b.get(0, 1024, 96) == counting_words(500, 96));
    }
  }
}

}  // namespace
}  // namespace diecast::test
