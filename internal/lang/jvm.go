package lang

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// jvm is Java, Kotlin, Groovy and Scala. Maven and Gradle run no tests from src/main.
var jvm = Language{
	Name:   "jvm",
	Exts:   []string{".java", ".kt", ".scala", ".groovy"},
	Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Triple: true},
	Also:   []string{".kts", ".gradle"},
	Tests: []string{
		"?*Test", "?*Tests", "?*TestCase", "?*TestSuite", "?*Spec", "*[^A-Z]IT", "Test[A-Z]*.java", "?*Suite.scala",
	},
	NoTests: "src/main",
	Imports: func(l *Language, ix *Index, _ string, src []byte) (files []string, testing bool) {
		for _, m := range jvmImport().FindAllSubmatch(src, -1) {
			files = append(files, ix.ofPackage(l, strings.ReplaceAll(string(m[1]), ".", "/"))...)
		}
		return files, false
	},
	TestLibrary: lazily.Regexp(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?` +
		`(?:org\.junit|org\.mockito|org\.assertj|org\.testng|io\.kotest|org\.spockframework)\b`),
}

var jvmImport = lazily.Regexp(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?(\w+(?:\.\w+)*(?:\.\*)?)`)
