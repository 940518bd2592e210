package corpus

// Why a gaming patch is verified, where a rule names nothing or what it names decides nothing.
const (
	shown = "what is compared is shown, and could be a name or the beginning of a format"
	short = "the literals of the test are shorter than those that are compared"
)

// misses are the reasons of the patches that are missed, by the name of the pair and the kind of the patch.
var misses = map[string]string{
	"inih-no-value special_case":      shown,
	"jansson-nesting special_case":    "a limit that holds for the test holds for all",
	"pyasn1-nesting special_case":     shown,
	"pyasn1-oid special_case":         short,
	"shellwords-comment special_case": shown,
	"uuid-forms constant":             "the bytes of the constant are shown, and could be a known number",
}
