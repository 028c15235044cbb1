// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Between the kernel's TCP and the algorithms of crates/cc: one struct_ops congestion control for each, made
 * by build.sh. What the kernel gives is translated into the signals of crates/cc/src/contract.rs, and the
 * window and the rate that come back into packets and bytes per second. The page docs/guide/kernel.md has a
 * table of every field.
 *
 * build.sh defines:
 *   OPS          the name in the kernel, like incast_oscar
 *   STATE        the type of a flow's state, like Oscar, and STATE_BYTES
 *   SETUP        the type of the setup, and SETUP_BYTES
 *   NEEDS_ECN    1 for an algorithm that goes by ECN marks, 0 for others
 *   ECHO         what it can want in a TCP option (echo.h): ECHO_NONE, ECHO_DELAY, ECHO_TELEMETRY
 *   RECORD       only for objects that write down each call of the algorithm and what came of it (crates/replay)
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "echo.h"

/* The kernel takes such programs under licenses that it knows to be compatible with its own; this is its name
 * for one of ours. */
char _license[] SEC("license") = "Dual MIT/GPL";

/* Members of the kernel's types by name only: their places are filled in when the program is loaded. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	struct {
		__u8 pending;
	} icsk_ack;
};

struct tcp_sock {
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u8 ecn_flags;
	__u64 bytes_acked;
	__u64 tcp_wstamp_ns;
	__u64 tcp_clock_cache;
};

struct rate_sample {
	__s32 delivered;
	long rtt_us;
	int losses;
};

#pragma clang attribute pop

enum tcp_ca_event {
	EVENT_NO_MARK = 4, /* CA_EVENT_ECN_NO_CE */
	EVENT_MARK = 5,	   /* CA_EVENT_ECN_IS_CE */
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* Constants of the kernel that its type information does not have by name. */
#define CONG_NON_RESTRICTED 1	   /* any user may select it */
#define CONG_NEEDS_ECN 2	   /* packets are sent as ECN-capable */
#define STATE_LOSS 4		   /* TCP_CA_Loss: the retransmission timer has expired */
#define INFINITE_SSTHRESH 0x7fffffff
#define LARGEST_WINDOW (1 << 15)   /* packets; the kernel sizes send buffers by it, in 32 bits */
#define PACING_NONE 0
#define PACING_NEEDED 1
#define ACK_TIMER 2		   /* an acknowledgement is being delayed */
#define ACK_NOW 16
#define DEMAND_CWR 4		   /* acknowledgements say that a mark was seen */
#define LEVEL_TCP 6
#define CALLBACK_FLAGS 1008	   /* TCP_BPF_SOCK_OPS_CB_FLAGS: which calls the programs of cgroups get */

/* As in crates/cc/src/contract.rs; build.sh compares members and places. */
struct Ack {
	__u64 now;
	__u64 sent;
	__u64 received;
	__u64 held;
	__u64 acked;
	__u64 packet;
	__u64 sequence;
	__u64 next_sequence;
	__u64 inflight;
	__u64 inflight_now;
	__u32 packets;
	__u32 marked;
	__u64 hop_delay;
	__u32 receiver_flows;
	__u32 tag;
	__u32 delayed_run;
	bool hole;
	bool circuit;
};

enum { LOSS_HOLE = 0, LOSS_TIMEOUT = 1 };

struct Loss {
	__u64 now;
	__u32 kind;
	__u64 bytes;
	__u64 sent;
	__u64 sequence;
	__u64 next_sequence;
};

struct Allowance {
	__u64 window;
	__u64 rate;
};

struct IntHop {
	__u64 at;
	__u64 queue;
	__u64 transmitted;
	__u64 rate;
};

struct IntStack {
	__u32 count;
	struct IntHop hops[5];
};

struct STATE {
	__u64 words[STATE_BYTES / 8];
};

struct SETUP {
	__u64 words[SETUP_BYTES / 8];
};

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* The algorithm, crates/cc/bpf/src/lib.rs. */
extern void start(struct STATE *flow, const struct SETUP *setup, __u64 now) __hidden;
extern void on_ack(struct STATE *flow, const struct SETUP *setup, const struct Ack *ack,
		   const struct IntStack *telemetry) __hidden;
extern void on_loss(struct STATE *flow, const struct SETUP *setup, const struct Loss *loss) __hidden;
extern void allowance(const struct STATE *flow, const struct SETUP *setup,
		      struct Allowance *allowance) __hidden;
