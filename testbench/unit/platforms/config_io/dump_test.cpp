// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rapidcheck.h>

#include "config_files.hpp"
#include "models/config/check.hpp"
#include "models/config/field.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::config;
using namespace diecast::test;
using nlohmann::json;

namespace {

field_value any_value(const field& f) {
  const auto below = [](std::uint64_t n) {
    return *rc::gen::noShrink(rc::gen::inRange<std::uint64_t>(0, n));
  };
  const auto count = [&] {
    const std::uint64_t span = f.most - f.least;
    return f.least + (span == UINT64_MAX ? *rc::gen::arbitrary<std::uint64_t>() : below(span + 1));
  };
  const auto real = [&] {
    const double share = static_cast<double>(below(1'000'001)) / 1e6;
    return f.real_least + (f.real_most - f.real_least) * share * share * share;
  };
  switch (f.type) {
    case field_type::boolean: return *rc::gen::arbitrary<bool>();
    case field_type::count: return count();
    case field_type::count_or_auto: return *rc::gen::arbitrary<bool>() ? field_value{automatic{}} : count();
    case field_type::real: return real();
    case field_type::real_or_auto: return *rc::gen::arbitrary<bool>() ? field_value{automatic{}} : real();
    case field_type::choice: return f.choices.at(below(f.choices.size()));
    case field_type::text:
      if (f.key == "build_order") return fmt::format("shuffle:{}", below(1000));
      if (f.key == "errata" || f.key == "dram_tiles") return std::string("none");
      if (f.key == "directions") return std::string("north_west,east_south");
      if (f.key == "start_delays") return fmt::format("*.pe?[0-9]={}", below(1000));
      if (f.key == "levels") return fmt::format("cube:tree:{},pod:ring", 1 + below(100));
      return "*.pe?[0-9]";
    case field_type::links: return std::vector<pod_link>{{0, static_cast<std::uint32_t>(below(4))}};
  }
  return {};
}

/// A consistent machine: random values, each kept only if no rule between keys objects.
machine_config any_machine() {
  machine_config c;
  for (const block_table& table : tables()) {
    for (const field& f : table.fields) {
      const field_value before = f.get(c);
      f.set(c, any_value(f));
      if (!check(c).empty()) f.set(c, before);
    }
  }
  return c;
}

}  // namespace

TEST_CASE("config dump: loads to the same machine and the same text") {
  const temporary_folder folder;
  CHECK(rc::check("dump, load, dump", [&] {
    const machine_config c = any_machine();
    const std::string text = platforms::dump_config(c);
    const machine_config again = platforms::load_config({folder.write("dump.json", text), {}, {}}).config;
    for (const block_table& table : tables()) {
      for (const field& f : table.fields) RC_ASSERT(to_text(f.get(again)) == to_text(f.get(c)));
    }
    RC_ASSERT(platforms::dump_config(again) == text);
    RC_ASSERT(platforms::config_sha256(again) == platforms::config_sha256(c));
  }));
}

TEST_CASE("config load: damaged text ends in problems, never in anything else") {
  const temporary_folder folder;
  const std::string whole = platforms::dump_config({});
  CHECK(rc::check("mutate, load", [&] {
    std::string text = whole;
    const auto damages = *rc::gen::inRange(1, 6);
    for (int i = 0; i < damages; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const std::string insert =
          *rc::gen::element<std::string>("", "-", ".5", "\"", "{", "}", "[", ",", ":", "null", "/*", "//",
                                         "e9", "\\u", "\xff", std::string(1, '\0'));
      text.replace(at, *rc::gen::inRange<std::size_t>(0, 40), insert);
    }
    const auto file = folder.write("damaged.json", text);
    try {
      static_cast<void>(platforms::load_config({file, {}, {}}));
    } catch (const user_error& e) {
      RC_ASSERT(!e.problems().empty());
      for (const problem& p : e.problems()) {
        // A file's own problems name it; a rule between keys may name a default.
        const bool names_file = p.where.starts_with(file.string()) || p.where.ends_with("(default)");
        RC_ASSERT(names_file);
      }
    }
  }));
}

