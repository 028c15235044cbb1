/*
 * The congestion control algorithms of Incast, for C and C++.
 *
 * Parameters are text and set by name (incast_params_set). A setup joins them with a path (incast_setup_start)
 * and is shared by flows. A flow (incast_flow_start) is told what happens, acknowledgements first of all
 * (incast_flow_on_ack), and says what it may send (incast_flow_allowance) and when it wants to be called
 * (incast_flow_deadline).
 *
 * Rules for all functions:
 *
 * - Memory is the caller's. Nothing is allocated, nothing is kept outside of it, and nothing needs to be given
 *   back. Sizes are asked for; what malloc() gives is aligned.
 * - Pointers are not null unless it says so, and lead to memory as large as their type or the size beside
 *   them says. A text that goes in ends with a zero byte.
 * - Any thread may call any function, but while one changes a flow or parameters no other may use them.
 * - A flow goes with the setup that it was started with, or with a copy of it.
 * - A function that fails says why (incast_status) and writes nothing; those that write a text write as much
 *   of it as fits.
 *
 * Times are in picoseconds, amounts in bytes, rates in bits per second. The same calls with the same numbers
 * give the same numbers, on every machine.
 *
 * In the other direction the simulator runs an algorithm of one's own: a shared library with the function
 * incast_plugin_at() and the structures incast_plugin and incast_plugin_parameter, which it fills in. Such a
 * library needs no other function of this header.
 *
 * Made from the source by crates/capi/tests/header.rs: changes belong there.
 */


#ifndef INCAST_CC_H
#define INCAST_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** For printf("%.*s", INCAST_STR(text)): the two arguments of an incast_str. */
#define INCAST_STR(string) (int)(string).length, (string).text


/**
 * The number of the binary interface that this header describes. Within it nothing changes its size, its
 * layout, its meaning or its number; functions and statuses may be added. incast_cc_abi() is the number of
 * the library that is there when the program runs.
 */
#define INCAST_CC_ABI 1

/** The deadline of a timer that is not set: later than all times. */
#define INCAST_NEVER 18446744073709551615ull

/** A window that does not limit: more than all amounts. */
#define INCAST_UNLIMITED 18446744073709551615ull

/** Largest number of switch records in an acknowledgement. */
#define INCAST_INT_HOPS 5

/** The size of incast_params in words of 8 bytes. */
#define INCAST_PARAMS_WORDS 64

/** ECN marks: incast_ack.marked. */
#define INCAST_SIGNAL_ECN 1

/** In-band telemetry: incast_int_stack. */
#define INCAST_SIGNAL_INT 2

/** Congestion notification packets from the receiver: incast_flow_on_cnp(). */
#define INCAST_SIGNAL_CNP 4

/** The largest queueing delay of a hop: incast_ack.hop_delay. */
#define INCAST_SIGNAL_HOP_DELAY 8

/** Clocks of sender and receiver that agree: incast_ack.received. */
#define INCAST_SIGNAL_ONE_WAY_DELAY 16

/** The number of flows at the receiver: incast_ack.receiver_flows. */
#define INCAST_SIGNAL_RECEIVER_FLOWS 32

/** A word of the algorithm, kept with each packet: incast_flow_tag(), incast_ack.tag. */
#define INCAST_SIGNAL_PACKET_TAG 64

/** Whether there is a circuit to the receiver's rack: incast_ack.circuit. */
#define INCAST_SIGNAL_CIRCUIT 128

/** The longest run of packets that later ones have overtaken: incast_ack.delayed_run. */
#define INCAST_SIGNAL_DELAYED_RUN 256

/**
 * Status of a call: success, or the reason of the failure. A call that fails changes only what its
 * description names.
 */
