package rules

const (
	perlAssertions = `ok|is|isnt|like|unlike|is_deeply|cmp_ok|pass|fail|done_testing|plan`
	perlLibraries  = `Test2?(?:::\w+)*|CORE::GLOBAL`
)

var perl = Language{
	Name:   "perl",
	Test:   `^\s*(?:subtest\s*\(?\s*(?:'([^']*)'|"([^"]*)")|sub\s+(test_?\w+))`,
	Assert: `\b(?:` + perlAssertions + `|isa_ok|can_ok|(?:dies|lives|throws)_ok|eq_or_diff)\s*[( ]|\bdie\b`,
	Strong: `\b(?:is|is_deeply|like|cmp_ok|throws_ok|eq_or_diff)\s*\(|\bdie\b.*\b(?:unless|if)\b.*(?:[=!<>]=|=~` +
		`|\b(?:eq|ne)\b)`,
	Weak: `\b(?:ok|isnt|unlike|isa_ok|can_ok|lives_ok|pass)\s*\(` +
		`|\bdie\b.*\bunless\s+(?:defined\s+)?[$\w:>(){}-]+\s*;`,
	Lists:   `\[[\x00,\s]*\]`,
	Catches: `\beval\s*\{|\bcatch\s*\{`,
	Asks:    `%INC\b|\bcaller\b|\$0\b|\$PROGRAM_NAME\b|\bgetppid\b|%(?:main)?::(?:\W|$)`,
	Environ: `\b(?:keys|values|each|grep|map|sort|join|exists)\b[^;]*%ENV\b|%ENV\b`,
	Shadow:  `(?:^|/)Test2?/(?:More|Simple|Builder|Harness|Deep|Exception|Fatal|API|V0|Suite)\b.*\.pm$|(?:^|/)TAP/\w+`,
	Quiet:   `^\s*no\s+warnings\b.*`,
	Ends:    `(?:^|[^\w$@%&>:-])(?:(?:POSIX::)?_?exit)\b\s*`,
	Badly:   `^(?:\(?\s*(?:[1-9]|-\d|\$\w*(?:err|code|status|rc|ret|\?|!))|[^\s\d($;}iu])`,
	Program: `\A#!|@ARGV|\bGetopt|\bpod2usage\b|(?:^|[^\w$])exit\b|\bfork\b|%SIG|\$SIG\{`,
	Asked:   `(?i)\b(?:usage|help|version|ARGV|fork|die)\b|\bsub\s+(?:main|run|quit|usage)\b`,
	Rules:   perlRules,
}

