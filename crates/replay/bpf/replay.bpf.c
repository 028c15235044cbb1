// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Replays a part of a trace through the functions of crates/cc/bpf in the kernel: those that the congestion control
 * of bpf/glue.bpf.c calls, from a program of the type for traffic control, which `bpf_prog_test_run` runs. build.sh
 * defines STATE, STATE_BYTES, SETUP and SETUP_BYTES as bpf/build.sh does, and ACK_BYTES.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "shared.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* Types of crates/cc/src/contract.rs, of which only the lengths matter here. */
struct Ack {
	__u64 words[ACK_BYTES / 8];
};

struct IntStack {
	__u64 words[21];
};

struct Loss {
	__u64 words[6];
};

struct Sent {
	__u64 words[3];
};

struct Allowance {
	__u64 window;
	__u64 rate;
};

struct Time {
	__u64 ps;
};

/* As in incast_path. */
#define PATH_WORDS 6

/* Not empty, for a state without bytes. */
struct STATE {
	__u8 bytes[STATE_BYTES];
} __attribute__((aligned(8)));

struct SETUP {
	__u8 bytes[SETUP_BYTES];
} __attribute__((aligned(8)));

/* The algorithm, crates/cc/bpf/src/lib.rs. */
extern void start(struct STATE *flow, const struct SETUP *setup, __u64 now) __hidden;
extern void on_ack(struct STATE *flow, const struct SETUP *setup, const struct Ack *ack,
		   const struct IntStack *telemetry) __hidden;
extern void on_cnp(struct STATE *flow, const struct SETUP *setup, __u64 now) __hidden;
extern void on_loss(struct STATE *flow, const struct SETUP *setup, const struct Loss *loss) __hidden;
extern void on_sent(struct STATE *flow, const struct SETUP *setup, const struct Sent *sent) __hidden;
extern void on_timer(struct STATE *flow, const struct SETUP *setup, __u64 now) __hidden;
extern void tag(const struct STATE *flow, const struct SETUP *setup, __u32 *tag) __hidden;
extern void deadline(const struct STATE *flow, struct Time *deadline) __hidden;
extern void allowance(const struct STATE *flow, const struct SETUP *setup,
		      struct Allowance *allowance) __hidden;

struct shared shared;

static __always_inline struct STATE *flow(void)
{
	return (struct STATE *)shared.state;
}

static __always_inline const struct SETUP *setup(void)
{
	return (const struct SETUP *)shared.setup;
}

static __always_inline __u32 rotated(__u32 word, int by)
{
	return word << by | word >> (32 - by);
}

static __always_inline void take(__u32 *first, __u32 *second, __u32 word)
{
	*first = (rotated(*first, 5) ^ word) * 0x9e3779b1u;
	*second = rotated((*second + word) * 0x85ebca6bu, 13);
}

static __always_inline void digest(void)
{
	__u32 first = shared.first, second = shared.second;
	const __u32 *words = (const __u32 *)shared.state;

	take(&first, &second, shared.window);
	take(&first, &second, shared.window >> 32);
	take(&first, &second, shared.rate);
	take(&first, &second, shared.rate >> 32);
	take(&first, &second, shared.deadline);
	take(&first, &second, shared.deadline >> 32);
	take(&first, &second, shared.tag);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < STATE_BYTES / 4; i++)
		take(&first, &second, words[i] & shared.mask[i]);
	shared.first = first;
	shared.second = second;
}

/*
 * Each call is a function of its own that the verifier sees as global: it looks at it once, for any record, and not again
 * for each way that led there. It takes no pointer, so that nothing is lost by that.
 */
#define ALONE __attribute__((noinline)) int

#define BODY(at)                                                                                                       \
	({                                                                                                             \
		if ((at) > PART)                                                                                       \
			return 1;                                                                                      \
		(const __u64 *)(shared.part + (at) + 8);                                                               \
	})

ALONE replay_start(__u32 at)
{
	start(flow(), setup(), BODY(at)[PATH_WORDS]);
	return 0;
}

ALONE replay_ack(__u32 at)
{
	const __u64 *body = BODY(at);
	/* From memory, of which the verifier knows nothing: so it follows both kinds of records at once. */
	__u32 telemetry = *(volatile __u32 *)&shared.telemetry;

	if (telemetry > sizeof(shared) - sizeof(struct IntStack))
		return 1;
	on_ack(flow(), setup(), (const struct Ack *)body, (const struct IntStack *)((const __u8 *)&shared + telemetry));
	return 0;
}

ALONE replay_cnp(__u32 at)
{
	on_cnp(flow(), setup(), BODY(at)[0]);
	return 0;
}

ALONE replay_loss(__u32 at)
{
	on_loss(flow(), setup(), (const struct Loss *)BODY(at));
	return 0;
}

ALONE replay_sent(__u32 at)
{
	on_sent(flow(), setup(), (const struct Sent *)BODY(at));
	return 0;
}

ALONE replay_timer(__u32 at)
{
	on_timer(flow(), setup(), BODY(at)[0]);
	return 0;
}

ALONE ask(void)
{
	allowance(flow(), setup(), (struct Allowance *)&shared.window);
	deadline(flow(), (struct Time *)&shared.deadline);
	return 0;
}

ALONE look(void)
{
	tag(flow(), setup(), &shared.tag);
	digest();
	return 0;
}

static long step(__u32 index, void *context)
{
	__u32 at = shared.at, kind;
	int wrong = 0;

	if (at > PART)
		return 1;
	kind = *(const __u32 *)(shared.part + at);
	shared.at = at + *(const __u32 *)(shared.part + at + 4);
	shared.done += 1;
	if (shared.mode == NOTHING)
		return 0;
	switch (kind) {
	case START:
		wrong = replay_start(at);
		break;
	case ACK:
		shared.telemetry = __builtin_offsetof(struct shared, none);
		wrong = replay_ack(at);
		break;
	case ACK_WITH_TELEMETRY:
		shared.telemetry = __builtin_offsetof(struct shared, part) + at + 8 + sizeof(struct Ack);
		wrong = replay_ack(at);
		break;
	case CNP:
		wrong = replay_cnp(at);
		break;
	case LOSS:
		wrong = replay_loss(at);
		break;
	case SENT:
		wrong = replay_sent(at);
		break;
	case TIMER:
		wrong = replay_timer(at);
		break;
	default:
		return 1;
	}
	if (wrong || ask())
		return 1;
	return shared.mode == WHOLE ? look() : 0;
}

SEC("tc")
int replay(struct __sk_buff *skb)
{
	bpf_loop(shared.steps, step, 0, 0);
	return 0;
}