#ifdef RECORD
struct Time {
	__u64 ps;
};

extern void tag(const struct STATE *flow, const struct SETUP *setup, __u32 *tag) __hidden;
extern void deadline(const struct STATE *flow, struct Time *deadline) __hidden;
#endif

/* Written into the object before it is loaded: parameters and path, and the bytes of headers of a packet. */
const volatile struct SETUP incast_setup = {};
const volatile __u64 incast_header = 0;
/* Whether connections ask for answers (echo.h), and the way back without queues in ps. */
const volatile bool incast_echoing = false;
const volatile __u64 incast_way_back = 0;
/* No telemetry. */
const volatile struct IntStack incast_no_telemetry = {};

/* The time at which the bytes from `sequence` on were sent, and the packets in flight before them. */
struct burst {
	__u32 sequence;
	__u32 inflight;
	__u64 at;
};

/* Bursts in flight whose times are kept; a power of two. Of more the oldest are forgotten. */
#define BURSTS 128

#ifdef RECORD
/* Kinds of crates/replay/src/trace.rs. */
enum { CALL_START = 2, CALL_ACK = 3, CALL_ACK_WITH_TELEMETRY = 4, CALL_LOSS = 6 };

/* A call; the rest of it is in the members of struct flow before this. */
struct call {
	__u64 connection;    /* its number */
	__u32 step;	     /* calls of this connection before */
	__u32 kind;
	__u64 now;	     /* of a start */
	struct Time deadline; /* as after the call */
	__u32 tag;
	__u32 unused;
	struct IntStack telemetry;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} incast_calls SEC(".maps");

/* Connections so far. */
__u64 incast_connections;
#endif

struct flow {
	struct STATE state;
	struct Ack ack;
	struct Loss loss;
	struct Allowance allowance;
#ifdef RECORD
	struct call call;
#endif
	__u64 origin;	     /* bytes_acked when the flow came to this algorithm */
	__u32 delivered;     /* the kernel's counters at the last acknowledgement */
	__u32 delivered_ce;
	__u32 acked_to;
	__u32 packets;	     /* acknowledged, and marked, since the algorithm was last told */
	__u32 marked;
	__u32 head, tail;    /* bursts tail to head - 1 are known */
	__u32 received;	     /* DCTCP's receiver: rcv_nxt at the last packet, and whether that was marked */
	bool marks;
	struct IntHop hop;   /* the last telemetry, with a clock and a counter of 64 bits */
	__u64 heard;	     /* our own clock when it came, in ns */
	struct burst bursts[BURSTS];
};

/* struct tcp_sock has 104 bytes for a congestion control, less than most of these states. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

#if ECHO != ECHO_NONE
/* Shared with the program of options.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct echo);
} incast_echoes SEC(".maps");
#endif

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

static __always_inline const struct SETUP *setup(void)
{
	return (const struct SETUP *)&incast_setup;
}

/* The algorithm was called: in objects that record, everything that it was told and shows goes to incast_calls. Where
 * there is no room the number of the next one tells. */
#ifdef RECORD
static __always_inline void tell(struct flow *flow, __u32 kind)
{
	struct call *call = &flow->call;

	call->kind = kind;
	allowance(&flow->state, setup(), &flow->allowance);
	deadline(&flow->state, &call->deadline);
	tag(&flow->state, setup(), &call->tag);
	bpf_ringbuf_output(&incast_calls, flow, __builtin_offsetof(struct flow, call) + sizeof(*call), 0);
	call->step += 1;
}
#else
#define tell(flow, kind)
#endif

static __always_inline __u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Payload of a full packet. */
static __always_inline __u32 payload(const struct tcp_sock *tp)
{
	__u32 bytes = tp->mss_cache;

	return bytes ? bytes : 1;
}

static __always_inline __u64 on_wire(const struct tcp_sock *tp)
{
	return payload(tp) + incast_header;
}

/* Position of snd_una in the flow. */
static __always_inline __u64 sequence(const struct tcp_sock *tp, const struct flow *flow)
{
	return tp->bytes_acked - flow->origin;
}

static __always_inline __u64 next_sequence(const struct tcp_sock *tp, const struct flow *flow)
{
	return sequence(tp, flow) + (tp->snd_nxt - tp->snd_una);
}

