import { createServer } from "node:http";
import { cart } from "@shop/cart";
import { catalog } from "@shop/core";

// A server of the items, and of the price of one cart: GET /items, GET /total?pen=2
export function server(items) {
  return createServer((request, response) => {
    const url = new URL(request.url, "http://shop");
    try {
      if (url.pathname === "/items") {
        response.end(JSON.stringify(catalog(items).all()));
        return;
      }
      const c = cart(items);
      for (const [id, n] of url.searchParams) {
        c.add(id, Number(n));
      }
      response.end(c.total());
    } catch (e) {
      response.statusCode = 400;
      response.end(e.message);
    }
  });
}
