package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

var buildRows = []reportRow{
	{"a lock file", "package-lock.json", "{\n}\n", "{\"a\": 1\n}\n", "dependency_changed:0"},
	{"a lock file below", "web/pnpm-lock.yaml", "a: 1\n", "a: 2\n", "dependency_changed:0"},
	{"go.sum", "go.sum", "a v1 h1:x\n", "a v2 h1:y\n", "dependency_changed:0"},
	{"Cargo.lock", "Cargo.lock", "a\n", "b\n", "dependency_changed:0"},
	{"uv.lock", "uv.lock", "a\n", "b\n", "dependency_changed:0"},
	{"a lock file of NuGet", "packages.lock.json", "{}\n", "{\"a\": 1}\n", "dependency_changed:0"},
	{"a lock file of Gradle", "gradle.lockfile", "a:b:1=x\n", "a:b:2=x\n", "dependency_changed:0"},
	{"a lock file that is no text", "bun.lockb", "\x00a", "\x00b", "dependency_changed:0"},
	{"a lock file is gone", "poetry.lock", "a\n", absent, "dependency_changed:0"},
	{"pom: a version", "pom.xml", "<a>\n<version>1</version>\n</a>\n", "<a>\n<version>2</version>\n</a>\n", "dependency_changed:2"},
	{"pom: another setting", "pom.xml", "<a>\n<finalName>x</finalName>\n</a>\n", "<a>\n<finalName>y</finalName>\n</a>\n", ""},
	{"pom: failures ignored", "pom.xml", "<a>\n</a>\n", "<a>\n<testFailureIgnore>true</testFailureIgnore>\n</a>\n", "exit_swallowed:2!"},
	{"pom: tests skipped", "pom.xml", "<a>\n</a>\n", "<a>\n<maven.test.skip> true</maven.test.skip>\n</a>\n", "exit_swallowed:2!"},
	{"pom: skipTests is off", "pom.xml", "<a>\n</a>\n", "<a>\n<skipTests>false</skipTests>\n</a>\n", ""},
	{"pom: a test is excluded", "pom.xml", "<a>\n</a>\n", "<a>\n<exclude>**/PriceTest.java</exclude>\n</a>\n", "test_skipped:2!"},
	{"pom: a dependency of a dependency is excluded", "pom.xml", "<a>\n</a>\n", "<a>\n<exclusion><artifactId>b</artifactId></exclusion>\n</a>\n", "dependency_changed:2"},
	{"pom: a program runs", "pom.xml", "<a>\n</a>\n", "<a>\n<artifactId>exec-maven-plugin</artifactId>\n</a>\n", "new_process:2"},
	{"gradle: a version", "app/build.gradle", "dependencies {\n    implementation 'a:b:1.0'\n}\n", "dependencies {\n    implementation 'a:b:1.1'\n}\n", "dependency_changed:2"},
	{"gradle: failures ignored", "build.gradle", "test {\n}\n", "test {\n    ignoreFailures = true\n}\n", "exit_swallowed:2!"},
	{"gradle: failures ignored, in Kotlin", "build.gradle.kts", "tasks.test {\n}\n", "tasks.test {\n    ignoreFailures.set(true)\n}\n", "exit_swallowed:2!"},
	{"gradle: off", "build.gradle.kts", "x\n", "x\ntasks.named(\"test\") { enabled = false }\n", "exit_swallowed:2!"},
	{"gradle: a test is filtered", "build.gradle.kts", "tasks.test {\n}\n", "tasks.test {\n    filter { excludeTestsMatching(\"*Price*\") }\n}\n", "test_skipped:2!"},
	{"gradle: a file is left out of a jar", "build.gradle", "jar {\n}\n", "jar {\n    exclude 'META-INF/*'\n}\n", ""},
	{"gradle: a program runs", "build.gradle", "x\n", "x\nexec { commandLine 'sh', '-c', 'a' }\n", "new_process:2"},
	{"meson: a source", "meson.build", "executable('a', 'a.c')\n", "executable('a', 'a.c', 'b.c')\n", ""},
	{"meson: a test is gone", "meson.build", "e = executable('a', 'a.c')\ntest('a', e)\n", "e = executable('a', 'a.c')\n", "test_removed:1!"},
	{"meson: a test gets an argument", "meson.build", "test('a', e)\n", "test('a', e, args: ['x'])\n", ""},
	{"meson: a test is to fail", "meson.build", "test('a', e)\n", "test('a', e, should_fail: true)\n", "exit_swallowed:1!"},
	{"meson: no asserts", "meson.build", "project('a', 'c')\n", "project('a', 'c', default_options: ['b_ndebug=true'])\n", "exit_swallowed:1!"},
	{"meson: a flag", "meson.build", "project('a', 'c')\n", "project('a', 'c')\nadd_project_arguments('-DND' + 'EBUG', '-DNDEBUG', language: 'c')\n", "exit_swallowed:2!"},
	{"a gem", "Gemfile", "gem 'a', '1.0'\n", "gem 'a', '1.1'\n", "dependency_changed:1"},
	{"a project of .NET", "src/Shop.csproj", "<a>\n</a>\n", "<a>\n<PackageReference Include=\"B\" />\n</a>\n", "dependency_changed:2"},
	{"a submodule", ".gitmodules", "[submodule \"a\"]\n\turl = ../a\n", "[submodule \"a\"]\n\turl = ../b\n", "dependency_changed:2"},
	{"a file of another name", "pom.txt", "<version>1</version>\n", "<version>2</version>\n", ""},
}

