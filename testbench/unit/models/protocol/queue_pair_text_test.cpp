// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "models/protocol/fault_record.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::comm;

namespace {

constexpr pe_coord here{sip_id{3}, cube_id{14}, pe_id{7}};

std::string of_run(pe_coord pe, direction d) {
  return "sip" + std::to_string(pe.sip.value) + ".up" + std::to_string(d);
}

}  // namespace

TEST_CASE("queue pair text: marks become what the run calls them, or directions") {
  const std::string marked = "from " + queue_pair_mark(here, west) + " to " + queue_pair_mark(here, 40) + ".";
  CHECK(with_names(marked) == "from W to custom40.");
  CHECK(with_names(marked, of_run) == "from sip3.up3 to sip3.up40.");
  CHECK(with_names("no mark", of_run) == "no mark");
  CHECK(with_names("", of_run).empty());
}

TEST_CASE("queue pair text: names in columns are filled up") {
  CHECK(with_names(queue_pair_mark(here, east, 4) + "|", of_run) == "sip3.up2|");
  CHECK(with_names(queue_pair_mark(here, east, 4) + "|") == "E   |");
}

TEST_CASE("queue pair text: an error has both texts") {
  fault_record r;
  r.text = "token of " + queue_pair_mark(here, north);
  const fault_error error(std::move(r));
  CHECK(std::string(error.what()) == "token of N");
  CHECK(error.text(of_run) == "token of sip3.up0");
}
