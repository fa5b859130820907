// SPDX-License-Identifier: Apache-2.0
// The switches of a network: input-buffered routers with virtual channels and credits, one evaluation per
// packet and hop. Plain C++: cube_noc puts it behind sockets, tests drive it directly.
//
// A packet that reaches an input buffer is routed and allocated (port::head_delay) and then requests its
// output. When it is granted, its flits stream out one per cycle, or as fast as they come in; its head is at
// the next input port::latency cycles later. One grant takes one evaluation; nothing happens per flit.
//
// How the effects of a flit-by-flit router are modelled:
// - Sharing. Packets of different classes (class_of_vc) may be in transfer on one input or output at the
//   same time: a packet that joins shares the port with them, round robin first over inputs (on an input:
//   over outputs), then over classes, and the ends of all move back by what the others send until then,
//   also where they were already announced to the next router. Packets of one class follow each other. A
//   transfer becomes faster with each other transfer that ends (rate_schedule), so no port passes more
//   than a flit per cycle; where both input and output are contended, separable allocation loses some
//   cycles. The first flit of a packet that joins takes a whole cycle from all others.
// - Allocation. All outputs of a router that are due in a cycle choose among their requesters first, then
//   each input accepts one of them: one iteration of a separable allocator, round robin on both sides,
//   priorities move on only for what was accepted. An output that was not accepted has lost the cycle.
// - A VC at the far end belongs to a packet from its grant until its tail has passed, and can be allocated
//   again from then on (alloc_cycles). Unless allocations overlap, the next packet of an input VC is
//   routed when the previous tail has left: with one VC, L flits take L + 2 cycles.
// - Where VCs interleave, every flit is arbitrated, and classes make no difference: a packet is granted
//   flit by flit, or several at once while it is alone at its router. Otherwise packets of one class
//   follow each other.
// - With wormhole flow control a packet needs room for one flit. As many flits as there is room for move
//   on as a chunk, the rest follows when credits return. Chunks that follow each other without a gap
//   merge.
// - Credits of a wormhole chunk go upstream as one batch: the buffer empties one flit per cycle and fills
//   at the same rate, so flit n of the next packet finds the place of flit n empty (timing::batch_usable).
//   A head that needs room for its whole packet waits for as many credits: they come back flit by flit.
//   Credits of a packet with a rate_schedule follow it and are delayed with it (not credits to the
//   environment).
//
// Outputs due in a cycle are evaluated in ascending port number; their effects are in later cycles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hw/base/packet.hpp"
#include "hw/noc/port_wheel.hpp"
#include "hw/noc/switch_records.hpp"

namespace diecast::hw {

class switch_core : private switch_records {
 public:
  using switch_records::hop;
  using switch_records::max_classes;
  using switch_records::max_vcs;
  using switch_records::never;
  using switch_records::none;
  using switch_records::usage;

  /// Flits of a packet that leave the network by an output, from cycle `first` to `last`.
  struct departure {
    std::uint32_t output{};
    std::uint8_t vc{};
    bool tail{};  ///< the packet's last flit is among them
    std::uint32_t flits{};
    std::uint64_t first{}, last{};
  };

  /// The environment of the switches: the cube's NoC, or a test.
  class environment {
   public:
    virtual ~environment() = default;
    /// The output and VCs of a packet for `exit` in `vc` of an input of `router`.
    [[nodiscard]] virtual hop route(std::uint16_t router, std::uint16_t exit, std::uint8_t vc) const = 0;
    /// A packet, or a part of one, leaves the network by an output.
    virtual void eject(const departure& d, packet_ptr&& p) = 0;
    /// Packets of other classes have delayed the departure in transfer on an output and VC: it ends in cycle
    /// `last`.
    virtual void delay(std::uint32_t output, std::uint8_t vc, std::uint64_t last) = 0;
    /// Credits of an input from outside the network: room for `flits`, usable from `cycle` on.
    virtual void return_credit(std::uint32_t input, std::uint8_t vc, std::uint32_t flits,
                               std::uint64_t cycle) = 0;
    /// An output is in use; only called when observed.
    virtual void occupied(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
                          std::uint64_t end) = 0;
    /// Credits of an output will be usable again from cycle `first` to `last`, or (flits < 0) are missing
    /// from `first` on: consumed, or rescheduled. Credits given by credit() are not reported. Only called
    /// when observed.
    virtual void credits_changed(std::uint32_t /*output*/, std::uint8_t /*vc*/, std::int32_t /*flits*/,
                                 std::uint64_t /*first*/, std::uint64_t /*last*/) {}
  };

