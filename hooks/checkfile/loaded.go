package checkfile

// What the check's runner loads by itself, by the names of files: class 5.

import (
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"path"
	"slices"
	"strings"
)

// loadedNames are whole names, in lower case. Names that are tests (conftest.py) are class 2 already.
var loadedNames = set([]string{
	// Python. tox.ini is all about tests; setup.cfg and pyproject.toml are manifests.
	"sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "noxfile.py", ".coveragerc", ".flake8", "mypy.ini", ".mypy.ini", "ruff.toml",
	".ruff.toml", ".pylintrc", "pylintrc", ".isort.cfg", ".bandit", "pyrightconfig.json", ".style.yapf", ".pydocstyle", "nose.cfg", ".noserc", "hatch.toml", "behave.ini", ".behaverc", "pip.conf", ".importlinter",
	// Go
	"go.work", "go.work.sum", "staticcheck.conf", "revive.toml", ".testcoverage.yml", ".testcoverage.yaml",
	// Rust
	"rust-toolchain", "rust-toolchain.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml", "nextest.toml", "tarpaulin.toml", ".tarpaulin.toml", "deny.toml",
	// JavaScript and TypeScript
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", ".pnp.cjs", ".pnp.loader.mjs", "bunfig.toml", ".swcrc", "jsconfig.json", "cypress.json", "cypress.env.json", "mocha.opts", ".taprc",
	"jasmine.json", "turbo.json", "nx.json", "tslint.json", "biome.json", "biome.jsonc", ".eslintignore", ".prettierignore", ".stylelintignore", ".oxlintrc.json", "oxlintrc.json", "cspell.json", ".cspell.json",
	"knip.json", ".size-limit.json", ".size-limit.js", ".ncurc.json", ".depcheckrc", ".browserslistrc", "testem.js", ".ember-cli",
	// C and CMake
	"ctesttestfile.cmake", "ctestconfig.cmake", "ctestcustom.cmake", "cmakepresets.json", "cmakeuserpresets.json", ".clang-tidy", ".clang-format", ".clangd", "cppcheck.xml", "cpplint.cfg", ".lsan_suppressions",
	// other languages
	".rspec", ".rspec-local", ".rubocop.yml", ".rubocop_todo.yml", ".simplecov", ".standard.yml", ".reek.yml", "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "psalm.xml", "ecs.php", ".php-cs-fixer.php",
	".php-cs-fixer.dist.php", "codeception.yml", "junit-platform.properties", "checkstyle.xml", "pmd.xml", "detekt.yml", ".scalafmt.conf", ".scalafix.conf", "gradle-wrapper.properties", "gradle-wrapper.jar",
	"maven-wrapper.properties", "maven-wrapper.jar", "coverlet.runsettings", ".luacheckrc", ".busted", ".credo.exs", ".formatter.exs", "analysis_options.yaml",
	// any language
	".envrc", "mise.toml", ".mise.toml", ".shellcheckrc", ".hadolint.yaml", ".hadolint.yml", ".codespellrc", ".gitleaks.toml", ".gitleaksignore", ".editorconfig", ".pre-commit-config.yaml", "lefthook.yml",
	"lefthook.yaml", ".lefthook.yml", ".semgrepignore", ".tflint.hcl", ".ansible-lint", ".sqlfluff", "codecov.yml", ".codecov.yml", "codecov.yaml", ".codecov.yaml", ".secretlintrc.json", ".testrc", "pipeline.hcl", "pipeline.hcl.json",
	// CI
	".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", "azure-pipelines.yaml", "jenkinsfile", "bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml",
	".drone.jsonnet", ".woodpecker.yml", ".woodpecker.yaml", ".cirrus.yml", ".cirrus.star", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", ".build.yml", "screwdriver.yaml", "wercker.yml", "codefresh.yml",
})

// loadedStems are followed by an extension of a script or of data, or by nothing: jest.config.ts, .babelrc, .eslintrc.json.
var loadedStems = set([]string{
	"jest.config", "jest.setup", "jest-setup", "jest.preset", "jest.globals", "jest-globals", "vitest.config", "vitest.setup", "vitest-setup", "vitest.workspace", "vitest.projects", "setuptests", "setup-tests", "setuptest",
	"test-setup", "test.setup", "testsetup", ".mocharc", "ava.config", "karma.conf", "cypress.config", "playwright.config", "wdio.conf", "nightwatch.conf", "web-test-runner.config", "wtr.config", "jasmine.config", "stryker.conf",
	"stryker.config", "babel.config", ".babelrc", ".nycrc", "nyc.config", ".c8rc", "c8.config", ".eslintrc", "eslint.config", ".prettierrc", "prettier.config", ".stylelintrc", "stylelint.config", ".lintstagedrc",
	"lint-staged.config", ".commitlintrc", "commitlint.config", ".markdownlint", ".markdownlint-cli2", ".yamllint", ".golangci", "oxlint.config", "phpstan", "phpstan.dist", "phpcs", "phpcs.dist", "infection", ".cspell", "cspell.config",
	"knip.config", "swc.config", "ts-node.config", "tsup.test.config", "codecept.conf", "protractor.conf", "testcafe.config", ".testcaferc", "backstop", "lighthouserc", ".lighthouserc", ".pa11yci",
})

