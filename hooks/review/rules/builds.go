package rules

import (
	"path"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// LockFiles are written by package managers.
var LockFiles = lazily.Words(`
	package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock go.sum
	go.work.sum Cargo.lock poetry.lock uv.lock pdm.lock pylock.toml pixi.lock conda-lock.yml Pipfile.lock
	Gemfile.lock composer.lock mix.lock gradle.lockfile buildscript-gradle.lockfile
	verification-metadata.xml packages.lock.json Podfile.lock Package.resolved Cartfile.resolved
	pubspec.lock flake.lock rebar.lock shard.lock stack.yaml.lock cabal.project.freeze conan.lock
	.terraform.lock.hcl Chart.lock MODULE.bazel.lock renv.lock Manifest.toml`)

var (
	buildFiles = lazily.Words(`
		pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
		libs.versions.toml meson.build meson_options.txt meson.options Gemfile gems.rb mix.exs build.sbt
		Package.swift pubspec.yaml Podfile environment.yml environment.yaml setup.py Directory.Build.props
		Directory.Build.targets Directory.Packages.props packages.config NuGet.config nuget.config build.zig
		build.zig.zon dune-project rebar.config deps.edn project.clj conanfile.txt conanfile.py vcpkg.json
		MODULE.bazel WORKSPACE WORKSPACE.bazel stack.yaml cabal.project shard.yml flake.nix shell.nix
		default.nix .tool-versions .gitmodules Chart.yaml Project.toml cpanfile Makefile.PL Build.PL`)
	buildExts = lazily.Words(`
		.csproj .fsproj .vbproj .gemspec .cabal .opam .rockspec .podspec .wrap`)
)

// BuildFile reports whether a file says how a program is built, what it depends on, and often how it is tested, in
// a language of its own.
func BuildFile(p string) bool {
	return slices.Contains(buildFiles(), path.Base(p)) || slices.Contains(buildExts(), path.Ext(p))
}

// builds are rules for build files.
var builds = []Rule{
	{
		ID: "build/tests-off", Kind: ExitSwallowed, In: Builds, On: Line, Caps: true,
		Say: "tests that fail no longer fail the build, or do not run",
		Pattern: `(?i)<(?:testFailureIgnore|maven\.test\.failure\.ignore|skipTests|skipITs` +
			`|maven\.test\.skip)>\s*true.*|\bignoreFailures\s*(?:=|\.set\(|\s)\s*true` +
			`|\btasks?\b.*\btest\b.*\benabled\s*=\s*false|\btest\.enabled\s*=\s*false` +
			`|\bfailOnNoDiscoveredTests\s*=\s*false|\bonlyIf\s*\{\s*false\s*\}|\bshould_fail\s*:\s*true|(?:^` +
			`|[,{])\s*-?-?(?:skipTests|maven\.test\.(?:skip|failure\.ignore))\s*=\s*true`,
		Match:   []string{`<skipTests>true</skipTests>`, `ignoreFailures.set(true)`, `tasks.named("test") { enabled = false }`},
		NoMatch: []string{`<skipTests>false</skipTests>`},
	},
	{
		ID: "build/tests-selected", Kind: TestSkipped, In: Builds, On: Line, Caps: true, Say: "which tests there are",
		Pattern: `<exclude>[^<]*(?:Test|IT).*|<(?:excludedGroups|groups|testSourceDirectory` +
			`|testClassesDirectory)>.*|\bexclude[\s(]*["'][^"']*(?:Test|Spec|IT\b|/test).*|\b(?:ex` +
			`|in)clude(?:TestsMatching|Tags|Categories)\b.*|\btestClassesDirs\b|\bsourceSets\b.*\btest\b` +
			`|\btest\.(?:java|kotlin)\.srcDirs?\b`,
		Match:   []string{`<exclude>**/PriceTest.java</exclude>`, `excludeTestsMatching("*Price*")`},
		NoMatch: []string{`<exclusion><artifactId>b</artifactId></exclusion>`, `exclude 'META-INF/*'`},
	},
	{
		ID: "build/test-gone", Kind: TestRemoved, In: Builds, On: Line, Caps: true, Say: "gone", Gone: true,
		File: "meson.build", Pattern: `^\s*(?:test|benchmark)\s*\([^,]*`,
		Match: []string{`test('price', exe)`}, NoMatch: []string{`executable('test', 'a.c')`},
	},
	{
		ID: "build/process", Kind: NewProcess, In: Builds, On: Line,
		Pattern: `.*(?:\bexec-maven-plugin\b|\bmaven-antrun-plugin\b|\bgroovy-maven-plugin\b|\bcommandLine\b` +
			`|\bexec\s*\{|\btype:\s*Exec\b|\.execute\(\)|\bProcessBuilder\b|\brun_command\s*\(` +
			`|\bcustom_target\s*\(|\bmeson\.add_\w+_script\s*\(|<Exec\s|\bsystem\s*\(|\bsubprocess\b` +
			`|\bos\.(?:system|popen)\b).*`,
		Match:   []string{`exec { commandLine 'sh', '-c', 'a' }`, `run_command('x')`},
		NoMatch: []string{`executable('a', 'a.c')`},
	},
}
