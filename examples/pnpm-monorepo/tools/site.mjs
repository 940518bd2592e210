// Writes the page from the built packages, and says where.
import { mkdirSync, writeFileSync } from "node:fs";

const { page } = await import("../packages/ui/dist/index.js");
mkdirSync("dist", { recursive: true });
writeFileSync("dist/index.html", page([{ id: "pen", cents: 150 }, { id: "cup", cents: 900 }]));
process.stdout.write("dist/index.html\n");