typedef enum {
    /** Done. */
    INCAST_OK = 0,
    /** A pointer is null that must not be. */
    INCAST_NULL_POINTER = 1,
    /** No algorithm has this name. */
    INCAST_UNKNOWN_ALGORITHM = 2,
    /** The algorithm has no preset of this name. */
    INCAST_UNKNOWN_PRESET = 3,
    /** The algorithm has no parameter of this name. */
    INCAST_UNKNOWN_PARAMETER = 4,
    /** A text is no value of the parameter's kind, or a number in a field has no meaning there. */
    INCAST_BAD_VALUE = 5,
    /** The value is outside of the parameter's range. */
    INCAST_OUT_OF_RANGE = 6,
    /** The memory or the buffer is too small. */
    INCAST_TOO_SMALL = 7,
    /** The memory is not aligned as it must be. */
    INCAST_MISALIGNED = 8,
    /** No path has these properties; incast_path says what they must be. */
    INCAST_BAD_PATH = 9,
    /** The memory holds no parameters, or no setup. */
    INCAST_NOT_STARTED = 10,
    /** There is nothing at this place of the list; it is beyond the end. */
    INCAST_NO_SUCH_PLACE = 11,
    /** The internal quantity has no value yet. */
    INCAST_NO_VALUE = 12,
} incast_status;

/** Kind of the number in an incast_value or of a parameter. */
typedef enum {
    /** A time in picoseconds; in text "12us", "never". */
    INCAST_KIND_TIME = 0,
    /** An amount in bytes; in text "75KB" (75,000 bytes), "64KiB" (65,536 bytes), "unlimited". */
    INCAST_KIND_BYTES = 1,
    /** A rate in bits per second; in text "40Mbps", "unlimited". */
    INCAST_KIND_RATE = 2,
    /** A number without dimension, as an int64_t in units of 2^-32; in text "1.5". */
    INCAST_KIND_RATIO = 3,
    /** A whole number; in text "5". */
    INCAST_KIND_COUNT = 4,
    /** 0 or 1; in text "true", "false". */
    INCAST_KIND_FLAG = 5,
    /** The place of a word in a list, from 0; in text the word. */
    INCAST_KIND_CHOICE = 6,
} incast_kind;

/** Event by which a loss was noticed. */
typedef enum {
    /** The receiver reported a hole. */
    INCAST_LOSS_HOLE = 0,
    /** The retransmission timer expired. */
    INCAST_LOSS_TIMEOUT = 1,
    /** A switch removed the payload and the header arrived. */
    INCAST_LOSS_TRIM = 2,
} incast_loss_kind;

/**
 * The state of a flow. Memory of the caller's, one for each flow. It may be copied as a whole and needs no
 * end. One thread at a time may use it.
 */
typedef struct incast_flow incast_flow;

/**
 * A setup: the data shared by all flows that have the same parameters and paths with the same properties. It
 * is constant after its start, so any number of threads may use it at the same time. The memory is the
 * caller's. It may be copied as a whole within a process, and needs no end.
 */
typedef struct incast_setup incast_setup;

/**
 * A text in UTF-8 that lives as long as the program. No zero byte follows it: print it with
 * `printf("%.*s", INCAST_STR(text))`.
 */
typedef struct {
    /** Its first byte. */
    const char *text;
    /** Its length in bytes. */
    size_t length;
} incast_str;

/** An algorithm in lists. */
typedef struct {
    /** Its name, by which incast_params_named() knows it. */
    incast_str name;
    /** Its name in text and pictures. */
    incast_str title;
    /** One line. */
    incast_str summary;
    /** Its group: what it decides by. */
    incast_str family;
    /** One line: what it needs from hosts and switches. */
    incast_str needs;
    /** Bytes of the state of a flow; incast_flow_size() of its setups. */
    size_t flow_bytes;
    /** Bytes of a setup, which flows share; incast_setup_size() of its parameters. */
    size_t setup_bytes;
    /** Number of its presets; the default is the first. */
    size_t presets;
    /** Number of its parameters. */
    size_t parameters;
    /** Number of its internal quantities. */
    size_t internals;
} incast_info;

