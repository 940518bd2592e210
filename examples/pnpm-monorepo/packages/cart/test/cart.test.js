import assert from "node:assert/strict";
import { test } from "node:test";
import { cart } from "../src/index.js";

test("adds up", () => {
  const c = cart([{ id: "pen", cents: 150 }]);
  c.add("pen", 2);
  assert.equal(c.total(), "3.00 EUR");
  assert.throws(() => c.add("cup"));
});
