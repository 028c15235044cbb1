// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A switch port that writes telemetry (INT) into the TCP option of echo.h, for a veth device with a queueing
 * discipline. Two classifiers: incast_port at the egress of the device says which one it is, and incast_stamp at the
 * ingress of its peer, where packets come as soon as they leave the queue, writes. The bytes that have passed since
 * it was loaded are the port's counter. A segment that has a record keeps it.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "echo.h"
#include "queue.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define GO_ON -1 /* TC_ACT_UNSPEC */
#define LONGEST 40 /* bytes of options */
#define OPTION OPTION_BYTES(4)
#define FIRST_CHANGED 4 /* the byte of an option from which it is written: a multiple of 4, for the checksum */

/* The rate at which the queue is drained; written into the object before it is loaded. */
const volatile __u32 incast_port_kbps = 0;

struct port {
	__u64 device;	   /* its address in the kernel */
	__u64 transmitted; /* bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

static __always_inline struct port *the_port(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&ports, &first);
}

SEC("tc")
int incast_port(struct __sk_buff *context)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(context);
	struct port *port = the_port();

	if (port)
		port->device = (__u64)BPF_CORE_READ(packet, dev);
	return GO_ON;
}

/* Where the TCP header starts, or 0 for a packet that has none in its usual place. */
static __always_inline __u32 transport(struct __sk_buff *context)
{
	struct iphdr ip;
	struct ipv6hdr ipv6;

	if (context->protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes(context, ETH_HLEN, &ip, sizeof(ip)) || ip.ihl != 5)
			return 0;
		/* Later fragments have no TCP header. */
		return ip.protocol == IPPROTO_TCP && !(ip.frag_off & bpf_htons(0x1fff)) ? ETH_HLEN + sizeof(ip) : 0;
	}
	if (context->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(context, ETH_HLEN, &ipv6, sizeof(ipv6)))
			return 0;
		return ipv6.nexthdr == IPPROTO_TCP ? ETH_HLEN + sizeof(ipv6) : 0;
	}
	return 0;
}

/* The place of a request among the options, or -1. */
static __always_inline int find(const __u8 *options, __u32 length)
{
	__u32 at = 0;

	for (int i = 0; i < LONGEST; i++) {
		if (at + OPTION > length || at + OPTION > LONGEST)
			return -1;
		if (options[at] == 1) { /* padding */
			at += 1;
			continue;
		}
		if (options[at] == OPTION_KIND && options[at + 1] == OPTION && options[at + 2] == TELEMETRY_OPTION >> 24 &&
		    options[at + 3] == (TELEMETRY_OPTION >> 16 & 255) && options[at + 4] == (TELEMETRY_OPTION >> 8 & 255) &&
		    options[at + 5] == (TELEMETRY_OPTION & 255))
			/* The checksum adds words of 16 bits. */
			return options[at + 6] || options[at + 7] || at % 4 ? -1 : (int)at;
		if (options[at] == 0 || options[at + 1] < 2)
			return -1;
		at += options[at + 1];
	}
	return -1;
}

static __always_inline void stamp(struct __sk_buff *context, struct port *port, __u64 transmitted)
{
	__u8 options[LONGEST] = {};
	__u32 header = transport(context), length, words[5];
	struct net_device *device = (struct net_device *)port->device;
	__u8 offset;
	int at;

	if (!header || !device || bpf_skb_load_bytes(context, header + 12, &offset, 1))
		return;
	length = (offset >> 4) * 4 - sizeof(struct tcphdr);
	if (length < OPTION || length > LONGEST)
		return;
	if (bpf_skb_load_bytes(context, header + sizeof(struct tcphdr), options, length))
		return;
	at = find(options, length);
	if (at < 0 || at + OPTION > LONGEST)
		return;
	__builtin_memcpy(words, options + at + FIRST_CHANGED, sizeof(words));
	{
		__u32 new[5] = {
			words[0] | bpf_htonl(1), /* hops */
			bpf_htonl((__u32)bpf_ktime_get_ns()),
			bpf_htonl(BPF_CORE_READ(device, qdisc, qstats.backlog)),
			bpf_htonl((__u32)transmitted),
			bpf_htonl(incast_port_kbps),
		};
		__s64 change = bpf_csum_diff(words, sizeof(words), new, sizeof(new), 0);

		bpf_l4_csum_replace(context, header + __builtin_offsetof(struct tcphdr, check), 0, change, 0);
		bpf_skb_store_bytes(context, header + sizeof(struct tcphdr) + at + FIRST_CHANGED, new, sizeof(new), 0);
	}
}

SEC("tc")
int incast_stamp(struct __sk_buff *context)
{
	struct port *port = the_port();

	if (port)
		stamp(context, port, __sync_fetch_and_add(&port->transmitted, context->len));
	return GO_ON;
}
