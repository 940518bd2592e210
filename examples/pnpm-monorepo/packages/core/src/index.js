// Items by id, in the order they were added.
export function catalog(items) {
  const byId = new Map(items.map((item) => [item.id, item]));
  if (byId.size !== items.length) {
    throw new Error("two items have one id");
  }
  return { find: (id) => byId.get(id), all: () => [...byId.values()] };
}
