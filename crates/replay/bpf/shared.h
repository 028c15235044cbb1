/* What the program in the kernel (replay.bpf.c) and the one that loads it (replay.c) both see. */
#ifndef SHARED_H
#define SHARED_H

enum { PARAMETERS = 1, START, ACK, ACK_WITH_TELEMETRY, CNP, LOSS, SENT, TIMER };

/* Bytes of the trace that are in the kernel's memory at a time, and of the longest record there. */
#define PART (1 << 18)
#define LONGEST 512

/* What is done in a step: everything, everything but the digest, or nothing but to go to the next record. */
enum { WHOLE, CALLS, NOTHING };

struct shared {
	/* The state of the flow, which bytes of it are no padding, and its setup. */
	__u64 state[1024];
	__u32 mask[2048];
	__u64 setup[256];
	/* As after the last step. */
	__u64 window, rate, deadline;
	__u32 tag;
	/* Both lanes of the digest. */
	__u32 first, second;
	/* Steps to do, those done since, and where the next record is. */
	__u32 steps, done, at;
	__u32 mode;
	/* Where the telemetry of the present acknowledgement is, from the start of this struct: in its record, or `none`. */
	__u32 telemetry;
	__u64 none[21];
	__u8 part[PART + LONGEST];
};

#endif