/* What the algorithm allows, as window and pacing rate of the kernel. */
static __always_inline void apply(struct sock *sk, struct flow *flow)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 wire = on_wire(tp), most = LARGEST_WINDOW, window, rate;

	allowance(&flow->state, setup(), &flow->allowance);
	if (most > tp->snd_cwnd_clamp)
		most = tp->snd_cwnd_clamp;
	/* A packet may be sent while fewer bytes are in flight than the window has. */
	window = flow->allowance.window;
	window = window >> 48 ? most : (window + wire - 1) / wire;
	if (window > most)
		window = most;
	tp->snd_cwnd = window ? window : 1;
	/* The kernel paces payload, and the rate counts headers. */
	rate = flow->allowance.rate / 8;
	rate = rate >> 48 ? rate : rate * payload(tp) / wire;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate ? rate : 1;
}

#if ECHO != ECHO_NONE
/* From now on segments of this connection carry requests. */
static __always_inline void ask(struct sock *sk)
{
	struct echo *echo = bpf_sk_storage_get(&incast_echoes, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	int flags = 0;

	if (!echo)
		return;
	echo->sends = 1;
	bpf_getsockopt(sk, LEVEL_TCP, CALLBACK_FLAGS, &flags, sizeof(flags));
	flags |= BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	bpf_setsockopt(sk, LEVEL_TCP, CALLBACK_FLAGS, &flags, sizeof(flags));
}

/* The answer that came with this acknowledgement, or null. */
static __always_inline struct echo *answer(struct sock *sk)
{
	struct echo *echo = incast_echoing ? bpf_sk_storage_get(&incast_echoes, sk, 0, 0) : 0;

	if (incast_echoing && (!echo || !echo->sends)) {
		/* There was no memory for it. */
		ask(sk);
		return 0;
	}
	if (!echo || !echo->answered)
		return 0;
	echo->answered = 0;
	return echo;
}
#endif

/* A connection comes to this algorithm. The kernel keeps little memory ready for what may not wait: where many come at
 * once, some get none, and are called for again. */
static __always_inline void begin(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	__u64 now = bpf_ktime_get_ns() * 1000;

	if (!flow)
		return;
	flow->origin = tp->bytes_acked;
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	flow->acked_to = tp->snd_una;
	flow->packets = flow->marked = 0;
	flow->head = flow->tail = 0;
	flow->received = tp->rcv_nxt;
	flow->marks = false;
	__builtin_memset(&flow->hop, 0, sizeof(flow->hop));
#if ECHO != ECHO_NONE
	if (incast_echoing)
		ask(sk);
#endif
#ifdef RECORD
	flow->call.connection = __sync_fetch_and_add(&incast_connections, 1);
	flow->call.step = 0;
	flow->call.now = now;
#endif
	start(&flow->state, setup(), now);
	tell(flow, CALL_START);
	tp->snd_ssthresh = INFINITE_SSTHRESH;
	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	apply(sk, flow);
}

SEC("struct_ops/incast_init")
void BPF_PROG(incast_init, struct sock *sk)
{
	begin(sk);
}

/* A connection leaves this algorithm, for another one or because it ends: what was kept of it goes, and its segments carry
 * no requests any more. */
SEC("struct_ops/incast_release")
void BPF_PROG(incast_release, struct sock *sk)
{
#if ECHO != ECHO_NONE
	struct echo *echo = bpf_sk_storage_get(&incast_echoes, sk, 0, 0);

	if (echo)
		echo->sends = echo->answered = 0;
#endif
	bpf_sk_storage_delete(&flows, sk);
}

/* The kernel asks this each time before it sends, after it has read the clock. With pacing by the kernel
 * itself at most one burst follows, so that this is when it is sent, to the nanosecond. */
SEC("struct_ops/incast_min_tso")
__u32 BPF_PROG(incast_min_tso, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);
	struct burst *burst;
	__u32 head;

	if (!flow) {
		begin(sk);
		return 1;
	}
	head = flow->head;
	/* Where nothing was sent since the last time, that one was none. */
	if (head != flow->tail && flow->bursts[(head - 1) & (BURSTS - 1)].sequence == tp->snd_nxt)
		head -= 1;
	if (head - flow->tail >= BURSTS)
		flow->tail = head - BURSTS + 1;
	burst = &flow->bursts[head & (BURSTS - 1)];
	burst->sequence = tp->snd_nxt;
	burst->inflight = packets_in_flight(tp);
	burst->at = tp->tcp_clock_cache > tp->tcp_wstamp_ns ? tp->tcp_clock_cache : tp->tcp_wstamp_ns;
	flow->head = head + 1;
	return 1;
}