/** A preset or an internal quantity in lists. */
typedef struct {
    /** Its name. */
    incast_str name;
    /** Its meaning, in a sentence. */
    incast_str meaning;
} incast_named;

/** A parameter in lists. Its range and its value are texts: incast_params_range(), incast_params_get(). */
typedef struct {
    /** Its name. */
    incast_str name;
    /** One sentence of meaning. */
    incast_str meaning;
    /** Source of its default. */
    incast_str source;
    /** Its kind: one of incast_kind. */
    uint32_t kind;
} incast_parameter;

/**
 * An algorithm with its parameters. Memory of the caller's, for whose contents there are functions: it may be
 * copied as a whole, and needs no end.
 */
typedef struct {
    /** Not for the caller. */
    uint64_t opaque[INCAST_PARAMS_WORDS];
} incast_params;

/** Header bytes that an algorithm adds to every packet on the wire. */
typedef struct {
    /** To a data packet. */
    uint16_t data;
    /** To an acknowledgement, for what it echoes. */
    uint16_t ack;
} incast_overhead;

/** A number with what it is. */
typedef struct {
    /** Its kind: one of incast_kind. */
    uint32_t kind;
    /**
     * The number, in the unit of its kind. For INCAST_KIND_RATIO it is an int64_t, here in two's complement:
     * the ratio is `(double)(int64_t)number / 4294967296.0`.
     */
    uint64_t number;
} incast_value;

/**
 * A point in time, or a span of it, in picoseconds. Any point can be zero, as long as it is the same for all
 * calls of a flow; 64 bits span 213 days.
 */
typedef uint64_t incast_time;

/** A rate in bits per second. */
typedef uint64_t incast_rate;

/** An amount of data in bytes. Bytes on the wire, with all headers, unless stated differently. */
typedef uint64_t incast_bytes;

/**
 * The path of a flow: known when the flow starts, and constant for its lifetime. A setup is refused unless
 * 0 < base_rtt < INCAST_NEVER, base_owd <= base_rtt, 0 < line_rate, 0 < payload <= packet, 0 < hops.
 */
typedef struct {
    /**
     * Round-trip time without queues: the propagation of both directions, and the time to store and forward
     * one full data packet there and one acknowledgement back, at the rate of each hop.
     */
    incast_time base_rtt;
    /** The part of base_rtt that is spent on the way from sender to receiver. */
    incast_time base_owd;
    /** Rate of the sender's own link. */
    incast_rate line_rate;
    /** Size on the wire of a full data packet, with all headers. */
    incast_bytes packet;
    /** Payload of a full data packet. */
    incast_bytes payload;
    /** Links between sender and receiver. */
    uint32_t hops;
} incast_path;

/**
 * An acknowledgement at the sender. What an algorithm does not ask for (incast_params_signals()) may be
 * zero.
 */
