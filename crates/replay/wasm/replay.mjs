// Replays a trace through the C interface of the algorithms compiled to WebAssembly, in node and in browsers; the
// arguments and the output are those of ../c/replay.c.

const PARAMETERS = 1, START = 2, ACK = 3, ACK_WITH_TELEMETRY = 4, CNP = 5, LOSS = 6, SENT = 7, TIMER = 8;
// Telemetry is the last part of a record.
const PATH_BYTES = 48, TELEMETRY_BYTES = 168;

/**
 * What a call costs in nanoseconds: each of the steps of a trace of one flow is a call, followed by allowance and
 * deadline. Parts of 64 steps are done `runs` times from the same state, and the least time of each counts, less that of
 * as many calls of a function that does nothing. `clock` gives nanoseconds.
 */
export async function cost(module, trace, runs, clock) {
    const { exports: cc } = await WebAssembly.instantiate(module, {});
    const head = new DataView(trace.buffer, trace.byteOffset, trace.byteLength);
    const filled = Math.ceil(head.getUint32(8, true) / 8) * 8, records = trace.subarray(16 + filled);
    const params = cc.memory.grow(Math.ceil((records.length + 65536) / 65536) + 1) * 65536;
    const setup = params + 1024, flow = setup + 8192, written = flow + filled + 64, first = written + 256;
    const bytes = new Uint8Array(cc.memory.buffer), words = new Uint32Array(cc.memory.buffer);
    const longs = new BigUint64Array(cc.memory.buffer);
    bytes.set(records, first);
    const steps = [];
    for (let at = first; at < first + records.length; at += words[at / 4 + 1]) {
        const [kind, body] = [words[at / 4], at + 8];
        if (kind === PARAMETERS) {
            cc.incast_params_named(params, body + 8, bytes.indexOf(0, body + 8) + 1);
        } else if (kind === START) {
            cc.incast_setup_start(setup, 8192, params, body);
            cc.incast_flow_start(flow, filled + 64, setup, longs[(body + PATH_BYTES) / 8]);
        } else {
            steps.push([kind, body, longs[body / 8], at + words[at / 4 + 1] - TELEMETRY_BYTES]);
        }
    }
    const calls = (part) => {
        for (const [kind, body, now, telemetry] of part) {
            if (kind === ACK) cc.incast_flow_on_ack(flow, setup, body, 0);
            else if (kind === ACK_WITH_TELEMETRY) cc.incast_flow_on_ack(flow, setup, body, telemetry);
            else if (kind === CNP) cc.incast_flow_on_cnp(flow, setup, now);
            else cc.incast_flow_on_timer(flow, setup, now);
            cc.incast_flow_allowance(flow, setup, written);
            cc.incast_flow_deadline(flow, setup, written + 16);
        }
    };
    const nothing = (part) => {
        for (let i = 0; i < 3 * part.length; i++) cc.incast_cc_abi();
    };
    let total = 0;
    for (let at = 0; at < steps.length; at += 64) {
        const [part, before] = [steps.slice(at, at + 64), bytes.slice(flow, flow + filled)];
        let least = [Infinity, Infinity];
        for (let run = 0; run < runs; run++) {
            bytes.set(before, flow);
            least = [calls, nothing].map((does, i) => {
                const began = clock();
                does(part);
                return Math.min(least[i], clock() - began);
            });
        }
        total += least[0] - least[1];
    }
    return total;
}