TEST_CASE("config dump: reals survive to the last bit") {
  machine_config c;
  c.sram.latency_ns = 0.1 + 0.2;
  c.noc.clock_ghz = 1.0 / 0.7;
  const machine_config again = load_text(platforms::dump_config(c));
  CHECK(again.sram.latency_ns == 0.1 + 0.2);
  CHECK(again.noc.clock_ghz == 1.0 / 0.7);
}

TEST_CASE("config dump: the digest tells machines apart, not spellings") {
  const std::string defaults = platforms::config_sha256({});
  CHECK(defaults.size() == 64);
  CHECK(platforms::config_sha256(load_text(R"({"noc": {"clock_ghz": 1}, "ccl": {"root": "centre"}})")) ==
        defaults);
  CHECK(platforms::config_sha256(load_text(R"({"noc": {"clock_ghz": 1.5}})")) != defaults);
}

namespace {

/// Values around the borders of a row's range and of other types.
std::vector<json> probes(const field& f) {
  std::vector<json> nodes{"auto", "no such word", true, nullptr, 4.5, -1, json::array(), json::object()};
  for (const std::uint64_t edge : {f.least, f.most}) {
    nodes.emplace_back(edge);
    if (edge > 0) nodes.emplace_back(edge - 1);
    if (edge < UINT64_MAX) nodes.emplace_back(edge + 1);
  }
  for (const double edge : {f.real_least, f.real_most}) {
    nodes.emplace_back(edge + 1e-6);
    nodes.emplace_back(edge - 1e-6);
  }
  nodes.insert(nodes.end(), f.choices.begin(), f.choices.end());
  for (const auto& [other, name] : f.spellings) nodes.emplace_back(other);
  for (const char* word : {"forward", "shuffle:12", "shuffle:", "a b"}) nodes.emplace_back(word);
  nodes.push_back(json::parse("[[0, 1]]"));
  nodes.push_back(json::parse("[[0]]"));
  return nodes;
}

/// True when the loader has nothing against the key itself (rules between keys aside).
bool loader_accepts(const temporary_folder& folder, const json& node) {
  for (const std::string& p : load_problems({folder.write("probe.json", node.dump()), {}, {}})) {
    for (const char* kind : {"wrong type", "out of range", "unknown"}) {
      if (p.find(kind) != std::string::npos) return false;
    }
  }
  return true;
}

constexpr const char* validator = R"(
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1] + '/schema.json'))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
cases = json.load(open(sys.argv[1] + '/cases.json'))
wrong = [c for c in cases if validator.is_valid(c['document']) != c['valid']]
for c in wrong[:20]:
    print('schema and loader disagree:', c)
print(len(cases), 'cases')
sys.exit(1 if wrong or len(cases) < 100 else 0)
)";

}  // namespace

TEST_CASE("config schema: accepts what the loader accepts, and nothing else") {
  if (std::system("python3 -c 'import jsonschema'") != 0)
    FAIL("no python3-jsonschema, which scripts/setup installs: nothing can be held against the schema");
  const temporary_folder folder;
  json cases;
  const auto add = [&](const json& document, bool valid) {
    cases.push_back({{"document", document}, {"valid", valid}});
  };
  for (const block_table& table : tables()) {
    for (const field& f : table.fields) {
      for (const json& probe : probes(f)) {
        const json whole{{f.block, {{f.key, probe}}}};
        add(whole, loader_accepts(folder, whole));
      }
    }
  }
  add(json::parse(platforms::dump_config({})), true);
  for (const char* text : {R"({"nocc": {}})", R"({"noc": {"row": 1}})", R"({"extends": 3})",
                           R"({"$schema": 3})", "[]", R"({"noc": 3})"}) {
    add(json::parse(text), false);
  }
  for (const char* text :
       {R"({"extends": "a.json"})", R"({"$schema": "s.json"})", R"({"noc": {"preset": "lean"}})", "{}"}) {
    add(json::parse(text), true);
  }
  folder.write("schema.json", platforms::config_schema());
  folder.write("cases.json", cases.dump());
  folder.write("validate.py", validator);
  const std::string at = folder.path().string();
  CHECK(std::system(("python3 " + at + "/validate.py " + at).c_str()) == 0);
}
