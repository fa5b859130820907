// SPDX-License-Identifier: Apache-2.0
// What a run finds in its --out of an earlier one.
#include "platforms/files/output_dir.hpp"

#include <filesystem>

#include "models/checksum/sha256.hpp"
#include "models/types/error.hpp"
#include "testbench/support/test.hpp"
#include "unit/platforms/config_io/config_files.hpp"

using namespace diecast;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr const char* schema = "{\n \"schema\": \"diecast.flight/1\"";

}  // namespace

TEST_CASE("output directory: files of an earlier run go, half-written ones too") {
  const test::temporary_folder folder;
  const std::string hash = checksum::sha256_hex("{}");
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"result.json", "{ \"schema\": \"diecast.result/1\", \"config_sha256\": \"" + hash + "\"}"},
           {"config.json", "{}"},
           {"health.csv.partial", "run,mea"},
           {"flight_3.json", schema},
           {"deadlock_2.json.partial", "{\"sch"}}) {
    (void)folder.write(name, text);
  }
  const platforms::output_dir out(folder.path(), "{}");
  CHECK(names_in(folder.path()).empty());
  out.complete("result.json", "{}");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"config.json", "result.json"});
}

TEST_CASE("output directory: all files of an earlier run are removed or none") {
  const test::temporary_folder folder;
  (void)folder.write("flight.json", schema);
  (void)folder.write("flight_1.json", schema);
  // One that cannot be removed: its place aside is taken by a folder that is not empty.
  (void)folder.write("flight_2.json", schema);
  const auto claim = [&folder] { (void)folder.write("flight_2.json.partial/in_the_way", ""); };
  CHECK_THROWS_WITH(platforms::output_dir(folder.path(), "", {}, claim), Catch::Contains("flight_2.json"));
  CHECK(names_in(folder.path()) ==
        std::vector<std::string>{"flight.json", "flight_1.json", "flight_2.json", "flight_2.json.partial"});
  fs::remove_all(folder.path() / "flight_2.json.partial");
  CHECK_NOTHROW(platforms::output_dir(folder.path(), ""));  // the one that threw does not hold the folder
}

TEST_CASE("output directory: a folder under the name of a file is nobody's earlier file") {
  const test::temporary_folder folder;
  (void)folder.write("flight.json", schema);
  fs::create_directories(folder.path() / "result.json" / "in_the_way");
  CHECK_THROWS_WITH(platforms::output_dir(folder.path(), ""), Catch::Contains("result.json"));
  CHECK(fs::exists(folder.path() / "result.json" / "in_the_way"));
  CHECK(fs::exists(folder.path() / "flight.json"));
}

TEST_CASE("output directory: another file of the run cannot have the name of one of its own") {
  const test::temporary_folder folder;
  CHECK_THROWS_WITH(platforms::output_dir(folder.path(), "", {folder.path() / "result.json"}),
                    Catch::Contains("result.json"));
  CHECK_NOTHROW(platforms::output_dir(folder.path(), "", {folder.path() / "timeline.json"}));
}