/** A replay of the trace (Uint8Array) with a compiled module; the result is what the program would write. */
export async function replay(module, trace, [every, from, to, flip, bit]) {
    const { exports: cc } = await WebAssembly.instantiate(module, {});
    const head = new DataView(trace.buffer, trace.byteOffset, trace.byteLength);
    if (new TextDecoder().decode(trace.subarray(0, 8)) !== "incastT1") throw new Error("this is no trace");
    const stateBytes = head.getUint32(8, true);
    const stateWords = stateBytes / 4, filled = Math.ceil(stateBytes / 8) * 8;
    const mask = new Uint32Array(new Uint8Array(trace.subarray(16, 16 + filled)).buffer);

    // Memory behind that of the module: parameters, setup, state, what functions write, and a part of the trace.
    const PART = 1 << 20;
    const params = cc.memory.grow(Math.ceil((PART + 65536 + stateBytes) / 65536) + 1) * 65536;
    const setup = params + 1024, flow = setup + 8192, written = flow + filled + 64, part = written + 256;
    const bytes = new Uint8Array(cc.memory.buffer), words = new Uint32Array(cc.memory.buffer);
    const longs = new BigUint64Array(cc.memory.buffer);
    const done = (what, status) => {
        if (status !== 0) throw new Error(`${what}: status ${status}`);
    };

    let first = 0x696e6361, second = 0x73745431;
    const word = (next) => {
        first = Math.imul(((first << 5) | (first >>> 27)) ^ next, 0x9e3779b1);
        const sum = Math.imul((second + next) | 0, 0x85ebca6b);
        second = (sum << 13) | (sum >>> 19);
    };
    const out = [];
    const put = (number) => out.push(BigInt(number));
    const digest = () => put((BigInt(second >>> 0) << 32n) | BigInt(first >>> 0));

    const length = (at) => bytes.indexOf(0, at) + 1 - at;
    // Sets the parameters of a record; how many internals the algorithm shows.
    const parameters = (body) => {
        let name = body + 8, value = name + length(name);
        done("parameters", cc.incast_params_named(params, name, value));
        done("parameters", cc.incast_cc_find(name, written));
        // The places of fields are those of 32-bit addresses.
        done("parameters", cc.incast_cc_describe(words[written / 4], written));
        const internals = words[(written + 56) / 4];
        for (let count = words[body / 4]; count > 0; count--) {
            name += Math.ceil((value + length(value) - name) / 8) * 8 + 16;
            value = name + length(name);
            done("parameters", cc.incast_params_set(params, name, value));
        }
        return internals;
    };

    let step = 0, internals = 0, at = 16 + filled, record = part, end = part;
    for (;;) {
        if (record === end) {
            // As many whole records as there is room for.
            let next = at;
            while (next < trace.length && next + head.getUint32(next + 4, true) - at <= PART) {
                next += head.getUint32(next + 4, true);
            }
            if (next === at) break;
            bytes.set(trace.subarray(at, next), part);
            [record, end, at] = [part, part + next - at, next];
        }
        const kind = words[record / 4], body = record + 8;
        record += words[record / 4 + 1];
        if (kind === PARAMETERS) {
            internals = parameters(body);
            continue;
        }
        if (step === flip) bytes[body + (bit >> 3)] ^= 1 << (bit & 7);
        switch (kind) {
            case START:
                if (cc.incast_setup_size(params) > 8192) throw new Error("the setup is too large");
                done("setup", cc.incast_setup_start(setup, 8192, params, body));
                // A state without bytes has memory all the same.
                if (stateBytes !== 0 && cc.incast_flow_size(setup) !== stateBytes) {
                    throw new Error("the state has another size");
                }
                bytes.fill(0, flow, flow + filled);
                done("start", cc.incast_flow_start(flow, filled + 64, setup, longs[(body + PATH_BYTES) / 8]));
                break;
            case ACK:
                done("on_ack", cc.incast_flow_on_ack(flow, setup, body, 0));
                break;
            case ACK_WITH_TELEMETRY:
                done("on_ack", cc.incast_flow_on_ack(flow, setup, body, record - TELEMETRY_BYTES));
                break;
            case CNP:
                done("on_cnp", cc.incast_flow_on_cnp(flow, setup, longs[body / 8]));
                break;
            case LOSS:
                done("on_loss", cc.incast_flow_on_loss(flow, setup, body));
                break;
            case SENT:
                done("on_sent", cc.incast_flow_on_sent(flow, setup, body));
                break;
            case TIMER:
                done("on_timer", cc.incast_flow_on_timer(flow, setup, longs[body / 8]));
                break;
            default:
                throw new Error(`no record is of kind ${kind}`);
        }
        done("allowance", cc.incast_flow_allowance(flow, setup, written));
        done("deadline", cc.incast_flow_deadline(flow, setup, written + 16));
        done("tag", cc.incast_flow_tag(flow, setup, written + 24));
        if (every !== 0) {
            for (let i = written / 4; i < written / 4 + 7; i++) word(words[i]);
            for (let i = 0; i < stateWords; i++) word(words[flow / 4 + i] & mask[i]);
            if ((step + 1) % every === 0) digest();
        } else if (step >= from && step < to) {
            put(step);
            for (let i = 0; i < 3; i++) put(longs[written / 8 + i]);
            put(words[written / 4 + 6]);
            put(internals);
            for (let i = 0; i < internals; i++) {
                longs[written / 8 + 1] = 0n;
                put(cc.incast_flow_probe(flow, setup, i, written) === 0);
                put(longs[written / 8 + 1]);
            }
            for (let i = 0; i < filled / 4; i += 2) {
                const [low, high] = [words[flow / 4 + i] & mask[i], words[flow / 4 + i + 1] & mask[i + 1]];
                put((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0));
            }
        }
        step++;
    }
    if (every !== 0) digest();
    return new Uint8Array(new BigUint64Array(out).buffer);
}
