// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Marks packets (ECN) that arrive at a queue longer than a threshold, as a switch does: for queueing
 * disciplines that do not. A classifier for the egress of a device; the backlog of its root discipline counts.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "queue.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* In bytes; written into the object before it is loaded. */
const volatile __u64 incast_mark_above = 30000;

/* Packets that have found a longer queue and carry a mark, also one from before. */
__u64 incast_marked = 0;

SEC("tc")
int incast_mark(struct __sk_buff *context)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(context);

	if (BPF_CORE_READ(packet, dev, qdisc, qstats.backlog) > incast_mark_above &&
	    bpf_skb_ecn_set_ce(context) == 1)
		__sync_fetch_and_add(&incast_marked, 1);
	return -1; /* TC_ACT_UNSPEC: go on */
}
