// SPDX-License-Identifier: Apache-2.0
// What a run finds in its --out of an earlier one.
#include "platforms/io/output_dir.hpp"

#include <filesystem>

#include "config_files.hpp"
#include "models/types/error.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
namespace fs = std::filesystem;

TEST_CASE("output directory: files of an earlier run go, half-written ones too") {
  const test::temporary_folder folder;
  for (const char* name : {"result.json", "health.csv.partial", "flight_3.json", "deadlock_2.json.partial"}) {
    (void)folder.write(name, "old");
  }
  const platforms::output_dir out(folder.path());
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    left.push_back(entry.path().filename().string());
  CHECK(left == std::vector<std::string>{"config.json"});
}

TEST_CASE("output directory: what cannot be removed is an error, not the new run's result") {
  const test::temporary_folder folder;
  fs::create_directories(folder.path() / "result.json" / "in_the_way");
  CHECK_THROWS_WITH(platforms::output_dir(folder.path()), Catch::Contains("result.json"));
  CHECK(fs::exists(folder.path() / "result.json" / "in_the_way"));
  fs::remove_all(folder.path() / "result.json");
  CHECK_NOTHROW(platforms::output_dir(folder.path()));  // the one that threw does not hold the folder
}

TEST_CASE("output directory: another file of the run cannot have the name of one of its own") {
  const test::temporary_folder folder;
  CHECK_THROWS_WITH(platforms::output_dir(folder.path(), {folder.path() / "result.json"}),
                    Catch::Contains("result.json"));
  CHECK_NOTHROW(platforms::output_dir(folder.path(), {folder.path() / "timeline.json"}));
}