typedef struct {
    /** Time of its arrival at the sender. */
    incast_time now;
    /** Time at which the acknowledged packet left the sender (its first bit). */
    incast_time sent;
    /** Time at which that packet arrived at the receiver (its last bit), by the receiver's clock. */
    incast_time received;
    /**
     * Time for which the receiver held this acknowledgement back after that packet had arrived; zero if it
     * answered at once. The round-trip time is now - sent - held.
     */
    incast_time held;
    /** Bytes that it newly acknowledges; zero for a duplicate. */
    incast_bytes acked;
    /**
     * Position in the flow of the first payload byte of the packet that caused it, the one that sent,
     * received, inflight, hop_delay, tag and the telemetry belong to.
     */
    uint64_t packet;
    /** Position in the flow up to which everything has arrived, in payload bytes. */
    uint64_t sequence;
    /** Position of the next new payload byte that the sender will send. */
    uint64_t next_sequence;
    /**
     * Bytes in flight when the acknowledged packet was sent, that packet included; of several packets their
     * mean.
     */
    incast_bytes inflight;
    /** Bytes in flight now, after this acknowledgement. */
    incast_bytes inflight_now;
    /** Number of data packets that it covers, at least 1. */
    uint32_t packets;
    /** Number of those packets that carried an ECN congestion mark. */
    uint32_t marked;
    /** Largest queueing delay of any single hop on the packet's path; zero if not measured. */
    incast_time hop_delay;
    /** Number of flows open at the receiver; zero if not reported. */
    uint32_t receiver_flows;
    /** Tag that incast_flow_tag() gave when that packet was sent; zero if it is not kept. */
    uint32_t tag;
    /**
     * The longest run of packets, adjacent in sequence, that are not acknowledged while at least three later
     * ones are; zero if not measured.
     */
    uint32_t delayed_run;
    /** Whether the receiver reports a hole: a later packet arrived before an earlier one. */
    bool hole;
    /** Whether the switch of the sender's rack announced a circuit to that packet. */
    bool circuit;
} incast_ack;

/** Record that a switch port writes into a packet when it begins to transmit it (in-band telemetry). */
typedef struct {
    /** Time at which the packet was taken from the queue, by the switch's clock. */
    incast_time at;
    /** Bytes left in the port's queues after it was taken. */
    incast_bytes queue;
    /** Bytes that the port had transmitted before it, since the start. */
    incast_bytes transmitted;
    /** The port's rate. */
    incast_rate rate;
} incast_int_hop;

/** The telemetry that came back with an acknowledgement, first hop first. */
typedef struct {
    /** Number of valid entries in hops, at most INCAST_INT_HOPS. */
    uint32_t count;
    /** One record for each switch port on the path. */
    incast_int_hop hops[INCAST_INT_HOPS];
} incast_int_stack;

/** A loss, as the transport reports it. */
typedef struct {
    /** Time at which the sender learns of it. */
    incast_time now;
    /** Kind of the loss: one of incast_loss_kind. */
    uint32_t kind;
    /** Bytes that the transport considers lost: with go-back-N everything in flight. */
    incast_bytes bytes;
    /** Time at which the first lost packet was last sent. */
    incast_time sent;
    /** Position in payload bytes from which the transport retransmits. */
    uint64_t sequence;
    /** Position of the next new payload byte before it does. */
    uint64_t next_sequence;
} incast_loss;

/** A packet whose transmission has just begun. */
typedef struct {
    /** Time of the event. */
    incast_time now;
    /** Its size on the wire. */
    incast_bytes bytes;
    /** Bytes in flight with it. */
    incast_bytes inflight;
} incast_sent;

/** Limits on what a flow may send until the next call. */
typedef struct {
    /**
     * A packet may be sent while fewer bytes than this are in flight; one packet may always be in flight,
     * however small the window is. INCAST_UNLIMITED for an algorithm without window.
     */
    incast_bytes window;
    /** Sending rate. */
    incast_rate rate;
} incast_allowance;

/** A parameter of a plugin. Its numbers are in the unit of its kind, as in incast_value. */
typedef struct {
    /** Its name in scenarios, in lower case: letters, digits and _. */
    const char *name;
    /** One sentence of meaning. */
    const char *meaning;
    /** Its kind: one of incast_kind, but no choice. */
    uint32_t kind;
    /** Its value where a scenario has none. */
    uint64_t initial;
    /** The least value that is allowed. */
    uint64_t least;
    /** The greatest value that is allowed. */
    uint64_t most;
} incast_plugin_parameter;

/**
 * An algorithm in a shared library, which the simulator loads (`incast run --plugin ./mine.so`). All of it stays
 * where it is and as it is for as long as the program runs.
 *
 * The memory of a flow belongs to the simulator and is zero before start. Several threads call the functions at
 * the same time, but for a flow one thread at a time: what a function changes is in the memory of its flow and
 * nowhere else, or results are not the same in every run. Functions that are optional may be null.
 *
 * After each call the simulator asks for allowance and deadline. It stops the run and names the plugin when the
 * window or the rate is zero, when the deadline is before the time of the call, or at that time after on_timer,
 * and when a function wrote beyond the memory of its flow.
 */
