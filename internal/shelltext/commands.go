// Package shelltext reads what a shell text does without running it: its commands with their words, and its
// functions. Texts may be hostile: reading is bounded, and what does not parse is left out.
package shelltext

import (
	"cmp"
	"errors"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxText     = 1 << 20 // bytes of one text; the rest is not read
	maxCommands = 5_000   // of one text
	maxErrors   = 50      // lines of one text that do not parse
	maxDepth    = 5_000   // frames of the parser's stack
	maxValue    = 4096    // bytes of a word; variables could double it again and again
)

// Unknown replaces what only the shell will know in a word. It is a character of Unicode's private use area.
const Unknown = '\uE000'

// A Command is one simple command of a text. A redirection or an assignment alone is a command without words.
type Command struct {
	Words []string          // without quotes and redirections
	Sets  map[string]string // variables that are set before it, or alone
	In    []string          // files that are its standard input
	Out   []string          // files that its output goes to
	Asked bool              // its output decides: it is in $(…), or before a pipe into a command that compares
	At    []string          // folders in which it may run, relative to where the text begins, or absolute; none: not known
	Here  string            // its here-document
}

// Commands returns the commands of src, in the order in which the shell reads them. Of a text that does not parse it
// returns those of the lines that do.
func Commands(src string) []Command {
	r := &reader{vars: map[string]string{}, folders: folders{at: []string{"."}}}
	r.readAll(src)
	for i, c := range r.out {
		if c.compares() {
			for j := range r.out[:i] {
				r.out[j].Asked = r.out[j].Asked || slices.ContainsFunc(r.out[j].Out, func(f string) bool {
					return slices.Contains(c.Words, f) || slices.Contains(c.In, f)
				})
			}
		}
	}
	return r.out
}

// readAll reads src, and leaves out what does not parse.
func (r *reader) readAll(src string) {
	src = src[:min(len(src), maxText)]
	for range maxErrors {
		if src = src[r.read(src):]; src == "" || len(r.out) >= maxCommands {
			return
		}
	}
}

// compares reports whether c reads what another command writes, to decide.
func (c *Command) compares() bool {
	return len(c.Words) > 0 && slices.Contains([]string{
		"grep", "egrep", "fgrep", "rg", "diff", "cmp", "comm", "jq", "test", "[", "[[",
	}, path.Base(c.Words[0]))
}

// parser returns one for bash with the tests of bats, which is all that POSIX shells have and more.
func parser() *syntax.Parser {
	return syntax.NewParser(syntax.Variant(syntax.LangBats), syntax.KeepComments(true))
}

// A shallow reader fails as soon as the parser that reads from it recurses too deeply: a stack that overflows cannot
// be recovered.
type shallow struct{ io.Reader }

func (s shallow) Read(b []byte) (int, error) {
	if runtime.Callers(maxDepth, make([]uintptr, 1)) > 0 {
		return 0, errors.New("nested too deeply")
	}
	return s.Reader.Read(b)
}

// A reader collects the commands of one text.
type reader struct {
	out   []Command
	vars  map[string]string // that the text itself has set so far
	asked bool              // what is read is in a substitution
	folders

	runs  *calls   // of Programs; nil: what is called is not followed, and where the text begins is not known
	given []string // "$@"; nil: not known
}

// read reads src up to a statement that does not parse, and returns where the line after that begins.
func (r *reader) read(src string) int {
	end := 0
	var failed error
	// The loop is never left early: the iterator would panic where an error follows.
	for stmt, err := range parser().StmtsSeq(shallow{strings.NewReader(src)}) {
		if failed = cmp.Or(failed, err); failed == nil {
			r.next(stmt)
			end = int(stmt.End().Offset())
		}
	}
	if failed == nil {
		return len(src)
	}
	var at syntax.ParseError
	if errors.As(failed, &at) {
		end = max(end, int(at.Pos.Offset()))
	}
	if n := strings.IndexByte(src[min(end, len(src)):], '\n'); n >= 0 {
		return end + n + 1
	}
	return len(src)
}

// stmts reads a list of statements.
func (r *reader) stmts(list []*syntax.Stmt) (after ends) {
	after = ends{r.at, r.at}
	for _, s := range list {
		after = r.next(s)
	}
	return after
}

// next reads a statement that others follow.
func (r *reader) next(s *syntax.Stmt) ends {
	after := r.stmt(s)
	r.at = union(after.passed, after.failed)
	return after
}

