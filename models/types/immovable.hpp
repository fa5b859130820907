// SPDX-License-Identifier: Apache-2.0
// Bases of classes to whose objects others keep references.
#pragma once

namespace diecast {

/// Neither copied nor moved.
class immovable {
 public:
  immovable() = default;
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
};

/// The same, for interfaces.
class abstract_interface : immovable {
 public:
  virtual ~abstract_interface() = default;
};

}  // namespace diecast
