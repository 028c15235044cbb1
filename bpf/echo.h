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

#endif
