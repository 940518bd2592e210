package checkfile

// Files that a check's runner loads by itself.

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// loadedNames are whole names in lower case: of Python, Go, Rust, JavaScript, C, other languages, any language, and
// CI. Names that are tests, as conftest.py, are class 2 already; setup.cfg and pyproject.toml are manifests.
var loadedNames = lazily.Words(`
	sitecustomize.py usercustomize.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml
	noxfile.py .coveragerc .flake8 mypy.ini .mypy.ini ruff.toml .ruff.toml .pylintrc pylintrc .isort.cfg
	.proverc node.config.json
	.bandit pyrightconfig.json .style.yapf .pydocstyle nose.cfg .noserc hatch.toml behave.ini .behaverc
	pip.conf .importlinter

	go.work go.work.sum staticcheck.conf revive.toml .testcoverage.yml .testcoverage.yaml

	rust-toolchain rust-toolchain.toml clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml nextest.toml
	tarpaulin.toml .tarpaulin.toml deny.toml

	.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs pnpmfile.js .pnp.cjs .pnp.loader.mjs bunfig.toml
	.swcrc jsconfig.json cypress.json cypress.env.json mocha.opts .taprc jasmine.json turbo.json nx.json
	tslint.json biome.json biome.jsonc .eslintignore .prettierignore .stylelintignore .oxlintrc.json
	oxlintrc.json cspell.json .cspell.json knip.json .size-limit.json .size-limit.js .ncurc.json .depcheckrc
	.browserslistrc testem.js .ember-cli

	ctesttestfile.cmake ctestconfig.cmake ctestcustom.cmake cmakepresets.json cmakeuserpresets.json
	.clang-tidy .clang-format .clangd cppcheck.xml cpplint.cfg .lsan_suppressions

	.rspec .rspec-local .rubocop.yml .rubocop_todo.yml .simplecov .standard.yml .reek.yml phpunit.xml
	phpunit.xml.dist phpunit.dist.xml psalm.xml ecs.php .php-cs-fixer.php .php-cs-fixer.dist.php
	codeception.yml junit-platform.properties checkstyle.xml pmd.xml detekt.yml .scalafmt.conf
	.scalafix.conf gradle-wrapper.properties gradle-wrapper.jar maven-wrapper.properties maven-wrapper.jar
	coverlet.runsettings .luacheckrc .busted .credo.exs .formatter.exs analysis_options.yaml

	.envrc mise.toml .mise.toml .shellcheckrc .hadolint.yaml .hadolint.yml .codespellrc .gitleaks.toml
	.gitleaksignore .editorconfig .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml
	.semgrepignore .tflint.hcl .ansible-lint .sqlfluff codecov.yml .codecov.yml codecov.yaml .codecov.yaml
	.secretlintrc.json .testrc pipeline.hcl pipeline.hcl.json .ignore .rgignore .fdignore .agignore

	phpstan-baseline.neon phpstan-baseline.php psalm-baseline.xml .trivyignore .trivyignore.yaml trivy.yaml .grype.yaml
	.snyk .nancy-ignore osv-scanner.toml pip-audit.cfg .safety-policy.yml actionlint.yaml actionlint.yml zizmor.yml buf.yaml
	buf.gen.yaml buf.work.yaml .spectral.yml .spectral.yaml .spectral.json .spectral.js .redocly.yaml redocly.yaml
	.redocly.lint-ignore.yaml .vale.ini _vale.ini .vale _typos.toml .typos.toml typos.toml .swiftlint.yml .swiftformat
	dprint.json .dprint.json dprint.jsonc .checkov.yaml .checkov.yml .checkov.baseline .kics.config .terrascan.toml
	.tfsec.yml .go-arch-lint.yml .arch-go.yml arch-go.yml .go-header.yml .licenserc.yaml .licenserc.yml .reuse .bazelrc
	.bazelignore .buckconfig .bazelversion lerna.json .shellspec .batsrc gradle.properties directory.build.props
	directory.build.targets .globalconfig .runsettings stylecop.json .ktlint
	.deny.toml taplo.toml .taplo.toml
	lychee.toml .lycheeignore .linkcheckerrc .htmlhintrc .htmlvalidate.json .pa11yci .proselintrc .textlintrc
	.alexrc .remarkrc .mdlrc .mdl.rb .hlint.yaml .stylish-haskell.yaml .ocamlformat .ocamlformat-ignore .erlang_ls.config
	elvis.config .dialyzer_ignore.exs .sobelow-conf .kube-linter.yaml .kubeconform .yamlfmt .yamlfmt.yaml .cmakelintrc
	.cmake-format.yaml .cmake-format.yml .gersemirc .verible.rules .svlint.toml .phan .scrutinizer.yml .php_cs rector.php
	deptrac.yaml deptrac.yml .lintr .solhint.json .solhintignore foundry.toml slither.config.json .cfnlintrc
	.ansible-lint-ignore .djlintrc .sourcery.yaml .pycodestyle .banditrc .pip-audit.toml vulture.ini
	.import-linter.ini tach.toml .deptry.toml .pylintrc.toml .xenon radon.cfg interrogate.cfg .darglint

	.gitlab-ci.yml .gitlab-ci.yaml .travis.yml appveyor.yml .appveyor.yml azure-pipelines.yml
	azure-pipelines.yaml jenkinsfile bitbucket-pipelines.yml .drone.yml .drone.yaml .drone.jsonnet
	.woodpecker.yml .woodpecker.yaml .cirrus.yml .cirrus.star cloudbuild.yaml cloudbuild.yml buildspec.yml
	buildspec.yaml .build.yml screwdriver.yaml wercker.yml codefresh.yml`)

