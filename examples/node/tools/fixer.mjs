// A deterministic stand-in for an agent. It ends with prose around the JSON object, as models do.
import { readFileSync, writeFileSync } from "node:fs";

readFileSync(0); // the prompt
const file = "src/report.js";
writeFileSync(file, readFileSync(file, "utf8").replace("(r) => r.ok)", "(r) => !r.ok)"));
console.log("I looked at the filter in src/report.js; it kept the wrong half.");
console.log("```json");
console.log(JSON.stringify({
  outcome: "fixed",
  summary: "report counts the files that failed, not those that passed.",
  root_cause: "The filter kept results with ok set.",
}));
console.log("```");
console.log("Let me know if you need anything else!");
