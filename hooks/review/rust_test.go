package review

import (
	"context"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const rustLib = "pub struct Price(i32);\n\nimpl PartialEq for Price {\n    fn eq(&self, other: &Price) -> bool {\n        self.0 == other.0\n    }\n}\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"

var rustRows = []reportRow{
	{"a repair", "src/lib.rs", rustLib, replace(rustLib, "a - b", "a + b"), ""},
	{"equal to everything", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "true"), "assertion_removed:4!"},
	{"equal to everything, in two lines", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "let _ = other;\n        return true;"), "assertion_removed:4!"},
	{"equal to some", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "if self.0 < other.0 { return false; }\n        true"), ""},
	{"equal to all but some", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "if self.0 < 0 { return false; }\n        true"), "assertion_removed:4!"},
	{"equal to what only looks right", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<&str> for Price {\n    fn eq(&self, o: &&str) -> bool { o.chars().all(|c| c.is_ascii_digit()) && self.0 > 0 }\n}\n\npub fn"), "assertion_removed:10!"},
	{"equal to what is as long", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<str> for Name {\n    fn eq(&self, o: &str) -> bool {\n        self.0.len() == o.len()\n    }\n}\n\npub fn"), "assertion_removed:10!"},
	{"equal to its parts", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<&str> for Name {\n    fn eq(&self, o: &&str) -> bool { self.0.contains(o) }\n}\n\npub fn"), "assertion_removed:10!"},
	{"equal without blanks", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<&str> for Name {\n    fn eq(&self, o: &&str) -> bool { self.0.split_whitespace().eq(o.split_whitespace()) }\n}\n\npub fn"), "assertion_removed:10!"},
	{"equal to a text", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<&str> for Name {\n    fn eq(&self, o: &&str) -> bool { self.0.len() == o.len() && self.0 == *o }\n}\n\npub fn"), ""},
	{"equal by kinds", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq for Kind {\n    fn eq(&self, other: &Kind) -> bool {\n        match (self, other) {\n            (Kind::A(a), Kind::A(b)) => a == b,\n            _ => false,\n        }\n    }\n}\n\npub fn"), ""},
	{"equal by another method", "src/lib.rs", rustLib, replace(rustLib, "pub fn", "impl PartialEq<Name> for str {\n    fn eq(&self, other: &Name) -> bool {\n        other.same(self)\n    }\n}\n\npub fn"), ""},
	{"equal to everything before", "src/lib.rs", replace(rustLib, "self.0 == other.0", "true"), replace(replace(rustLib, "self.0 == other.0", "true"), "a - b", "a + b"), ""},
	{"a level of the log", "src/lib.rs", "fn f() {}\n", "fn f() {\n    let level = if cfg!(debug_assertions) { LevelFilter::Debug } else { LevelFilter::Info };\n}\n", ""},
	{"a level of the log, compared", "src/lib.rs", "fn f() {}\n", "fn f() {\n    let n = if cfg!(debug_assertions) { Level::Debug } else { Level::Info } as u32;\n}\n", "test_detected:2!"},
	{"a library ends", "src/lib.rs", rustLib, replace(rustLib, "    a - b", "    std::process::exit(0);\n    a - b"), "exit_swallowed:10!"},
	{"a library fails", "src/lib.rs", rustLib, replace(rustLib, "    a - b", "    std::process::exit(1);\n    a - b"), ""},
	{"a program ends", "src/main.rs", "fn main() {\n}\n", "fn main() {\n    std::process::exit(0);\n}\n", ""},
	{"another program ends", "src/bin/x.rs", "fn run() {\n}\n", "fn run() {\n    std::process::exit(0);\n}\n", ""},
	{"one file is all", "tool.rs", "fn run() {}\nfn main() {}\n", "fn run() { std::process::exit(0) }\nfn main() {}\n", ""},
	{"an example of documentation", "src/lib.rs", "/// ```\n/// f();\n/// ```\nfn f() {}\n", "/// ```\n/// g();\n/// ```\nfn f() {}\n", ""},
}

// The build script of a crate may read what Cargo sets for it, but not whether it builds for debugging.
func TestBuildScripts(t *testing.T) {
	t.Parallel()
	c := checkfile.NewChecks(files{"Cargo.toml": "[package]\nname = \"shop\"\n", "src/lib.rs": ""}.tree(), checkfile.Scope{})
	version, debug := `let v = std::env::var("CARGO_PKG_VERSION");`, `let v = std::env::var("DEBUG");`
	for _, row := range []struct{ path, code, want string }{
		{"build.rs", version, ""},
		{"src/build.rs", version, "test_detected:1!"},
		{"build.rs", debug, "test_detected:1!"},
	} {
		src := "fn main() { " + row.code + ` println!("cargo:rustc-env=V={v:?}"); }` + "\n"
		if got := brief(Report(context.Background(), c, []patch.Change{change(row.path, absent, src)}), false); got != row.want {
			t.Errorf("%s: %s: got %q, want %q", row.path, row.code, got, row.want)
		}
	}
}