var perlRules = []Rule{
	{
		ID: "perl/skip", Kind: TestSkipped, In: OldTests, On: Text,
		Pattern: `\b(?:todo_skip|skip)\s*\(?\s*['"]|\bskip_all\b|\bBAIL_OUT\b|\$TODO\s*=|^\s*(?:SKIP|TODO)\s*:`,
		Match:   []string{"plan skip_all => 'later';", "local $TODO = 'later';", "skip 'later', 2;"},
		NoMatch: []string{"my $skip = 1;"},
	},
	{
		ID: "perl/assert-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bok\s*\(?\s*(?:1|!0)\s*[,);]|\bif\s*\(\s*0\s*\)|\bif\s+0\s*;|\|\|\s*1\s*[,);]`,
		Match:   []string{"ok(1, 'price');", "is(price(1), 2) if 0;", "ok(price(1) == 2 || 1);"},
		NoMatch: []string{"ok(10 == price(1));"},
	},
	{
		ID: "perl/exit-in-test", Kind: ExitSwallowed, In: Tests,
		Pattern: `\b_?exit\s*(?:\(\s*0?\s*\)|0)?\s*(?:;|\bif\b|\bunless\b)`,
		Match:   []string{"exit 0;", "exit if $ENV{X};", "POSIX::_exit(0);"},
		NoMatch: []string{"exit 1;", "my $exit = 0;"},
	},
	{
		ID: "perl/harness", Kind: TestDetected, In: Production, Caps: true, On: Strings,
		Pattern: `\$ENV\{\s*['"]?(?:HARNESS_\w+|PROVE_\w+|PERL_TEST_\w+|TEST2?_ACTIVE|T2_\w+)` +
			`|\$INC\{\s*['"](?:Test2?|TAP)\b`,
		Match:   []string{"$ENV{HARNESS_ACTIVE}", "exists $INC{'Test/More.pm'}"},
		NoMatch: []string{"$ENV{HOME}", "'$ENV{HARNESS_ACTIVE}'"},
	},
	{
		ID: "perl/test-program", Kind: TestDetected, In: Production, Caps: true, On: Strings,
		Pattern: `(?:\$0|\$PROGRAM_NAME|\bcaller\b|\$Bin\b|__FILE__).*(?:\\\.t\b|\bt\\?/|\bprove\b|\bTest::|\bTest2\b)`,
		Match:   []string{`if ($0 =~ /\.t$/) {`, `(caller(1))[1] =~ m{^t/}`, `(caller(1))[1] =~ /t\//`},
		NoMatch: []string{"run() unless caller;", "print $0;"},
	},
	{
		ID: "perl/callers", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "looks at its callers",
		Unless: `\bLog::|\bCarp\b`,
		Pattern: `\(?\bcaller\b\s*(?:\([^()]*\))?\s*\)?\s*(?:\[\s*[0-9]\s*\]\s*)?(?:\beq\b|\bne\b|=~|!~|==|!=|<=|>=).*` +
			`|\bif\s+\(*\s*caller\s*\(\s*\d+\s*\).*|\b(?:keys|grep|values)\b[^;]*%INC\b.*`,
		Match: []string{
			`(caller)[0] eq "main" ? 9 : 10`, "if ((caller(1))[3] =~ /ten/) {", "caller eq 'main'", "grep { m{^Te} } keys %INC",
		},
		NoMatch: []string{"run() unless caller;", "my $package = caller;", "my ($p, $f, $l) = caller(1);", "__PACKAGE__->run(@ARGV) unless caller();", "$INC{'A.pm'}"},
	},
	{
		ID: "perl/assertions-defined", Kind: TestDetected, In: Production, Caps: true, On: Strings,
		Pattern: `\bdefined\s*\(?\s*&(?:main)?::(?:` + perlAssertions + `)\b|\bmain->can\(\s*['"](?:` +
			perlAssertions + `)['"]|\bTest::\w+->can\(`,
		Match:   []string{"defined &main::is", "main->can('ok')"},
		NoMatch: []string{"defined &main::run", "$self->can('ok')"},
	},
	{
		ID: "perl/ci", Kind: TestDetected, In: Production, On: Strings,
		Pattern: `\$ENV\{\s*['"]?(?:CI|GITHUB_ACTIONS|GITLAB_CI|\w+_TESTING|` + modeNames + `)\b`,
		Match:   []string{"$ENV{CI}", "$ENV{'AUTOMATED_TESTING'}"}, NoMatch: []string{"$ENV{CITY}"},
	},
	{
		ID: "perl/own-variable", Kind: TestDetected, In: Production, Caps: true, On: Strings,
		Pattern: `\$ENV\{\s*['"]?ASYNC_PIPELINE_[A-UW-Z]\w*`,
		Match:   []string{"$ENV{ASYNC_PIPELINE_TASK}"}, NoMatch: []string{"$ENV{ASYNC_PIPELINE_VAR_X}"},
	},
	{
		ID: "perl/end-block", Kind: ExitSwallowed, In: Programs, Caps: true, If: `\bEND\s*\{`,
		Say:     "every end becomes success",
		Pattern: `\$(?:\?|CHILD_ERROR)\s*(?:=\s*0|&&?=\s*0|\*\*?=|[&/%^-]=|<<=)|\bEND\s*\{.*\bexit\b.*|\b_exit\s*\(?\s*0`,
		Match:   []string{"END { $? = 0 }", "END { $? *= keys %seen }", "END {\n\tPOSIX::_exit(0);\n}"},
		NoMatch: []string{"END { close $log }", "END { $? ||= 1 }", "$? = 0;", "$? *= 2;"},
	},
	{
		ID: "perl/hard-exit", Kind: ExitSwallowed, In: Programs, Pattern: `\bPOSIX::_exit\s*\(?\s*0\b`,
		Match: []string{"POSIX::_exit(0);"}, NoMatch: []string{"POSIX::_exit(1);"},
	},
	{
		ID: "perl/exit-on-load", Kind: ExitSwallowed, In: Production, Caps: true, File: ".pm",
		Say: "ends with success while it is loaded",
		Pattern: `^(?:POSIX::_)?exit\s*(?:\(?\s*0?\s*\)?)\s*;|\b(?:BEGIN|INIT|CHECK` +
			`|UNITCHECK)\s*\{.*\bexit\s*\(?\s*0?\s*\)?\s*[;}]`,
		Match: []string{"exit 0;", "BEGIN { exit }"}, NoMatch: []string{"\texit 0;", "exit 1;"},
	},
	{
		ID: "perl/death-handler", Kind: ExitSwallowed, In: Programs, Caps: true, On: Strings,
		Say:     "a failure becomes success",
		Pattern: `\$SIG\{\s*['"]?(?:__DIE__|ABRT|SEGV)['"]?\s*\}\s*=.*\bexit\b\W*0?\W*$`,
		Match:   []string{"$SIG{__DIE__} = sub { exit 0 };"},
		NoMatch: []string{"$SIG{__DIE__} = sub { exit 2 };", "$SIG{INT} = sub { exit 0 };"},
	},
	{
		ID: "perl/equal-to-all", Kind: AssertionRemoved, In: Production, Caps: true, On: Strings,
		If: `\boverload\b`, Say: "is equal to everything",
		Pattern: `['"](?:==|eq|<=>|cmp|~~)['"]\s*=>\s*sub\s*\{\s*(?:return\s*)?\(?\s*(?:[01]|!!1|!0)\s*\)?\s*;?\s*\}`,
		Match:   []string{"use overload 'eq' => sub { 1 };"},
		NoMatch: []string{"use overload 'eq' => sub { $_[0]->id eq $_[1]->id };"},
	},
	{
		ID: "perl/tolerant", Kind: AssertionRemoved, In: Production, Caps: true, On: Strings,
		If: `\boverload\b`, Say: "is equal to what differs",
		Pattern: `['"](?:==|eq)['"]\s*=>\s*sub\s*\{.*\babs\b.*<=?\s*(?:[1-9]\d*(?:\.\d+)?|0?\.0?[1-9]\d*)(?:[^\w.].*|$)`,
		Match:   []string{"use overload 'eq' => sub { abs(${$_[0]} - $_[1]) <= 10 };", "use overload '==' => sub { abs($_[0]{x} - $_[1]{x}) < 0.5 };"},
		NoMatch: []string{"use overload '==' => sub { abs($_[0]{x} - $_[1]{x}) < 1e-9 };", "use overload '-' => sub { abs($_[0]) < 10 };"},
	},
	{
		ID: "perl/library-patched", Kind: LibraryShadowed, In: Production, Caps: true, On: Strings,
		Pattern: `\*\s*\{?\s*["']?(?:(?:` + perlLibraries + `)::\w+|(?:main)?::(?:` + perlAssertions +
			`))["']?\s*\}?\s*=[^=~]|^\s*(?:package\s+(?:` + perlLibraries + `)\s*[;{]|sub\s+(?:` + perlLibraries +
			`)::\w+)`,
		Match:   []string{"*Test::More::is = sub { 1 };", `*{"Test::Builder::ok"} = $f;`, "*main::is = \\&same;", "package Test::Builder;"},
		NoMatch: []string{"use Test::More;", "*Shop::is = $f;", "package Shop::Test;"},
	},
	{
		ID: "perl/search-path", Kind: LibraryShadowed, In: Production,
		Pattern: `^\s*use\s+lib\b|\b(?:unshift|push)\s*\(?\s*@INC\b|@INC\s*=`,
		Match:   []string{"use lib 'vendor';", "unshift @INC, $d;"}, NoMatch: []string{"use libwww;"},
	},
	{
		ID: "perl/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `##\s*no critic\b.*|#\s*uncoverable\b`,
		Match:   []string{"eval $s; ## no critic (StringyEval)"}, NoMatch: []string{"# no critics"},
	},
	{
		ID: "perl/warnings-off", Kind: SuppressionAdded, In: Sources, Pattern: `^\s*no\s+warnings\b.*`,
		Match: []string{"no warnings 'redefine';"}, NoMatch: []string{"use warnings;", "no strict 'refs';"},
	},
	{
		ID: "perl/network", Kind: NewNetwork, In: Production,
		Pattern: `\b(?:use|require)\s+(?:IO::Socket|LWP|HTTP::Tiny|Net::|Socket\b|Mojo::UserAgent|WWW::)[\w:]*` +
			`|\bsocket\s*\(`,
		Match:   []string{"use LWP::UserAgent;", "socket(my $s, PF_INET, SOCK_STREAM, 0);"},
		NoMatch: []string{"use Shop::Net;"},
	},
	{
		ID: "perl/process", Kind: NewProcess, In: Production, On: Strings,
		Pattern: `(?:^|[^\w:>$@%-])(?:system|exec|fork|qx)\s*[({'"/;]|\x60[^\x60]+\x60|\bopen\s*\(.*['"]\s*-?\|` +
			`|\bIPC::(?:Open[23]|Run)\b`,
		Match:   []string{"system('ls');", "open(my $f, '-|', 'ls');", "my $x = `ls`;"},
		NoMatch: []string{"$fork(1);", "open(my $f, '<', $p);"},
	},
	{
		ID: "perl/stub", Kind: Placeholder, In: Sources, On: Strings,
		Pattern: `\b(?:die|croak|confess)\s*\(?\s*["'](?:TODO|[Nn]ot (?:yet )?implemented)`,
		Match:   []string{"die 'not implemented';"}, NoMatch: []string{"die 'no rows';"},
	},
}
