/*
 * A congestion control algorithm in C: a window that follows the round-trip time to a target.
 *
 * With every acknowledgement the window changes by gain * acked * (target - rtt) / rtt: in one round trip by
 * gain times the relative error. The target is the base RTT and the queueing delay that is wanted.
 *
 *   cc -O2 -shared -fPIC -I "$(python -c 'import incast; print(incast.get_include())')" target.c -o target.so
 *   incast run examples/microburst.toml --plugin ./target.so --set cc=target-in-c
 */
#include <incast_cc.h>

/* The parameters, in the order of their list. */
enum { QUEUEING, GAIN, PARAMETERS };

static const incast_plugin_parameter parameters[PARAMETERS] = {
    [QUEUEING] = {
        .name = "queueing",
        .meaning = "Queueing delay that is wanted, above the base RTT.",
        .kind = INCAST_KIND_TIME,
        .initial = 6000000, /* 6 us in picoseconds */
        .least = 0,
        .most = 1000000000,
    },
    [GAIN] = {
        .name = "gain",
        .meaning = "Share of the relative error that one round trip corrects, in 1/256.",
        .kind = INCAST_KIND_COUNT,
        .initial = 128,
        .least = 1,
        .most = 256,
    },
};

/* What flows with the same parameters and the same path share. */
typedef struct {
    incast_time target;
    incast_bytes bdp, least;
    incast_rate rate;
    uint64_t gain;
} shared_t;

/* A flow. */
typedef struct {
    incast_bytes window;
} flow_t;

/* value * part / whole, without overflow. */
static uint64_t share_of(uint64_t value, uint64_t part, uint64_t whole) {
    return (uint64_t)((__extension__(unsigned __int128)value) * part / whole);
}

static void share(void *memory, const uint64_t *values, const incast_path *path) {
    shared_t *shared = memory;
    shared->target = path->base_rtt + values[QUEUEING];
    /* The rate is in bits per second, the time in picoseconds. */
    shared->bdp = share_of(path->line_rate, path->base_rtt, 8000000000000);
    shared->least = path->packet;
    shared->rate = path->line_rate;
    shared->gain = values[GAIN];
}

static void start(void *memory, const void *constants, incast_time now) {
    flow_t *flow = memory;
    const shared_t *shared = constants;
    (void)now;
    flow->window = shared->bdp;
}

static void on_ack(void *memory, const void *constants, const incast_ack *ack,
                   const incast_int_stack *telemetry) {
    flow_t *flow = memory;
    const shared_t *shared = constants;
    incast_time rtt = ack->now - ack->sent - ack->held;
    uint64_t gain = share_of(ack->acked, shared->gain, 256);
    (void)telemetry;
    if (rtt > shared->target) {
        uint64_t less = share_of(gain, rtt - shared->target, rtt);
        flow->window = flow->window > less ? flow->window - less : 0;
    } else if (rtt > 0) {
        flow->window += share_of(gain, shared->target - rtt, rtt);
    }
    if (flow->window < shared->least) {
        flow->window = shared->least;
    }
    if (flow->window > 2 * shared->bdp) {
        flow->window = 2 * shared->bdp;
    }
}

static incast_allowance allowance(const void *memory, const void *constants) {
    const flow_t *flow = memory;
    const shared_t *shared = constants;
    return (incast_allowance){.window = flow->window, .rate = shared->rate};
}

static const incast_plugin target = {
    .abi = INCAST_CC_ABI,
    .name = "target-in-c",
    .summary = "A window that follows the round-trip time to a target.",
    .parameters = parameters,
    .parameter_count = PARAMETERS,
    .overhead = {.data = 4, .ack = 4}, /* the send time, and its echo */
    .shared_bytes = sizeof(shared_t),
    .flow_bytes = sizeof(flow_t),
    .share = share,
    .start = start,
    .on_ack = on_ack,
    .allowance = allowance,
};

const incast_plugin *incast_plugin_at(size_t place) {
    return place == 0 ? &target : NULL;
}
