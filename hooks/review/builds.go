package review

// dependency_changed and check_config for what says of what a program is made and is not judged by its parts: lock files, and the
// build files of Maven, Gradle, Meson and others. They stay as the patch left them for both halves of verification.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// locks are files that a package manager writes.
var locks = []string{
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock", "go.sum", "go.work.sum", "Cargo.lock", "poetry.lock",
	"uv.lock", "pdm.lock", "pylock.toml", "pixi.lock", "conda-lock.yml", "Pipfile.lock", "Gemfile.lock", "composer.lock", "mix.lock", "gradle.lockfile", "buildscript-gradle.lockfile", "verification-metadata.xml",
	"packages.lock.json", "Podfile.lock", "Package.resolved", "Cartfile.resolved", "pubspec.lock", "flake.lock", "rebar.lock", "shard.lock", "stack.yaml.lock", "cabal.project.freeze", "conan.lock",
	".terraform.lock.hcl", "Chart.lock", "MODULE.bazel.lock", "renv.lock", "Manifest.toml",
}

// builds are files that say how a program is built, its dependencies and often its tests side by side, in a language of their own.
var builds = []string{
	"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties", "libs.versions.toml", "meson.build", "meson_options.txt", "meson.options",
	"Gemfile", "gems.rb", "mix.exs", "build.sbt", "Package.swift", "pubspec.yaml", "Podfile", "environment.yml", "environment.yaml", "setup.py", "Directory.Build.props", "Directory.Build.targets",
	"Directory.Packages.props", "packages.config", "NuGet.config", "nuget.config", "build.zig", "build.zig.zon", "dune-project", "rebar.config", "deps.edn", "project.clj", "conanfile.txt", "conanfile.py", "vcpkg.json",
	"MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel", "stack.yaml", "cabal.project", "shard.yml", "flake.nix", "shell.nix", "default.nix", ".tool-versions", ".gitmodules", "Chart.yaml", "Project.toml",
}

var (
	buildExts = []string{".csproj", ".fsproj", ".vbproj", ".gemspec", ".cabal", ".opam", ".rockspec", ".podspec", ".wrap"}

	// depends is a line that names a dependency, its version or its place.
	depends = late.Regexp(`(?i)\b\d+\.\d+|<(?:version|groupId|artifactId|dependency|parent|repository|url)\b|<Package(?:Reference|Version)|\b(?:api|implementation|compileOnly|runtimeOnly|annotationProcessor|classpath|test\w*Implementation|testRuntimeOnly)\b\s*[( ]|\bdependency\s*\(|^\s*gem\b|\b(?:url|submodule|git|branch|path|rev|tag)\b\s*[:=]|\bversion\b|"[\w.-]+:[\w.-]+`)
	host    = late.Regexp(`\b(?:https?|git|ssh)(?:\+\w+)?://(?:[^/@\s"']*@)?([\w.-]+)`)

	// noTests is a setting of a build after which failing tests do not fail it, or do not run.
	noTests = late.Regexp(`(?i)<(?:testFailureIgnore|maven\.test\.failure\.ignore|skipTests|skipITs|maven\.test\.skip)>\s*true|\bignoreFailures\s*(?:=|\.set\(|\s)\s*true|\btasks?\b.*\btest\b.*\benabled\s*=\s*false|\btest\.enabled\s*=\s*false|\bfailOnNoDiscoveredTests\s*=\s*false|\bonlyIf\s*\{\s*false\s*\}|\bshould_fail\s*:\s*true|(?:^|[,{])\s*-?-?(?:skipTests|maven\.test\.(?:skip|failure\.ignore))\s*=\s*true`)
	// selects is a setting of a build that says which tests there are.
	selects = late.Regexp(`<exclude>[^<]*(?:Test|IT)|<(?:excludedGroups|groups|testSourceDirectory|testClassesDirectory)>|\bexclude[\s(]*["'][^"']*(?:Test|Spec|IT\b|/test)|\b(?:ex|in)clude(?:TestsMatching|Tags|Categories)\b|\btestClassesDirs\b|\bsourceSets\b.*\btest\b|\btest\.(?:java|kotlin)\.srcDirs?\b`)
	// listed is a line of a build that is a test: Meson's.
	listed = late.Regexp(`^\s*(?:test|benchmark)\s*\(`)
	// starts is a line of a build that runs a program.
	starts = late.Regexp(`\bexec-maven-plugin\b|\bmaven-antrun-plugin\b|\bgroovy-maven-plugin\b|\bcommandLine\b|\bexec\s*\{|\btype:\s*Exec\b|\.execute\(\)|\bProcessBuilder\b|\brun_command\s*\(|\bcustom_target\s*\(|\bmeson\.add_\w+_script\s*\(|<Exec\s|\bsystem\s*\(|\bsubprocess\b|\bos\.(?:system|popen)\b`)
)

