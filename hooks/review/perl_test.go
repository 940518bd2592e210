package review

const perlTest = "use Test::More;\n\nsubtest 'squares' => sub {\n\tis(f(2), 4);\n\tis(f(3), 9);\n};\n\nsubtest 'zero' => sub {\n\tis(f(0), 0);\n};\n\ndone_testing;\n"

var perlRows = []reportRow{
	{"subtest gone", "t/f.t", perlTest, replace(perlTest, "subtest 'zero' => sub {\n\tis(f(0), 0);\n};\n", ""), "test_removed:8"},
	{"subtest renamed", "t/f.t", perlTest, replace(perlTest, "'zero'", "'nothing'"), ""},
	{"an assertion less", "t/f.t", perlTest, replace(perlTest, "\tis(f(3), 9);\n", ""), "assertion_removed:3"},
	{"is became ok", "t/f.t", perlTest, replace(perlTest, "is(f(3), 9)", "ok(f(3))"), "assertion_removed:5"},
	{"another number expected", "t/f.t", perlTest, replace(perlTest, "9", "8"), "expectation_rewritten:5"},
	{"early return", "t/f.t", perlTest, replace(perlTest, "\tis(f(3)", "\treturn;\n\tis(f(3)"), "assertion_removed:5"},
	{"a new subtest that is skipped", "t/f.t", perlTest, replace(perlTest, "done_testing;", "subtest 'slow' => sub {\n\tplan skip_all => 'slow';\n};\n\ndone_testing;"), ""},
	{"warnings off, and nothing else", "lib/F.pm", "f();\n1;\n", "no warnings 'once';\nf();\n1;\n", "suppression_added:1!"},
	{"a last index is no comment", "lib/F.pm", "my $n = 1;\n", "my $n = $#list; *Test::More::is = $f;\n", "library_shadowed:1!"},
	{"documentation", "lib/F.pm", "1;\n", "=head1 NAME\n\nexit 0;\n\nexit;\n\n=cut\n\n1;\n\n__END__\nexit 0;\n", "exit_swallowed:3! exit_swallowed:5!"},
	{"documentation below", "lib/F.pm", "1;\n", "1;\n\n=head1 NAME\n\nexit 0;\n\n=cut\n\n__END__\nexit 0;\n", ""},
	{"a module in front of Test::More", "inc/Test2/API.pm", absent, "package Test2::API;\n1;\n", "library_shadowed:0! library_shadowed:1!"},
}
