/* Replays a trace in the kernel: replay OBJECT SETUPS TRACE OUT EVERY FROM TO FLIP BIT
 * Only loads the object, and says how many instructions the verifier went through: replay OBJECT
 * Prints the nanoseconds that the calls of a trace of one flow take, each with allowance and deadline: replay OBJECT
 * SETUPS TRACE RUNS. Parts of 256 steps are done RUNS times from the same state, and the least time of each counts,
 * less that of a program that goes through the records and does nothing with them.
 *
 * OBJECT is one that build.sh makes; SETUPS has the setup of every flow of the trace, in their order: the bytes of one
 * (4 bytes, then 4 of zero), then all. What follows is as for ../c/replay.c, except that no internals are shown. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "shared.h"

static struct shared *shared;
static int program;
static FILE *out;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "replay: %s: %s\n", what, why);
	exit(1);
}

static void put(__u64 number)
{
	if (fwrite(&number, sizeof number, 1, out) != 1)
		fail("output", "it cannot be written");
}

static unsigned char *whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	long length;

	if (!file || fseek(file, 0, SEEK_END) || (length = ftell(file)) < 8)
		fail(path, "it cannot be read");
	rewind(file);
	*size = length;
	bytes = malloc(*size);
	if (!bytes || fread(bytes, 1, *size, file) != *size)
		fail(path, "it cannot be read");
	fclose(file);
	return bytes;
}

/* Loads the object. Of what the verifier says this keeps the last line, its sums. */
static void load(const char *path, char *said, size_t most)
{
	/* Without this it is verified twice where it is refused, the second time with a line for each instruction. */
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_level = 4);
	struct bpf_object *object = bpf_object__open_file(path, &options);
	struct bpf_program *found;
	struct bpf_map *map;

	found = object ? bpf_object__find_program_by_name(object, "replay") : NULL;
	if (!found)
		fail(path, "it is not made by build.sh");
	if (said)
		bpf_program__set_log_buf(found, said, most);
	if (bpf_object__load(object)) {
		if (said)
			fputs(said, stderr);
		fail(path, strerror(errno));
	}
	bpf_object__for_each_map(map, object) {
		const char *name = bpf_map__name(map);

		if (strlen(name) >= 4 && !strcmp(name + strlen(name) - 4, ".bss"))
			shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	}
	if (!shared || shared == MAP_FAILED)
		fail(path, "it is not made by build.sh");
	program = bpf_program__fd(found);
}

/* Does the steps that are in the kernel's memory. */
static void run(void)
{
	unsigned char packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof packet, .repeat = 1);

	shared->at = shared->done = 0;
	if (!shared->steps)
		return;
	if (bpf_prog_test_run_opts(program, &options))
		fail("run", strerror(errno));
	if (shared->done != shared->steps)
fail("run", "it ended before all steps were done");
	shared->steps = 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* The least time of steps that are in the kernel's memory, in nanoseconds. */
static double least(__u32 mode, __u32 steps, const __u64 *before, int runs)
{
	double found = 1e18;

	shared->mode = mode;
	for (int i = 0; i < runs; i++) {
		double began;

		memcpy(shared->state, before, sizeof shared->state);
		shared->steps = steps;
		began = now();
		run();
		began = now() - began;
		if (began < found)
			found = began;
	}
	shared->mode = WHOLE;
	return found;
}

static double cost(unsigned char *trace, size_t size, const unsigned char *setups, int runs)
{
	static __u64 before[sizeof shared->state / 8];
	__u32 state_bytes, setup_bytes, head[2], steps = 0;
	size_t at, filled = 0;
	double total = 0;

	memcpy(&state_bytes, trace + 8, sizeof state_bytes);
	memcpy(&setup_bytes, setups, sizeof setup_bytes);
	memcpy(shared->setup, setups + 8, setup_bytes);
	for (at = 16 + (state_bytes + 7) / 8 * 8; at < size; at += head[1]) {
		memcpy(head, trace + at, sizeof head);
		if (head[0] == PARAMETERS)
			continue;
		memcpy(shared->part + filled, trace + at, head[1]);
		filled += head[1];
		steps++;
		if (head[0] == START) {
			shared->steps = steps;
			run();
		} else if (steps == 256 || at + head[1] == size) {
			memcpy(before, shared->state, sizeof before);
			total -= least(NOTHING, steps, before, runs);
			total += least(CALLS, steps, before, runs);
		} else {
			continue;
		}
		filled = steps = 0;
	}
	return total;
}

