// SPDX-License-Identifier: Apache-2.0
// Cooperative tasks: interleaving, exceptions, and unwinding of whatever is suspended.
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/test.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace {

using namespace diecast;
using sw::pe_context;

class two_pes {
 public:
  explicit two_pes(sw::mock_options options = {})
      : config_(make_config()),
        members_(comm::map_ranks(config_.shape(), comm::rank_set::pe)),
        machine_(std::make_unique<sw::mock_machine>(config_, test::plan_for("ring_1d", config_, members_, 0),
                                                    options)) {}

  void on(std::uint32_t rank, std::function<void(pe_context&)> code) {
    const auto options = machine_->firmware_options(members_.members[rank]);
    programs_.push_back({members_.members[rank], [options, code = std::move(code)](diecast::abi::hal& hal) {
                           pe_context context{hal, diecast::abi::kernel_arguments{}, options};
                           code(context);
                           context.finish();
                         }});
  }
  sw::mock_outcome run() { return machine_->run(programs_); }
  void destroy() { machine_.reset(); }

 private:
  static config::machine_config make_config() {
    test::matrix_row row;
    row.shape = {1, 1, 1, 2};
    row.n_slots = 1;
    return test::config_of(row);
  }
  config::machine_config config_;
  comm::group members_;
  std::unique_ptr<sw::mock_machine> machine_;
  std::vector<sw::mock_program> programs_;
};

/// Counts live objects: everything suspended must be unwound.
struct witness {
  explicit witness(int& counter) : count(counter) { ++count; }
  witness(const witness&) = delete;
  ~witness() { --count; }
  int& count;
};

TEST_CASE("tasks interleave at waits, in order") {
  std::string trace;
  two_pes b;
  b.on(0, [&trace](pe_context& pe) {
    int turn = 0;
    pe.run_tasks({[&] {
                    trace += 'a';
                    pe.wait_until([&] { return turn == 2; });
                    trace += 'A';
                  },
                  [&] {
                    trace += 'b';
                    pe.wait_until([&] { return turn == 1; });
                    trace += 'B';
                    turn = 2;
                  },
                  [&] {
                    trace += 'c';
                    turn = 1;
                  }});
    trace += '.';
  });
  CHECK(b.run().finished);
  CHECK(trace == "abcBA.");
}

TEST_CASE("tasks wait for messages of different directions independently") {
  for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      two_pes b{{order, seed}};
      int received = 0;
      for (const std::uint32_t rank : {0u, 1u}) {
        b.on(rank, [&received](pe_context& pe) {
          pe.run_tasks({[&] {
                          for (int i = 0; i < 5; ++i) (void)pe.isend(comm::east, 0, 4);
                        },
                        [&] {
                          for (int i = 0; i < 3; ++i) (void)pe.isend(comm::west, 0, 4);
                        },
                        [&] {
                          for (int i = 0; i < 3; ++i) received += pe.recv(comm::east, 64) == 4 ? 1 : 0;
                        },
                        [&] {
                          for (int i = 0; i < 5; ++i) received += pe.recv(comm::west, 128) == 4 ? 1 : 0;
                        }});
        });
      }
      CHECK(b.run().deadlock == "");
      CHECK(received == 16);
    }
  }
}

TEST_CASE("tasks that wait for receives of one direction get each its own message") {
  for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      two_pes b{{order, seed}};
      std::vector<std::uint32_t> got(3), bytes(3);
      b.on(0, [](pe_context& pe) {
        for (std::uint32_t i = 0; i < 3; ++i) {
          const std::uint32_t word[3]{100 + i, 0, 0};
          pe.hal().store(64 * i, std::as_bytes(std::span{word}));
          pe.send(comm::east, 64 * i, 4 * (i + 1));
        }
      });
      b.on(1, [&got, &bytes](pe_context& pe) {
        std::vector<sw::ticket> asked;
        for (std::uint64_t i = 0; i < 3; ++i) asked.push_back(pe.recv_async(comm::west, 512 + 64 * i));
        pe.run_tasks({[&] { bytes[1] = pe.wait(asked[1]); }, [&] { bytes[0] = pe.wait(asked[0]); },
                      [&] { bytes[2] = pe.wait(asked[2]); }});
        for (std::uint64_t i = 0; i < 3; ++i)
          pe.hal().load(512 + 64 * i, std::as_writable_bytes(std::span{got}.subspan(i, 1)));
      });
      CHECK(b.run().deadlock == "");
      CHECK(got == std::vector<std::uint32_t>{100, 101, 102});
      CHECK(bytes == std::vector<std::uint32_t>{4, 8, 12});
    }
  }
}

TEST_CASE("a kernel that has not waited for all its receives is told so") {
  // The second wait receives the first message, too: that is here, and still nobody has waited for it.
  for (const unsigned waited : {0u, 1u}) {
    two_pes b;
    b.on(0, [](pe_context& pe) {
      for (int i = 0; i < 2; ++i) pe.send(comm::east, 0, 4);
    });
    b.on(1, [waited](pe_context& pe) {
      (void)pe.recv_async(comm::west, 64);
      const sw::ticket last = pe.recv_async(comm::west, 128);
      if (waited > 0) (void)pe.wait(last);
    });
    CHECK_THROWS_WITH(
        b.run(), Catch::Contains(
                     fmt::format("the kernel ends with {} recv_async of queue pair W open; expected a wait() "
                                 "for each",
                                 2 - waited)));
  }
}

