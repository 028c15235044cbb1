/* A flow over DPDK: this program sends, is the bottleneck, and receives, so that one process shows the whole loop.
 *
 *     cc -O2 -std=gnu11 dpdk.c $(pkg-config --cflags --libs incast_cc libdpdk) -o dpdk
 *     ./dpdk --no-huge -m 64 --no-pci --vdev=net_ring0 --vdev=net_ring1 -l 0 -- oscar 100us 200Mbps 20000
 *
 * After `--`: an algorithm, the round-trip time without queues that it is told, the rate of the bottleneck, and how
 * many packets to send. The line is ten times faster than the bottleneck. Data leaves from port 0, acknowledgements
 * leave from port 1, and each frame is known by what is in it, wherever it arrives: a port of net_ring gets back what
 * it sends, and with net_af_packet on the two ends of a veth pair either gets what the other sends.
 *
 * Frames wait for the bottleneck in a queue of this program, which marks them (ECN) and adds telemetry (INT) as a
 * switch does. What is lost is sent again from there on (go-back-N).
 */
#include <incast_cc.h>

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum { BURST = 32, DESCRIPTORS = 1024, FRAMES = 8191, QUEUE = 4096, PAYLOAD = 1400 };
/* IEEE 802: an EtherType for experiments in one's own network. */
enum { EXPERIMENTAL = 0x88b5 };
/* Bytes in the queue above which packets are marked. */
static const uint64_t MARK_ABOVE = 30000;
/* Ends the program when nothing is acknowledged for so long, and sends again when for so long. */
static const incast_time GIVE_UP = 10000000000000, AGAIN = 100000000000;

enum { DATA = 1, ACK = 2 };

/* What follows the Ethernet header; both ends are this program, so the layout is the machine's. */
typedef struct {
    uint32_t kind;
    uint32_t marked;
    /* Of data: its number. Of an acknowledgement: the number expected next. */
    uint64_t number;
    /* The number of the packet that caused an acknowledgement. */
    uint64_t cause;
    incast_time sent, received;
    incast_bytes inflight;
    incast_int_hop hop;
} frame;

/* What a frame counts on the wire: with preamble, checksum and gap. */
static const incast_bytes COUNTED = sizeof(struct rte_ether_hdr) + sizeof(frame) + PAYLOAD + 24;

typedef struct {
    struct rte_mempool *pool;
    incast_time start;
    uint64_t hertz;
    /* The algorithm. */
    incast_setup *setup;
    incast_flow *flow;
    uint32_t signals;
    incast_allowance allowance;
    /* The sender. */
    uint64_t packets, next, acknowledged, sent, again;
    incast_time next_at, heard, rtt_sum, rtt_last;
    uint64_t rtts, marked;
    /* The bottleneck. */
    struct rte_mbuf *queue[QUEUE];
    uint64_t head, tail, dropped;
    incast_bytes transmitted, longest;
    incast_rate rate;
    incast_time free_at;
    /* The receiver. */
    uint64_t expected;
} world;

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static void check(incast_status status, const char *call) {
    if (status != INCAST_OK) {
        rte_exit(EXIT_FAILURE, "%s: %s\n", call, incast_status_text(status));
    }
}

/* Picoseconds since the start. */
static incast_time now_of(const world *w) {
    uint64_t ticks = rte_get_tsc_cycles() - w->start;
    return ticks / w->hertz * 1000000000000 + ticks % w->hertz * 1000000 / (w->hertz / 1000000);
}

/* How long bytes take at a rate; both far below where this would overflow. */
static incast_time time_for(incast_bytes bytes, incast_rate rate) {
    return bytes * 8000000000 / (rate < 1000 ? 1 : rate / 1000);
}

static frame *frame_of(struct rte_mbuf *packet) {
    return rte_pktmbuf_mtod_offset(packet, frame *, sizeof(struct rte_ether_hdr));
}

