/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What programs read of the kernel's packets to know how long the queue of their device is: the members of its
 * structures that are used, with places that the loader fills in for the kernel at hand.
 */
#ifndef INCAST_QUEUE_H
#define INCAST_QUEUE_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 backlog;
};

struct Qdisc {
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

#endif
