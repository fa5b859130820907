# SPDX-License-Identifier: Apache-2.0
"""Execution plans of MSCCL++, written for these tests."""

BUFFERS = "ios"


def local(buffer, index, size=1):
    return {"type": buffer, "index": index, "size": size}


class Gpu:
    """One GPU of a plan. Every thread block has a memory and a port channel to each peer, and all its buffers."""

    def __init__(self, rank, ranks):
        self.rank, self.peers, self.blocks = rank, [q for q in range(ranks) if q != rank], []

    def remote(self, peer, buffer, index, size=1):
        return {"buffer_id": self.peers.index(peer) * 3 + BUFFERS.index(buffer), "index": index, "size": size}

    def move(self, name, sources, destinations, kind="memory", **more):
        return {"name": name, "src_buff": sources, "dst_buff": destinations, "channel_type": kind, **more}

    def sync(self, name, peers=None, kind="memory"):
        ids = [self.peers.index(q) for q in (self.peers if peers is None else peers)]
        return {"name": name, "channel_ids": ids, "channel_type": kind}

    def json(self, chunks, semaphores):
        ids = range(len(self.blocks) * len(self.peers))
        blocks = [{"id": t, "ops": ops,
                   "channels": [{"channel_type": kind, "channel_ids": [t * len(self.peers) + i for i in range(len(self.peers))]}
                                for kind in ("memory", "port")],
                   "remote_buffer_refs": [{"access_channel_type": kind, "remote_buffer_ids": list(range(3 * len(self.peers)))}
                                          for kind in ("memory", "port")]} for t, ops in enumerate(self.blocks)]
        return {"id": self.rank, **dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), chunks)), "threadblocks": blocks,
                "channels": [{"channel_type": kind, "connected_to": [self.peers[i % len(self.peers)] for i in ids]}
                             for kind in ("memory", "port")],
                "remote_buffers": [{"rank": q, "type": b, "access_channel_types": ["memory", "port"]}
                                   for q in self.peers for b in BUFFERS],
                "semaphores": [{"init_value": value} for value in semaphores]}


def plan(collective, ranks, chunks, blocks, in_place=True, protocol="Simple", semaphores=()):
    """`blocks`: from a Gpu to the operations of each of its thread blocks."""
    gpus = [Gpu(r, ranks) for r in range(ranks)]
    for g in gpus:
        g.blocks = blocks(g)
    return {"name": f"{collective}_{ranks}", "collective": collective, "protocol": protocol, "inplace": in_place,
            "gpus": [g.json(chunks, semaphores) for g in gpus], "num_threads_per_block": 512, "use_double_scratch_buffer": False,
            "buffer_alignment": 16, "min_message_size": 0, "max_message_size": 2**64 - 1}


NOP = {"name": "nop"}


def gather_by_puts(ranks):
    def blocks(g):
        puts = [g.move("put", [local("o", g.rank)], [g.remote(q, "o", g.rank)]) for q in g.peers]
        return [[g.sync("rlxsignal"), g.sync("rlxwait"), *puts, NOP, g.sync("signal"), g.sync("wait")]]
    return plan("allgather", ranks, (1, ranks, 0), blocks)


def reduce_by_reads(ranks):
    """Every thread block sums a chunk of its own over all ranks and writes the sum to all, each in other operations."""
    def block(g, t):
        here, there = local("i", 3 * g.rank + t), [g.remote(q, "i", 3 * g.rank + t) for q in g.peers]
        fetched = [local("s", g.peers.index(q)) for q in g.peers]
        work = ([g.move("rres", [here, *there], [here, *there], reduce_op="sum")],
                [g.move("get", there, fetched), NOP, g.move("res", [here, *fetched], [here, *there], reduce_op="sum")],
                [g.move("rre", [here, *there], [here], reduce_op="sum"), NOP, *(g.move("put", [here], [to]) for to in there)])[t]
        return [g.sync("rlxsignal"), g.sync("rlxwait"), *work, NOP, g.sync("signal"), g.sync("wait")]
    return plan("allreduce", ranks, (3 * ranks, 3 * ranks, ranks), lambda g: [block(g, t) for t in range(3)])


def reduce_through_scratch(ranks):
    """Out of place: one thread block puts, two share the sum of what has come, a barrier joins them, peers fetch it."""
    def blocks(g):
        puts = [g.move("put", [local("i", q)], [g.remote(q, "s", g.rank)], "port") for q in g.peers]
        parts = [local("i", g.rank), *(local("s", q) for q in g.peers)]
        both = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}

        def share(t):
            return g.move("re", parts, [local("o", g.rank)], reduce_op="sum", tbg_info={"tb_id": t, "tbg_size": 2})
        gets = [g.move("get", [g.remote(q, "o", q)], [local("o", q)], channel_ids=[0]) for q in g.peers]
        return [[*puts, g.sync("signal", kind="port"), g.sync("flush", kind="port"), g.sync("wait", kind="port"),
                 {"name": "sem_release", "semaphore_ids": [0]}, share(0), both, g.sync("signal"), g.sync("wait"), *gets,
                 g.sync("signal"), g.sync("wait")],
                [{"name": "sem_acquire", "semaphore_ids": [0]}, share(1), both]]
    return plan("allreduce", ranks, (ranks, ranks, ranks), blocks, in_place=False, semaphores=[0])


def reduce_by_packets(ranks):
    def blocks(g):
        sends = [g.move("ppkt", [local("i", q)], [g.remote(q, "s", g.rank)]) for q in g.peers]
        total = g.move("recspkt", [local("i", g.rank), *(local("s", q) for q in g.peers)],
                       [local("i", g.rank), local("s", ranks + g.rank), *(g.remote(q, "s", ranks + g.rank) for q in g.peers)])
        return [[*sends, total], [g.move("upkt", [local("s", ranks + q)], [local("i", q)]) for q in g.peers]]
    return plan("allreduce", ranks, (ranks, ranks, 2 * ranks), blocks, protocol="LL")


def gather_by_packets(ranks):
    def blocks(g):
        return [[g.move("cpkt", [local("i", 0)], [local("s", g.rank)]),
                 g.move("rppkt", [local("s", g.rank)], [g.remote(q, "s", g.rank) for q in g.peers]),
                 *(g.move("upkt", [local("s", q)], [local("o", q)]) for q in range(ranks))]]
    return plan("allgather", ranks, (1, ranks, ranks), blocks, in_place=False, protocol="LL")


def scatter_by_ports(ranks):
    def blocks(g):
        puts = [g.move("pwsf", [local("i", q)], [g.remote(q, "s", g.rank)], "port", channel_ids=[g.peers.index(q)])
                for q in g.peers]
        total = g.move("re", [local("i", g.rank), *(local("s", q) for q in g.peers)], [local("o", 0)], reduce_op="sum")
        return [[*puts, g.sync("wait", kind="port"), {"name": "pipeline", "ops": [total],
                                                      "iter_context": {"unit_size": 1024, "num_chunks": 1}}]]
    return plan("reducescatter", ranks, (ranks, 1, ranks), blocks, in_place=False)


def exchange(ranks):
    def blocks(g):
        puts = [g.move("put", [local("i", q)], [g.remote(q, "o", g.rank)]) for q in g.peers]
        return [[g.move("copy", [local("i", g.rank)], [local("o", g.rank)]), *puts, g.sync("signal"), g.sync("wait")]]
    return plan("alltoall", ranks, (ranks, ranks, 0), blocks, in_place=False)


ALL = (gather_by_puts, reduce_by_reads, reduce_through_scratch, reduce_by_packets, gather_by_packets, scatter_by_ports,
       exchange)
