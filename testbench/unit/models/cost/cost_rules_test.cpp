// SPDX-License-Identifier: Apache-2.0
// Rules and tuner tables: the first match wins, and everything malformed is named.
#include "models/cost/rules.hpp"
#include "support/test.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using comm::rank_set;

std::vector<problem> problems_of_rules(const std::string& text) {
  std::vector<problem> problems;
  (void)parse_rules(text, problems);
  return problems;
}
std::vector<problem> problems_of_tuner(const std::string& text) {
  std::vector<problem> problems;
  (void)parse_tuner("t.csv", text, problems);
  return problems;
}

TEST_CASE("rules match collective and size, both ends included, the first one first") {
  std::vector<problem> problems;
  const auto rules = parse_rules(
      "all_reduce:0-64KiB=rabenseifner,all_reduce:64KiB-=ring_1d,broadcast=binomial,reduce:128=chain",
      problems);
  REQUIRE(problems.empty());
  REQUIRE(rules.size() == 4);
  const auto found = [&](collective what, std::uint64_t bytes) {
    const algorithm_rule* r = first_match(rules, {what, bytes, rank_set::pe, 8});
    return r == nullptr ? std::string("none") : r->algorithm;
  };
  CHECK(found(collective::all_reduce, 0) == "rabenseifner");
  CHECK(found(collective::all_reduce, 65536) == "rabenseifner");
  CHECK(found(collective::all_reduce, 65537) == "ring_1d");
  CHECK(found(collective::all_reduce, UINT64_MAX) == "ring_1d");
  CHECK(found(collective::broadcast, 7) == "binomial");
  CHECK(found(collective::reduce, 128) == "chain");
  CHECK(found(collective::reduce, 127) == "none");
  CHECK(found(collective::all_gather, 7) == "none");
  CHECK(parse_rules("", problems).empty());
  CHECK(problems.empty());
}

TEST_CASE("a malformed rule is named, all of them at once") {
  for (const char* bad : {"all_reduce", "all_reduce:0-64KiB=", "all_reduse=ring_1d", "all_reduce:9-8=x",
                          "all_reduce:1-2-3=x", "all_reduce:-1KB=x", "all_reduce:a:b=x", "all_reduce:=x"}) {
    CAPTURE(bad);
    const auto problems = problems_of_rules(bad);
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().where == "ccl.algorithm_rules");
    CHECK(problems.front().value == bad);
  }
  CHECK(problems_of_rules("x=y,all_reduce,all_reduce=ring_1d").size() == 2);
}

TEST_CASE("a tuner table: header, comments, any order of columns, ranks") {
  std::vector<problem> problems;
  const auto rules = parse_tuner("t.csv",
                                 "# measured\n\nalgorithm, collective,min_bytes,max_bytes,ranks,rank_set\n"
                                 "swing,all_reduce,0,4KiB,16,cube\nring_1d,all_reduce,,,*,\n",
                                 problems);
  REQUIRE(problems.empty());
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].where == "t.csv line 4");
  CHECK(first_match(rules, {collective::all_reduce, 4096, rank_set::cube, 16})->algorithm == "swing");
  CHECK(first_match(rules, {collective::all_reduce, 4096, rank_set::pe, 16})->algorithm == "ring_1d");
  CHECK(first_match(rules, {collective::all_reduce, 4096, rank_set::cube, 15})->algorithm == "ring_1d");
  CHECK(first_match(rules, {collective::broadcast, 1, rank_set::pe, 2}) == nullptr);
}

TEST_CASE("a malformed tuner table is named with its line") {
  const std::string header = "collective,min_bytes,max_bytes,algorithm,rank_set,ranks\n";
  struct row {
    std::string text;
    std::size_t line;
  };
  for (const row& bad :
       {row{"", 1}, row{"collective,min_bytes,algorithm\n", 1}, row{"collective,speed\n", 1},
        row{"collective,min_bytes,max_bytes,algorithm,ranks,ranks\n", 1}, row{header + "all_reduce,0\n", 2},
        row{header + "all_reduce,0,1,,,\n", 2}, row{header + "all_reduse,0,1,x,,\n", 2},
        row{header + "all_reduce,2,1,x,,\n", 2}, row{header + "all_reduce,0,1,x,die,\n", 2},
        row{header + "\nall_reduce,0,1,x,,-3\n", 3}}) {
    CAPTURE(bad.text);
    const auto problems = problems_of_tuner(bad.text);
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().where == "ccl.tuner: t.csv line " + std::to_string(bad.line));
  }
}

}  // namespace
}  // namespace diecast::cost
