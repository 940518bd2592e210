package checkfile

import "testing"

// Names alone: what a patch may add to a tree that has nothing like it.
func TestClassLoaded(t *testing.T) {
	t.Parallel()
	classes(t, files{}, "", nil, `
		2 conftest.py
		5 sitecustomize.py lib/usercustomize.py pytest.ini pkg/.pytest.ini tox.ini noxfile.py .coveragerc
		5 .flake8 mypy.ini ruff.toml .pylintrc x/y/evil.pth src/__pycache__/shop.cpython-311.pyc
		5 calc.so lib/calc.cpython-311-x86_64-linux-gnu.so lib/libm.a lib/libm.so.6 src/calc.o lib/tools.jar A.class addon.node
		0 a.obj.txt so src/lib.so.c
		5 pyrightconfig.json
		0 setup.cfg  # by its parts
		0 pyproject.toml setup.py app/customize.py requirements.txt
		5 go.work go.work.sum .golangci.yml .golangci.yaml .golangci.toml
		0 go.mod go.sum
		0 build.rs  # part of the program
		5 rust-toolchain rust-toolchain.toml .cargo/config .cargo/config.toml crates/a/.cargo/config.toml
		5 clippy.toml .config/nextest.toml
		0 Cargo.toml
		5 jest.config.js jest.config.mts jest.config.json jest.setup.ts src/setupTests.ts src/setupTests.js
		5 vitest.config.ts vitest.workspace.json
		0 vite.config.ts  # no package.json speaks of vitest
		5 .mocharc.yml .mocharc.cjs .mocharc ava.config.js karma.conf.js cypress.config.ts playwright.config.ts
		5 babel.config.js .babelrc .babelrc.json .nycrc .c8rc.json tsconfig.json packages/a/tsconfig.build.json
		5 jsconfig.json .swcrc .npmrc packages/a/.npmrc .yarnrc .yarnrc.yml .yarn/plugins/x.cjs .pnpmfile.cjs
		5 bunfig.toml .eslintrc .eslintrc.cjs eslint.config.mjs .eslintignore .prettierrc.toml biome.json
		5 turbo.json
		0 jest.config.md src/jest.configure.js src/babel.config.d/x.js package.json package-lock.json
		0 pnpm-workspace.yaml
		5 node_modules/.bin/jest node_modules/checker/index.js src/node_modules/checker/index.js
		5 .venv/lib/site-packages/x.pth
		0 vendor/x/y.go  # beside no manifest
		5 .env .env.test svc/.env.local
		0 .env.example .environment
		5 .envrc CTestTestfile.cmake CTestCustom.cmake CMakePresets.json CMakeUserPresets.json .clang-tidy
		0 CMakeLists.txt
		0 Makefile  # no run names it
		0 GNUmakefile meson.build
		5 .github/workflows/ci.yml .github/workflows/deep/x.sh .github/actions/setup/action.yml
		0 .github/CODEOWNERS docs/workflows/ci.yml
		5 .gitlab-ci.yml .circleci/config.yml Jenkinsfile .travis.yml azure-pipelines.yml
		5 .pre-commit-config.yaml .husky/pre-commit lefthook.yml codecov.yml phpunit.xml phpunit.xml.dist
		5 phpstan.neon .rubocop.yml gradle/wrapper/gradle-wrapper.properties sub/PIPELINE.hcl sub/pipeline.hcl
		1 PIPELINE.hcl
		0 main.tf Dockerfile config/app.yaml README.md
	`)
}

// What the base decides: vendor folders, nested modules, vitest, patches of packages; a root in a sub-folder.
func TestClassLoadedByBase(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"go.mod": "module m\n", "a/a.go": "package a", "docs/x.md": "", "nested/go.mod": "module n\n", "nested/vendor/modules.txt": "", "nested/vendor/x/y.go": "package y", "nested/b/b.go": "package b",
		"web/package.json": `{"devDependencies": {"vitest": "1"}}`, "web/src/a.ts": "", "lib/package.json": `{}`, "php/composer.json": "{}", "php/vendor/a.php": "", "third/vendor/lua/lua.c": "", "rb/Gemfile": "",
	}, "", nil, `
		0 go.mod
		5 a/go.mod  # takes the tests of a folder out of the module
		0 docs/go.mod nested/go.mod
		5 nested/b/go.mod vendor/modules.txt vendor/x/y.go nested/vendor/x/y.go nested/vendor/modules.txt
		5 web/vite.config.ts
		0 lib/vite.config.ts
		5 lib/patches/left-pad+1.0.0.patch
		0 patches/a.patch php/vendor/a.php php/vendor/new.php
		5 rb/vendor/new.rb
		0 third/vendor/lua/lua.c third/vendor/new.c
	`)
	classes(t, files{"svc/go.mod": "module m\n", "svc/a/a.go": "package a"}, "svc", nil, `
		5 svc/vendor/modules.txt svc/a/go.mod
		0 go.mod
		5 svc/tsconfig.json tsconfig.json go.work
	`)
	// Where no module is yet, a go.mod is a repair.
	classes(t, files{"a/a.go": "package a"}, "", nil, "0 go.mod\n0 a/go.mod")
}

// A name is in a list once.
func TestLoadedNames(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{loadedNames(), loadedStems(), loadedFolders()} {
		if all := set(list); len(all) != len(list) {
			t.Errorf("%d of %d are there twice", len(list)-len(all), len(list))
		}
	}
}