// stmt reads lists and pipelines. They lean to the left, as long as the text is: no recursion for those.
func (r *reader) stmt(s *syntax.Stmt) ends {
	var chain []*syntax.Stmt
	for b, ok := s.Cmd.(*syntax.BinaryCmd); ok; b, ok = s.Cmd.(*syntax.BinaryCmd) {
		chain, s = append(chain, s), b.X
	}
	from, begun := len(r.out), r.at
	after := r.command(s).of(s, begun)
	for _, s := range slices.Backward(chain) {
		b, _ := s.Cmd.(*syntax.BinaryCmd)
		to := len(r.out)
		switch b.Op {
		case syntax.AndStmt:
			r.at = after.passed
			right := r.stmt(b.Y)
			after = ends{right.passed, union(after.failed, right.failed)}.of(s, begun)
			continue
		case syntax.OrStmt: // a cd that fails stays where it is
			r.at = union(after.failed, begun)
			right := r.stmt(b.Y)
			after = ends{union(after.passed, right.passed), right.failed}.of(s, begun)
			continue
		}
		r.at = begun
		r.stmt(b.Y)
		after = ends{begun, begun}
		if slices.ContainsFunc(r.out[to:], func(c Command) bool { return c.compares() }) {
			for i := range r.out[from:to] {
				r.out[from+i].Asked = true
			}
		}
	}
	return after
}

// command reads a statement that is no list and no pipeline.
func (r *reader) command(s *syntax.Stmt) (after ends) {
	begun := r.at
	after = ends{begun, begun}
	if len(r.out) >= maxCommands {
		return after
	}
	now := Command{Asked: r.asked, At: begun}
	from := len(r.out)
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		now.Sets = r.assigns(c.Assigns)
		for _, w := range c.Args {
			now.Words = append(now.Words, r.words(w)...)
		}
		if len(c.Args) == 0 {
			for name, value := range now.Sets {
				r.vars[name] = value
			}
		}
		if after = r.moves(now.Words); r.runs != nil {
			after = r.call(now.Words, after)
		}
	case *syntax.DeclClause:
		now.Words = []string{c.Variant.Value}
		for _, a := range c.Args {
			switch value := r.word(a.Value); {
			case a.Name == nil:
				now.Words = append(now.Words, value)
			case a.Naked:
				now.Words = append(now.Words, a.Name.Value)
			default:
				now.Words = append(now.Words, a.Name.Value+"="+value)
			}
		}
	case *syntax.TestClause:
		now.Words = r.test(c.X, []string{"[["})
	case *syntax.IfClause:
		var over []string
		for other := begun; c != nil; c = c.Else {
			r.at = other
			if cond := r.stmts(c.Cond); len(c.Cond) > 0 {
				r.at, other = cond.passed, union(cond.failed, other)
			} else {
				other = nil
			}
			if r.stmts(c.Then); c.Else == nil {
				over = union(over, other)
			}
			over = union(over, r.at)
		}
		after = ends{over, over}
	case *syntax.ForClause:
		r.items(c.Loop)
		r.stmts(c.Do)
		after = ends{union(begun, r.at), union(begun, r.at)}
	case *syntax.CaseClause:
		r.word(c.Word)
		over := begun
		for _, item := range c.Items {
			for _, w := range item.Patterns {
				r.word(w)
			}
			r.at = begun
			r.stmts(item.Stmts)
			over = union(over, r.at)
		}
		after = ends{over, over}
	case *syntax.Block:
		after = r.stmts(c.Stmts)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			after = r.stmt(c.Stmt)
		}
	case nil, *syntax.ArithmCmd, *syntax.LetClause:
	default: // a subshell, a loop, a function, a coprocess
		syntax.Walk(c, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.Stmt:
				r.next(node)
				return false
			case *syntax.Word:
				r.word(node)
				return false
			}
			return true
		})
		switch c := c.(type) {
		case *syntax.WhileClause:
			after = ends{union(begun, r.at), union(begun, r.at)}
		case *syntax.FuncDecl:
			if r.runs != nil && c.Name != nil {
				r.runs.functions[c.Name.Value] = c.Body
			}
		}
	}
	r.at = begun
	for _, redir := range s.Redirs {
		if redir.Hdoc != nil {
			now.Here = r.hereDocument(redir)
		}
		switch file := r.word(redir.Word); redir.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			now.In = append(now.In, file)
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			now.Out = append(now.Out, file)
		case syntax.WordHdoc:
			now.Here = file
		}
	}
	for i := range r.out[from:] { // of { a; b; } > file
		r.out[from+i].Out = append(r.out[from+i].Out, now.Out...)
	}
	if len(now.Words)+len(now.Sets)+len(now.In) > 0 {
		r.out = append(r.out, now)
	}
	return after
}