// loadedStems are names before an extension of a script or of data, or without one: jest.config.ts, .babelrc,
// .eslintrc.json.
var loadedStems = lazily.Words(`
	jest.config jest.setup jest-setup jest.preset jest.globals jest-globals vitest.config vitest.setup
	vitest-setup vitest.workspace vitest.projects setuptests setup-tests setuptest test-setup test.setup
	testsetup .mocharc ava.config karma.conf cypress.config playwright.config wdio.conf nightwatch.conf
	web-test-runner.config wtr.config jasmine.config stryker.conf stryker.config babel.config .babelrc
	.nycrc nyc.config .c8rc c8.config .eslintrc eslint.config .prettierrc prettier.config .stylelintrc
	stylelint.config .lintstagedrc lint-staged.config .commitlintrc commitlint.config .markdownlint
	.markdownlint-cli2 .yamllint .golangci oxlint.config phpstan phpstan.dist phpcs phpcs.dist infection
	.cspell cspell.config knip.config swc.config ts-node.config tsup.test.config codecept.conf
	protractor.conf testcafe.config .testcaferc backstop lighthouserc .lighthouserc .pa11yci`)

// settingExts are extensions of settings, besides those of JavaScript.
var settingExts = []string{"", ".json", ".json5", ".jsonc", ".yml", ".yaml", ".toml", ".neon", ".xml", ".dist"}

// loadedFolders are folders of which every file counts: ends of their paths.
var loadedFolders = lazily.Words(`
	.github/workflows .github/actions .gitea/workflows .forgejo/workflows .gitlab/ci .gitlab-ci .circleci
	.buildkite .woodpecker .azure-pipelines .semaphore .teamcity .builds .cargo .husky .yarn/plugins
	.yarn/releases .mvn .lefthook`)

// runnerFiles knows the files that a check's runner loads by itself (class 5): by their names, and by what the base
// holds.
type runnerFiles struct {
	tree      *lang.Index
	sub       string
	manifests map[string]bool // folders with a manifest that may have a vendor folder beside it
	vendored  map[string]bool // vendor folders
	goFolders map[string]bool // folders with Go files in them or below
	vitest    map[string]bool // folders whose package.json speaks of vitest
}

func newRunnerFiles(t Tree, s *survey) runnerFiles {
	r := runnerFiles{
		tree: s.Index, sub: s.sub, manifests: map[string]bool{}, vendored: map[string]bool{},
		goFolders: map[string]bool{}, vitest: map[string]bool{},
	}
	for p := range s.Files() {
		dir, base := path.Split(p)
		switch dir = path.Clean(dir); base {
		case "go.mod", "composer.json", "Gemfile", "Cargo.toml":
			r.manifests[dir] = true
		}
		if path.Ext(p) == ".go" {
			for at := dir; !r.goFolders[at]; at = path.Dir(at) {
				r.goFolders[at] = true
			}
		}
		for at := dir; at != "." && at != "/"; at = path.Dir(at) {
			if path.Base(at) == "vendor" {
				r.vendored[at] = true
			}
		}
	}
	if t.Read == nil {
		return r
	}
	for _, p := range s.nodePackages {
		if src, err := t.Read(p); err == nil && len(src) <= maxReadSize && strings.Contains(string(src), `"vitest"`) {
			r.vitest[path.Dir(p)] = true
		}
	}
	return r
}

