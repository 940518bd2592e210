package checkfile

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A new dependency on a crate of the tree is a change of the program, unless it could be one of the check.
func TestCratesInTree(t *testing.T) {
	t.Parallel()
	app := "[package]\nname = \"the-app\"\n\n[target.'cfg(unix)'.dependencies]\nfor-unix = \"1\"\n\n[dev-dependencies]\nsame = { path = \"../same\" }\n\n[dependencies]\nserde = \"1\"\n"
	crate := "[package]\nname = \"x\"\n"
	c := NewChecks(files{
		"Cargo.toml":             "[workspace]\nmembers = [\"*\"]\n",
		"app/Cargo.toml":         app,
		"app/src/lib.rs":         "use core_x::trim;\n\n/// ```\n/// documented::f();\n/// ```\npub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { inline::f(); }\n}\n",
		"app/tests/t.rs":         "use app::f;\nuse helper as h;\n",
		"app/inner/Cargo.toml":   crate,
		"app/inner/tests/t.rs":   "use free::f;\n",
		"core/Cargo.toml":        crate,
		"core/src/lib.rs":        "#[test]\nfn t() {}\n",
		"core/tests/t.rs":        "use core_x::trim;\n",
		"same/Cargo.toml":        crate,
		"same/src/lib.rs":        "",
		"link":                   "",
		"vendor/y/Cargo.toml":    crate,
		"broken/Cargo.toml":      "[",
		"app/tests/c/Cargo.toml": crate,
	}.tree(), Scope{})
	const kept = ""
	for _, row := range []struct{ entry, want string }{
		{"core_x = { path = \"../core\" } # it trims", kept},
		{"core-x = {path = '../core/'}", kept},
		{"core_x.path = \"../core\"", kept},
		{"free = { path = \"../new/free\" }", kept},
		{"core_x = { path = \"../core\", version = \"0.1\" }", "-dependencies.core_x:12"},
		{"core_x = { path = \"../core\", features = [\"x\"] }", "-dependencies.core_x:12"},

		{"core_x = { path = \"../../core\" }", "dependencies.core_x:12"},
		{"core_x = { path = \"/core\" }", "dependencies.core_x:12"},
		{"core_x = { path = \"../vendor/core\" }", "dependencies.core_x:12"},
		{"core_x = { path = \"../link/core\" }", "dependencies.core_x:12"},
		{"c = { path = \"tests/c\" }", "dependencies.c:12"},
		{"other = { path = \"../same\" }", "dependencies.other:12"},
		{"core_x = { path = \"../core\", package = \"y\" }", "dependencies.core_x:12"},
		{"core_x = { path = \"../core\", git = \"y\" }", "dependencies.core_x:12"},
		{"core_x = { path = 1, git = \"y\" }", "dependencies.core_x:12"},
		{"\"core_x.path\" = { path = \"../core\" }", "dependencies.core_x.path:12"},
		{"core_x.path = \"../core\"\ncore_x.package = \"y\"", "dependencies.core_x.package:13"},
		{"test = { path = \"../new\" }", "dependencies.test:12"},
		{"proc-macro = { path = \"../new\" }", "dependencies.proc-macro:12"},
		{"the_app = { path = \"../new\" }", "dependencies.the_app:12"},
		{"app = { path = \"../new\" }", "dependencies.app:12"},
		{"helper = { path = \"../new\" }", "dependencies.helper:12"},
		{"inline = { path = \"../new\" }", "dependencies.inline:12"},
		{"documented = { path = \"../new\" }", "dependencies.documented:12"},
		{"same = { path = \"../new\" }", "dependencies.same:12"},
		{"for_unix = { path = \"../new\" }", "dependencies.for_unix:12"},
		{"serde.path = \"../new\"", "dependencies.serde.path:12"},
		{"[dev-dependencies.core_x]\npath = \"../core\"", "dev-dependencies.core_x.path:13"},
		{"[build-dependencies]\ncore_x = { path = \"../core\" }", "build-dependencies.core_x:13"},
		{"[patch.crates-io]\ncore_x = { path = \"../core\" }", "patch.crates-io:12 patch.crates-io.core_x:13"},
	} {
		change := patch.Change{Path: "app/Cargo.toml", Before: regular(app), After: regular(app + row.entry + "\n")}
		if got := partNames(c.Parts(change)); got != row.want {
			t.Errorf("%s: parts %q, want %q", row.entry, got, row.want)
		}
	}
	for path, want := range map[string]string{"new/Cargo.toml": kept, "broken/Cargo.toml": "dependencies.core_x:2"} {
		change := patch.Change{Path: path, After: regular("[dependencies]\ncore_x = { path = \"../core\" }\n")}
		if got := partNames(c.Parts(change)); got != want {
			t.Errorf("%s: parts %q, want %q", path, got, want)
		}
	}
	change := patch.Change{Path: "new/Cargo.toml", After: regular("[package]\nname = \"new\"\n[lib]\nname = \"test\"\n")}
	if got, want := partNames(c.Parts(change)), "lib.name:4"; got != want {
		t.Errorf("the name of a library: parts %q, want %q", got, want)
	}
}
