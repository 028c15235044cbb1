/* Writes down the calls of the algorithm that is loaded from an object of `bpf/build.sh --record`: collect OUT
 * Says "ready" on a line when it has begun, and ends with its standard input. OUT has the bytes of a call (4), and then
 * what the kernel gives, one call after the other, each as the first members of struct flow in bpf/glue.bpf.c. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "collect: %s: %s\n", what, why);
	exit(1);
}

static int keep(void *out, void *call, size_t bytes)
{
	__u32 length = bytes;

	if ((ftell(out) == 0 && fwrite(&length, sizeof length, 1, out) != 1) || fwrite(call, bytes, 1, out) != 1)
		fail("output", strerror(errno));
	return 0;
}

/* The ring of the calls: the youngest one, because that of an algorithm that was unloaded stays until its last connection
 * has gone. */
static int calls(void)
{
	__u32 id = 0;
	int found = -1;

	while (!bpf_map_get_next_id(id, &id)) {
		int map = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info = {0};
		__u32 size = sizeof info;

		if (map < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(map, &info, &size) && !strcmp(info.name, "incast_calls")) {
			if (found >= 0)
				close(found);
			found = map;
		} else {
			close(map);
		}
	}
	if (found < 0)
		fail("incast_calls", "no algorithm is loaded that records its calls");
	return found;
}

int main(int arguments, char **argument)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct ring_buffer *ring;
	FILE *out;

	if (arguments != 2)
		fail("usage", "collect OUT");
	out = fopen(argument[1], "wb");
	if (!out)
		fail(argument[1], strerror(errno));
	ring = ring_buffer__new(calls(), keep, out, NULL);
	if (!ring)
		fail("incast_calls", strerror(errno));
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 0) == 0)
		if (ring_buffer__poll(ring, 20) < 0 && errno != EINTR)
			fail("incast_calls", strerror(errno));
	if (ring_buffer__consume(ring) < 0)
		fail("incast_calls", strerror(errno));
	if (fclose(out))
		fail(argument[1], strerror(errno));
	return 0;
}