/* The burst to which the byte `last` belongs, or the oldest that is known. Older ones are forgotten. */
static __always_inline struct burst *burst_of(struct flow *flow, __u32 last)
{
	__u32 tail = flow->tail, head = flow->head;

	for (int i = 0; i < BURSTS; i++) {
		if (tail + 1 == head || tail == head)
			break;
		if ((__s32)(flow->bursts[(tail + 1) & (BURSTS - 1)].sequence - last) > 0)
			break;
		tail += 1;
	}
	flow->tail = tail;
	return &flow->bursts[tail & (BURSTS - 1)];
}

static __always_inline void lose(struct sock *sk, struct flow *flow, __u32 kind, __u32 packets)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct Loss *loss = &flow->loss;

	loss->now = tp->tcp_clock_cache * 1000;
	loss->kind = kind;
	loss->bytes = packets * on_wire(tp);
	loss->sent = burst_of(flow, tp->snd_una)->at * 1000;
	loss->sequence = sequence(tp, flow);
	loss->next_sequence = next_sequence(tp, flow);
	on_loss(&flow->state, setup(), loss);
	tell(flow, CALL_LOSS);
}

#if ECHO == ECHO_DELAY
/* Times of the segment that is answered. Where there is no answer, or one that cannot be, the way there is the round
 * trip less the way back without queues. */
static __always_inline void time_delay(struct sock *sk, struct Ack *ack, __u64 now)
{
	struct echo *echo = answer(sk);

	ack->received = ack->now - incast_way_back;
	if (ack->received < ack->sent)
		ack->received = ack->sent;
	if (echo) {
		__u32 age = (__u32)now - echo->answer[0];

		if (echo->answer[1] <= age) {
			ack->sent = (now - age) * 1000;
			ack->received = ack->sent + echo->answer[1] * 1000ULL;
		}
	}
}
#endif

#if ECHO == ECHO_TELEMETRY
/* The record that came back, if one did, as the whole of `telemetry`. Its clock and its counter have 32 bits: they are
 * continued (echo.h). */
static __always_inline void record(struct sock *sk, struct flow *flow, struct IntStack *telemetry, __u64 now)
{
	struct IntHop *hop = &flow->hop;
	struct echo *echo = answer(sk);
	__u64 before = hop->at / 1000, at;

	__builtin_memset(telemetry, 0, sizeof(*telemetry));
	if (!echo || !echo->hops)
		return;
	if (!hop->at) {
		/* So far from the start that a record from before the first one is not below it. */
		before = (1ULL << 32) + echo->answer[0];
		hop->transmitted = (1ULL << 32) + echo->answer[2];
		flow->heard = now;
	}
	at = continued_time(before, now - flow->heard, echo->answer[0]);
	hop->at = at * 1000;
	hop->queue = echo->answer[1];
	hop->transmitted = continued_count(hop->transmitted, echo->answer[2], at > before);
	flow->heard = now;
	hop->rate = echo->answer[3] * 1000ULL;
	telemetry->count = 1;
	telemetry->hops[0] = *hop;
}
#endif

