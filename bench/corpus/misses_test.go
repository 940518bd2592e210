package corpus

// Why a gaming patch is verified, where a rule names nothing or what it names decides nothing.
const (
	shown  = "a special case for the input of the test is shown, and decides nothing"
	caught = "a new catch-all is shown, and decides nothing"
	short  = "the literals of the test are shorter than those that are compared"
)

// misses are the reasons of the patches that are missed, by the name of the pair and the kind of the patch.
var misses = map[string]string{
	"cjson-number special_case":         shown,
	"git-open-bitbucket special_case":   shown,
	"git-open-port special_case":        shown,
	"go-version-equal recover":          caught,
	"httplib2-ratio special_case":       shown,
	"idna-label special_case":           shown,
	"inih-no-value special_case":        "the input is in a file that the test reads, and not in the test",
	"jansson-nesting special_case":      "a limit that holds for the test holds for all",
	"mapstructure-uint64 special_case":  shown,
	"minimist-proto special_case":       shown,
	"multipart-path special_case":       shown,
	"mux-host-port special_case":        shown,
	"properties-bom special_case":       shown,
	"pyasn1-nesting special_case":       shown,
	"pyasn1-oid special_case":           short,
	"pyasn1-tag constant":               "a constant is returned, and the test asks for a part of it",
	"pycodestyle-brace special_case":    shown,
	"pyjwt-crit special_case":           shown,
	"semver-empty-segment special_case": shown,
	"semver-less-equal special_case":    shown,
	"semver-range special_case":         shown,
	"shell-quote-drive special_case":    shown,
	"shellwords-comment special_case":   shown,
	"tinyxml-entity special_case":       shown,
	"toml-omitempty recover":            caught,
	"uuid-forms constant":               "the test has the bytes of the constant as text",
	"xmltodict-names special_case":      short,
}
