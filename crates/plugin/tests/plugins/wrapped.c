/* Algorithms of the library as plugins, with every call passed on: a run with one is the same as without. */
#include <incast_cc.h>

#include <stdlib.h>

#define SHARED(name, algorithm)                                                                    \
    static void share_##name(void *shared, const uint64_t *values, const incast_path *path) {     \
        incast_params params;                                                                      \
        (void)values;                                                                              \
        if (incast_params_named(&params, algorithm, NULL) != INCAST_OK ||                          \
            incast_setup_start(shared, SHARED_BYTES, &params, path) != INCAST_OK) {                \
            abort();                                                                               \
        }                                                                                          \
    }

enum { SHARED_BYTES = 4096, FLOW_BYTES = 32768 };

SHARED(oscar, "oscar")
SHARED(hpcc, "hpcc")
SHARED(dcqcn, "dcqcn")
SHARED(newreno, "newreno")

static void sure(incast_status status) {
    if (status != INCAST_OK) {
        abort();
    }
}

static void start(void *flow, const void *shared, incast_time now) {
    sure(incast_flow_start(flow, FLOW_BYTES, shared, now));
}

static void on_ack(void *flow, const void *shared, const incast_ack *ack,
                   const incast_int_stack *telemetry) {
    sure(incast_flow_on_ack(flow, shared, ack, telemetry));
}

static void on_cnp(void *flow, const void *shared, incast_time now) {
    sure(incast_flow_on_cnp(flow, shared, now));
}

static void on_loss(void *flow, const void *shared, const incast_loss *loss) {
    sure(incast_flow_on_loss(flow, shared, loss));
}

static void on_sent(void *flow, const void *shared, const incast_sent *sent) {
    sure(incast_flow_on_sent(flow, shared, sent));
}

static void on_timer(void *flow, const void *shared, incast_time now) {
    sure(incast_flow_on_timer(flow, shared, now));
}

static incast_time deadline(const void *flow, const void *shared) {
    incast_time time;
    sure(incast_flow_deadline(flow, shared, &time));
    return time;
}

static incast_allowance allowance(const void *flow, const void *shared) {
    incast_allowance allowed;
    sure(incast_flow_allowance(flow, shared, &allowed));
    return allowed;
}

static uint32_t tag(const void *flow, const void *shared) {
    uint32_t word;
    sure(incast_flow_tag(flow, shared, &word));
    return word;
}

#define PLUGIN(called, word)                                                                       \
    {                                                                                              \
        .abi = INCAST_CC_ABI, .name = called, .summary = "The one of the library.",                \
        .shared_bytes = SHARED_BYTES, .flow_bytes = FLOW_BYTES, .share = share_##word,             \
        .start = start, .on_ack = on_ack, .on_cnp = on_cnp, .on_loss = on_loss,                    \
        .on_sent = on_sent, .on_timer = on_timer, .deadline = deadline, .allowance = allowance,    \
        .tag = tag,                                                                                \
    }

/* Signals and header bytes are asked of the library when the list is read. */
static incast_plugin plugins[] = {
    PLUGIN("wrapped-oscar", oscar),
    PLUGIN("wrapped-hpcc", hpcc),
    PLUGIN("wrapped-dcqcn", dcqcn),
    PLUGIN("wrapped-newreno", newreno),
};

const incast_plugin *incast_plugin_at(size_t place) {
    incast_params params;
    incast_plugin *plugin = plugins + place;
    if (place >= sizeof plugins / sizeof *plugins) {
        return NULL;
    }
    /* The name after "wrapped-". */
    sure(incast_params_named(&params, plugin->name + 8, NULL));
    sure(incast_params_signals(&params, &plugin->signals));
    sure(incast_params_overhead(&params, &plugin->overhead));
    return plugin;
}
