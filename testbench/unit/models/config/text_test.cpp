// SPDX-License-Identifier: Apache-2.0
#include "models/config/text.hpp"

#include <rapidcheck.h>

#include "models/types/error.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::config;

TEST_CASE("config text: counts are digits and nothing else") {
  CHECK(parse_count("0") == 0u);
  CHECK(parse_count("18446744073709551615") == UINT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "-1", "-0", "4.5", "-4.7", "4.0", "1e3", "0x10", "1k", "4KiB",
                          "18446744073709551616", "١"}) {
    INFO("'" << bad << "'");
    CHECK_FALSE(parse_count(bad));
  }
}

TEST_CASE("config text: sizes take B, KiB, MiB, GiB") {
  CHECK(parse_size("96") == 96u);
  CHECK(parse_size("96B") == 96u);
  CHECK(parse_size("96KiB") == 96u * 1024);
  CHECK(parse_size("3MiB") == 3u << 20);
  CHECK(parse_size("2GiB") == 2ull << 30);
  CHECK(parse_size("17179869183GiB") == 17179869183ull << 30);
  for (const char* bad :
       {"", "B", "KiB", "-1KiB", "4.5KiB", "4 KiB", "4kib", "4KB", "4K", "4KiBB", "17179869184GiB"}) {
    INFO("'" << bad << "'");
    CHECK_FALSE(parse_size(bad));
  }
}

TEST_CASE("config text: reals are finite decimal numbers") {
  CHECK(parse_real("4.5") == 4.5);
  CHECK(parse_real("1e3") == 1000.0);
  CHECK(parse_real("-2") == -2.0);
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "4,5", "4.5x", " 4", "0x1p3"}) {
    INFO("'" << bad << "'");
    CHECK_FALSE(parse_real(bad));
  }
}

TEST_CASE("config text: a refused argument names flag, text and expectation") {
  CHECK(count_argument("--iters", "20", 1, 100) == 20);
  CHECK(size_argument("--bytes", "96KiB") == 98304);
  CHECK(real_argument("--rate", "0.5", 0, 1) == 0.5);
  CHECK_THROWS_WITH(count_argument("--iters", "-1", 1, 100),
                    "--iters: not an accepted value (value '-1'; expected a whole number from 1 to 100)");
  CHECK_THROWS_WITH(count_argument("--seed", "x"), Catch::Contains("a whole number of at least 0"));
  CHECK_THROWS_WITH(size_argument("--bytes", "4.5KiB"),
                    Catch::Contains("'4.5KiB'") && Catch::Contains("KiB, MiB"));
  CHECK_THROWS_WITH(size_argument("--bytes", "2KiB", 0, 1024), Catch::Contains("from 0 to 1024"));
  CHECK_THROWS_WITH(real_argument("--rate", "1.5", 0, 1), Catch::Contains("a number from 0 to 1"));
  CHECK_THROWS_AS(count_argument("--iters", "0", 1), user_error);
}

TEST_CASE("config text: edit distance is a distance") {
  CHECK(edit_distance("hop_cycles", "hop_cycles") == 0);
  CHECK(edit_distance("hop_cycels", "hop_cycles") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(rc::check("symmetric, zero only for equals, at most the longer length", [] {
    const auto word = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', '_'));
    const std::string a = *word, b = *word;
    RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
    RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
    RC_ASSERT(edit_distance(a, b) <= std::max(a.size(), b.size()));
  }));
}

TEST_CASE("config text: parts are as many as separators plus one") {
  using words = std::vector<std::string>;
  CHECK(split("a,b", ',') == words{"a", "b"});
  CHECK(split("a,,b", ',') == words{"a", "", "b"});
  CHECK(split(",a,", ',') == words{"", "a", ""});
  CHECK(split("", ',') == words{""});
  CHECK(split("a:b", ',') == words{"a:b"});
}

TEST_CASE("config text: only a near word is suggested") {
  const std::vector<std::string> words{"columns", "rows", "clock_ghz"};
  CHECK(nearest("colums", words) == "columns");
  CHECK(nearest("row", words) == "rows");
  CHECK(nearest("temperature", words).empty());
  // The beginning of a name is near to it, however long the name is.
  const std::vector<std::string> algorithms{"swing", "ring_1d_unidir", "ring_1d"};
  CHECK(nearest("ring", algorithms) == "ring_1d");
  CHECK(nearest("ri", algorithms).empty());
  CHECK(nearest("ring_1d_unidirectional", algorithms) == "ring_1d_unidir");
}

TEST_CASE("config text: an unknown name comes with the one that was meant") {
  const std::vector<std::string> known{"ring_1d", "tree_binary"};
  CHECK(with_nearest("no such algorithm", "ring1d", known) == "no such algorithm; did you mean ring_1d?");
  CHECK(with_nearest("no such algorithm", "tree", known) == "no such algorithm; did you mean tree_binary?");
  CHECK(with_nearest("no such algorithm", "swing_tree", known) == "no such algorithm");
  const std::vector<std::string> sets{"pe", "cube", "sip"};
  CHECK(with_nearest("no such value", "ep", sets) == "no such value; did you mean pe?");
  CHECK(with_nearest("no such value", "x", sets) == "no such value");
  CHECK(with_nearest("no such value", "", sets) == "no such value");
}
