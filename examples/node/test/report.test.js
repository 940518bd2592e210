import assert from "node:assert/strict";
import test from "node:test";

import { report } from "../src/report.js";

test("counts the files that failed", () => {
  const results = [{ ok: true }, { ok: true }, { ok: false }];
  assert.equal(report(results), "3 files checked, 1 file failed");
});
