// SPDX-License-Identifier: Apache-2.0
#include "platforms/mpi/mpi_group.hpp"

#include <array>
#include <climits>
#include <fmt/format.h>
#include <mpi.h>
#include <numeric>
#include <type_traits>

#include "models/types/error.hpp"

namespace diecast::mpi {
namespace {

/// MPI counts with int.
int length_of(std::size_t bytes) {
  if (bytes > INT_MAX)
    throw resource_error(
        fmt::format("{} bytes for one message between processes (expected at most {})", bytes, INT_MAX));
  return static_cast<int>(bytes);
}

}  // namespace

mpi_group::mpi_group() {
  MPI_Init(nullptr, nullptr);  // MPI's own handler ends all processes where a call fails
  int self = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  self_ = static_cast<std::uint32_t>(self);
  count_ = static_cast<std::uint32_t>(count);
}

std::string mpi_group::broadcast(std::string text) const {
  std::uint64_t bytes = text.size();
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  text.resize(bytes);
  MPI_Bcast(text.data(), length_of(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  return text;
}

std::string mpi_group::host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

void mpi_group::finish() { MPI_Finalize(); }

void mpi_group::abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

std::vector<std::vector<std::byte>> mpi_group::exchange(const std::vector<std::vector<std::byte>>& to) {
  std::vector<std::vector<std::byte>> from(count_);
  std::vector<MPI_Request> sending(neighbors_.size());
  for (std::size_t n = 0; n < neighbors_.size(); ++n) {
    const auto& bytes = to[neighbors_[n]];
    MPI_Isend(bytes.data(), length_of(bytes.size()), MPI_BYTE, static_cast<int>(neighbors_[n]), 0,
              MPI_COMM_WORLD, &sending[n]);
  }
  for (const std::uint32_t p : neighbors_) {
    MPI_Status status;
    int bytes = 0;
    MPI_Probe(static_cast<int>(p), 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    from[p].resize(static_cast<std::size_t>(bytes));
    MPI_Recv(from[p].data(), bytes, MPI_BYTE, static_cast<int>(p), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(static_cast<int>(sending.size()), sending.data(), MPI_STATUSES_IGNORE);
  return from;
}

std::vector<platforms::process_state> mpi_group::states(const platforms::process_state& own) {
  static_assert(std::is_trivially_copyable_v<platforms::process_state>);
  if (between_) between_();
  std::vector<platforms::process_state> all(count_);
  constexpr int bytes = sizeof own;
  MPI_Allgather(&own, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
  return all;
}

std::vector<std::string> mpi_group::gather(const std::string& own) {
  const int length = length_of(own.size());
  std::vector<int> lengths(count_), places(count_);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  (void)length_of(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string text(static_cast<std::size_t>(places.back() + lengths.back()), '\0');
  MPI_Allgatherv(own.data(), length, MPI_BYTE, text.data(), lengths.data(), places.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  std::vector<std::string> all;
  for (std::uint32_t p = 0; p < count_; ++p)
    all.push_back(text.substr(static_cast<std::size_t>(places[p]), static_cast<std::size_t>(lengths[p])));
  return all;
}

}  // namespace diecast::mpi
