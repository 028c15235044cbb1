// node node.mjs MODULE TRACE OUT EVERY FROM TO FLIP BIT: replay.mjs in node.

import { readFileSync, writeFileSync } from "node:fs";
import { replay } from "./replay.mjs";

const [module, trace, out, ...numbers] = process.argv.slice(2);
const compiled = await WebAssembly.compile(readFileSync(module));
writeFileSync(out, await replay(compiled, readFileSync(trace), numbers.map(Number)));