  /// An input and an output of a router with the same number. Ports of one router are consecutive.
  struct port {
    std::uint16_t router{};
    std::uint32_t downstream{none};  ///< input the output feeds; none: it leaves the network
    std::uint32_t latency{1};        ///< grant at the output to arrival at that input, cycles
    std::uint32_t head_delay{0};     ///< arrival of a head at the input to its first possible grant, cycles
    std::uint32_t body_delay{0};  ///< arrival of a later part of a packet to its first possible grant, cycles
    std::uint32_t alloc_cycles{0};   ///< VC allocation within head_delay
    std::uint32_t credit_cycles{1};  ///< grant at the input to the use of the credit upstream
    bool hop{true};                  ///< the output's link leads from router to router: it counts as a hop
    bool from_interface{false};      ///< output of a network interface, which sends in any VC that has room
    std::array<std::uint32_t, max_vcs> buffer{};   ///< input buffer, flits per VC; 0: no packet comes in it
    std::array<std::uint32_t, max_vcs> credits{};  ///< output's credits at the start, flits per VC
  };
  struct parameters {
    std::vector<port> ports;
    unsigned vcs{1};
    unsigned classes{1};
    std::array<std::uint8_t, max_vcs> class_of_vc{};  ///< packets of one class do not interleave on a link
    std::array<std::uint32_t, max_classes> weights{1, 1, 1, 1, 1, 1, 1, 1};  ///< shares of a contended link
    bool wormhole{};
    bool interleave_vcs{};            ///< every flit of a packet is arbitrated, whatever its class
    bool port_per_vc{};               ///< the VCs of an input send independently, where packets interleave
    bool vc_round_robin{};            ///< without a stage for VC allocation, a head tries VCs in turn
    bool overlap{true};               ///< a head is routed while the packet before it in its VC leaves
    std::uint32_t longest_packet{1};  ///< flits; for the span of the calendar
    /// Records of more bytes are prefetched before the evaluations that need them (ADR 74); results do not
    /// depend on it.
    std::size_t fetch_ahead_from{3 << 20};
  };

  struct counters {
    std::uint64_t packet_hops{};  ///< router-to-router links crossed by packets
    std::uint64_t flit_hops{};    ///< router-to-router links crossed by flits
    std::uint64_t evaluations{};  ///< evaluations of an output port
  };

  /// Throws std::logic_error when the ports of a router are not consecutive.
  switch_core(const parameters& p, environment& outside);

  /// A packet that will be in an input's buffer from cycle `head` to `tail`.
  struct arrival {
    std::uint32_t input{};
    std::uint8_t vc{};
    std::uint32_t flits{};
    std::uint16_t exit{};  ///< argument of environment::route
    std::uint64_t head{}, tail{};
  };
  /// Sets the present cycle. Cycles come in ascending order.
  void advance(std::uint64_t cycle) { cycle_ = cycle; }
  [[nodiscard]] std::uint64_t cycle() const { return cycle_; }
  /// Throws protocol_error when the buffer has no room: the sender had no credits for it.
  void arrive(const arrival& a, packet_ptr&& p);
  /// Credits for an output that leaves the network, usable from `cycle` on. Precondition: flits > 0.
  void credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle);
  /// Evaluates everything due in the present cycle; called once per cycle, after its arrivals.
  void run();
  /// The next cycle with something to do, from `from` on.
  [[nodiscard]] std::uint64_t next(std::uint64_t from) { return wheel_.next(from); }
  /// True when a packet waits for a credit of this VC that nobody has announced.
  [[nodiscard]] bool starved(std::uint32_t output, std::uint8_t vc) const {
    return (outs_[output].starved >> vc & 1) != 0;
  }

  /// Flits of the transfer on an output and VC that leave in this cycle or later; no value without a
  /// transfer, or with one class, whose flits leave evenly. For comparisons with a flit-by-flit sink
  /// (testbench); cube_noc's blocks return credits by packet.
  [[nodiscard]] std::optional<std::uint32_t> flits_to_go(std::uint32_t output, std::uint8_t vc) const;

