// SPDX-License-Identifier: Apache-2.0
#include "models/config/faults.hpp"

#include <set>
#include <utility>

#include "models/abi/errata.hpp"
#include "models/fabric/fault_places.hpp"
#include "platforms/config_io/config_json.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;

TEST_CASE("every kind of fault has a row with keys that exist") {
  std::set<std::string> names;
  for (const auto& k : config::fault_kinds()) {
    CHECK(names.insert(k.name).second);
    CHECK(config::find_fault_kind(k.name)->kind == k.kind);
    CHECK((k.links || k.pes));
    for (const auto& key : k.keys) CHECK(config::find_fault_key(key) != nullptr);
  }
  CHECK(names.size() == 1 + static_cast<std::size_t>(config::fault_kinds().back().kind));
}

TEST_CASE("a list of faults survives being dumped and read") {
  platforms::config_request request;
  request.sets = {R"(faults=[{"kind":"late_credit","where":"pod.*.pe1","delay_ns":12.5,"after":3,"seed":9},)"
                  R"({"kind":"wrong_install","where":"pod.sip0.*","variant":"overlap"}])"};
  const auto config = platforms::load_config(request).config;
  REQUIRE(config.faults.size() == 2);
  CHECK(config.faults[0].delay_ns == 12.5);
  CHECK(config.faults[1].variant == "overlap");
  platforms::config_request again;
  const std::string text = platforms::dump_config(config);
  const auto begin = text.find("\"faults\": ") + 10;
  const auto end = text.find("\"overrides\"");
  again.sets = {"faults=" + text.substr(begin, text.rfind(']', end) + 1 - begin)};
  CHECK(platforms::load_config(again).config.faults == config.faults);
}

TEST_CASE("errata are the bits of the firmware faults that name a PE") {
  config::machine_config c;
  config::fault_setting alias;
  alias.kind = config::fault_kind::sendrecv_alias;
  alias.where = "pod.sip0.cube_0_0.pe1";
  alias.after = 5;
  c.faults = {alias};
  const std::uint64_t bits = config::errata_of(c, c.shape().pe_at(1));
  CHECK((bits & diecast::abi::defect::sendrecv_alias) != 0);
  CHECK(diecast::abi::defect::after(bits) == 5);
  CHECK(config::errata_of(c, c.shape().pe_at(0)) == 0);
  CHECK(config::errata_of(c, c.shape().pe_at(c.shape().pes() - 1)) == 0);
  for (const auto& [kind, bit] :
       {std::pair{config::fault_kind::stale_cache_line, diecast::abi::erratum::wait_without_dcci},
        {config::fault_kind::signal_without_flush, diecast::abi::erratum::set_without_dcci},
        {config::fault_kind::infinite_poll, diecast::abi::erratum::exact_count}}) {
    config::fault_setting f;
    f.kind = kind;
    f.where = "pod.sip0.cube_0_0.pe1";
    c.faults = {f};
    diecast::abi::errata_word expected;
    expected.add(bit);
    CHECK(config::errata_of(c, c.shape().pe_at(1)) == expected.bits);
    CHECK(config::errata_of(c, c.shape().pe_at(0)) == 0);
  }
}

namespace {

config::fault_setting fault(config::fault_kind kind, const std::string& where) {
  config::fault_setting f;
  f.kind = kind;
  f.where = where;
  return f;
}

std::vector<problem> problems_of(const std::vector<config::fault_setting>& faults, bool framed = true) {
  config::machine_config c;
  c.faults = faults;
  c.ucie.format = framed ? config::flit_format::flit_256 : config::flit_format::raw;
  return fabric::check_faults(c, fabric::topology(c));
}

}  // namespace

TEST_CASE("two faults of one kind at one place are refused where only one would act") {
  using kind = config::fault_kind;
  const auto twice = problems_of({fault(kind::slow_pe, "pod.sip0.cube_0_0.pe*"),
                                  fault(kind::dead_pe, "pod.*.pe1"), fault(kind::slow_pe, "pod.*.pe2")});
  REQUIRE(twice.size() == 1);
  CHECK(twice[0].where == "faults[2].where");
  CHECK(twice[0].what.find("pod.sip0.cube_0_0.pe2, which faults[0] of the same kind names too") !=
        std::string::npos);
  CHECK(problems_of({fault(kind::slow_pe, "pod.*.pe1"), fault(kind::slow_pe, "pod.*.pe2")}).empty());
  const std::string east = "pod.sip0.cube_0_0.ucie_e";
  CHECK(problems_of({fault(kind::bit_flip, east), fault(kind::bit_flip, east)}).size() == 1);
  CHECK(problems_of({fault(kind::bit_flip, east), fault(kind::bit_flip, east)}, false).empty());
}

TEST_CASE("a fault at no place of the machine names the nearest one where its kind acts") {
  using kind = config::fault_kind;
  const auto expected = [](kind k, const char* where) {
    const auto problems = problems_of({fault(k, where)});
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == "faults[0].where");
    return problems[0].expected;
  };
  const auto suggests = [](const std::string& text, const char* place) {
    return text.find(std::string("did you mean ") + place + "?") != std::string::npos;
  };
  CHECK(suggests(expected(kind::dead_pe, "pod.sip0.cube0_1.pe3"), "pod.sip0.cube_0_1.pe3"));
  CHECK(suggests(expected(kind::drop, "pod.sip0.cube_0_0.ucie_eats"), "pod.sip0.cube_0_0.ucie_east"));
  // A core is on no link.
  CHECK_FALSE(
      suggests(expected(kind::dead_pe, "pod.sip0.cube_0_0.ucie_east"), "pod.sip0.cube_0_0.ucie_east"));
  // Nothing is near: the first there is.
  CHECK(expected(kind::dead_pe, "everything").find("as pod.sip0.cube_0_0.pe0") != std::string::npos);
}

TEST_CASE("flipped bits under UCIe frames take no time") {
  config::fault_setting f = fault(config::fault_kind::bit_flip, "pod.sip0.cube_0_0.ucie_e");
  f.from_us = 2;
  const auto problems = problems_of({f});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].where == "faults[0].from_us");
  CHECK(problems_of({f}, false).empty());
}
