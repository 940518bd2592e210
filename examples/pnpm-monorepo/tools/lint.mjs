// Refuses var, ==, console.log and long lines: lint.mjs FOLDER
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const rules = [
  [/^\s*var /, "var"],
  [/[^=!]==[^=]/, "=="],
  [/console\.log/, "console.log"],
  [/^.{121,}$/, "more than 120 columns"],
];
let bad = 0;
for (const name of readdirSync(process.argv[2], { recursive: true })) {
  if (!/\.m?js$/.test(name) || /node_modules|dist|lint\.mjs/.test(name)) continue;
  const path = join(process.argv[2], name);
  readFileSync(path, "utf8")
    .split("\n")
    .forEach((line, i) => {
      for (const [pattern, what] of rules) {
        if (pattern.test(line)) {
          process.stderr.write(`${path}:${i + 1}: ${what}\n`);
          bad++;
        }
      }
    });
}
process.exitCode = bad > 0 ? 1 : 0;
