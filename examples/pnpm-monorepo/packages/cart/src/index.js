import { catalog } from "@shop/core";
import { format } from "@shop/money";

// A cart of items of a catalog.
export function cart(items) {
  const shelf = catalog(items);
  const lines = new Map();
  return {
    add(id, n = 1) {
      if (!shelf.find(id)) {
        throw new Error(`there is no ${id}`);
      }
      lines.set(id, (lines.get(id) ?? 0) + n);
    },
    total() {
      let cents = 0;
      for (const [id, n] of lines) {
        cents += shelf.find(id).cents * n;
      }
      return format(cents);
    },
  };
}