int main(int arguments, char **argument)
{
	__u64 step = 0, number[5];
	size_t size, setups_size, at, filled = 0;
	unsigned char *trace, *setups, *next;
	__u32 state_bytes, setup_bytes;

	if (arguments != 2 && arguments != 5 && arguments != 10)
		fail("usage", "replay OBJECT [SETUPS TRACE OUT EVERY FROM TO FLIP BIT]");
	if (arguments == 2) {
		static char said[1 << 20];
		char *line;

		load(argument[1], said, sizeof said);
		line = strstr(said, "processed ");
		fputs(line ? line : said, stdout);
		return 0;
	}
	load(argument[1], NULL, 0);
	setups = whole(argument[2], &setups_size);
	trace = whole(argument[3], &size);
	if (size < 16 || memcmp(trace, "incastT1", 8))
		fail(argument[3], "it is no trace");
	if (arguments == 5) {
		printf("%.0f\n", cost(trace, size, setups, atoi(argument[4])));
		return 0;
	}
	out = fopen(argument[4], "wb");
	if (!out)
		fail(argument[4], "it cannot be written");
	for (int i = 0; i < 5; i++)
		number[i] = strtoull(argument[5 + i], NULL, 10);
	memcpy(&state_bytes, trace + 8, sizeof state_bytes);
	memcpy(&setup_bytes, setups, sizeof setup_bytes);
	if (state_bytes > sizeof shared->state || setup_bytes > sizeof shared->setup)
		fail(argument[3], "the state or the setup is too large");
	memcpy(shared->mask, trace + 16, state_bytes);
	shared->first = 0x696e6361;
	shared->second = 0x73745431;
	next = setups + 8;
	for (at = 16 + (state_bytes + 7) / 8 * 8; at < size;) {
		__u32 head[2];

		memcpy(head, trace + at, sizeof head);
		if (head[0] != PARAMETERS) {
			if (step == number[3])
				trace[at + 8 + number[4] / 8] ^= 1 << number[4] % 8;
			if (head[0] == START) {
				/* What comes before it has another setup. */
				run();
				filled = 0;
				memset(shared->state, 0, sizeof shared->state);
				if (next + setup_bytes > setups + setups_size)
					fail(argument[2], "there are more flows than setups");
				memcpy(shared->setup, next, setup_bytes);
				next += setup_bytes;
			}
			if (head[1] > LONGEST)
				fail(argument[3], "a record is too long");
			memcpy(shared->part + filled, trace + at, head[1]);
			filled += head[1];
			shared->steps++;
			step++;
			if (filled > PART - LONGEST || !number[0] || step % number[0] == 0) {
				run();
				filled = 0;
			}
			if (number[0] && step % number[0] == 0)
				put((__u64)shared->second << 32 | shared->first);
			if (!number[0] && step > number[1] && step <= number[2]) {
				put(step - 1);
				put(shared->window);
				put(shared->rate);
				put(shared->deadline);
				put(shared->tag);
				put(0);
				for (__u32 i = 0; i < (state_bytes + 7) / 8; i++)
					put(shared->state[i] & ((__u64)shared->mask[2 * i + 1] << 32 | shared->mask[2 * i]));
			}
		}
		at += head[1];
	}
	run();
	if (number[0])
		put((__u64)shared->second << 32 | shared->first);
	if (fclose(out))
		fail(argument[4], "it cannot be written");
	return 0;
}