TEST_CASE("an exception of a task unwinds the others and reaches the caller of run_tasks") {
  int alive = 0;
  std::string seen;
  two_pes b;
  b.on(0, [&](pe_context& pe) {
    try {
      pe.run_tasks({[&] {
                      witness w{alive};
                      (void)pe.recv(comm::east);
                    },
                    [&] {
                      witness w{alive};
                      throw std::runtime_error("broken task");
                    },
                    [&] { seen += "the third task ran; "; }});
    } catch (const std::runtime_error& e) {
      seen += e.what();
    }
    CHECK(alive == 0);
    pe.run_tasks({[&] { seen += ", again"; }, [] {}});
  });
  CHECK(b.run().finished);
  CHECK(seen == "broken task, again");
}

TEST_CASE("a task runs tasks of its own in the same round") {
  std::string trace;
  two_pes b;
  b.on(0, [&trace](pe_context& pe) {
    int turn = 0;
    bool started = false;
    const auto await = [&](int n) { pe.wait_until([&turn, n] { return turn >= n; }); };
    pe.run_tasks({[&] {
                    pe.run_tasks({[&] {
                                    trace += 'a';
                                    started = true;
                                    await(1);
                                    trace += 'A';
                                    turn = 2;
                                  },
                                  [&] {
                                    trace += 'b';
                                    pe.run_tasks({[&] { await(2); }, [&] { trace += 'c'; }});
                                    trace += 'B';
                                  }});
                    trace += '|';
                    pe.run_tasks({[&] { trace += 'x'; }, [&] { trace += 'y'; }});
                  },
                  [&] {
                    trace += 'd';
                    pe.wait_until([&] { return started; });
                    turn = 1;
                  }});
    trace += '.';
  });
  CHECK(b.run().deadlock == "");
  CHECK(trace == "dabcAB|xy.");
}

TEST_CASE("tasks with tasks of their own do not end each other's") {
  std::string trace;
  two_pes b;
  b.on(0, [&trace](pe_context& pe) {
    int turn = 0;
    const auto parent = [&](char name, int until) {
      pe.run_tasks({[] {}, [&pe, &turn, until] { pe.wait_until([&turn, until] { return turn >= until; }); }});
      trace += name;
      ++turn;
    };
    // "a" ends last; until then the ended task of "a" must be there to be looked at.
    pe.run_tasks(
        {[&] { parent('a', 3); }, [&] { parent('b', 0); }, [&] { parent('c', 1); }, [&] { parent('d', 2); }});
  });
  CHECK(b.run().deadlock == "");
  CHECK(trace == "bcda");
}

TEST_CASE("an exception of a nested task unwinds all of them") {
  int alive = 0;
  two_pes b;
  b.on(0, [&alive](pe_context& pe) {
    const auto wait_for_ever = [&] {
      witness w{alive};
      (void)pe.recv(comm::east);
    };
    pe.run_tasks({wait_for_ever, [&] {
                    witness w{alive};
                    pe.run_tasks({wait_for_ever, [&] {
                                    witness mine{alive};
                                    throw std::runtime_error("broken task");
                                  }});
                  }});
  });
  CHECK_THROWS_WITH(b.run(), "broken task");
  b.destroy();
  CHECK(alive == 0);
}

TEST_CASE("a deadlocked machine unwinds every stack when it is destroyed") {
  int alive = 0;
  two_pes b;
  for (const std::uint32_t rank : {0u, 1u}) {
    b.on(rank, [&alive](pe_context& pe) {
      witness kernel{alive};
      pe.run_tasks({[&] {
                      witness task{alive};
                      (void)pe.recv(comm::east);
                    },
                    [&] {
                      witness task{alive};
                      (void)pe.recv(comm::west);
                    }});
    });
  }
  CHECK_FALSE(b.run().finished);
  CHECK(alive == 6);
  b.destroy();
  CHECK(alive == 0);
}

TEST_CASE("a task caught inside a HAL call is unwound together with its kernel") {
  // PE 0 throws while tasks of PE 1 are interrupted in the middle of register accesses.
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    int alive = 0;
    two_pes b{{sw::schedule::random, seed}};
    b.on(0, [seed](pe_context& pe) {
      for (std::uint64_t i = 0; i < seed / 3; ++i) (void)pe.n_slots(static_cast<comm::direction>(2 + i % 2));
      for (std::uint64_t i = 0; i < seed; ++i) (void)pe.hal().read_register(diecast::abi::ipcq_queue_pairs);
      throw std::runtime_error("stop");
    });
    b.on(1, [&alive](pe_context& pe) {
      witness kernel{alive};
      pe.run_tasks({[&] {
                      witness task{alive};
                      for (;;) (void)pe.hal().read_register(diecast::abi::ipcq_queue_pairs);
                    },
                    [&] {
                      witness task{alive};
                      (void)pe.recv(comm::west);
                    }});
    });
    CHECK_THROWS_WITH(b.run(), "stop");
    b.destroy();
    CHECK(alive == 0);
  }
}

}  // namespace
