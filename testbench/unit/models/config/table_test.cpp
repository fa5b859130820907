// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "models/config/field.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::config;

TEST_CASE("config tables: every row is complete and its default is acceptable") {
  std::set<std::string> paths;
  for (const block_table& table : tables()) {
    CHECK_FALSE(table.description.empty());
    for (const field& f : table.fields) {
      INFO(f.path());
      CHECK(f.block == table.name);
      CHECK(paths.insert(f.path()).second);
      CHECK(f.description.ends_with("."));
      CHECK_FALSE(f.source.empty());
      CHECK(accepts(f, default_value(f)));
      CHECK_FALSE(expectation(f).empty());
      CHECK(find_field(f.path()) == &f);
      const auto has_unit_word = [&](const char* word) { return f.key.ends_with(word); };
      if (has_unit_word("_ns")) CHECK(f.unit == "ns");
      if (has_unit_word("_cycles")) CHECK(f.unit == "cycles");
      if (has_unit_word("_bytes") && f.type == field_type::count) CHECK(f.unit == "B");
      if (has_unit_word("_kib")) CHECK(f.unit == "KiB");
      if (has_unit_word("_mib")) CHECK(f.unit == "MiB");
      if (has_unit_word("_gbytes_s")) CHECK(f.unit == "GB/s");
    }
  }
}

TEST_CASE("config tables: no member of machine_config lacks a row") {
  // Rows tile the struct: between two members, and behind the last, only padding has room.
  std::map<std::size_t, std::size_t> members;
  for (const block_table& table : tables())
    for (const field& f : table.fields) CHECK(members.emplace(f.offset, f.size).second);
  // Faults and overrides have keys of their own (faults.hpp, overrides.hpp).
  const machine_config sample;
  const auto* const faults = reinterpret_cast<const std::byte*>(&sample.faults);
  members.emplace(faults - reinterpret_cast<const std::byte*>(&sample), sizeof sample.faults);
  const auto* const overrides = reinterpret_cast<const std::byte*>(&sample.overrides);
  members.emplace(overrides - reinterpret_cast<const std::byte*>(&sample), sizeof sample.overrides);
  // So have algorithms and patterns given by name.
  const auto* const named = reinterpret_cast<const std::byte*>(&sample.ccl_named);
  members.emplace(named - reinterpret_cast<const std::byte*>(&sample), sizeof sample.ccl_named);
  std::size_t end = 0;
  for (const auto& [offset, size] : members) {
    INFO("member at byte " << offset);
    CHECK(offset >= end);
    CHECK(offset - end < alignof(machine_config));
    end = offset + size;
  }
  CHECK(sizeof(machine_config) - end < alignof(machine_config));
}

TEST_CASE("config tables: a value set by path is the value read by path, and nothing else changes") {
  for (const block_table& table : tables()) {
    for (const field& f : table.fields) {
      field_value value = default_value(f);
      switch (f.type) {
        case field_type::boolean: value = !std::get<bool>(value); break;
        case field_type::count:
        case field_type::count_or_auto: value = f.most; break;
        case field_type::real:
        case field_type::real_or_auto: value = f.real_most; break;
        case field_type::choice: value = f.choices.back(); break;
        case field_type::text:
          value = std::string(f.key == "build_order"    ? "shuffle:7"
                              : f.key == "start_delays" ? "pod.sip0.*=5"
                              : f.key == "errata"       ? "none"
                              : f.key == "address_map"  ? "row,bank,bank_group,sid,column,pc"
                              : f.key == "sip_ports"    ? "e=3_1,p2=0_0"
                              : f.key == "directions"   ? "north_west,south_east"
                              : f.key == "dram_tiles"   ? "0_0/0_1"
                              : f.key == "levels"       ? "cube:tree,pod:ring:2"
                              : f.block == "placement"  ? (f.key.starts_with("ucie_") ? "0" : "3_2")
                                                        : "pod.sip0.*");
          break;
        case field_type::links: value = std::vector<pod_link>{{0, 1}}; break;
      }
      machine_config config;
      set_value(config, f.path(), value);
      INFO(f.path());
      CHECK(to_text(get_value(config, f.path())) == to_text(value));
      CHECK(parse_value(f, to_text(value)).has_value());
      for (const block_table& other_table : tables()) {
        for (const field& other : other_table.fields)
          if (&other != &f) CHECK(to_text(other.get(config)) == to_text(default_value(other)));
      }
    }
  }
}

