// The packages of the workspace must not wait for each other.
import { readFileSync, readdirSync } from "node:fs";

const needs = new Map();
for (const dir of readdirSync("packages")) {
  const p = JSON.parse(readFileSync(`packages/${dir}/package.json`, "utf8"));
  needs.set(p.name, Object.keys(p.dependencies ?? {}));
}
const visit = (name, way) => {
  if (way.includes(name)) {
    process.stderr.write(`${[...way, name].join(" → ")}\n`);
    process.exit(1);
  }
  for (const next of needs.get(name) ?? []) visit(next, [...way, name]);
};
for (const name of needs.keys()) visit(name, []);
process.stdout.write(`${needs.size} packages, no cycle\n`);
