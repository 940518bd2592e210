import { plural } from "plural";

// report says how many files were checked and how many of them failed.
export function report(results) {
  const failed = results.filter((r) => r.ok).length;
  return `${plural(results.length, "file")} checked, ${plural(failed, "file")} failed`;
}
