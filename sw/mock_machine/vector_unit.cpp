// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/vector_unit.hpp"

#include <vector>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"

namespace diecast::sw {

void evaluate(memory_map& memory, const abi::vector_command& c, const tcm_place& place) {
  const std::uint64_t bytes = c.count * numeric::size_of(c.type);
  const auto read = [&](std::uint64_t offset, numeric::dtype type) {
    std::vector<std::byte> stored(c.count * numeric::size_of(type));
    memory.read(place(offset, stored.size()), stored);
    if (type == c.type) return stored;
    std::vector<std::byte> converted(bytes);
    numeric::convert(type, stored, c.type, converted);
    return converted;
  };
  std::vector<std::byte> result = read(c.a, c.type_of_a());
  if (c.op == abi::vector_op::divide_by) {
    numeric::divide(c.type, result, c.scalar);
  } else if (c.two_operands()) {
    const std::vector<std::byte> b = read(c.b, c.type_of_b());
    numeric::apply(abi::reduction_of(c.op), c.type, result, result, b);
  }
  memory.write(place(c.destination, bytes), result);
}

}  // namespace diecast::sw
