// SPDX-License-Identifier: Apache-2.0
// What is worked out of a launch once and asked for by every rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>

namespace diecast::sw {

/// One value of each type, or one for each of a few variants of it. A copy shares what is kept so far.
class launch_memo {
 public:
  /// The value kept; the first time, what `make` returns. `make` may ask for other values, not for its own.
  /// The reference is good as long as the memo or a copy made since is.
  template <class Value, class Make>
  const Value& get(Make make, std::uint32_t variant = 0) {
    const key which{typeid(Value), variant};
    auto at = kept_.find(which);
    if (at == kept_.end()) {
      const auto made = std::make_shared<const place<Value>>(make);
      at = kept_.emplace(which, std::shared_ptr<const void>(made, &made->value)).first;
    }
    return *static_cast<const Value*>(at->second.get());
  }

 private:
  /// Values are made where they stay: not all can be moved.
  template <class Value>
  struct place {
    template <class Make>
    explicit place(Make& make) : value(make()) {}
    Value value;
  };
  using key = std::pair<std::type_index, std::uint32_t>;
  std::map<key, std::shared_ptr<const void>> kept_;
};

}  // namespace diecast::sw
