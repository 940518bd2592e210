// plural(1, "file") is "1 file", plural(2, "file") is "2 files".
export function plural(n, noun) {
  return n === 1 ? `${n} ${noun}` : `${n} ${noun}s`;
}
