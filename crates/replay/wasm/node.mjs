// node node.mjs MODULE TRACE OUT EVERY FROM TO FLIP BIT: replay.mjs in node.
// node node.mjs MODULE TRACE RUNS: prints the nanoseconds that the calls of the trace take.

import { readFileSync, writeFileSync } from "node:fs";
import { cost, replay } from "./replay.mjs";

const [module, trace, ...rest] = process.argv.slice(2);
const compiled = await WebAssembly.compile(readFileSync(module));
if (rest.length === 1) {
    const clock = () => Number(process.hrtime.bigint());
    console.log(await cost(compiled, readFileSync(trace), Number(rest[0]), clock));
} else {
    const [out, ...numbers] = rest;
    writeFileSync(out, await replay(compiled, readFileSync(trace), numbers.map(Number)));
}