// builtWith reports on lock files and build files. It reads e's text as far as there is one.
func (r *report) builtWith(e *edit) {
	base := path.Base(e.path)
	switch {
	case slices.Contains(locks, base):
		r.locked(e)
	case e.opaque || e.class > 0:
	case slices.Contains(builds, base), slices.Contains(buildExts, path.Ext(base)):
		r.build(e)
	}
}

func (r *report) locked(e *edit) {
	switch {
	case e.opaque:
		r.add(e, DependencyChanged, -1, false, "a lock file that is no text")
	case !e.exists():
		r.add(e, DependencyChanged, -1, false, "a lock file is gone: any version may be taken")
	case len(e.added)+len(e.removed) == 0:
	default:
		from := ""
		if hosts := r.newHosts(e); len(hosts) > 0 {
			from = ", from a new place: " + strings.Join(hosts, ", ")
		}
		r.add(e, DependencyChanged, -1, false, "a lock file: %d lines added, %d removed%s", len(e.added), len(e.removed), from)
	}
}

// newHosts are machines that added lines name and the file before did not.
func (r *report) newHosts(e *edit) []string {
	known := map[string]bool{}
	for _, m := range host().FindAllStringSubmatch(text(e.change.Before), -1) {
		known[m[1]] = true
	}
	var hosts []string
	for _, j := range e.added {
		for _, m := range host().FindAllStringSubmatch(e.after.lines[j], -1) {
			if !known[m[1]] {
				known[m[1]] = true
				hosts = append(hosts, m[1])
			}
		}
	}
	return hosts
}

// build reports the first line of each sort. What keeps failing tests from failing the build caps: nothing puts it back.
func (r *report) build(e *edit) {
	version, other := -1, -1
	for _, j := range e.added {
		line := e.after.lines[j]
		switch {
		case e.moved[j] || strings.TrimSpace(line) == "":
		case noTests().MatchString(line):
			r.add(e, ExitSwallowed, j, true, "tests that fail no longer fail the build, or do not run: %s", strings.TrimSpace(line))
		case selects().MatchString(line) && path.Base(e.path) != "meson.build":
			r.add(e, TestSkipped, j, true, "which tests there are: %s", strings.TrimSpace(line))
		case starts().MatchString(line):
			r.add(e, NewProcess, j, false, "%s", strings.TrimSpace(line))
		case depends().MatchString(line):
			if version < 0 {
				version = j
			}
		case other < 0:
			other = j
		}
	}
	for _, i := range e.removed {
		line := e.before.lines[i]
		switch {
		case strings.TrimSpace(line) == "":
		case listed().MatchString(line) && path.Base(e.path) == "meson.build" && !e.addedAgain(line):
			r.add(e, TestRemoved, e.at(i), true, "was %s", strings.TrimSpace(line))
		case depends().MatchString(line):
			if version < 0 {
				version = e.at(i)
			}
		case other < 0 && version < 0:
			other = e.at(i)
		}
	}
	if version >= 0 {
		r.add(e, DependencyChanged, version, false, "what it is built with: %s", e.lineOf(version))
	}
	if other >= 0 {
		r.add(e, CheckConfig, other, false, "how it is built, and perhaps tested; the second check has the change too")
	}
}

// addedAgain says whether the same test stands among the added lines: its name, up to the first comma.
func (e *edit) addedAgain(line string) bool {
	name, _, _ := strings.Cut(strings.Join(strings.Fields(line), ""), ",")
	return slices.ContainsFunc(e.added, func(j int) bool {
		return strings.HasPrefix(strings.Join(strings.Fields(e.after.lines[j]), ""), name)
	})
}

// lineOf is a line of the file as it is, for a person.
func (e *edit) lineOf(j int) string {
	if !e.exists() || j >= len(e.after.lines) {
		return "a line is gone"
	}
	return strings.TrimSpace(e.after.lines[j])
}