/* Sends a frame, with so many bytes after its fields. Returns whether the port took it. */
static bool transmit(world *w, uint16_t port, const frame *fields, uint16_t payload) {
    struct rte_mbuf *packet = rte_pktmbuf_alloc(w->pool);
    if (packet == NULL) {
        return false;
    }
    uint16_t size = (uint16_t)(sizeof(struct rte_ether_hdr) + sizeof(frame) + payload);
    struct rte_ether_hdr *ethernet = (struct rte_ether_hdr *)rte_pktmbuf_append(packet, size);
    memset(ethernet, 0, size);
    memset(&ethernet->dst_addr, 0xff, sizeof ethernet->dst_addr);
    ethernet->src_addr.addr_bytes[0] = 2; /* an address of one's own */
    ethernet->ether_type = rte_cpu_to_be_16(EXPERIMENTAL);
    *frame_of(packet) = *fields;
    if (rte_eth_tx_burst(port, 0, &packet, 1) == 1) {
        return true;
    }
    rte_pktmbuf_free(packet);
    return false;
}

static void apply_directive(world *w, incast_time now) {
    incast_time deadline;
    check(incast_flow_deadline(w->flow, w->setup, &deadline), "incast_flow_deadline");
    if (deadline <= now) {
        check(incast_flow_on_timer(w->flow, w->setup, now), "incast_flow_on_timer");
    }
    check(incast_flow_allowance(w->flow, w->setup, &w->allowance), "incast_flow_allowance");
}

/* Sends what window and rate allow. */
static void send_data(world *w) {
    incast_time now = now_of(w);
    if (now - w->heard > AGAIN && w->next > w->acknowledged) {
        incast_loss loss;
        memset(&loss, 0, sizeof loss);
        loss.now = now;
        loss.kind = INCAST_LOSS_TIMEOUT;
        loss.bytes = (w->next - w->acknowledged) * COUNTED;
        loss.sent = w->heard;
        loss.sequence = w->acknowledged * PAYLOAD;
        loss.next_sequence = w->next * PAYLOAD;
        check(incast_flow_on_loss(w->flow, w->setup, &loss), "incast_flow_on_loss");
        w->again += w->next - w->acknowledged;
        w->next = w->acknowledged;
        w->heard = now;
    }
    apply_directive(w, now);
    for (unsigned i = 0; i < BURST && w->next < w->packets && w->next_at <= now; i++) {
        incast_bytes inflight = (w->next - w->acknowledged) * COUNTED;
        if (inflight > 0 && inflight >= w->allowance.window) {
            break;
        }
        frame data;
        memset(&data, 0, sizeof data);
        data.kind = DATA;
        data.number = w->next;
        data.sent = now_of(w);
        data.inflight = inflight + COUNTED;
        if (!transmit(w, 0, &data, PAYLOAD)) {
            break;
        }
        incast_sent sent = {.now = data.sent, .bytes = COUNTED, .inflight = data.inflight};
        check(incast_flow_on_sent(w->flow, w->setup, &sent), "incast_flow_on_sent");
        w->sent++;
        w->next++;
        /* Packets of 50 us leave together; what was missed for longer than that is not made up for. */
        incast_time floor = now > 50000000 ? now - 50000000 : 0;
        w->next_at = (w->next_at > floor ? w->next_at : floor) + time_for(COUNTED, w->allowance.rate);
        apply_directive(w, data.sent);
    }
}

/* Data has come to the bottleneck. */
static void enqueue(world *w, struct rte_mbuf *packet) {
    incast_bytes waiting = (w->tail - w->head) * COUNTED;
    if (w->tail - w->head == QUEUE) {
        w->dropped++;
        rte_pktmbuf_free(packet);
        return;
    }
    frame_of(packet)->marked = waiting > MARK_ABOVE;
    w->queue[w->tail++ % QUEUE] = packet;
    w->longest = waiting + COUNTED > w->longest ? waiting + COUNTED : w->longest;
}

/* Frames leave the bottleneck at its rate and arrive at the receiver, which answers each. */
static void serve(world *w) {
    while (w->head < w->tail) {
        incast_time now = now_of(w);
        if (w->free_at > now) {
            return;
        }
        struct rte_mbuf *packet = w->queue[w->head % QUEUE];
        frame *data = frame_of(packet);
        incast_time floor = now > 50000000 ? now - 50000000 : 0;
        w->free_at = (w->free_at > floor ? w->free_at : floor) + time_for(COUNTED, w->rate);
        frame ack = *data;
        ack.hop.at = now;
        ack.hop.queue = (w->tail - w->head - 1) * COUNTED;
        ack.hop.transmitted = w->transmitted;
        ack.hop.rate = w->rate;
        ack.kind = ACK;
        ack.cause = data->number;
        ack.received = now;
        uint64_t expected = w->expected + (data->number == w->expected);
        ack.number = expected;
        if (!transmit(w, 1, &ack, 0)) {
            return;
        }
        w->expected = expected;
        w->transmitted += COUNTED;
        w->head++;
        rte_pktmbuf_free(packet);
    }
}

