/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A TCP option for signals that TCP does not carry: one-way delay, and in-band telemetry of one switch port.
 *
 * A sender's segments with payload have a request, the receiver's segments without payload the answer to the
 * last request. The option is one for experiments (kind 253, RFC 4727), with an identifier of 32 bits as in
 * RFC 6994. The programs of options.bpf.c write and read it, stamp.bpf.c fills in the telemetry on the way, and
 * glue.bpf.c gives to the algorithm what has come back.
 */
#ifndef INCAST_ECHO_H
#define INCAST_ECHO_H

#include <linux/types.h>

#define OPTION_KIND 253

/* The identifier of telemetry, which any machine answers. That of one-way delay has a random number: only the
 * machine that loaded it knows it, and so only receivers with the sender's clock answer. */
#define TELEMETRY_OPTION 0x1ca57e1e

/* Numbers are big-endian. The 32-bit words:
 *   one-way delay, request    the sender's clock in ns when the segment was sent
 *   one-way delay, answer     that of the request, and the one-way delay in ns
 *   telemetry, both           the port's clock in ns, bytes in its queue, bytes that it had sent, its rate in kbps;
 *                             in a request without meaning while there is no `hops` */
struct option {
	__u8 kind;
	__u8 length;
	__u16 identifier[2];
	__u8 answer;
	__u8 hops;
	__u32 words[4];
} __attribute__((packed));

/* Bytes of an option with so many words. */
#define OPTION_BYTES(words) (8 + 4 * (words))

/* What there is in it. */
#define ECHO_NONE 0
#define ECHO_DELAY 1
#define ECHO_TELEMETRY 2

enum { WRITE_NOTHING, WRITE_REQUEST, WRITE_ANSWER };

/* What a socket keeps of it. */
struct echo {
	__u8 sends;	 /* its congestion control wants answers */
	__u8 owes;	 /* there is a request to be answered: `request` */
	__u8 answered;	 /* there is an answer that the algorithm has not had: `answer` */
	__u8 next;	 /* what the segment that is being made has */
	__u8 hops;	 /* of the answer */
	__u32 request[4];
	__u32 answer[4]; /* in the machine's own order */
};

/* A clock of which records have 32 bits, in ns: its time now, where it was `last` when our own clock was `elapsed` ns
 * earlier. Of all times with these bits it is the closest to `last + elapsed`, which is right after an idle of any length
 * while the clocks have not drifted apart by 2.1 s; and a record can be a little older than the one before. */
static inline __u64 continued_time(__u64 last, __u64 elapsed, __u32 record)
{
	__u64 expected = last + elapsed;

	return expected + (__s32)(record - (__u32)expected);
}

/* A counter of which records have 32 bits. In a record that is not older than the last one it has not gone back. What it
 * went on by beyond 2^32 nothing tells. */
static inline __u64 continued_count(__u64 last, __u32 record, __u32 newer)
{
	__u32 more = record - (__u32)last;

	return newer ? last + more : last + (__s32)more;
}

#endif
