// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes and reads the TCP option of echo.h, for connections of the cgroup that it is attached to: as sender for
 * those whose congestion control wants it (glue.bpf.c says so in the socket's storage), and as receiver for all.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "echo.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* Written into the object before it is loaded: ECHO_DELAY or ECHO_TELEMETRY, and the option's identifier. */
const volatile __u32 incast_echo_kind = ECHO_NONE;
const volatile __u32 incast_echo_option = 0;

/* The map of the congestion control, in whose place it is put when this is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct echo);
} incast_echoes SEC(".maps");

static __always_inline struct echo *echo_of(struct bpf_sock_ops *ops, __u64 flags)
{
	struct bpf_sock *sk = ops->sk;

	return sk ? bpf_sk_storage_get(&incast_echoes, sk, 0, flags) : 0;
}

static __always_inline bool has_delay(void)
{
	return incast_echo_kind == ECHO_DELAY;
}

static __always_inline __u32 bytes_of(__u32 what)
{
	if (what == WRITE_NOTHING)
		return 0;
	if (!has_delay())
		return OPTION_BYTES(4);
	return what == WRITE_REQUEST ? OPTION_BYTES(1) : OPTION_BYTES(2);
}

static __always_inline void name(struct option *option)
{
	option->kind = OPTION_KIND;
	option->identifier[0] = bpf_htons(incast_echo_option >> 16);
	option->identifier[1] = bpf_htons(incast_echo_option & 0xffff);
}

static __always_inline void want(struct bpf_sock_ops *ops, __u32 flag)
{
	__u32 flags = ops->bpf_sock_ops_cb_flags;

	if ((flags | flag) != flags)
		bpf_sock_ops_cb_flags_set(ops, flags | flag);
}

/* A segment has come. */
static __always_inline void parse(struct bpf_sock_ops *ops)
{
	struct option option = {};
	struct echo *echo;
	long length;

	name(&option);
	option.length = 6; /* of what is searched for: kind, length, identifier */
	length = bpf_load_hdr_opt(ops, &option, sizeof(option), 0);
	if (length < OPTION_BYTES(1))
		return;
	if (option.answer) {
		if (length != bytes_of(WRITE_ANSWER))
			return;
		echo = echo_of(ops, 0);
		if (!echo || !echo->sends)
			return;
		for (int i = 0; i < 4; i++)
			echo->answer[i] = bpf_ntohl(option.words[i]);
		echo->hops = option.hops;
		echo->answered = 1;
		return;
	}
	/* Of a switch that has not filled it in there is nothing to answer. */
	if (length != bytes_of(WRITE_REQUEST) || (!has_delay() && !option.hops))
		return;
	echo = echo_of(ops, BPF_SK_STORAGE_GET_F_CREATE);
	if (!echo)
		return;
	for (int i = 0; i < 4; i++)
		echo->request[i] = option.words[i];
	if (has_delay())
		echo->request[1] = bpf_htonl((__u32)bpf_ktime_get_ns() - bpf_ntohl(option.words[0]));
	echo->owes = 1;
	want(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/* A segment is being made: how much room it must have. Also asked for the size of segments to come, for which there
 * is none yet. */
static __always_inline void reserve(struct bpf_sock_ops *ops)
{
	struct echo *echo = echo_of(ops, 0);
	__u32 what = WRITE_NOTHING;

	if (!echo)
		return;
	if (ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS) {
		if (echo->sends)
			bpf_reserve_hdr_opt(ops, bytes_of(WRITE_REQUEST), 0);
		return;
	}
	if (ops->skb_len) {
		if (echo->sends)
			what = WRITE_REQUEST;
	} else if (echo->owes) {
		what = WRITE_ANSWER;
	}
	/* Beside selective acknowledgements there can be too little room. */
	if (what != WRITE_NOTHING && bpf_reserve_hdr_opt(ops, bytes_of(what), 0) != 0)
		what = WRITE_NOTHING;
	echo->next = what;
}

static __always_inline void write(struct bpf_sock_ops *ops)
{
	struct echo *echo = echo_of(ops, 0);
	struct option option = {};

	if (!echo || echo->next == WRITE_NOTHING)
		return;
	name(&option);
	option.length = bytes_of(echo->next);
	if (echo->next == WRITE_ANSWER) {
		option.answer = 1;
		option.hops = has_delay() ? 0 : 1;
		for (int i = 0; i < 4; i++)
			option.words[i] = echo->request[i];
		echo->owes = 0;
	} else if (has_delay()) {
		option.words[0] = bpf_htonl((__u32)bpf_ktime_get_ns());
	}
	echo->next = WRITE_NOTHING;
	bpf_store_hdr_opt(ops, &option, option.length, 0);
}

SEC("sockops")
int incast_options(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		want(ops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		parse(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		reserve(ops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write(ops);
		break;
	}
	return 1;
}
