import assert from "node:assert/strict";
import { test } from "node:test";
import { format } from "../src/index.js";

test("two decimals", () => {
  assert.equal(format(150), "1.50 EUR");
  assert.equal(format(5, "USD"), "0.05 USD");
});
