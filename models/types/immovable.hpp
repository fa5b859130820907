// SPDX-License-Identifier: Apache-2.0
// Bases of classes that others refer to where they stand.
#pragma once

namespace diecast {

/// Neither copied nor moved.
class immovable {
 public:
  immovable() = default;
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
};

/// That, of what others implement.
class abstract_interface : immovable {
 public:
  virtual ~abstract_interface() = default;
};

}  // namespace diecast
