/* Replays a trace through the C interface: replay TRACE OUT EVERY FROM TO FLIP BIT
 *
 * Writes to OUT a digest after every EVERY steps and one at the end, or, if EVERY is 0, everything that is seen after
 * each of the steps FROM to TO - 1. Before step FLIP the bit BIT of what its record says is inverted: a fault made on
 * purpose, so that the comparison can be seen to find it. crates/replay/src has the formats: trace.rs, targets.rs. */
#include <incast_cc.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 1, START, ACK, ACK_WITH_TELEMETRY, CNP, LOSS, SENT, TIMER };

static FILE *out;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "replay: %s: %s\n", what, why);
    exit(1);
}

static void done(const char *what, incast_status status) {
    if (status != INCAST_OK) {
        fail(what, incast_status_text(status));
    }
}

static void *memory(size_t size) {
    void *found = calloc(1, size + 8);
    if (found == NULL) {
        fail("memory", "there is none left");
    }
    return found;
}

static void put(uint64_t number) {
    if (fwrite(&number, sizeof number, 1, out) != 1) {
        fail("output", "it cannot be written");
    }
}

static unsigned char *whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long length;
    unsigned char *bytes;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 16) {
        fail(path, "it cannot be read");
        return NULL;
    }
    rewind(file);
    *size = (size_t)length;
    bytes = memory(*size);
    if (fread(bytes, 1, *size, file) != *size || memcmp(bytes, "incastT1", 8) != 0) {
        fail(path, "it is no trace");
    }
    fclose(file);
    return bytes;
}

static struct {
    uint32_t first, second;
} digest = {0x696e6361, 0x73745431};

static void word(uint32_t next) {
    uint32_t mixed = ((digest.first << 5 | digest.first >> 27) ^ next) * 0x9e3779b1u;
    uint32_t sum = (digest.second + next) * 0x85ebca6bu;
    digest.first = mixed;
    digest.second = sum << 13 | sum >> 19;
}

static void pair(uint64_t next) {
    word((uint32_t)next);
    word((uint32_t)(next >> 32));
}

/* The parameters of a record, and how many internals the algorithm shows. */
static size_t parameters(const unsigned char *body, incast_params *params) {
    uint32_t count;
    size_t place;
    incast_info info;
    const char *text = (const char *)body + 8, *second;
    memcpy(&count, body, sizeof count);
    second = text + strlen(text) + 1;
    done(text, incast_params_named(params, text, second));
    done(text, incast_cc_find(text, &place));
    done(text, incast_cc_describe(place, &info));
    for (; count > 0; count--) {
        size_t length = (size_t)(second + strlen(second) + 1 - text);
        /* After the texts, filled up, the number of the value, which its text says, too. */
        text += (length + 7) / 8 * 8 + sizeof(incast_value);
        second = text + strlen(text) + 1;
        done(text, incast_params_set(params, text, second));
    }
    return info.internals;
}

int main(int arguments, char **argument) {
    static incast_params params;
    size_t size, at, internals = 0;
    uint64_t step = 0, number[5];
    uint32_t state_bytes, head[2];
    unsigned char *trace;
    const uint32_t *mask;
    uint32_t *flow_memory = NULL;
    incast_setup *setup = NULL;
    incast_flow *flow = NULL;
    if (arguments != 8) {
        fail("usage", "replay TRACE OUT EVERY FROM TO FLIP BIT");
    }
    trace = whole(argument[1], &size);
    out = fopen(argument[2], "wb");
    if (out == NULL) {
        fail(argument[2], "it cannot be written");
    }
    for (int i = 0; i < 5; i++) {
        number[i] = strtoull(argument[3 + i], NULL, 10);
    }
    memcpy(&state_bytes, trace + 8, sizeof state_bytes);
    mask = (const uint32_t *)(const void *)(trace + 16);
    for (at = 16 + (state_bytes + (size_t)7) / 8 * 8; at < size; at += head[1]) {
        unsigned char *body = trace + at + 8;
        incast_allowance allowance;
        incast_time deadline, now;
        uint32_t tag;
        memcpy(head, trace + at, sizeof head);
        if (head[0] == PARAMETERS) {
            internals = parameters(body, &params);
            continue;
        }
        if (step == number[3]) {
            body[number[4] / 8] = (unsigned char)(body[number[4] / 8] ^ 1u << number[4] % 8);
        }
        memcpy(&now, body, sizeof now);
        switch (head[0]) {
        case START:
            free(setup);
            free(flow_memory);
            setup = memory(incast_setup_size(&params));
            done("setup", incast_setup_start(setup, incast_setup_size(&params), &params,
                                             (const incast_path *)(const void *)body));
            /* A state without bytes has memory all the same. */
            if (state_bytes != 0 && incast_flow_size(setup) != state_bytes) {
                fail("flow", "its state has another size than in the trace");
            }
            flow_memory = memory(state_bytes);
            flow = (incast_flow *)(void *)flow_memory;
            memcpy(&now, body + sizeof(incast_path), sizeof now);
            done("start", incast_flow_start(flow, incast_flow_size(setup), setup, now));
            break;
        case ACK:
            done("on_ack", incast_flow_on_ack(flow, setup, (const incast_ack *)(const void *)body, NULL));
            break;
        case ACK_WITH_TELEMETRY:
            done("on_ack",
                 incast_flow_on_ack(flow, setup, (const incast_ack *)(const void *)body,
                                    (const incast_int_stack *)(const void *)(body + sizeof(incast_ack))));
            break;
        case CNP:
            done("on_cnp", incast_flow_on_cnp(flow, setup, now));
            break;
        case LOSS:
            done("on_loss", incast_flow_on_loss(flow, setup, (const incast_loss *)(const void *)body));
            break;
        case SENT:
            done("on_sent", incast_flow_on_sent(flow, setup, (const incast_sent *)(const void *)body));
            break;
        case TIMER:
            done("on_timer", incast_flow_on_timer(flow, setup, now));
            break;
        default:
            fail(argument[1], "a record is of no kind that there is");
        }
        done("allowance", incast_flow_allowance(flow, setup, &allowance));
        done("deadline", incast_flow_deadline(flow, setup, &deadline));
        done("tag", incast_flow_tag(flow, setup, &tag));
        if (number[0] != 0) {
            pair(allowance.window);
            pair(allowance.rate);
            pair(deadline);
            word(tag);
            for (uint32_t i = 0; i < state_bytes / 4; i++) {
                word(flow_memory[i] & mask[i]);
            }
            if ((step + 1) % number[0] == 0) {
                put((uint64_t)digest.second << 32 | digest.first);
            }
        } else if (step >= number[1] && step < number[2]) {
            put(step);
            put(allowance.window);
            put(allowance.rate);
            put(deadline);
            put(tag);
            put(internals);
            for (size_t i = 0; i < internals; i++) {
                incast_value value = {0, 0};
                put(incast_flow_probe(flow, setup, i, &value) == INCAST_OK);
                put(value.number);
            }
            for (uint32_t i = 0; i < (state_bytes + 7) / 8; i++) {
                uint64_t words = flow_memory[2 * i] & mask[2 * i];
                put(words | (uint64_t)(flow_memory[2 * i + 1] & mask[2 * i + 1]) << 32);
            }
        }
        step++;
    }
    if (number[0] != 0) {
        put((uint64_t)digest.second << 32 | digest.first);
    }
    free(setup);
    free(flow_memory);
    free(trace);
    if (fclose(out) != 0) {
        fail(argument[2], "it cannot be written");
    }
    return 0;
}