  void observe(bool on) {
    observed_ = on;
    plain_ = is_plain();
  }
  void observe_credits(bool on) {
    credits_observed_ = on;
    plain_ = is_plain();
  }
  [[nodiscard]] counters statistics() const;
  /// Packets, by class, that waited for a VC with room.
  [[nodiscard]] const auto& vc_waits() const { return vc_waits_; }
  [[nodiscard]] const usage& usage_of(std::uint32_t output) const { return outs_[output].used; }
  /// Credits of an output that are neither usable nor returning.
  [[nodiscard]] std::uint32_t missing_credits(std::uint32_t output, std::uint8_t vc) const;
  /// Credits that the output had at the start.
  [[nodiscard]] std::uint32_t initial_credits(std::uint32_t output, std::uint8_t vc) const {
    return initial_credits_[outs_[output].credits][vc];
  }
  [[nodiscard]] bool empty() const { return used_slots_ == 0; }
  [[nodiscard]] bool fetches_ahead() const { return fetches_ahead_; }
  /// Memory of the state, without packets in flight.
  [[nodiscard]] std::size_t state_bytes() const;

 private:
  void add_port(const parameters& p, std::uint32_t n);
  void add_in_vcs(const parameters& p, std::uint32_t n);
  template <bool Plain>
  void run_as();
  template <bool Plain>
  void evaluate(std::uint32_t o);
  void begin_fetching();  ///< called before the first evaluation of a cycle
  void fetch_ahead();     ///< called before each evaluation
  void fetch_transfer(const out_port& out) const;
  void fetch_neighbors(const out_port& out) const;
  [[nodiscard]] const in_vc* first_requester(const out_port& out) const;
  /// Requesters that are ready.
  using heads = std::span<const std::uint32_t>;
  /// The only requester of an output; none: there are others.
  template <bool Plain>
  [[nodiscard]] std::uint32_t only_requester(std::uint32_t o) const;
  template <bool Plain>
  void choose_among(std::uint32_t o);
  template <bool Plain>
  [[nodiscard]] candidate choose_alone(std::uint32_t o, std::uint32_t iv);
  template <bool Plain>
  [[nodiscard]] candidate choose(std::uint32_t o, heads ready);
  /// Whether the packet may start in this cycle: its output and its input transfer no other packet of its
  /// class and, with several classes, have started no other packet in this cycle.
  template <bool Plain>
  [[nodiscard]] bool free_to_start(std::uint32_t o, const in_vc& queue) const;
  [[nodiscard]] bool has_room(std::uint32_t v, std::uint32_t flits);
  template <bool Plain = false>
  [[nodiscard]] std::uint64_t out_free(std::uint32_t o, const in_vc& queue) const;
  template <bool Plain = false>
  [[nodiscard]] std::uint64_t in_free(const in_vc& queue) const;
  [[nodiscard]] std::uint32_t vc_for(std::uint32_t o, const in_vc& queue);
  [[nodiscard]] std::uint32_t free_vc_for(std::uint32_t o, const in_vc& queue);
  void allocate_vcs(std::uint32_t o, heads ready);
  [[nodiscard]] std::uint64_t allocate_vcs_at(std::uint32_t o, heads asking, std::uint64_t from);
  void accept_vc_grants(std::uint32_t o, std::uint64_t cycle);
  void assign_vc(std::uint32_t o, std::uint32_t iv, std::uint32_t v, std::uint64_t cycle);
  void allocate_alone(std::uint32_t o, std::uint32_t iv, std::uint64_t from);
  void allocate_later(std::uint32_t o, std::uint32_t iv, std::uint32_t start);