var settingExts = []string{"", ".json", ".json5", ".jsonc", ".yml", ".yaml", ".toml", ".neon", ".xml", ".dist"} // and those of JavaScript

// loadedFolders hold nothing else, as the end of a folder's path.
var loadedFolders = []string{
	".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab/ci", ".gitlab-ci", ".circleci", ".buildkite", ".woodpecker", ".azure-pipelines", ".semaphore", ".teamcity", ".builds",
	".cargo", ".husky", ".yarn/plugins", ".yarn/releases", ".mvn", ".lefthook",
}

// findLoaded notes what of the base decides over class 5.
func (c *Checks) findLoaded(t Tree, seen *survey) {
	c.Known = seen.Files()
	c.modules, c.vendored, c.goFolders, c.vite = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for p := range seen.Files() {
		dir, base := path.Split(p)
		switch dir = path.Clean(dir); base {
		case "go.mod", "composer.json", "Gemfile", "Cargo.toml":
			c.modules[dir] = true
		}
		if path.Ext(p) == ".go" {
			for at := dir; !c.goFolders[at]; at = path.Dir(at) {
				c.goFolders[at] = true
			}
		}
		for at := dir; at != "." && at != "/"; at = path.Dir(at) {
			if path.Base(at) == "vendor" {
				c.vendored[at] = true
			}
		}
	}
	if t.Read == nil {
		return
	}
	for _, p := range seen.nodePackages {
		if src, err := t.Read(p); err == nil && len(src) <= maxNamedFile && strings.Contains(string(src), `"vitest"`) {
			c.vite[path.Dir(p)] = true
		}
	}
}

// loaded says whether the check's runner loads p by itself: class 5.
func (c *Checks) loaded(p string) bool {
	dir, base := path.Dir(p), strings.ToLower(path.Base(p))
	if path.Ext(base) == ".pyc" {
		return true // compiled code is loaded in the place of its source
	}
	if foreign(p) {
		return c.loadedDependency(p)
	}
	if c.subject(p) {
		return false
	}
	if _, ok := slices.BinarySearch(loadedNames, base); ok {
		return true
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	if stem == "" {
		stem = base
	}
	for _, name := range []string{stem, base} {
		if _, ok := slices.BinarySearch(loadedStems, name); ok && (name == base || slices.Contains(settingExts, path.Ext(base)) || lang.ByPath(base) == "web") {
			return true
		}
	}
	switch ext := path.Ext(base); {
	case ext == ".pth":
		return true
	case strings.HasPrefix(base, "tsconfig") && (ext == ".json" || ext == ".jsonc"):
		return true
	case base == ".env" || strings.HasPrefix(base, ".env."):
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist", ".defaults"}, ext)
	case strings.HasPrefix(base, "pipeline.") && ext == ".hcl":
		return true
	case stem == "vite.config":
		return c.vite[dir] || c.vite[c.Sub] || c.vite["."]
	case ext == ".patch" && path.Base(dir) == "patches":
		return c.Known[path.Join(path.Dir(dir), "package.json")] // of patch-package and pnpm
	case base == "go.mod":
		return !c.Known[p] && c.goFolders[dir] && c.inModule(path.Dir(dir)) // takes a folder, and its tests, out of the module
	}
	for at := dir; at != "." && at != "/"; at = path.Dir(at) {
		if slices.ContainsFunc(loadedFolders, func(folder string) bool { return lang.Ends(at, folder) }) {
			return true
		}
	}
	return false
}

// inModule says whether dir is part of a Go module.
func (c *Checks) inModule(dir string) bool {
	for ; ; dir = path.Dir(dir) {
		if c.Known[path.Join(dir, "go.mod")] {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// loadedDependency: what a tree holds of dependencies decides what its tests say as much as the tests do, and no version tells
// that it changed. A vendor folder counts where it is Go's, or is new beside a manifest that can have one: elsewhere it is a
// folder of foreign sources like any other.
func (c *Checks) loadedDependency(p string) bool {
	for at := path.Dir(p); at != "." && at != "/"; at = path.Dir(at) {
		switch path.Base(at) {
		case "vendor":
			if c.Known[at+"/modules.txt"] || c.modules[path.Dir(at)] && !c.vendored[at] {
				return true
			}
		case "node_modules", "site-packages", "bower_components", ".venv", "venv":
			return true
		}
	}
	return false
}

// subject says whether the run gives p to a linter: then it is what is checked. Of folders only those of workflows count,
// which nothing on this machine loads.
func (c *Checks) subject(p string) bool {
	if c.subjects[p] {
		return true
	}
	if len(c.subjects) == 0 || !strings.Contains("/"+p, "/.github/workflows/") {
		return false
	}
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if c.subjects[dir+"/"] {
			return true
		}
	}
	return false
}