TEST_CASE("config tables: values out of range or of another type are refused") {
  machine_config c;
  const auto refused = [&](const char* path, const field_value& value) {
    CHECK_THROWS_AS(set_value(c, path, value), user_error);
  };
  refused("pod.sips", std::uint64_t{0});
  refused("pod.sips", std::uint64_t{257});
  refused("pod.sips", 2.0);
  refused("pod.sips", automatic{});
  refused("noc.clock_ghz", 0.0);
  refused("noc.clock_ghz", std::uint64_t{1});
  refused("noc.leg_vcs", std::string("true"));
  refused("ccl.root", std::string("middle"));
  refused("sim.build_order", std::string("shuffle"));
  refused("sim.build_order", std::string("xforward"));
  refused("trace.vcd_scope", std::string());
  CHECK_THROWS_WITH(set_value(c, "pod.sips", std::uint64_t{0}),
                    "pod.sips: not an accepted value (value 0; expected a whole number from 1 to 256)");
}

TEST_CASE("config tables: keys that are named unlike their member") {
  machine_config c;
  set_value(c, "ipcq.buffer_kind", std::string("hbm"));
  set_value(c, "ipcq.backpressure", std::string("poll"));
  set_value(c, "ccl.inter_sip", std::string("torus_2d"));
  set_value(c, "ucie.flit_format", std::string("flit_68"));
  CHECK(c.ipcq.rings == buffer_kind::hbm);
  CHECK(c.ipcq.wait == backpressure::poll);
  CHECK(c.ccl.between_sips == inter_sip::torus_2d);
  CHECK(c.ucie.format == flit_format::flit_68);
}

TEST_CASE("config tables: every choice sets the enumerator of its name") {
  machine_config c;
  set_value(c, "pod.topology", std::string("fully_connected"));
  CHECK(c.pod.topology == pod_topology::fully_connected);
  set_value(c, "pod.topology", std::string("list"));
  CHECK(c.pod.topology == pod_topology::list);
  set_value(c, "noc.flow", std::string("wormhole"));
  CHECK(c.noc.flow == noc_flow::wormhole);
  set_value(c, "noc.sideband", std::string("wires"));
  CHECK(c.noc.sideband == sideband_kind::wires);
  set_value(c, "ipcq.match", std::string("sender"));
  CHECK(c.ipcq.match == match_policy::sender);
  set_value(c, "hbm.model", std::string("simple"));
  CHECK(c.hbm.model == hbm_model::simple);
  set_value(c, "host.launch", std::string("ideal"));
  CHECK(c.host.launch == launch_kind::ideal);
  set_value(c, "ccl.root", std::string("corner"));
  CHECK(c.ccl.root == root_place::corner);
  set_value(c, "ccl.root", std::string("centre"));
  CHECK(c.ccl.root == root_place::center);
  CHECK(to_text(get_value(c, "ccl.root")) == "center");
}

TEST_CASE("config tables: an unknown key names the nearest one") {
  const auto message = [](const char* path) { return to_string(unknown_key(path)); };
  CHECK(message("noc.hop_cycels") == "noc.hop_cycels: unknown key; did you mean noc.hop_cycles?");
  CHECK(message("pod.flit_bytes") == "pod.flit_bytes: unknown key; did you mean noc.flit_bytes?");
  CHECK(message("nco.columns") == "nco.columns: unknown key; did you mean noc.columns?");
  CHECK(message("icpq") == "icpq: unknown block; did you mean ipcq?");
  CHECK(message("sips") == "sips: unknown block; did you mean pod.sips?");
  CHECK(message("slot_bytes") == "slot_bytes: unknown block; did you mean ipcq.slot_bytes?");
  CHECK_THAT(message("cube.temperature"), Catch::Contains("expected one of pes, preset"));
  CHECK_THAT(message("temperature"), Catch::Contains("expected one of sim, pod, sip"));
  CHECK_THAT(message("temperature"), Catch::Contains("faults, overrides"));
  CHECK(message("fault") == "fault: unknown block; did you mean faults?");
  CHECK(message("override") == "override: unknown block; did you mean overrides?");
  CHECK_THAT(message("noc"), Catch::Contains("is a block, not a key"));
}