  /// One class, VCs that do not interleave, requesters that fit a word, and no observer: the compiler then
  /// removes the tests for these from a grant (Plain).
  [[nodiscard]] bool is_plain() const {
    return classes_ == 1 && !interleave_vcs_ && more_words_ == 0 && !observed_ && !credits_observed_;
  }
  template <bool Plain>
  void arbitrate_inputs();
  template <bool Plain>
  void arbitrate_several(std::span<choice> chosen);
  template <bool Plain>
  void after_grant(const choice& granted);
  void keep_one_per_input(std::span<choice> chosen);
  template <bool Plain>
  void grant(std::uint32_t o, std::uint32_t iv, std::uint32_t vc);
  void set_lookahead();
  [[nodiscard]] std::uint32_t undisturbed(std::uint16_t router, const out_vc& ov) const;
  [[nodiscard]] std::uint32_t split(std::uint32_t slot_index, std::uint32_t flits);
  [[nodiscard]] bool merge(in_vc& queue, std::uint32_t slot_index);
  template <bool Plain>
  void move_on(std::uint32_t slot_index, std::uint32_t o, std::uint32_t vc, std::uint64_t end);
  [[noreturn]] static void overflow(std::uint16_t router, std::uint8_t vc, std::uint32_t flits,
                                    std::uint32_t capacity);
  template <bool Plain>
  void return_credits(const in_vc& queue, std::uint32_t flits, std::uint64_t end);
  template <bool Plain = false>
  void enqueue(std::uint32_t slot_index, std::uint64_t from);
  template <bool Plain = false>
  void request(std::uint32_t iv, std::uint64_t from);
  void request_next(std::uint32_t iv);
  template <bool Plain>
  void reevaluate(std::uint32_t o);
  template <bool Plain>
  [[nodiscard]] std::uint64_t next_chance(std::uint32_t o, const in_vc& queue);
  [[nodiscard]] std::uint64_t next_free_vc(std::uint32_t o, const in_vc& queue, std::uint64_t at);
  [[nodiscard]] std::uint64_t next_room(std::uint32_t o, std::uint32_t vc, std::uint32_t flits);

  template <bool Plain>
  [[nodiscard]] std::uint64_t start_transfer(std::uint32_t o, std::uint32_t vc, in_vc& queue,
                                             std::uint32_t slot_index);
  [[nodiscard]] std::uint64_t start_beside(std::uint32_t o, std::uint32_t vc, in_vc& queue,
                                           std::uint32_t slot_index, std::uint64_t end);
  [[nodiscard]] std::uint32_t left(const in_vc& queue) const;
  void keep_schedule(const in_vc& queue, const rate_schedule& rates);
  [[nodiscard]] static rate_schedule::point caught_up(const rate_schedule::point& later,
                                                      const rate_schedule::point& earlier, std::int64_t early,
                                                      std::int64_t late);
  [[nodiscard]] rate_schedule schedule_behind(std::uint32_t slot_index, std::uint64_t end) const;
  /// Duration of a transfer that shares ports with others, and its rate schedule.
  struct transfer_time {
    std::uint64_t cycles{};
    rate_schedule rates;
  };
  using contenders = std::array<contender, max_classes>;
  [[nodiscard]] transfer_time share_port(std::uint8_t& classes, const transfer* transfers, unsigned own,
                                         const contender& joining, std::uint64_t end);
  [[nodiscard]] transfer_time shared_time(const contenders& on, std::uint32_t classes, unsigned c,
                                          unsigned joins) const;
  static void count_streams(contenders& on, std::uint32_t classes);
  void extend(const transfer& t, std::uint64_t end, const rate_schedule& rates);
  [[nodiscard]] std::uint64_t shared(std::uint64_t parts, const contenders& on, unsigned own,
                                     unsigned other) const;

