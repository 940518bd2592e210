package checkfile

import "testing"

// Names alone: what a patch may add to a tree that has nothing like it.
func TestClassLoaded(t *testing.T) {
	t.Parallel()
	classes(t, files{}, "", nil, `
		2 conftest.py
		5 sitecustomize.py
		5 lib/usercustomize.py
		5 pytest.ini
		5 pkg/.pytest.ini
		5 tox.ini
		5 noxfile.py
		5 .coveragerc
		5 .flake8
		5 mypy.ini
		5 ruff.toml
		5 .pylintrc
		5 x/y/evil.pth
		5 src/__pycache__/shop.cpython-311.pyc
		5 pyrightconfig.json
		0 setup.cfg  # by its parts
		0 pyproject.toml
		0 setup.py
		0 app/customize.py
		0 requirements.txt
		5 go.work
		5 go.work.sum
		5 .golangci.yml
		5 .golangci.yaml
		5 .golangci.toml
		0 go.mod
		0 go.sum
		0 build.rs  # part of the program
		5 rust-toolchain
		5 rust-toolchain.toml
		5 .cargo/config
		5 .cargo/config.toml
		5 crates/a/.cargo/config.toml
		5 clippy.toml
		5 .config/nextest.toml
		0 Cargo.toml
		5 jest.config.js
		5 jest.config.mts
		5 jest.config.json
		5 jest.setup.ts
		5 src/setupTests.ts
		5 src/setupTests.js
		5 vitest.config.ts
		5 vitest.workspace.json
		0 vite.config.ts  # no package.json speaks of vitest
		5 .mocharc.yml
		5 .mocharc.cjs
		5 .mocharc
		5 ava.config.js
		5 karma.conf.js
		5 cypress.config.ts
		5 playwright.config.ts
		5 babel.config.js
		5 .babelrc
		5 .babelrc.json
		5 .nycrc
		5 .c8rc.json
		5 tsconfig.json
		5 packages/a/tsconfig.build.json
		5 jsconfig.json
		5 .swcrc
		5 .npmrc
		5 packages/a/.npmrc
		5 .yarnrc
		5 .yarnrc.yml
		5 .yarn/plugins/x.cjs
		5 .pnpmfile.cjs
		5 bunfig.toml
		5 .eslintrc
		5 .eslintrc.cjs
		5 eslint.config.mjs
		5 .eslintignore
		5 .prettierrc.toml
		5 biome.json
		5 turbo.json
		0 jest.config.md
		0 src/jest.configure.js
		0 src/babel.config.d/x.js
		0 package.json
		0 package-lock.json
		0 pnpm-workspace.yaml
		5 node_modules/.bin/jest
		5 node_modules/checker/index.js
		5 src/node_modules/checker/index.js
		5 .venv/lib/site-packages/x.pth
		0 vendor/x/y.go  # beside no manifest
		5 .env
		5 .env.test
		5 svc/.env.local
		0 .env.example
		0 .environment
		5 .envrc
		5 CTestTestfile.cmake
		5 CTestCustom.cmake
		5 CMakePresets.json
		5 CMakeUserPresets.json
		5 .clang-tidy
		0 CMakeLists.txt
		0 Makefile  # no run names it
		0 GNUmakefile
		0 meson.build
		5 .github/workflows/ci.yml
		5 .github/workflows/deep/x.sh
		5 .github/actions/setup/action.yml
		0 .github/CODEOWNERS
		0 docs/workflows/ci.yml
		5 .gitlab-ci.yml
		5 .circleci/config.yml
		5 Jenkinsfile
		5 .travis.yml
		5 azure-pipelines.yml
		5 .pre-commit-config.yaml
		5 .husky/pre-commit
		5 lefthook.yml
		5 codecov.yml
		5 phpunit.xml
		5 phpunit.xml.dist
		5 phpstan.neon
		5 .rubocop.yml
		5 gradle/wrapper/gradle-wrapper.properties
		5 sub/PIPELINE.hcl
		5 sub/pipeline.hcl
		1 PIPELINE.hcl
		0 main.tf
		0 Dockerfile
		0 config/app.yaml
		0 README.md
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
		0 docs/go.mod
		0 nested/go.mod
		5 nested/b/go.mod
		5 vendor/modules.txt
		5 vendor/x/y.go
		5 nested/vendor/x/y.go
		5 nested/vendor/modules.txt
		5 web/vite.config.ts
		0 lib/vite.config.ts
		5 lib/patches/left-pad+1.0.0.patch
		0 patches/a.patch
		0 php/vendor/a.php
		0 php/vendor/new.php
		5 rb/vendor/new.rb
		0 third/vendor/lua/lua.c
		0 third/vendor/new.c
	`)
	classes(t, files{"svc/go.mod": "module m\n", "svc/a/a.go": "package a"}, "svc", nil, `
		5 svc/vendor/modules.txt
		5 svc/a/go.mod
		0 go.mod
		5 svc/tsconfig.json
		5 tsconfig.json
		5 go.work
	`)
	// Where no module is yet, a go.mod is a repair.
	classes(t, files{"a/a.go": "package a"}, "", nil, "0 go.mod\n0 a/go.mod")
}