// IsObject reports whether p has a name of compiled code, which nobody can read in a patch.
func IsObject(p string) bool {
	base := strings.ToLower(path.Base(p))
	_, version, shared := strings.Cut(base, ".so.")
	return slices.Contains(objectExts(), path.Ext(base)) || shared && strings.Trim(version, "0123456789.") == ""
}

var objectExts = lazily.Words(".pyc .pyo .pyd .so .dylib .dll .a .lib .o .obj .gch .pch .rlib .rmeta .class .jar .node .beam .phar")

// loads reports whether the check's runner loads p by itself. subjects are the files and folders that the check gives
// to linters: they are what is checked.
func (r *runnerFiles) loads(p string, subjects map[string]bool) bool {
	dir, base := path.Dir(p), strings.ToLower(path.Base(p))
	ext := path.Ext(base)
	stem := cmp.Or(strings.TrimSuffix(base, ext), base)
	switch {
	case IsObject(p): // loaded or linked in the place of sources
		return true
	case foreign(p):
		return r.loadsDependency(p)
	case isSubject(p, subjects):
		return false
	case slices.Contains(loadedNames(), base), slices.Contains(loadedStems(), base), ext == ".pth", ext == ".egg-link",
		strings.HasPrefix(base, "__editable__"):
		return true
	case slices.Contains(loadedStems(), stem) && (slices.Contains(settingExts, ext) || lang.ByPath(base) == "web"):
		return true
	case strings.HasPrefix(base, "tsconfig") && (ext == ".json" || ext == ".jsonc"):
		return true
	case base == ".env" || strings.HasPrefix(base, ".env."):
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist", ".defaults"}, ext)
	case strings.HasPrefix(base, "pipeline.") && ext == ".hcl":
		return true
	case stem == "vite.config":
		return r.vitest[dir] || r.vitest[r.sub] || r.vitest["."]
	case ext == ".patch" && path.Base(dir) == "patches":
		return r.tree.Has(path.Join(path.Dir(dir), "package.json")) // of patch-package and pnpm
	case base == "go.mod":
		// A new one takes a folder, and its tests, out of the module.
		return !r.tree.Has(p) && r.goFolders[dir] && r.inGoModule(path.Dir(dir))
	}
	for at := dir; at != "." && at != "/"; at = path.Dir(at) {
		if end := path.Ext(at); end == ".dist-info" || end == ".egg-info" {
			return true // what is installed as a plugin, and where it is
		}
		if slices.ContainsFunc(loadedFolders(), func(folder string) bool { return lang.Ends(at, folder) }) {
			return true
		}
	}
	return false
}

// LoadedWhenNew reports whether runners load a new file by itself, besides installed libraries.
func (c *Checks) LoadedWhenNew(p string) bool {
	return path.Base(p) == "conftest.py" || c.Class(p) == 5 && !foreign(p)
}

func (r *runnerFiles) inGoModule(dir string) bool {
	for ; ; dir = path.Dir(dir) {
		if r.tree.Has(path.Join(dir, "go.mod")) {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// loadsDependency reports whether p is part of a dependency that is in the tree: it decides as much as the tests do,
// and no version shows that it changed. A vendor folder counts where it is Go's, or is new beside a
// manifest that can have one: elsewhere it is a folder of foreign sources like any other.
func (r *runnerFiles) loadsDependency(p string) bool {
	for at := path.Dir(p); at != "." && at != "/"; at = path.Dir(at) {
		switch path.Base(at) {
		case "vendor":
			if r.tree.Has(at+"/modules.txt") || r.manifests[path.Dir(at)] && !r.vendored[at] {
				return true
			}
		case "node_modules", "site-packages", "bower_components", ".venv", "venv":
			return true
		}
	}
	return false
}

// gitReaders go by git's lists of files and of attributes.
var gitReaders = lazily.Words(`
	git black ruff isort prettier biome eslint semgrep typos gitleaks pre-commit lefthook trufflehog markdownlint-cli2 mypy nox
	dprint treefmt codespell editorconfig-checker ec reuse cspell addlicense licensed oxlint knip ty`)

// gitReads reports whether p tells git, or programs that ask it, which files the check looks at, and how.
func (r *references) gitReads(p string) bool {
	switch path.Base(p) {
	case ".gitattributes", ".gitignore", ".gitmodules", ".mailmap":
		return slices.ContainsFunc(gitReaders(), func(name string) bool { _, ok := r.calls[name]; return ok })
	}
	return false
}

// isSubject reports whether p is given to a linter. Of folders only those of workflows count, which nothing on this
// machine loads.
func isSubject(p string, subjects map[string]bool) bool {
	return subjects[p] || strings.Contains("/"+p, "/.github/workflows/") && below(p, subjects)
}