typedef struct {
    /** INCAST_CC_ABI. */
    uint32_t abi;
    /** The signals that it needs: the sum of their constants (INCAST_SIGNAL_ECN and so on). */
    uint32_t signals;
    /** Its name in scenarios: letters, digits, - and _; not the name of an algorithm of the library. */
    const char *name;
    /** One line for lists. */
    const char *summary;
    /** Its parameters, parameter_count of them; null if there are none. */
    const incast_plugin_parameter *parameters;
    /** Number of its parameters. */
    size_t parameter_count;
    /** Header bytes that it adds to packets. */
    incast_overhead overhead;
    /** Bytes of what flows with the same parameters and the same path share; may be zero. */
    size_t shared_bytes;
    /** Bytes of a flow. */
    size_t flow_bytes;
    /**
     * Optional. Checks the parameters together, in the order of their list, before anything runs. Returns
     * null if they are possible, and if not, the reason as a text that stays valid.
     */
    const char *(*check)(const uint64_t *parameters);
    /**
     * Optional. Fills in what flows share from the parameters and the path; it is zero before. It is constant
     * afterwards.
     */
    void (*share)(void *shared, const uint64_t *parameters, const incast_path *path);
    /** A flow starts. */
    void (*start)(void *flow, const void *shared, incast_time now);
    /** An acknowledgement arrived. Telemetry has no records without INCAST_SIGNAL_INT; it is never null. */
    void (*on_ack)(void *flow, const void *shared, const incast_ack *ack, const incast_int_stack *telemetry);
    /** Optional. The receiver reports congestion (only with INCAST_SIGNAL_CNP). */
    void (*on_cnp)(void *flow, const void *shared, incast_time now);
    /** Optional. The transport detected a loss and is about to retransmit. */
    void (*on_loss)(void *flow, const void *shared, const incast_loss *loss);
    /** Optional. Transmission of a packet begins. */
    void (*on_sent)(void *flow, const void *shared, const incast_sent *sent);
    /** Optional. The deadline is reached. */
    void (*on_timer)(void *flow, const void *shared, incast_time now);
    /** Optional. When on_timer is to be called next; INCAST_NEVER without a timer. */
    incast_time (*deadline)(const void *flow, const void *shared);
    /** Returns what the flow may send now. */
    incast_allowance (*allowance)(const void *flow, const void *shared);
    /**
     * Optional. The word to keep with a packet whose transmission begins (only with
     * INCAST_SIGNAL_PACKET_TAG).
     */
    uint32_t (*tag)(const void *flow, const void *shared);
} incast_plugin;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * A status in words, for people: a constant text that ends with a zero byte. For any other number:
 * "unknown status".
 */
const char *incast_status_text(uint32_t status);

/**
 * The number of the binary interface of the library in use: INCAST_CC_ABI of the header that it was built
 * with. A program that finds another number must not call it.
 */
uint32_t incast_cc_abi(void);

/** The version of the library in use, "0.1.0": a constant text that ends with a zero byte. */
const char *incast_cc_version(void);

/**
 * Returns the number of algorithms. Their places in the list, from 0, do not change while the program runs;
 * another version of the library may have others.
 */
size_t incast_cc_count(void);

/**
 * Writes the place of the algorithm with this name to out.
 *
 * INCAST_UNKNOWN_ALGORITHM; INCAST_NULL_POINTER.
 */
incast_status incast_cc_find(const char *name, size_t *out);

/**
 * Describes the algorithm at a place of the list.
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
 */
incast_status incast_cc_describe(size_t algorithm, incast_info *out);

