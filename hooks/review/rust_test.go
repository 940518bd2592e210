package review

const rustLib = "pub struct Price(i32);\n\nimpl PartialEq for Price {\n    fn eq(&self, other: &Price) -> bool {\n        self.0 == other.0\n    }\n}\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"

var rustRows = []reportRow{
	{"a repair", "src/lib.rs", rustLib, replace(rustLib, "a - b", "a + b"), ""},
	{"equal to everything", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "true"), "assertion_removed:4!"},
	{"equal to everything, in two lines", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "let _ = other;\n        return true;"), "assertion_removed:4!"},
	{"equal to some", "src/lib.rs", rustLib, replace(rustLib, "self.0 == other.0", "if self.0 < 0 { return false; }\n        true"), ""},
	{"equal to everything before", "src/lib.rs", replace(rustLib, "self.0 == other.0", "true"), replace(replace(rustLib, "self.0 == other.0", "true"), "a - b", "a + b"), ""},
	{"a library ends", "src/lib.rs", rustLib, replace(rustLib, "    a - b", "    std::process::exit(0);\n    a - b"), "exit_swallowed:10!"},
	{"a library fails", "src/lib.rs", rustLib, replace(rustLib, "    a - b", "    std::process::exit(1);\n    a - b"), ""},
	{"a program ends", "src/main.rs", "fn main() {\n}\n", "fn main() {\n    std::process::exit(0);\n}\n", ""},
	{"another program ends", "src/bin/x.rs", "fn run() {\n}\n", "fn run() {\n    std::process::exit(0);\n}\n", ""},
	{"one file is all", "tool.rs", "fn run() {}\nfn main() {}\n", "fn run() { std::process::exit(0) }\nfn main() {}\n", ""},
	{"an example of documentation", "src/lib.rs", "/// ```\n/// f();\n/// ```\nfn f() {}\n", "/// ```\n/// g();\n/// ```\nfn f() {}\n", ""},
}
