import { cart } from "@shop/cart";
import { format } from "@shop/money";

// The page of a shop; what comes from outside is escaped.
export function page(items) {
  const empty = cart(items).total();
  const rows = items.map((i) => `<li>${escape(i.id)} ${format(i.cents)}</li>`).join("");
  return `<ul>${rows}</ul><p>${empty}</p>`;
}

function escape(text) {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
