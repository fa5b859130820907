// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "platforms/app/prepare_all.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using platforms::run_outcome;
using platforms::run_status;

namespace {

run_outcome outcome_of(const std::string& fingerprint, run_status status = run_status::ok) {
  run_outcome o;
  o.collective = "all_reduce";
  o.fingerprint = fingerprint;
  o.status = status;
  return o;
}

run_outcome twice(const run_outcome& second) {
  app::options o;
  o.double_run = true;
  run_outcome first = outcome_of("1");
  app::reproducer(o, 1).look_at(0, first, [&second] { return second; });
  return first;
}

}  // namespace

TEST_CASE("double run: only what ran to its end is compared") {
  CHECK(twice(outcome_of("1")).status == run_status::ok);
  CHECK(twice(outcome_of("2")).status == run_status::not_reproducible);
  for (const run_status ended : {run_status::interrupted, run_status::internal}) {
    run_outcome second = outcome_of("2", ended);
    second.message = "what happened to it";
    const run_outcome o = twice(second);
    CHECK(o.status == ended);
    CHECK(o.message == "the second run: what happened to it");
  }
}

TEST_CASE("verify: recorded runs that are missing are told") {
  app::run_record two;
  two.add(outcome_of("1"));
  two.add(outcome_of("2"));
  const auto file = std::filesystem::temp_directory_path() / ("diecast-record-" + std::to_string(getpid()));
  std::ofstream(file) << two.text(2);
  const app::run_record read(file.string());
  std::filesystem::remove(file);
  run_outcome last = outcome_of("1");
  read.expect(2, last);
  CHECK(last.status == run_status::ok);
  read.expect(1, last);
  CHECK(last.status == run_status::error);
  CHECK(last.message.find("holds 2 runs, of which these are 1") != std::string::npos);
  CHECK(two.text(3).size() < two.text(2).size());  // the text of an interrupted run has no end
}
