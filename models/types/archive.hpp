// SPDX-License-Identifier: Apache-2.0
// Writes values as bytes for another process of the same program. A class that is not trivially copyable, or
// holds views, lists its members: DIECAST_MEMBERS(a, b), unless DIECAST_FIELDS gives it a tuple fields().
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// In the public part of a class: the members that an archive writes and reads.
#define DIECAST_MEMBERS(...)          \
  template <class Archive>            \
  void each_member(Archive archive) { \
    archive(__VA_ARGS__);             \
  }

namespace diecast {

namespace archives {

struct any_archive {
  template <class... T>
  void operator()(T&&...) const {}
};
template <class T>
concept listed = requires(T& v, any_archive a) {
  v.each_member(a);
};
template <class T>
concept container = requires(const T& v) {
  v.begin();
  v.size();
}
&&!requires { std::tuple_size<T>::value; };  // an array is copied as bytes
template <class T>
concept text = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
struct plain_element {
  using type = T;
};
template <class K, class V>
struct plain_element<std::pair<const K, V>> {
  using type = std::pair<K, V>;
};

}  // namespace archives

class archive_writer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void put(const T& v) {
    if constexpr (archives::listed<T>) {
      const_cast<T&>(v).each_member([this](auto&&... m) { (*this)(m...); });  // the writer changes no member
    } else if constexpr (requires { v.fields(); }) {
      put(v.fields());
    } else if constexpr (archives::container<T>) {
      put(std::uint64_t{v.size()});
      if constexpr (archives::text<T>) {
        bytes_.append(v);
      } else {
        for (const auto& element : v) put(element);
      }
    } else {
      static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
      bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
  }
  template <class... T>
  void put(const std::tuple<T...>& v) {
    std::apply(*this, v);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& v) {
    (*this)(v.first, v.second);
  }
  template <class T>
  void put(const std::optional<T>& v) {
    put(v.has_value());
    if (v) put(*v);
  }

  std::string bytes_;
};

class archive_reader {
 public:
  explicit archive_reader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  template <class... T>
  void operator()(T&&... values) {
    (get(values), ...);
  }

 private:
  template <class T>
  void get(T& v) {
    if constexpr (archives::listed<T>) {
      v.each_member([this](auto&&... m) { (*this)(m...); });
    } else if constexpr (requires { v.fields(); }) {
      auto all = v.fields();
      get(all);
    } else if constexpr (archives::container<T>) {
      std::uint64_t size = 0;
      get(size);
      v = {};
      if constexpr (archives::text<T>) {
        v = take(size);
      } else {
        for (; size > 0; --size) {
          typename archives::plain_element<typename T::value_type>::type element{};
          get(element);
          v.insert(v.end(), std::move(element));
        }
      }
    } else {
      std::memcpy(std::addressof(v), take(sizeof v).data(), sizeof v);
    }
  }
  std::string_view take(std::size_t bytes) {
    if (rest_.size() < bytes) throw std::logic_error("an archive is shorter than what is read from it");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  /// A view refers to a name in static storage, whose address differs between processes: keeps a copy.
  void get(std::string_view& v) {
    static std::set<std::string, std::less<>> names;
    std::string name;
    get(name);
    v = *names.insert(std::move(name)).first;
  }
  template <class... T>
  void get(std::tuple<T...>& v) {
    std::apply(*this, v);
  }
  template <class A, class B>
  void get(std::pair<A, B>& v) {
    (*this)(v.first, v.second);
  }
  template <class T>
  void get(std::optional<T>& v) {
    bool has = false;
    get(has);
    v.reset();
    if (has) get(v.emplace());
  }

  std::string_view rest_;
};

template <class T>
[[nodiscard]] std::string archived(const T& value) {
  archive_writer written;
  written(value);
  return written.bytes();
}
/// The value that was passed to archived().
template <class T>
[[nodiscard]] T restored(std::string_view bytes) {
  T value;
  archive_reader reader{bytes};
  reader(value);
  if (!reader.at_end()) throw std::logic_error("an archive is longer than what is read from it");
  return value;
}

}  // namespace diecast