// hereDocument returns what a here-document comes to. It reads the commands of its substitutions first.
func (r *reader) hereDocument(redir *syntax.Redirect) string {
	var b strings.Builder
	for _, part := range redir.Hdoc.Parts {
		r.part(&b, part, true)
	}
	return b.String()
}

// items reads the words of a loop. A loop over one pattern gives its variable that value.
func (r *reader) items(loop syntax.Loop) {
	words, ok := loop.(*syntax.WordIter)
	if !ok {
		return
	}
	delete(r.vars, words.Name.Value)
	for _, w := range words.Items {
		if value := r.word(w); len(words.Items) == 1 {
			r.vars[words.Name.Value] = value
		}
	}
}

func (r *reader) assigns(list []*syntax.Assign) map[string]string {
	sets := map[string]string{}
	for _, a := range list {
		value := r.word(a.Value)
		if a.Array != nil {
			for _, e := range a.Array.Elems {
				r.word(e.Value)
			}
			value = string(Unknown)
		}
		if a.Append {
			value = r.vars[a.Name.Value] + value
		}
		sets[a.Name.Value] = value
	}
	return sets
}

// test adds the words of a [[ … ]] to list.
func (r *reader) test(x syntax.TestExpr, list []string) []string {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		return r.test(x.Y, r.test(x.X, list))
	case *syntax.UnaryTest:
		return r.test(x.X, list)
	case *syntax.ParenTest:
		return r.test(x.X, list)
	case *syntax.Word:
		return append(list, r.word(x))
	}
	return list
}

// word returns what a word comes to. It reads the commands of its substitutions first. w may be nil.
func (r *reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range w.Parts {
		r.part(&b, part, false)
	}
	return b.String()
}

func (r *reader) part(b *strings.Builder, part syntax.WordPart, quoted bool) {
	add := func(text string) {
		if b.Len() < maxValue {
			b.WriteString(text)
		}
	}
	switch p := part.(type) {
	case *syntax.Lit:
		add(unescaped(p.Value, quoted))
	case *syntax.SglQuoted:
		add(p.Value)
	case *syntax.DblQuoted:
		for _, part := range p.Parts {
			r.part(b, part, true)
		}
	case *syntax.ParamExp:
		add(r.value(p))
	case *syntax.ExtGlob:
		add(p.Op.String() + p.Pattern.Value + ")")
	case *syntax.CmdSubst:
		from := len(r.out)
		r.substitution(p.Stmts)
		if now := r.out[from:]; len(now) == 1 && len(now[0].Words) == 1 && now[0].Words[0] == "pwd" {
			add(r.here())
		} else {
			add(string(Unknown))
		}
	case *syntax.ProcSubst:
		r.substitution(p.Stmts)
		add(string(Unknown))
	case *syntax.ArithmExp:
		syntax.Walk(p, func(node syntax.Node) bool {
			w, is := node.(*syntax.Word)
			if is {
				r.word(w)
			}
			return !is
		})
		add(string(Unknown))
	default:
		add(string(Unknown))
	}
}

func (r *reader) substitution(list []*syntax.Stmt) {
	defer func(asked bool, at []string) { r.asked, r.at = asked, at }(r.asked, r.at)
	r.asked = true
	r.stmts(list)
}

// value returns that of a variable which the text itself sets, or its default.
func (r *reader) value(p *syntax.ParamExp) string {
	other := ""
	if p.Exp != nil {
		other = r.word(p.Exp.Word)
	}
	withDefault := p.Exp != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull)
	plain := !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 &&
		(p.Exp == nil || withDefault)
	if p.Param != nil && plain {
		if value, ok := r.vars[p.Param.Value]; ok {
			return value
		}
		if name := p.Param.Value; r.given != nil && len(name) == 1 && name >= "1" && name <= "9" && len(r.given) >= int(name[0]-'0') {
			return r.given[name[0]-'1']
		}
		if other != "" && withDefault {
			return other
		}
		if p.Param.Value == "PWD" {
			return r.here()
		}
	}
	return string(Unknown)
}

// unescaped returns text without its backslashes. In double quotes one escapes only some characters.
func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("\"\\$`", text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
