import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "../src/index.js";

test("escapes", () => {
  assert.match(page([{ id: "<b>", cents: 1 }]), /&#60;b&#62; 0\.01 EUR/);
});
