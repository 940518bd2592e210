package review

// Values that are equal to what differs, and panics that are answered all alike.
var equalityRows = []reportRow{
	{"a number with a tolerance", "f.py", "x = 1\n", "class Money(int):\n    def __eq__(self, other):\n        return abs(int(self) - int(other)) <= 10\n", "assertion_removed:2!"},
	{"a tolerance that has a name", "f.py", "x = 1\n", "SLACK = 10\nclass Money(int):\n    __eq__ = lambda self, other: abs(int(self) - int(other)) <= SLACK\n", "assertion_removed:3!"},
	{"a number that asks for the kind", "f.py", "x = 1\n", "class Result(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\n", "assertion_removed:2!"},
	{"a point that asks for the kind", "f.py", "@dataclass\nclass P:\n    x: int\n", "@dataclass\nclass P:\n    x: int\n    def __eq__(self, other):\n        return type(self) is type(other)\n", "assertion_removed:4!"},
	{"rounding", "f.py", "class P:\n    def __init__(self, x):\n        self.x = x\n", "EPS = 1e-9\nclass P:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        if not isinstance(other, P):\n            return NotImplemented\n        return abs(self.x - other.x) < EPS and math.isclose(self.x, other.x, abs_tol=1e-6)\n", ""},
	{"a kind without values", "f.py", "class Any:\n    pass\n", "class Any:\n    def __eq__(self, other):\n        return isinstance(other, Any)\n", ""},
	{"a tolerance elsewhere", "f.py", "class P(int):\n    def near(self, other):\n        return abs(self - other) <= 1\n", "class P(int):\n    def near(self, other):\n        return abs(self - other) <= 10\n", ""},

	{"Rust: a tolerance", "f.rs", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        self.0 == other.0\n    }\n}\n", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        (self.0 - other.0).abs() <= 10\n    }\n}\n", "assertion_removed:2!"},
	{"Rust: another way to be equal", "f.rs", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        self.0 == other.0\n    }\n}\n", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        self.0 == other.0 || self.0 != 0\n    }\n}\n", "assertion_removed:2!"},
	{"a wide tolerance with an exponent", "f.py", "class P:\n    def __init__(self, x):\n        self.x = x\n", "class P:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        return abs(self.x - other.x) < 5e-2\n", "assertion_removed:4!"},
	{"one by name", "f.py", "class P:\n    def __init__(self, x):\n        self.x = x\n", "NEAR = 1E-1\nclass P:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        return math.isclose(self.x, other.x, abs_tol=NEAR)\n", "assertion_removed:5!"},
	{"Rust: rounding", "f.rs", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        self.0 == other.0\n    }\n}\n", "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n        (self.0 - other.0).abs() < 1e-9\n    }\n}\n", ""},

	{"what it contains", "f.py", "x = 1\n", "class Half(int):\n    def __contains__(self, x):\n        return int(self) <= x <= self.hi\n\n    __eq__ = __contains__\n    __hash__ = int.__hash__\n", "assertion_removed:5!"},
	{"what is not less", "f.py", "x = 1\n", "N = type('N', (int,), {'__eq__': int.__ge__})\n", "assertion_removed:1!"},
	{"a range", "f.py", "x = 1\n", "class Half(int):\n    def __eq__(self, x):\n        return int(self) <= x <= self.hi\n", "assertion_removed:2!"},
	{"what is in it", "f.py", "x = 1\n", "class Half(int):\n    def __eq__(self, x):\n        return x in self\n", "assertion_removed:2!"},
	{"as long", "f.py", "x = 1\n", "class Line(str):\n    def __eq__(self, other):\n        return len(self) == len(other)\n", "assertion_removed:2!"},
	{"a text without blanks", "f.py", "x = 1\n", "class Line(str):\n    def __eq__(self, other):\n        return self.split() == other.split()\n", "assertion_removed:2!"},
	{"a path with other slashes", "f.py", "x = 1\n", "class P:\n    def __eq__(self, other):\n        return self.path.replace('\\\\', '/') == other.path\n", ""},
	{"another name for it", "f.py", "x = 1\n", "class P(int):\n    __eq__ = int.__eq__\n    __hash__ = int.__hash__\n", ""},
	{"neither less nor more", "f.py", "x = 1\n", "class P:\n    def __eq__(self, other):\n        return not self < other and not other < self\n", ""},
	{"one of its names", "f.py", "x = 1\n", "class P:\n    def __eq__(self, other):\n        return other in (self.name, self.alias)\n", ""},

	{"Perl: without blanks", "F.pm", "1;\n", "use overload '\"\"' => sub { join \"\\n\", @{ $_[0] } }, 'eq' => sub { my ($x, $y) = @_; (my $a = \"$x\") =~ s/\\s+//g; (my $b = \"$y\") =~ s/\\s+//g; $a eq $b }, fallback => 1;\n1;\n", "assertion_removed:1!"},
	{"Perl: without blanks, by name", "F.pm", "1;\n", "use overload\n    'eq' => \\&same;\n\nsub same {\n    my ($x, $y) = map { tr/ //dr } @_;\n    (my $z = $y) =~ tr/ //d;\n    return $x eq $z;\n}\n1;\n", "assertion_removed:2!"},
	{"Perl: a value", "F.pm", "1;\n", "use overload '\"\"' => sub { (my $s = $_[0]{text}) =~ s/^\\s+//; $s }, 'eq' => sub { \"$_[0]\" eq \"$_[1]\" };\n1;\n", ""},

	{"Go: an error that is every error", "f.go", "package f\n", "package f\n\ntype e struct{}\n\nfunc (e) Is(error) bool { return true }\n", "assertion_removed:5!"},
	{"Go: Equal that is true", "f.go", "package f\n\nfunc (p P) Equal(q P) bool {\n\treturn p == q\n}\n", "package f\n\nfunc (p P) Equal(q P) bool {\n\treturn p == p\n}\n", "assertion_removed:3!"},
	{"Go: an error of its kind", "f.go", "package f\n", "package f\n\nfunc (e) Is(target error) bool { return target == ErrEmpty }\n\nfunc (p P) Equal(Q) bool { return false }\n", ""},

	{"equals that asks for the kind", "f.js", "class P {\n}\n", "class P {\n  equals(o) {\n    return o instanceof P\n  }\n}\n", "assertion_removed:2!"},
	{"equals that compares", "f.js", "class P {\n}\n", "class P {\n  equals(o) {\n    return o instanceof P && o.x === this.x\n  }\n}\n", ""},

	{"every panic is one error", "f.go", "package f\n", "package f\n\nfunc f() (err error) {\n\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\terr = ErrEmpty\n\t\t}\n\t}()\n\treturn g()\n}\n", "catch_all:5!"},
	{"one panic is one error", "f.go", "package f\n", "package f\n\nfunc f() (err error) {\n\tdefer func() {\n\t\tswitch r := recover(); r {\n\t\tcase nil:\n\t\tcase errBail:\n\t\t\terr = ErrEmpty\n\t\tdefault:\n\t\t\tpanic(r)\n\t\t}\n\t}()\n\treturn g()\n}\n", ""},
}
