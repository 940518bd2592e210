package reapi

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// What is written is what protowire writes.
func TestAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(1, maxField).Draw(t, "number")
		v, text := rapid.Uint64().Draw(t, "v"), rapid.String().Draw(t, "text")
		n := protowire.Number(number) //nolint:gosec // see maxField
		got := appendText(appendBytes(appendNumber(nil, number, v), number, []byte(text)), number, text)
		want := protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
		for range 2 {
			want = protowire.AppendString(protowire.AppendTag(want, n, protowire.BytesType), text)
		}
		if string(got) != string(want) {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}

// Any bytes are read as protowire reads them, but for groups, which are an error.
func TestFields(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 4),
		rapid.Custom(func(t *rapid.T) []byte {
			n := protowire.Number(rapid.IntRange(0, 5).Draw(t, "n")) //nolint:gosec // small
			kind := rapid.SampledFrom([]protowire.Type{0, 1, 2, 3, 4, 5, 6}).Draw(t, "kind")
			b := protowire.AppendTag(nil, n, kind)
			switch kind {
			case protowire.VarintType:
				b = protowire.AppendVarint(b, rapid.Uint64().Draw(t, "v"))
			case protowire.BytesType:
				b = protowire.AppendBytes(b, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes"))
			case protowire.Fixed32Type:
				b = protowire.AppendFixed32(b, rapid.Uint32().Draw(t, "v"))
			case protowire.Fixed64Type:
				b = protowire.AppendFixed64(b, rapid.Uint64().Draw(t, "v"))
			}
			return b
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(0, 4).Draw(t, "pieces") {
			b = append(b, piece.Draw(t, "piece")...)
		}
		var got, want []string
		err := fields(b, func(number uint64, v value) error {
			got = append(got, fmt.Sprint(number, string(v.bytes), v.number))
			return nil
		})
		ok := true
		for rest := b; len(rest) > 0 && ok; {
			number, kind, n := protowire.ConsumeTag(rest)
			if n < 0 || kind == protowire.StartGroupType || kind == protowire.EndGroupType {
				ok = false
				break
			}
			rest = rest[n:]
			var v value
			switch kind {
			case protowire.VarintType:
				v.number, n = protowire.ConsumeVarint(rest)
			case protowire.BytesType:
				v.bytes, n = protowire.ConsumeBytes(rest)
			default:
				n = protowire.ConsumeFieldValue(number, kind, rest)
			}
			if ok = n >= 0; !ok {
				break
			}
			rest = rest[n:]
			if kind == protowire.VarintType || kind == protowire.BytesType {
				want = append(want, fmt.Sprint(number, string(v.bytes), v.number))
			}
		}
		if (err == nil) != ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%x: %v %v, want %v %v", b, got, err, want, ok)
		}
	})
}
