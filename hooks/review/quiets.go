package review

// suppression_added: comments and attributes that silence a checker.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var quieting = map[string][]pattern{
	"go": {
		pat(onNotes, false, "", `//\s*nolint\b\S*|#nosec\b|//lint:(?:ignore|file-ignore)\b|//\s*coverage:ignore|//\s*revive:disable`, "nolint", "#nosec", "//lint:", "ignore", "revive"),
	},
	"web": {
		pat(onNotes, false, "", `\b(?:eslint|tslint|stylelint|oxlint)-disable\S*`, "-disable"),
		pat(onNotes, false, "", `@ts-(?:ignore|expect-error|nocheck)\b`, "@ts-"),
		pat(onNotes, false, "", `\b(?:istanbul|c8|v8)\s+ignore\b|\bbiome-ignore\b|\$Flow(?:FixMe|Issue|Ignore)\b|\bdeno-lint-ignore\b`, "ignore", "$Flow"),
	},
	"py": {
		pat(onNotes, false, "", `#\s*(?:noqa|nosec|NOQA)\b|#\s*(?:ruff|flake8)\s*:\s*noqa|#\s*type:\s*ignore|#\s*(?:pyright|mypy|pytype|ty|pyre)\S*\s*:?\s*(?:ignore|disable)\S*|#\s*pylint:\s*(?:disable|skip-file)|#\s*pragma:\s*no\s*cover|#\s*(?:pyre-ignore|pyre-fixme)`, "no", "NOQA", "ignore", "disable", "pylint", "pyre"),
		pat(onCode, false, "", `\bwarnings\.(?:simplefilter|filterwarnings)\s*\(`, "warnings."),
	},
	"c": {
		pat(onPlain, false, "", `#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored\b|#\s*pragma\s+warning\s*\(?\s*disable|__attribute__\s*\(\(\s*no_sanitize\w*`, "pragma", "no_sanitize"),
		pat(onNotes, false, "", `\bNOLINT\w*|\bcppcheck-suppress\b|\bcoverity\[|\b[LG]COV_EXCL_\w+`, "NOLINT", "cppcheck", "coverity", "COV_EXCL"),
		pat(onCode, false, "", `\[\s*(?:\w+\.)*SuppressMessage\b`, "SuppressMessage"),
	},
	"rust": {
		pat(onCode, false, "", `#!?\[\s*(?:allow|expect)\s*\(`, "#"),
	},
	"jvm": {
		pat(onCode, false, "", `@Suppress(?:Warnings|FBWarnings|Lint)?\s*\(|@file:Suppress`, "@"),
		pat(onNotes, false, "", `\bCHECKSTYLE[:.]\s*OFF|\bnoinspection\b|\bNOPMD\b|\bktlint-disable\b`, "CHECKSTYLE", "noinspection", "NOPMD", "ktlint"),
	},
	"ruby":  {pat(onNotes, false, "", `\brubocop:(?:disable|todo)\b|:nocov:`, "rubocop", "nocov")},
	"shell": {pat(onNotes, false, "", `\bshellcheck\s+disable\b`, "shellcheck")},
	"php":   {pat(onNotes, false, "", `@phpstan-ignore\S*|\bphpcs:(?:ignore|disable)|@psalm-suppress\b|@codeCoverageIgnore\w*`, "@", "phpcs")},
	"yaml":  {pat(onNotes, false, "", `\b(?:yamllint|ansible-lint|noqa)\b.*`, "yamllint", "noqa", "ansible")},
}

var anywhere = []pattern{
	pat(onNotes, false, "", `\bNOSONAR\b|\bnosemgrep\b|\bcodeql\[|\bgitleaks:allow\b|\bnosec\b`, "NOSONAR", "nosemgrep", "codeql", "gitleaks", "nosec"),
}

func (r *report) quiets(e *edit) {
	if e.class == 3 || !lang.IsCode(e.language) && e.language != "yaml" {
		return
	}
	hit := func(j int, _ *pattern, match string) { r.add(e, SuppressionAdded, j, false, "%s", match) }
	r.fresh(e, quieting[e.language], true, hit)
	r.fresh(e, anywhere, true, hit)
}

var (
	quietCode = late.Regexp(`#!?\[\s*(?:allow|expect)\s*\([^]]*\]|@(?:file:)?Suppress\w*(?:\([^)]*\))?|#\s*pragma\b.*|__attribute__\s*\(\(\s*no_sanitize\w*[^)]*\)*|\bwarnings\.(?:simplefilter|filterwarnings)\(.*`)
	prose     = []string{".md", ".rst", ".txt", ".adoc"}
)

// onlyQuiet lets what silences a checker cap where the patch changes nothing else that acts: then the check passes because of it. Whether it is right is for
// a person to say.
func (r *report) onlyQuiet() {
	for _, e := range r.edits {
		if !e.putBack && e.acts() {
			return
		}
	}
	for key, f := range r.found {
		if e := r.edit(key.path); key.rule == SuppressionAdded && e != nil && !e.putBack {
			f.Caps = true
			r.found[key] = f
		}
	}
}

// acts says whether anything but comments, blanks and what silences a checker changed.
func (e *edit) acts() bool {
	if slices.Contains(prose, strings.ToLower(path.Ext(e.path))) {
		return false
	}
	if e.opaque || e.isNew() || !e.exists() || e.language == "" || executable(e.change.Before) != executable(e.change.After) {
		return true
	}
	return e.before.effect() != e.after.effect()
}

// effect is a text without comments, blanks and what silences a checker.
func (s *side) effect() string {
	var b strings.Builder
	for i := range s.lines {
		b.WriteString(strings.Join(strings.Fields(quietCode().ReplaceAllString(s.plain(i), "")), ""))
	}
	return b.String()
}