/**
 * Describes a preset of an algorithm, both by their places; place 0 is the default.
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
 */
incast_status incast_cc_preset(size_t algorithm, size_t place, incast_named *out);

/**
 * Describes a parameter of an algorithm, both by their places.
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
 */
incast_status incast_cc_parameter(size_t algorithm, size_t place, incast_parameter *out);

/**
 * Writes the class of the evidence for the default of a parameter of an algorithm, both given by their places: its
 * name, one of printed, artifact, measured, derived and ours, and its meaning.
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
 */
incast_status incast_cc_evidence(size_t algorithm,
                                 size_t place,
                                 incast_named *out);

/**
 * Describes an internal quantity of an algorithm, both given by their places, as in incast_flow_probe().
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NULL_POINTER.
 */
incast_status incast_cc_internal(size_t algorithm, size_t place, incast_named *out);

/**
 * Writes the parameters of an algorithm in one of its presets to params. A null preset is the default one.
 *
 * INCAST_UNKNOWN_ALGORITHM; INCAST_UNKNOWN_PRESET; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_named(incast_params *params, const char *algorithm, const char *preset);

/**
 * Sets a parameter, both given as text: "target_queue", "75KB". incast_params_explain() says in words why a
 * text is refused.
 *
 * INCAST_UNKNOWN_PARAMETER; INCAST_BAD_VALUE; INCAST_OUT_OF_RANGE; INCAST_NOT_STARTED; INCAST_NULL_POINTER;
 * INCAST_MISALIGNED.
 */
incast_status incast_params_set(incast_params *params, const char *name, const char *value);

/**
 * Writes what incast_params_set() says to this name and this value, as a sentence for people, into a buffer
 * of size bytes; nothing is set. Of a text that does not fit as much is written as does. The length of the
 * whole text, without the zero byte, goes to length, which may be null; buffer may be null if size is 0.
 *
 * INCAST_TOO_SMALL when it does not fit; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_explain(const incast_params *params,
                                    const char *name,
                                    const char *value,
                                    char *buffer,
                                    size_t size,
                                    size_t *length);

/**
 * Writes the present value of a parameter as text into a buffer of size bytes, as incast_params_explain()
 * does: "75KB". incast_params_set() reads it.
 *
 * INCAST_UNKNOWN_PARAMETER; INCAST_TOO_SMALL; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_get(const incast_params *params,
                                const char *name,
                                char *buffer,
                                size_t size,
                                size_t *length);

/**
 * Writes the range of a parameter into a buffer of size bytes, as incast_params_explain() does: "0B to 1GB",
 * of a choice its words, "none, bdp".
 *
 * INCAST_UNKNOWN_PARAMETER; INCAST_TOO_SMALL; INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_range(const incast_params *params,
                                  const char *name,
                                  char *buffer,
                                  size_t size,
                                  size_t *length);

/**
 * Writes the signals that the algorithm needs with these parameters to out: the sum of their constants
 * (INCAST_SIGNAL_ECN and so on). It needs send and receive times and counts of bytes in any case.
 *
 * INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_signals(const incast_params *params, uint32_t *out);

/**
 * Writes the header bytes that the algorithm adds to packets with these parameters to out.
 *
 * INCAST_NOT_STARTED; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_params_overhead(const incast_params *params, incast_overhead *out);

/**
 * Writes a value as text with its unit into a buffer of size bytes, as incast_params_explain() does. That of
 * a choice, whose words it does not know, is a number.
 *
 * INCAST_BAD_VALUE for a kind that there is not; INCAST_TOO_SMALL; INCAST_NULL_POINTER.
 */
incast_status incast_value_text(const incast_value *value, char *buffer, size_t size, size_t *length);

/** The bytes that the setup of these parameters needs; 0 if params holds none. */
size_t incast_setup_size(const incast_params *params);