  template <bool Plain>
  void announce_credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t first,
                       std::uint64_t last);
  template <bool Plain = false>
  void add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t first,
                  std::uint64_t last);
  void announce_along(const in_vc& queue, std::uint32_t flits);
  void return_along(const in_vc& queue, std::uint32_t flits, bool begins);
  void delay_credits(const in_vc& queue);
  [[nodiscard]] std::uint32_t take_back(out_vc& ov, std::uint32_t flits);
  void drop_credits(out_vc& ov, std::uint32_t* from);
  [[nodiscard]] std::vector<std::uint64_t> credit_times(const out_vc& ov) const;
  void report_delayed(std::uint32_t o, std::uint8_t vc, const std::vector<std::uint64_t>& reported,
                      const std::vector<std::uint64_t>& present) const;
  /// Whole flits of which a total of `parts` is left to send, rounded up.
  [[nodiscard]] static std::uint32_t whole_flits(std::uint32_t parts) {
    return (parts + flit_parts - 1) / flit_parts;
  }
  [[nodiscard]] static std::uint64_t time_left(const rate_schedule::point& earlier,
                                               const rate_schedule::point& later, std::uint64_t flits);
  [[nodiscard]] static std::uint64_t back_at(const returning_credit& r, std::uint32_t flit);
  void insert_in_order(out_vc& ov, std::uint32_t credit);
  void list_credit(out_vc& ov, std::uint32_t flits, std::uint64_t first, std::uint64_t last);
  void wake_starved(std::uint32_t o);
  void more_returning();
  void take_credits(out_vc& ov);
  void take_listed(out_vc& ov);
  /// Number of returning credits of a VC that has no list of them.
  [[nodiscard]] static std::uint32_t only_batch(const out_vc& ov) {
    return ov.first == none && ov.next_back != never ? ov.last : 0;
  }
  [[nodiscard]] std::uint64_t credit_cycle(const out_vc& ov, std::uint32_t flits) const;

  void schedule(std::uint32_t o, std::uint64_t cycle);
  /// Calls visit(input VC) for every one whose front requests the output.
  template <bool Plain = false, class Visit>
  void visit_requesters(std::uint32_t o, Visit visit) const;
  /// The bit of an input VC among those that may request an output of its router.
  struct request_bit {
    std::uint64_t& word;
    std::uint64_t bit;
  };
  template <bool Plain>
  [[nodiscard]] request_bit request_of(std::uint32_t o, std::uint32_t iv);
  /// Index in out_vcs_.
  [[nodiscard]] std::uint32_t vc_index(std::uint32_t o, std::uint32_t vc) const { return o * vcs_ + vc; }
  /// Index in in_vcs_. Precondition: the VC has a buffer.
  [[nodiscard]] std::uint32_t in_index(std::uint32_t input, std::uint32_t vc) const {
    return ins_[input].first_in_vc + in_places_[ins_[input].places][vc];
  }
  /// Index in tables by [input][class].
  [[nodiscard]] std::uint32_t class_index(const in_vc& queue) const {
    return queue.port * classes_ + queue.own_class;
  }
  [[nodiscard]] std::uint32_t take_slot();
  void more_slots();
  void free_slot(std::uint32_t index);

  environment& environment_;
  const std::uint32_t vcs_;
  const bool wormhole_;
  const bool overlap_;
  const bool interleave_vcs_;
  const bool port_per_vc_;  ///< an input has a crossbar port for each of its VCs
  const std::uint32_t classes_;
  bool observed_{};
  bool credits_observed_{false};
  bool plain_{};  ///< is_plain()
  bool fetches_ahead_{};
  std::array<std::uint32_t, max_classes> weights_{};
  std::vector<in_port> ins_;
  std::vector<out_port> outs_;
  std::vector<in_vc> in_vcs_;  ///< [input][VC], of VCs that have a buffer
  /// Numbers of a VC among those of an input that have a buffer, UINT8_MAX where it has none: inputs with the
  /// same buffers share them.
  std::vector<std::array<std::uint8_t, max_vcs>> in_places_;
  std::vector<out_vc> out_vcs_;               ///< [output][VC]
  std::uint32_t more_words_{};                ///< request words of an output, beside its record
  std::vector<std::uint64_t> more_requests_;  ///< [output][word], bit per input VC beyond 64 of its router
  std::vector<entry_delay> entry_delays_;     ///< [input]
  std::vector<std::array<std::uint32_t, max_vcs>> initial_credits_;  ///< by VC; shared by equal outputs
  // Used with several classes only: empty with one class.
  std::vector<transfer> on_in_;                ///< [input][class]
  std::vector<transfer> on_out_;               ///< [output][class]
  std::vector<rate_schedule> rate_schedules_;  ///< [input][class] of the transfers on it
  std::vector<transfer_progress> progress_;    ///< [input][class] of the transfers on it
  std::vector<occupancy> occupancy_;           ///< [router], where VCs interleave
  std::vector<slot> slots_;
  std::uint32_t free_slots_{none};
  std::uint32_t used_slots_{};
  std::vector<returning_credit> returning_;
  std::uint32_t free_returning_{none};
  std::vector<choice> choices_;        ///< outputs of the evaluated router; room for all of them
  std::uint32_t chosen_{};             ///< valid entries of choices_
  std::vector<std::uint32_t> ready_;   ///< scratch of choose_among(): room for all input VCs of a router
  std::vector<std::uint32_t> asking_;  ///< scratch of allocate_vcs(): room for all input VCs of a router
  std::vector<vc_grant> vc_grants_;    ///< scratch of allocate_vcs_at()
  const std::uint64_t all_vcs_;        ///< bit per VC
  port_wheel wheel_;
  std::uint64_t cycle_{};
  std::uint64_t evaluations_{};
  std::array<std::uint64_t, max_classes> vc_waits_{};
  std::vector<std::uint32_t>
      due_;  ///< scratch of fetch_ahead(): outputs due in the cycle, in the order of their evaluations
  std::size_t fetches_{};  ///< calls of fetch_ahead() in this cycle
};

}  // namespace diecast::hw