var selfRows = []reportRow{
	{"a task of an editor", ".vscode/tasks.json", absent, "{\"runOptions\": {\"runOn\": \"folderOpen\"}}\n", "new_process:0"},
	{"an editor's terminal", ".vscode/settings.json", "{}\n", "{\"terminal.integrated.env.linux\": {\"PATH\": \".\"}}\n", "new_process:0"},
	{"what an editor starts", "web/.vscode/launch.json", "{}\n", "{ }\n", "new_process:0"},
	{"what an editor recommends", ".vscode/extensions.json", "{}\n", "{ }\n", ""},
	{"a workspace", "shop.code-workspace", "{}\n", "{ }\n", "new_process:0"},
	{"a run configuration", ".idea/runConfigurations/All.xml", absent, "<a/>\n", "new_process:0"},
	{"the name of a project", ".idea/modules.xml", "<a/>\n", "<b/>\n", ""},
	{"a hook of git", ".githooks/pre-commit", absent, "#!/bin/sh\nexit 1\n", "new_process:0"},
	{"a hook of husky", ".husky/pre-push", "npm test\n", "npm run x\n", "new_process:0"},
	{"lefthook", "lefthook.yml", "a: 1\n", "a: 2\n", "new_process:0"},
	{"pre-commit", ".pre-commit-config.yaml", "a: 1\n", "a: 2\n", "new_process:0"},
	{"a folder's variables", ".envrc", "a=1\n", "a=2\n", "new_process:0"},
	{"a container", ".devcontainer/devcontainer.json", "{}\n", "{\"initializeCommand\": \"x\"}\n", "new_process:0"},
	{"a container, gone", ".devcontainer/devcontainer.json", "{}\n", absent, ""},
	{"an agent's hooks", ".claude/settings.json", absent, "{\"hooks\": {}}\n", "new_process:0"},
	{"an agent's words", ".claude/notes.md", absent, "Be kind.\n", ""},
	{"an agent's orders", "docs/AGENTS.md", absent, "a\n", "new_process:0"},
	{"an agent's orders changed", "CLAUDE.md", "a\n", "b\n", "new_process:0"},
	{"a debugger's start", "a/.gdbinit", "a\n", "b\n", "new_process:0"},
	{"an agent's tools", ".mcp.json", absent, "{}\n", "new_process:0"},
	{"a filter", ".gitattributes", "*.txt text\n", "*.txt text\n*.dat filter=lfs diff=lfs -text\n", "new_process:2"},
	{"a merge driver", "a/.gitattributes", "", "*.dat merge=mine\n", "new_process:1"},
	{"a diff of git's own", ".gitattributes", "", "*.py diff=python\n*.md merge=union\n", ""},
	{"line ends", ".gitattributes", "", "* text=auto eol=lf\n", ""},
	{"registries", ".npmrc", "a=1\n", "a=2\n", ""},
	{"settings of a program", "config/settings.json", "{}\n", "{ }\n", ""},
}

// A lock file that names a machine it did not name before says which.
func TestLockNewPlace(t *testing.T) {
	t.Parallel()
	c := checkfile.NewChecks(files{}.tree(), checkfile.Scope{})
	before := "\"resolved\": \"https://registry.npmjs.org/a/-/a-1.tgz\"\n"
	for after, want := range map[string]string{
		"\"resolved\": \"https://registry.npmjs.org/a/-/a-2.tgz\"\n": "1 lines added, 1 removed",
		"\"resolved\": \"https://a:b@evil.example/a/-/a-1.tgz\"\n":   "from a new place: evil.example",
		before + "b@git+ssh://git@codes.example/b.git#0a\n":          "from a new place: codes.example",
	} {
		found := Report(t.Context(), c, []patch.Change{change("package-lock.json", before, after)})
		if len(found) != 1 || !strings.HasSuffix(found[0].Detail, want) {
			t.Errorf("%q: %+v, want %q", after, found, want)
		}
	}
}

// What a build file says is flagged where it is no version, and stays for the second half of verification.
func TestBuildSetting(t *testing.T) {
	t.Parallel()
	c := checkfile.NewChecks(files{}.tree(), checkfile.Scope{})
	changes := []patch.Change{change("pom.xml", "<a>\n<finalName>x</finalName>\n</a>\n", "<a>\n<finalName>y</finalName>\n</a>\n")}
	found := Report(t.Context(), c, changes)
	if len(found) != 1 || found[0].Rule != rules.CheckConfig || found[0].Line != 2 || found[0].Caps || !strings.Contains(found[0].Detail, "has the change too") {
		t.Errorf("%+v", found)
	}
	if len(c.Restore(changes)) != 1 {
		t.Error("it was put back")
	}
}
