// A built package stays small: size.mjs PACKAGE MOST_BYTES
import { readdirSync, statSync } from "node:fs";

const [, , name, most] = process.argv;
const dist = `packages/${name}/dist`;
const size = readdirSync(dist).reduce((sum, f) => sum + statSync(`${dist}/${f}`).size, 0);
process.stdout.write(`${name}: ${size} of ${most} bytes\n`);
process.exitCode = size > Number(most) ? 1 : 0;
