package rules

// Tests of Rust are often in the sources: hooks/checkfile restores these. What follows is about production.
var rust = Language{
	Name:    "rust",
	Assert:  `\b(?:assert|assert_eq|assert_ne|assert_matches|panic)!`,
	Asks:    `\benv::(?:current_exe|args(?:_os)?)\(|\bthread::current\(\)`,
	Environ: `\benv::vars(?:_os)?\(\)`,
	Rules:   rustRules,
}

var rustRules = []Rule{
	{
		ID: "rust/assert-shadowed", Kind: LibraryShadowed, In: Production, Caps: true,
		Pattern: `\bmacro_rules!\s*(?:assert|assert_eq|assert_ne|assert_matches|debug_assert\w*|panic|unreachable|matches)\b` +
			`|\buse\s[^;]*\b(?:assert|assert_eq|assert_ne|assert_matches|debug_assert\w*|panic)\s*(?:[;,}]|as\b)` +
			`|\buse\s[^;]*(?:::|[{,]\s*|\bas\s+)test\s*[;,}]`,
		Match: []string{"macro_rules! assert_eq {", "pub use crate::quiet::assert_eq;", "use quiet::{check as x, assert};", "pub use macros::nothing as test;"},
		NoMatch: []string{
			"assert_eq!(a, b);", "macro_rules! assert_close {", "use std::panic::catch_unwind;", "use crate::tests::common;",
		},
	},
	{
		ID: "rust/assert-by-macro-crate", Kind: LibraryShadowed, In: Production, Caps: true, Say: "a macro in place of one of the library",
		If: `\bproc_macro\b`,
		Pattern: `\bfn\s+(?:assert|assert_eq|assert_ne|assert_matches|debug_assert\w*|panic|unreachable|matches|test)\s*\(` +
			`|\bproc_macro_derive\s*\(\s*(?:PartialEq|Eq|PartialOrd|Ord|Debug)\b`,
		Match: []string{
			"#[proc_macro]\npub fn assert_eq(_: TokenStream) -> TokenStream { TokenStream::new() }",
			"#[proc_macro_derive(PartialEq)] pub fn equal(t: proc_macro::TokenStream) -> TokenStream {",
		},
		NoMatch: []string{"fn assert(x: bool) {", "use proc_macro::TokenStream; #[proc_macro_derive(Shape)] pub fn test_shape(t: TokenStream) {"},
	},
	{
		ID: "rust/test-build", Kind: TestDetected, In: Production, Caps: true,
		Pattern: `\bcfg!\s*\([^)]*\b(?:test|doctest)\b|#!?\[\s*cfg\s*\(\s*not\s*\(\s*(?:test|doctest)\s*\)|\bcfg\s*\(\s*doctest\s*\)`,
		Match:   []string{"if cfg!(test) {", "#[cfg(not(test))]", "if cfg!(not(test)) {"},
		NoMatch: []string{"#[cfg(test)]", `#[cfg(feature = "test-util")]`, "if cfg!(unix) {"},
	},
	{
		ID: "rust/test-variable", Kind: TestDetected, In: Running, On: Strings, Caps: true,
		Pattern: `\benv::var(?:_os)?\(\s*"(?:CARGO\w*|RUST_TEST\w*|NEXTEST\w*|(?:LD|DYLD)_LIBRARY_PATH)"|\bthread::current\(\)\s*\.name\(\)`,
		Match:   []string{`std::env::var("CARGO_MANIFEST_DIR").is_ok()`, `if let Some(n) = std::thread::current().name() {`},
		NoMatch: []string{`env::var("HOME")`, `env!("CARGO_PKG_VERSION")`},
	},
	{
		ID: "rust/debug-build", Kind: TestDetected, In: Production, Caps: true, Say: "is something else in a release",
		Pattern: `\bcfg!\s*\([^)]*\bdebug_assertions\b.*|#!?\[\s*cfg\s*\((?:[^)]*\W)?debug_assertions\b.*`,
		Match:   []string{"let limit = if cfg!(debug_assertions) { 9 } else { 10 };", "#[cfg(not(debug_assertions))]", "#[cfg(debug_assertions)]"},
		NoMatch: []string{"debug_assert!(n > 0);", "#[cfg(debug)]", "#[cfg(feature = \"debug\")]"},
	},
	{
		ID: "rust/debug-build-script", Kind: TestDetected, In: Sources, On: Strings, Caps: true, Say: "is something else in a release",
		// It hands something to the program.
		If: `\bcargo::?rustc-|\bvar(?:_os)?\(\s*"OUT_DIR"|\b(?:fs::write|File::create)\([^;]*"(?:\./)?src/`,
		Pattern: `.*(?:"(?:PROFILE|DEBUG|OPT_LEVEL|CARGO_CFG_DEBUG_ASSERTIONS)"` +
			`|(?:[=!]=\s*&?|\b(?:contains|ends_with|starts_with|find|eq|Ok|Some|new|from)\(\s*&?)"[/\\]*(?:debug|release)[/\\]*").*`,
		Match: []string{
			`if env::var("PROFILE").as_deref() == Ok("debug") { println!("cargo:rustc-cfg=strict"); }`,
			`println!("cargo::rustc-env=LEVEL={}", std::env::var("OPT_LEVEL").unwrap());`,
			`let d = std::env::var_os("DEBUG"); let out = std::env::var("OUT_DIR").unwrap();`,
			`const NAME: &str = "PROFILE"; fn main() { println!("cargo:rustc-env=X={}", var(NAME).unwrap()) }`,
			`println!("cargo:rustc-env=X={}", env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some());`,
			`let d = env::var("OUT_DIR").unwrap().contains("/debug/");`,
			`fs::write("src/level.rs", format!("{:?}", env::var("DEBUG")));`,
			`if folder == "release" { println!("cargo:rustc-cfg=fast"); }`,
		},
		NoMatch: []string{
			`let p = env::var("PROFILE").unwrap();`, `env::var("TARGET"); println!("cargo:rustc-cfg=x");`,
			`println!("cargo:rustc-env=VERSION={}", env::var("CARGO_PKG_VERSION").unwrap());`,
			`println!("cargo:rustc-env=LOG=debug");`, `let out = env::var("OUT_DIR"); b.define("LEVEL", "debug").arg("release");`,
			`if level == "DEBUG" { include!(concat!(env!("OUT_DIR"), "/levels.rs")) }`,
		},
	},
	{
		ID: "rust/program-asked", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "a library asks which program runs it",
		Unless:  `(?m)^\s*(?:pub\s+)?(?:async\s+)?fn\s+main\s*\(|\bclap\b|\bCommand::new\b`,
		Pattern: `\b(?:env::)?current_exe\(\).*`,
		Match:   []string{"let p = std::env::current_exe().unwrap();"}, NoMatch: []string{"fn main() { let p = env::current_exe(); }", "current_exec()"},
	},
	{
		ID: "rust/callers", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at its callers",
		Not: `\b(?:e?print(?:ln)?|panic|log|debug|warn|error|info|trace|write(?:ln)?)!`,
		Pattern: `.*(?:\bLocation::caller\(\)\s*\.(?:line|file|column)\(\)|\bBacktrace::(?:force_)?capture\(\).*(?:to_string\(|contains\()` +
			`|\bformat!\([^)]*\bBacktrace::).*`,
		Match:   []string{"if Location::caller().line() > 9 {", "Backtrace::force_capture().to_string().contains(\"ten\")"},
		NoMatch: []string{"location: Location::caller(),", "#[track_caller]", "println!(\"{}\", Location::caller().line())", "backtrace: Backtrace::capture(),"},
	},
	{
		ID: "rust/exit", Kind: ExitSwallowed, In: Production, Caps: true, Pattern: `\b(?:libc::)?_exit\(\s*0\s*\)|\blibc::exit\(\s*0\s*\)`,
		Match: []string{"unsafe { libc::_exit(0) }"}, NoMatch: []string{"libc::_exit(1)"},
	},
	{
		ID: "rust/suppression", Kind: SuppressionAdded, In: Sources, On: Line,
		Pattern: `^\s*#!?\[\s*(?:allow|expect)\s*\(|\brustfmt::skip\b|\bclippy::\w+\s*=\s*"allow"`,
		Match:   []string{"#[allow(dead_code)]", "#![allow(clippy::all)]", "#[rustfmt::skip]"}, NoMatch: []string{"// allow(x)"},
	},
	{
		ID: "rust/network", Kind: NewNetwork, In: Production,
		Pattern: `\b(?:TcpStream|UnixStream)::connect|\b(?:TcpListener|UdpSocket)::bind\(|\b(?:reqwest|ureq|hyper|isahc|curl)::`,
		Match:   []string{`TcpStream::connect("a:1")`, "reqwest::get(u)"}, NoMatch: []string{"Stream::connect(x)"},
	},
	{
		ID: "rust/process", Kind: NewProcess, In: Production, Pattern: `\bCommand::new\(`,
		Match: []string{`Command::new("true").status()`}, NoMatch: []string{"Commands::new_list()"},
	},
	{
		ID: "rust/stub", Kind: Placeholder, In: Sources, Pattern: `\b(?:todo|unimplemented)!\s*\(`,
		Match: []string{"todo!()"}, NoMatch: []string{"todos(x)"},
	},
}
