// Builds the package in the working folder: src becomes dist, with the version in front of each file.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const { name, version } = JSON.parse(readFileSync("package.json", "utf8"));
rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
for (const file of readdirSync("src")) {
  writeFileSync(`dist/${file}`, `// ${name} ${version}\n${readFileSync(`src/${file}`, "utf8")}`);
}
process.stdout.write(`${name} ${version}\n`);
