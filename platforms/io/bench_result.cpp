// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/bench_result.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::string result_json(const std::string& version, std::uint64_t runs,
                        const std::vector<std::pair<std::string, std::vector<double>>>& numbers) {
  nlohmann::ordered_json j{{"schema", "diecast.bench/1"}, {"version", version}, {"runs", runs}};
  nlohmann::ordered_json single = nlohmann::ordered_json::object();
  for (const auto& [name, values] : numbers) {
    j[name] = median(values);
    single[name] = values;
  }
  j["values"] = std::move(single);
  return j.dump(2) + "\n";
}

}  // namespace diecast::bench
