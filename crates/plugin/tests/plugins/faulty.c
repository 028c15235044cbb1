/* A plugin that does one thing wrong: which, says its parameter. */
#include <incast_cc.h>

#include <stdlib.h>
#include <string.h>

enum wrong {
    NOTHING,
    WINDOW,
    RATE,
    PAST,
    AGAIN,
    BEYOND,
    POINTER,
    DIVISION,
    ABORT,
    RECURSION,
};

typedef struct {
    uint64_t acks;
    incast_time now;
} flow_t;

static const incast_plugin_parameter parameters[] = {
    {"wrong", "What it does wrong.", INCAST_KIND_COUNT, NOTHING, 0, RECURSION},
    {"slow", "A time.", INCAST_KIND_TIME, 5, 1, 1000},
    {"share", "A ratio.", INCAST_KIND_RATIO, 1u << 31, 0, 1ull << 32},
    {"odd", "A flag.", INCAST_KIND_FLAG, 0, 0, 1},
};

typedef struct {
    uint64_t wrong;
    incast_rate rate;
} shared_t;

static const char *check(const uint64_t *values) {
    return values[3] ? "odd and even do not go together" : NULL;
}

static void share(void *memory, const uint64_t *values, const incast_path *path) {
    shared_t *shared = memory;
    shared->wrong = values[0];
    shared->rate = path->line_rate;
}

static void start(void *memory, const void *shared, incast_time now) {
    flow_t *flow = memory;
    (void)shared;
    flow->now = now;
}

static volatile uint64_t zero;

/* Without an end, which the compiler does not know. */
static uint64_t down(uint64_t from) {
    volatile uint64_t here[512];
    here[zero] = from;
    return from == UINT64_MAX ? from : down(here[zero]) + here[zero];
}

static void on_ack(void *memory, const void *constants, const incast_ack *ack,
                   const incast_int_stack *telemetry) {
    flow_t *flow = memory;
    const shared_t *shared = constants;
    (void)telemetry;
    flow->now = ack->now;
    flow->acks++;
    if (flow->acks < 20) {
        return;
    }
    switch (shared->wrong) {
    case BEYOND:
        memset((char *)memory + sizeof *flow, 1, 1);
        break;
    case POINTER:
        *(volatile int *)(uintptr_t)zero = 1;
        break;
    case DIVISION:
        flow->acks /= zero;
        break;
    case ABORT:
        abort();
    case RECURSION:
        flow->acks = down(flow->acks);
        break;
    default:
        break;
    }
}

static void on_timer(void *memory, const void *shared, incast_time now) {
    flow_t *flow = memory;
    (void)shared;
    flow->now = now;
}

static incast_time deadline(const void *memory, const void *constants) {
    const flow_t *flow = memory;
    const shared_t *shared = constants;
    if (flow->acks >= 20 && shared->wrong == PAST) {
        return flow->now - 1;
    }
    return shared->wrong == AGAIN ? flow->now : INCAST_NEVER;
}

static incast_allowance allowance(const void *memory, const void *constants) {
    const flow_t *flow = memory;
    const shared_t *shared = constants;
    int late = flow->acks >= 20;
    return (incast_allowance){
        .window = late && shared->wrong == WINDOW ? 0 : 100000,
        .rate = late && shared->wrong == RATE ? 0 : shared->rate,
    };
}

static const incast_plugin faulty = {
    .abi = INCAST_CC_ABI,
    .name = "faulty",
    .summary = "Does something wrong.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .shared_bytes = sizeof(shared_t),
    .flow_bytes = sizeof(flow_t),
    .check = check,
    .share = share,
    .start = start,
    .on_ack = on_ack,
    .on_timer = on_timer,
    .deadline = deadline,
    .allowance = allowance,
};

const incast_plugin *incast_plugin_at(size_t place) {
    return place == 0 ? &faulty : NULL;
}
