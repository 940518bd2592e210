// An amount of cents as people write it.
export function format(cents, currency = "EUR") {
  return `${(cents / 100).toFixed(2)} ${currency}`;
}