/**
 * Returns the alignment of that memory; 0 if params holds none. It is at most 8, so memory from malloc() is
 * aligned.
 */
size_t incast_setup_align(const incast_params *params);

/**
 * Starts a setup in memory of size bytes. It keeps no pointer to params or path.
 *
 * INCAST_BAD_PATH; INCAST_TOO_SMALL; INCAST_MISALIGNED; INCAST_NOT_STARTED if params holds none;
 * INCAST_NULL_POINTER.
 */
incast_status incast_setup_start(incast_setup *setup,
                                 size_t size,
                                 const incast_params *params,
                                 const incast_path *path);

/** The bytes that a flow with this setup needs; 0 if setup holds none. */
size_t incast_flow_size(const incast_setup *setup);

/**
 * Returns the alignment of that memory; 0 if setup holds none. It is at most 8, so memory from malloc() is
 * aligned.
 */
size_t incast_flow_align(const incast_setup *setup);

/**
 * Starts a flow at the time now in memory of size bytes. Time never goes back from one call of a flow to the
 * next. The setup must be there, or a copy of it, for every later call of the flow.
 *
 * INCAST_TOO_SMALL; INCAST_MISALIGNED; INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER.
 */
incast_status incast_flow_start(incast_flow *flow, size_t size, const incast_setup *setup, incast_time now);

/**
 * An acknowledgement arrived. Telemetry is null for an algorithm that did not ask for INCAST_SIGNAL_INT, or
 * when none came.
 *
 * INCAST_BAD_VALUE if telemetry has too many records, or if hole or circuit is neither true nor false;
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_on_ack(incast_flow *flow,
                                 const incast_setup *setup,
                                 const incast_ack *ack,
                                 const incast_int_stack *telemetry);

/**
 * The receiver reports congestion (only with INCAST_SIGNAL_CNP).
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_on_cnp(incast_flow *flow, const incast_setup *setup, incast_time now);

/**
 * The transport detected a loss and is about to retransmit.
 *
 * INCAST_BAD_VALUE if its kind is none of incast_loss_kind; INCAST_NOT_STARTED if setup holds none;
 * INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_on_loss(incast_flow *flow, const incast_setup *setup, const incast_loss *loss);

/**
 * Transmission of a packet begins.
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_on_sent(incast_flow *flow, const incast_setup *setup, const incast_sent *sent);

/**
 * The deadline of incast_flow_deadline() is reached.
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_on_timer(incast_flow *flow, const incast_setup *setup, incast_time now);

/**
 * Writes the time at which incast_flow_on_timer() must be called next to out, INCAST_NEVER without a timer.
 * To be asked after every other call: it may change in either direction.
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_deadline(const incast_flow *flow, const incast_setup *setup, incast_time *out);

/**
 * Writes what the flow may send now to out.
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_allowance(const incast_flow *flow,
                                    const incast_setup *setup,
                                    incast_allowance *out);

/**
 * Writes the word to keep with a packet whose transmission begins to out (only with
 * INCAST_SIGNAL_PACKET_TAG). It comes back in incast_ack.tag.
 *
 * INCAST_NOT_STARTED if setup holds none; INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_tag(const incast_flow *flow, const incast_setup *setup, uint32_t *out);

/**
 * Writes the internal quantity at this place (incast_cc_internal()) to out.
 *
 * INCAST_NO_SUCH_PLACE; INCAST_NO_VALUE if it has none yet; INCAST_NOT_STARTED if setup holds none;
 * INCAST_NULL_POINTER; INCAST_MISALIGNED.
 */
incast_status incast_flow_probe(const incast_flow *flow,
                                const incast_setup *setup,
                                size_t place,
                                incast_value *out);

/**
 * The function that a shared library with plugins has, and that this one does not: the plugin at this place
 * of its list, from 0; null beyond the end.
 */
extern const incast_plugin *incast_plugin_at(size_t place);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* INCAST_CC_H */
