package lang

var perl = Language{
	Name:        "perl",
	Exts:        []string{".pl", ".pm", ".t"},
	Programs:    []string{"perl"},
	Syntax:      Syntax{Line: []string{"#"}, Blank: true, Blocks: pod, Quotes: `"'`},
	Tests:       []string{"*.t"},
	TestFolders: []string{"t"},
}

// pod begins and ends the documentation in a source of Perl. What follows __END__ is no code either.
var pod = [][2]string{
	{"\n=pod", "\n=cut"},
	{"\n=head", "\n=cut"},
	{"\n=over", "\n=cut"},
	{"\n=item", "\n=cut"},
	{"\n=begin", "\n=cut"},
	{"\n=for", "\n=cut"},
	{"\n=encoding", "\n=cut"},
	{"\n__END__", ""},
	{"\n__DATA__", ""},
}
