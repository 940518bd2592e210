import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "../src/index.js";

test("finds an item", () => {
  assert.equal(catalog([{ id: "pen", cents: 150 }]).find("pen").cents, 150);
});

test("refuses two items of one id", () => {
  assert.throws(() => catalog([{ id: "pen" }, { id: "pen" }]));
});