/* An acknowledgement has come to the sender. */
static void acknowledged(world *w, const frame *fields) {
    incast_time now = now_of(w);
    if (fields->number > w->next || fields->cause >= w->next || fields->sent > now) {
        return;
    }
    uint64_t covered = fields->number > w->acknowledged ? fields->number - w->acknowledged : 0;
    w->acknowledged += covered;
    if (covered > 0) {
        w->heard = now;
    }
    w->rtt_last = now - fields->sent;
    w->rtt_sum += w->rtt_last;
    w->rtts++;
    w->marked += fields->marked;
    incast_ack ack;
    memset(&ack, 0, sizeof ack);
    ack.now = now;
    ack.sent = fields->sent;
    ack.received = fields->received;
    ack.acked = covered * COUNTED;
    ack.packet = fields->cause * PAYLOAD;
    ack.sequence = w->acknowledged * PAYLOAD;
    ack.next_sequence = w->next * PAYLOAD;
    ack.inflight = fields->inflight;
    ack.inflight_now = (w->next - w->acknowledged) * COUNTED;
    ack.packets = 1;
    ack.marked = fields->marked;
    ack.hole = fields->cause >= fields->number;
    incast_int_stack telemetry;
    memset(&telemetry, 0, sizeof telemetry);
    telemetry.count = 1;
    telemetry.hops[0] = fields->hop;
    bool wanted = (w->signals & INCAST_SIGNAL_INT) != 0;
    check(incast_flow_on_ack(w->flow, w->setup, &ack, wanted ? &telemetry : NULL), "incast_flow_on_ack");
    if (fields->marked && (w->signals & INCAST_SIGNAL_CNP) != 0) {
        check(incast_flow_on_cnp(w->flow, w->setup, now), "incast_flow_on_cnp");
    }
    apply_directive(w, now);
}

/* What has arrived at a port. */
static void poll_port(world *w, uint16_t port) {
    struct rte_mbuf *packets[BURST];
    uint16_t count = rte_eth_rx_burst(port, 0, packets, BURST);
    for (uint16_t i = 0; i < count; i++) {
        struct rte_mbuf *packet = packets[i];
        const struct rte_ether_hdr *ethernet = rte_pktmbuf_mtod(packet, const struct rte_ether_hdr *);
        /* A veth carries other frames too, such as those of IPv6. */
        bool ours = rte_pktmbuf_data_len(packet) >= sizeof *ethernet + sizeof(frame) &&
                    ethernet->ether_type == rte_cpu_to_be_16(EXPERIMENTAL);
        if (ours && frame_of(packet)->kind == DATA) {
            enqueue(w, packet);
            continue;
        }
        if (ours && frame_of(packet)->kind == ACK) {
            acknowledged(w, frame_of(packet));
        }
        rte_pktmbuf_free(packet);
    }
}

static void start_port(const world *w, uint16_t port) {
    struct rte_eth_conf conf;
    memset(&conf, 0, sizeof conf);
    int node = rte_eth_dev_socket_id(port);
    unsigned socket = node < 0 ? SOCKET_ID_ANY : (unsigned)node;
    if (rte_eth_dev_configure(port, 1, 1, &conf) < 0 ||
        rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, socket, NULL, w->pool) < 0 ||
        rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, socket, NULL) < 0 || rte_eth_dev_start(port) < 0) {
        rte_exit(EXIT_FAILURE, "port %u cannot be started\n", port);
    }
}

/* A text with a unit, read by setting a parameter of the algorithm that sends at a constant rate. */
static uint64_t rate_of(const char *text) {
    incast_params params;
    char digits[32];
    check(incast_params_named(&params, "constant", NULL), "incast_params_named");
    check(incast_params_set(&params, "rate", text), text);
    check(incast_params_get(&params, "rate", digits, sizeof digits, NULL), "incast_params_get");
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {{"Gbps", 1000000000}, {"Mbps", 1000000}, {"Kbps", 1000}, {"kbps", 1000}, {"bps", 1}};
    char *unit;
    double number = strtod(digits, &unit);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].unit) == 0) {
            return (uint64_t)(number * (double)units[i].factor);
        }
    }
    rte_exit(EXIT_FAILURE, "%s: no rate\n", text);
}