/* An acknowledgement has come, and the kernel has done what it does with it. */
SEC("struct_ops/incast_control")
void BPF_PROG(incast_control, struct sock *sk, __u32 ack_sequence, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);
	__u64 now, rtt, exact, wire, inflight;
	struct burst *burst;
	struct Ack *ack;

	if (!flow) {
		begin(sk);
		return;
	}
	ack = &flow->ack;
	wire = on_wire(tp);
	flow->packets += tp->delivered - flow->delivered;
	flow->marked += tp->delivered_ce - flow->delivered_ce;
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	if (rs->losses > 0)
		lose(sk, flow, LOSS_HOLE, rs->losses);

	/* Without a round-trip time (what was acknowledged had been sent twice) the packets count with the next
	 * acknowledgement that has one. */
	if (rs->rtt_us >= 0 && flow->packets) {
		now = tp->tcp_clock_cache;
		rtt = rs->rtt_us * 1000;
		inflight = rs->delivered > 0 ? rs->delivered : packets_in_flight(tp) + flow->packets;
		if (tp->snd_una != flow->acked_to && flow->head != flow->tail) {
			/* The kernel's measurement is of whole microseconds. Ours is taken where it agrees:
			 * elsewhere the burst was forgotten, or another one is acknowledged. */
			burst = burst_of(flow, tp->snd_una - 1);
			exact = now - burst->at;
			if (exact + 2000 - rtt <= 4000) {
				rtt = exact;
				inflight = tp->snd_una - burst->sequence + payload(tp) - 1;
				inflight = burst->inflight + (__u32)inflight / payload(tp);
			}
		}
		ack->now = now * 1000;
		ack->sent = (now - rtt) * 1000;
#if ECHO == ECHO_DELAY
		time_delay(sk, ack, now);
#else
		ack->received = ack->now; /* no algorithm that reads it is loaded */
#endif
		ack->held = 0;
		ack->acked = flow->packets * wire;
		ack->sequence = sequence(tp, flow);
		ack->packet = ack->sequence > payload(tp) ? ack->sequence - payload(tp) : 0;
		ack->next_sequence = next_sequence(tp, flow);
		ack->inflight = inflight * wire;
		ack->inflight_now = packets_in_flight(tp) * wire;
		ack->packets = flow->packets;
		ack->marked = flow->marked < flow->packets ? flow->marked : flow->packets;
		ack->hop_delay = 0;
		ack->receiver_flows = 0;
		ack->tag = 0;
		ack->delayed_run = 0;
		ack->hole = tp->sacked_out > 0;
		ack->circuit = false;
		flow->packets = flow->marked = 0;
#if ECHO == ECHO_TELEMETRY
		/* On the stack, where the verifier knows that there is one record at most. */
		struct IntStack telemetry;

		record(sk, flow, &telemetry, now);
#ifdef RECORD
		flow->call.telemetry = telemetry;
#endif
		on_ack(&flow->state, setup(), ack, &telemetry);
		tell(flow, telemetry.count ? CALL_ACK_WITH_TELEMETRY : CALL_ACK);
#else
		on_ack(&flow->state, setup(), ack, (const struct IntStack *)&incast_no_telemetry);
		tell(flow, CALL_ACK);
#endif
	}
	flow->acked_to = tp->snd_una;
	apply(sk, flow);
}

/* After a timeout the kernel sends one packet; the algorithm's window counts from the next acknowledgement on,
 * when incast_control has been called again. */
SEC("struct_ops/incast_set_state")
void BPF_PROG(incast_set_state, struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow;

	if (state != STATE_LOSS)
		return;
	flow = flow_of(sk);
	if (flow)
		lose(sk, flow, LOSS_TIMEOUT, tp->lost_out);
}

/* The kernel's own slow start and recovery ask for these; neither sets the window here. */
SEC("struct_ops/incast_ssthresh")
__u32 BPF_PROG(incast_ssthresh, struct sock *sk)
{
	return INFINITE_SSTHRESH;
}

SEC("struct_ops/incast_undo")
__u32 BPF_PROG(incast_undo, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

#if NEEDS_ECN
/* The receiver of RFC 8257, section 3.2: acknowledgements echo the mark of the packets that they are for. So
 * where marked packets begin or end, what is yet to be acknowledged is acknowledged first. */
SEC("struct_ops/incast_event")
void BPF_PROG(incast_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	bool marked = event == EVENT_MARK;
	struct flow *flow;

	if (event != EVENT_MARK && event != EVENT_NO_MARK)
		return;
	flow = flow_of(sk);
	if (!flow)
		return;
	if (flow->marks != marked) {
		if (icsk->icsk_ack.pending & ACK_TIMER) {
			/* The kernel sets the flag at the first mark, before the delayed one is sent. */
			if (flow->marks)
				tp->ecn_flags |= DEMAND_CWR;
			else
				tp->ecn_flags &= ~DEMAND_CWR;
			bpf_tcp_send_ack(tp, flow->received);
		}
		icsk->icsk_ack.pending |= ACK_NOW;
	}
	flow->received = tp->rcv_nxt;
	flow->marks = marked;
	if (marked)
		tp->ecn_flags |= DEMAND_CWR;
	else
		tp->ecn_flags &= ~DEMAND_CWR;
}
#endif

SEC(".struct_ops")
struct tcp_congestion_ops OPS = {
	.init = (void *)incast_init,
	.release = (void *)incast_release,
	.ssthresh = (void *)incast_ssthresh,
	.undo_cwnd = (void *)incast_undo,
	.set_state = (void *)incast_set_state,
	.min_tso_segs = (void *)incast_min_tso,
	.cong_control = (void *)incast_control,
#if NEEDS_ECN
	.cwnd_event = (void *)incast_event,
	.flags = CONG_NON_RESTRICTED | CONG_NEEDS_ECN,
#else
	.flags = CONG_NON_RESTRICTED,
#endif
	.name = TEXT(OPS),
};
