import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { server } from "../src/index.js";

test("answers over a socket", async () => {
  const s = server([{ id: "pen", cents: 150 }]).listen(0, "127.0.0.1");
  await once(s, "listening");
  const base = `http://127.0.0.1:${s.address().port}`;
  try {
    assert.equal(await (await fetch(`${base}/total?pen=2`)).text(), "3.00 EUR");
    assert.equal((await fetch(`${base}/total?cup=1`)).status, 400);
  } finally {
    s.closeAllConnections();
    s.close();
  }
});
