#!/bin/sh
# A deterministic stand-in for an agent: reads its prompt, repairs the one bug of this example, says what it did.
set -eu
cat >/dev/null
echo "reading cart/cart.go"
sed 's/item.Count > 10/item.Count >= 10/' cart/cart.go >cart/cart.go.new
mv cart/cart.go.new cart/cart.go
go test ./... >/dev/null 2>&1 && echo "the tests pass here"
cat <<'END'
{"outcome": "fixed",
 "summary": "The free piece starts at ten pieces, not at eleven.",
 "root_cause": "Total compared the count with > 10, so exactly ten pieces got no free one.",
 "verified_commands": ["go test ./..."],
 "touched": ["cart/cart.go"]}
END
