/* A flow under OSCAR in C: lists the algorithms, sets parameters by text, and feeds the flow
 * acknowledgements whose round trips grow.
 *
 *     cc -std=c11 flow.c $(pkg-config --cflags --libs incast_cc) -o flow
 */
#include <incast_cc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const incast_time NS = 1000, US = 1000000;

/* Ends the program unless the call is done. */
static void check(incast_status status, const char *call) {
    if (status != INCAST_OK) {
        fprintf(stderr, "%s: %s\n", call, incast_status_text(status));
        exit(EXIT_FAILURE);
    }
}

/* Prints a number with its unit. */
static void print(const char *before, incast_kind kind, uint64_t number) {
    incast_value value;
    char text[32];
    value.kind = (uint32_t)kind;
    value.number = number;
    check(incast_value_text(&value, text, sizeof text, NULL), "incast_value_text");
    printf("%s%s", before, text);
}

static void list(void) {
    size_t count = incast_cc_count();
    printf("incast_cc %s with %zu algorithms:\n", incast_cc_version(), count);
    for (size_t i = 0; i < count; i++) {
        incast_info info;
        check(incast_cc_describe(i, &info), "incast_cc_describe");
        printf("  %-15.*s %.*s\n", INCAST_STR(info.name), INCAST_STR(info.summary));
    }
}

/* Sets a parameter, or says why not. */
static void set(incast_params *params, const char *name, const char *value) {
    char why[200], range[64];
    if (incast_params_set(params, name, value) == INCAST_OK) {
        check(incast_params_range(params, name, range, sizeof range, NULL), "incast_params_range");
        printf("%s = %s (%s)\n", name, value, range);
    } else {
        check(incast_params_explain(params, name, value, why, sizeof why, NULL), "incast_params_explain");
        printf("%s\n", why);
    }
}

int main(void) {
    if (incast_cc_abi() != INCAST_CC_ABI) {
        fprintf(stderr, "this program was made for ABI %d\n", (int)INCAST_CC_ABI);
        return EXIT_FAILURE;
    }
    list();

    /* Parameters, from a preset. */
    incast_params params;
    check(incast_params_named(&params, "oscar", "paper"), "incast_params_named");
    set(&params, "tau_time", "2");
    set(&params, "tau_time", "2us");

    /* What all flows with these parameters on such paths share. */
    incast_path path;
    path.base_rtt = 12 * US;
    path.base_owd = 6 * US;
    path.line_rate = 100000000000; /* 100 Gbps */
    path.packet = 1064;
    path.payload = 1000;
    path.hops = 4;
    size_t size = incast_setup_size(&params);
    incast_setup *setup = (incast_setup *)malloc(size);
    check(incast_setup_start(setup, size, &params, &path), "incast_setup_start");

    /* A flow. */
    incast_time now = 0, deadline;
    size = incast_flow_size(setup);
    incast_flow *flow = (incast_flow *)malloc(size);
    check(incast_flow_start(flow, size, setup, now), "incast_flow_start");

    /* An acknowledgement every 500 ns; each round trip takes 100 ns longer than the one before. */
    incast_allowance allowance;
    check(incast_flow_allowance(flow, setup, &allowance), "incast_flow_allowance");
    for (unsigned i = 0; i <= 100; i++) {
        incast_ack ack;
        memset(&ack, 0, sizeof ack);
        ack.now = now = 20 * US + i * 500 * NS;
        ack.sent = now - path.base_rtt - i * 100 * NS;
        ack.received = now - path.base_owd;
        ack.acked = path.packet;
        ack.packet = i * path.payload;
        ack.sequence = ack.packet + path.payload;
        ack.next_sequence = ack.sequence + allowance.window;
        ack.inflight = allowance.window;
        ack.inflight_now = allowance.window - path.packet;
        ack.packets = 1;
        check(incast_flow_on_ack(flow, setup, &ack, NULL), "incast_flow_on_ack");
        check(incast_flow_deadline(flow, setup, &deadline), "incast_flow_deadline");
        if (deadline <= now) {
            check(incast_flow_on_timer(flow, setup, now), "incast_flow_on_timer");
        }
        check(incast_flow_allowance(flow, setup, &allowance), "incast_flow_allowance");
        if (i % 20 == 0) {
            print("at ", INCAST_KIND_TIME, now);
            print(": RTT ", INCAST_KIND_TIME, now - ack.sent);
            print(", window ", INCAST_KIND_BYTES, allowance.window);
            print(", rate ", INCAST_KIND_RATE, allowance.rate);
            printf("\n");
        }
    }
    free(flow);
    free(setup);
    return EXIT_SUCCESS;
}