static void start_flow(world *w, const char *algorithm, uint64_t rtt_us) {
    incast_params params;
    incast_path path;
    check(incast_params_named(&params, algorithm, NULL), algorithm);
    check(incast_params_signals(&params, &w->signals), "incast_params_signals");
    if ((w->signals & (INCAST_SIGNAL_HOP_DELAY | INCAST_SIGNAL_RECEIVER_FLOWS | INCAST_SIGNAL_CIRCUIT |
                       INCAST_SIGNAL_PACKET_TAG | INCAST_SIGNAL_DELAYED_RUN)) != 0) {
        rte_exit(EXIT_FAILURE, "%s needs a signal that this example does not have\n", algorithm);
    }
    memset(&path, 0, sizeof path);
    path.base_rtt = rtt_us * 1000000;
    path.base_owd = path.base_rtt / 2;
    path.line_rate = 10 * w->rate;
    path.packet = COUNTED;
    path.payload = PAYLOAD;
    path.hops = 2;
    size_t size = incast_setup_size(&params);
    w->setup = (incast_setup *)aligned_alloc(64, (size + 63) / 64 * 64);
    check(incast_setup_start(w->setup, size, &params, &path), "incast_setup_start");
    size = incast_flow_size(w->setup);
    w->flow = (incast_flow *)aligned_alloc(64, (size + 63) / 64 * 64);
    check(incast_flow_start(w->flow, size, w->setup, now_of(w)), "incast_flow_start");
    apply_directive(w, now_of(w));
}

int main(int count, char **words) {
    int used = rte_eal_init(count, words);
    if (used < 0) {
        fprintf(stderr, "DPDK cannot be started; it says why above\n");
        return EXIT_FAILURE;
    }
    count -= used;
    words += used;
    char *unit = NULL;
    uint64_t rtt_us = count == 5 ? strtoull(words[2], &unit, 10) : 0;
    uint64_t packets = count == 5 ? strtoull(words[4], NULL, 10) : 0;
    if (rtt_us == 0 || strcmp(unit, "us") != 0 || packets == 0 || rte_eth_dev_count_avail() != 2) {
        rte_exit(EXIT_FAILURE, "needed: two ports, and after `--` ALGORITHM RTT RATE PACKETS, like "
                               "oscar 100us 200Mbps 20000\n");
    }
    static world w;
    w.hertz = rte_get_tsc_hz();
    w.start = rte_get_tsc_cycles();
    w.packets = packets;
    w.rate = rate_of(words[3]);
    w.pool = rte_pktmbuf_pool_create("frames", FRAMES, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (w.pool == NULL) {
        rte_exit(EXIT_FAILURE, "no memory for frames: %s\n", rte_strerror(rte_errno));
    }
    start_port(&w, 0);
    start_port(&w, 1);
    start_flow(&w, words[1], rtt_us);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    w.heard = now_of(&w);
    incast_time last = w.heard;
    uint64_t before = 0;
    while (w.acknowledged < w.packets && !stopped) {
        send_data(&w);
        poll_port(&w, 0);
        poll_port(&w, 1);
        serve(&w);
        if (w.acknowledged > before) {
            before = w.acknowledged;
            last = now_of(&w);
        } else if (now_of(&w) - last > GIVE_UP) {
            rte_exit(EXIT_FAILURE, "nothing was acknowledged for 10s\n");
        }
    }
    incast_time end = now_of(&w);
    printf("%s: %" PRIu64 " of %" PRIu64 " packets arrived in order in %" PRIu64 " ms\n", words[1], w.expected,
           w.packets, end / 1000000000);
    printf("sent %" PRIu64 ", again %" PRIu64 ", dropped %" PRIu64 ", marked %" PRIu64 "\n", w.sent, w.again,
           w.dropped, w.marked);
    printf("mean RTT %" PRIu64 " us, longest queue %" PRIu64 " B, window %" PRIu64 " B\n",
           w.rtts > 0 ? w.rtt_sum / w.rtts / 1000000 : 0, w.longest, w.allowance.window);
    rte_eth_dev_stop(0);
    rte_eth_dev_stop(1);
    free(w.flow);
    free(w.setup);
    rte_eal_cleanup();
    return w.acknowledged == w.packets ? EXIT_SUCCESS : EXIT_FAILURE;
}
