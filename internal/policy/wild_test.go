package policy

import (
	"slices"
	"strings"
	"testing"
)

// spaced are words; · stands for a space within one, ¶ for a line end.
func spaced(s string) []string {
	all := strings.Fields(s)
	for i, w := range all {
		all[i] = strings.NewReplacer("·", " ", "¶", "\n", "∅", "").Replace(w)
	}
	return all
}

// What people ask for every day stays allowed by a pattern that ends in **.
func TestWildAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, argvs string }{
		{"go **", "go vet ./...|go test -run X ./pkg|go test -run=^TestA$ -count=1 -v ./...|go build ./cmd/x|go build -ldflags=-s·-w ./...|go list -f {{.Dir}} ./...|go mod tidy|go env GOROOT|go test -race -cpu 1,2 -bench . ./...|go doc fmt.Println|" +
			"go test -v -args -exec x|go test ./... -args -c evil|go fmt ./...|go test -coverprofile=c.out -json ./...|go version|go test -tags integration ./a ./b|go vet -printf=false .|go test -fuzz FuzzX -fuzztime 5s ./p"},
		{"go test **", "go test -timeout 30s ./...|go test -run run ./tool|go test -short ./generate"},
		{"go run ./cmd/gen **", "go run ./cmd/gen -o /tmp/x -exec y"},
		{"go run **", "go run ./cmd/gen --flag|go run . x|go run -race ./x|go run main.go|go run -tags x ./y"},
		{"go tool cover **", "go tool cover -func=c.out"},
		{"git **", "git diff|git log -p|git status|git grep word|git log --oneline -n 5|git show HEAD:a/b.go|git diff --stat HEAD~1 -- x.go|git blame -L 1,5 f|git grep -n -e a -e b -- p|git log -c|git commit -C HEAD|git diff --output=d.patch|" +
			"git diff -O order HEAD|git log -S foo|git branch -a|git stash list|git clean -x -n|git --no-pager log|git -P log -1|git ls-files -o|git rev-parse HEAD|git log --format=%H|git merge-base a b|git cherry-pick -x HEAD|git diff --word-diff|git submodule status|git diff --text|git fetch origin"},
		{"git log **", "git log --author=x --since=1.week|git log -L1,5:f"},
		{"npm **", "npm test|npm run lint|npm run build -- --watch|npm test -- -c jest.config.js|npm ci|npm install|npm ls --depth 0|npm outdated|npm t|npm audit --json|npm run x --workspace a|npm run test:unit|npm --silent test|npm run -s lint|npm view react version"},
		{"npm run **", "npm run exec|npm run config|npm run a --if-present"},
		{"pnpm **", "pnpm test|pnpm run lint|pnpm install --frozen-lockfile|pnpm -r run test|pnpm --filter web run build|pnpm ls"},
		{"yarn **", "yarn test|yarn lint|yarn install --immutable|yarn run build|yarn workspace web test"},
		{"npx jest **", "npx jest -t name|npx jest --coverage src/a.test.js"},
		{"npx --yes eslint **", "npx --yes eslint src --fix"},
		{"npm exec jest **", "npm exec jest a.test.js"},
		{"make **", "make lint|make test|make -j4 all|make -k -n check|make V=1|make -C sub test|make VERBOSE=yes x|make|make -j 4 lint vet"},
		{"make test PKG=**", "make test PKG=./internal|make test PKG=a,b|make test PKG="},
		{"sed **", "sed -n 1,5p f|sed -n -e 1p -e 3p f|sed 1d f|sed -n /word/p f|sed s/a/b/g f|sed -n $p f|sed 5q f g|sed -E s/a+/b/ f|sed -n /x/,/y/p f|sed -ne 1p f|sed -n --expression=2p f|sed s/[a-z]/x/ f|sed -n 1,+3p f|sed 1d;3d f"},
		{"cargo **", "cargo test|cargo test -p x name -- --nocapture|cargo build --release|cargo clippy --all-targets -- -D warnings|cargo +nightly fmt --check|cargo check --color never|cargo test --target-dir t|cargo bench"},
		{"cargo run **", "cargo run --release -- --config x"},
		{"pytest **", "pytest -k x|pytest -q tests/test_a.py::test_b|pytest -x --maxfail 1|pytest --co|pytest -m slow --tb=short|pytest --junitxml=out.xml -n 4"},
		{"python3 -m pytest **", "python3 -m pytest -k x tests|python3 -m pytest -q"},
		{"python **", "python manage.py test|python x.py -c foo -m bar|python -u x.py|python --version"},
		{"uv run pytest **", "uv run pytest -k x"},
		{"pip **", "pip install -r requirements.txt|pip list|pip install --no-deps -r r.txt -q"},
		{"mypy **", "mypy src|mypy -p pkg --strict"},
		{"prettier **", "prettier --check .|prettier --write src --parser babel"},
		{"bazel **", "bazel test //... --config=ci"},
		{"dotnet test **", "dotnet test --logger trx"},
		{"bundle exec rspec **", "bundle exec rspec spec/a_spec.rb:5 --format documentation"},
		{"eslint **", "eslint src|eslint --fix src/a.js|eslint --ext .ts,.tsx src|eslint -f stylish src|eslint --max-warnings 0 ."},
		{"jest **", "jest|jest --coverage -t name|jest src/a.test.js --runInBand"},
		{"vitest **", "vitest run|vitest run --reporter=verbose a|vitest --typecheck --environment jsdom --pool forks"},
		{"mocha **", "mocha --reporter dot --ui tdd test|mocha -g name"},
		{"tsc **", "tsc --noEmit|tsc -p tsconfig.json|tsc -p . --noEmit"},
		{"rubocop **", "rubocop -a lib|rubocop --format progress"},
		{"node **", "node --test|node --test a.test.js|node x.js -e 1|node --check x.js|node --test --test-reporter=spec|node -c x.js"},
		{"node --import tsx --test **", "node --import tsx --test a.test.ts"},
		{"hg **", "hg status|hg diff -r 1|hg log"},
		{"terraform **", "terraform fmt -check|terraform validate"},
		{"pandoc **", "pandoc a.md -o a.html -t html"},
		{"perl **", "perl x.pl -e 1|perl -c x.pl|perl -w x.pl"},
		{"ruby **", "ruby -w x.rb -e 1|ruby -c x.rb"},
		{"php **", "php artisan test|php -l x.php"},
		{"awk {print·$1} **", "awk {print·$1} a b"},
		{"gradle **", "gradle test|gradle :app:test --tests X -q|gradle build -x test|gradle test -Dsingle=X"},
		{"mvn **", "mvn test|mvn -q -Dtest=Foo test|mvn -pl a,b verify -DskipTests|mvn -o clean install"},
		{"mvn spotless:check **", "mvn spotless:check -q"},
		{"cmake **", "cmake -B build -S .|cmake --build build -j 4|cmake -B build -DCMAKE_BUILD_TYPE=Release|cmake --build build -- -k test"},
		{"ctest **", "ctest --output-on-failure -R x"},
		{"ninja **", "ninja -C build test|ninja -v"},
		{"cc **", "cc -Wall -o bin/x a.c -lm|cc -c a.c -Iinclude -DX=1"},
		{"find **", "find . -name *.go -type f|find src -newer x -print|find . -fprint out.txt"},
		{"rg **", "rg --pretty word|rg -n -e a src|rg --files"},
		{"grep **", "grep -rn word .|grep -E a|b f"},
		{"tar **", "tar tf a.tar|tar xzf a.tgz -C out|tar -cf a.tar src|tar xOf a.tar b|tar cf a.tar LICENSE FILE|tar cvzf a.tgz IF|tar --checkpoint -xf a.tar|tar --exclude x -tvf a.tar"},
		{"sort **", "sort -u f|sort -k 2 -n f|sort -o f f"},
		{"rm **", "rm -rf build|rm a b/c"},
		{"cp **", "cp -r a b"},
		{"tee **", "tee out.log"},
		{"dd **", "dd if=/dev/zero of=x bs=1 count=1"},
		{"curl **", "curl -sS https://x/y|curl -fsSLo out.json https://x|curl -H A:·b https://x"},
		{"timeout 60 go test **", "timeout 60 go test -run X ./..."},
		{"nice -n 5 make **", "nice -n 5 make test"},
		{"env CI=1 npm test **", "env CI=1 npm test|env CI=1 npm test -- -t x"},
		{"golangci-lint run **", "golangci-lint run ./...|golangci-lint run --fix"},
		{"gotestsum **", "gotestsum ./...|gotestsum --format testname -- -run X ./..."},
		{"dotnet **", "dotnet test|dotnet build -c Release|dotnet test --filter X"},
		{"ls **", "ls -la /tmp|ls"},
		{"cat *", "cat go.mod|cat ∅"},
		{"./scripts/check **", "./scripts/check -e x --config y"},
	} {
		for argv := range strings.SplitSeq(strings.ReplaceAll(c.argvs, "a|b f", "a.b f"), "|") {
			if got := (Policy{Allow: [][]string{spaced(c.allow)}}).Decide(spaced(argv)); !got.Allowed {
				t.Errorf("allow %s: %s: %s", c.allow, argv, got.Reason)
			}
		}
	}
}

// What would start another program, is code, keeps settings or writes outside is not let through by a *, and is where it is
// written out.
func TestWildRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, argvs string }{
		{"go **", "go run ./x|go run x.y/z@latest|go generate ./...|go tool pprof -http=:1 x|go test -run -args -exec ./x|go test -unknown -args -exec=./x|go vet -vettool=./x|go vet --vettool ./x|go build -toolexec=./x|go build -overlay o|go build -modfile=m|" +
			"go fix -fixtool=./x|go test -exec=./x|go test ./p --exec ./x|go build -ldflags=-extld=./x|go build -ldflags -extldflags=-B./x|go build -gccgoflags=-B./x|go env -w CC=./x|go doc -http|go bug|go -C /x build|go test -o /x -c|go build -gcflags=-extar=x"},
		{"go run **", "go run -exec ./x .|go run x.y/z@latest|go run cmd/go|go run ../x|go run /tmp/x.go|go run -tags a x.y/z"},
		{"git **", "git grep -O./x y|git grep -nO y|git grep -nOvi y|git grep --open y|git grep --open-files-in-pager=./x y|git -c core.pager=./x log|git -ccore.pager=./x log|git -c alias.x=!id x|git -P -c a=b log|git --no-pager -c a=b log|git --exec-path=. x|git --exec-path . x|" +
			"git --git-dir=x log|git --git-d x log|git --namespace --attr-source config a b|git --namespace --no-pager config a b|git --no-such --no-pager config a b|git --a grep -O x|git --attr grep -O x|git -C sub status|git --namespace a -C x log|git fetch --upload-pack=./x|git fetch --upload-p ./x|git push --receive-pack=./x|git ls-remote --exec=./x ../r|git diff --ext-diff|git log --ext-d|git log --output=/x|git log --outp=/x|git log --outp ../x|" +
			"git format-patch -o /x|git rebase -x id|git rebase -ix id|git rebase --exec=id|git difftool -x id|git config alias.x !id|git submodule foreach id|git bisect run id|git clone ext::x|git fetch ext::id|git archive --remote=ext::id|git hook run x|git filter-branch --tree-filter id|git p4 x|" +
			"git init --template=t ../x|git merge -s ./x|git send-email --smtp-server=./x|git --config-env=core.pager=X log|git worktree add ../x|git web--browse x|git for-each-repo --config=x gc|git archive -o../x HEAD"},
		{"git grep **", "git grep -O y|git grep -nO./x y|git grep -e a -O y"},
		{"git submodule **", "git submodule foreach id|git submodule --quiet foreach id|git submodule update"},
		{"sed **", "sed 1e|sed e·id f|sed s/x/id/e f|sed s/x/y/w·/x f|sed w·x f|sed -n 1w·x f|sed -i s/a/b/ f|sed -ni s/a/b/ f|sed -i.bak 1d f|sed --in-place 1d f|sed --in-pl=.b 1d f|sed -f x f|sed --file=x f|sed --fi x f|sed -ne e f|sed -e 1p -e e f|sed --expr=1e f|sed r/x f|sed 1!e f|sed p;e f|sed p¶e f|sed s/x/y/;e f|sed s/[/]/p/w f|sed $!N;e f|sed y/a/b/;w·x f|sed -l --expr= 1w·x f|sed -l -e 1p;w·x f|sed -l --expr 1w·x f"},
		{"make **", "make SHELL=./x|make SHELL:=./x|make SHELL·=./x|make CC=./evil|make PKG=x;id|make V=$(shell·id)|make X!=id|make -f x.mk|make -fx.mk|make -kf x.mk|make -j4 -f x|make --file=x|make --fil x|make --makef x|make --eval=x|make --eva x|make -E x|make -kE x|make -C /x|make -C../x|make --directory=/x|make --dir=../x|make .SHELLFLAGS=-ec|make MAKEFLAGS=x|make -I x|make $(shell·id)"},
		{"make test PKG=*", "make test PKG=x;id|make test PKG=$(id)|make test PKG=`id`|make test PKG=a·b"},
		{"cmake **", "cmake -P x.cmake|cmake -E env id|cmake -E time id|cmake -DCMAKE_C_COMPILER=./x .|cmake -D CMAKE_CXX_COMPILER_LAUNCHER=./x .|cmake -C x.cmake|cmake --build b -- SHELL=./x|cmake --build /x|cmake /x|cmake -G Ninja ../x|cmake --toolchain x .|cmake -DCMAKE_PROJECT_INCLUDE=x.cmake .|cmake -DCMAKE_C_FLAGS=-B. ."},
		{"find **", "find . -exec id ;|find . -execdir id +|find . -ok id ;|find . -okdir id ;|find . -delete|find . -fprintf /x y|find . -fprint ../x|find . -fls /x"},
		{"npm **", "npm exec x|npm x y|npm exe y|npm init evil|npm ini evil|npm create evil|npm explore a id|npm config set a b|npm conf set a b|npm c set a b|npm set a b|npm --foo run exec evil|npm --prefix exec exec evil|npm --prefix=/x test|npm run a --script-shell=./x|npm run a --script-sh ./x|" +
			"npm -- exec evil|npm --silent -- exec evil|npm install -- evil|npm ci --registry=https://x|npm pack --pack-destination=/x|npm test --node-options=--require=./x|npm install evil|npm i evil|npm add evil|npm in evil|npm edit x|npm docs --browser=./x|npm pkg set a=b|npm --call=id exec|npm -c id exec|npm Exec x|npm test --userconfig x|npm test -shell=./x|npm ci -registry=https://x|npm ci -registry https://x|npm ci -regis=https://x"},
		{"pnpm **", "pnpm exec x|pnpm dlx x|pnpm curl x|pnpm sh -c id|pnpm create x|pnpm -r exec id|pnpm recursive exec id|pnpm --unknown run exec id|pnpm add evil|pnpm -- curl x|pnpm -C /x test|pnpm config set a b"},
		{"yarn **", "yarn exec x|yarn dlx x|yarn node -e 1|yarn create x|yarn config set a b|yarn add evil|yarn workspace a exec id|yarn workspaces foreach exec id|yarn set version ./x|yarn -- exec x|yarn --cwd /x test"},
		{"bun **", "bun x y|bun exec id|bun -e 1|bun --print 1|bun run curl|bun curl|bun create x|bun test --preload ./x"},
		{"deno **", "deno eval 1|deno run https://x/y.ts|deno https://x/y.ts|deno repl|deno install x|deno test --config x|deno test npm:x"},
		{"npx jest **", "npx jest --config x|npx jest -c x|npx jest --globalSetup=./x|npx jest --global-setup ./x"},
		{"node **", "node -e 1|node --eval=1|node -p 1|node -pe 1|node -r ./x y|node --require ./x y|node --import=data:text/javascript,1 y|node --loader x y|node --env-file=x y|node --env_file=x y|node --experimental_loader=./x y|node /tmp/x.js|node ../x.js|node --test-reporter=data:x|node --test-reporter ./x a|node -ipe 1"},
		{"python3 **", "python3 -c 1|python3 -Bc 1|python3 -m pip install x|python3 -mpip install x|python3 -W ignore -c 1|python3 -um http.server|python3 /tmp/x.py|python3 ../x.py"},
		{"python3 -m pytest **", "python3 -m pytest -p evil|python3 -m pytest -c x|python3 -m pytest --rootdir=/x|python3 -m pytest /tmp/x"},
		{"perl **", "perl -e 1|perl -ne 1|perl -Mx y|perl -d:X y|perl -E1|perl -we 1|perl /tmp/x"},
		{"ruby **", "ruby -e 1|ruby -ne 1|ruby -rx y|ruby -S x"},
		{"php **", "php -r 1|php -d auto_prepend_file=x y|php -S :1|php -B 1"},
		{"cargo **", "cargo run|cargo r|cargo install x|cargo --config x test|cargo test --config=x|cargo -Z x test|cargo +/x/y test|cargo rustc -- -C linker=./x|cargo test --target-dir /x|cargo build --manifest-path ../x/Cargo.toml|cargo init x"},
		{"gradle **", "gradle -I x test|gradle --init-script=x test|gradle -b x|gradle -p /x|gradle -Dorg.gradle.jvmargs=-javaagent:x test|gradle --include-build x|gradle -g x test"},
		{"mvn **", "mvn exec:exec|mvn exec:java|mvn org.codehaus.mojo:exec-maven-plugin:exec|mvn -Dexec.executable=id test|mvn -DargLine=-javaagent:x test|mvn -f x test|mvn -s x test|mvn antrun:run|mvn -Dmaven.ext.class.path=x test|mvn --file=x test"},
		{"pytest **", "pytest -p evil|pytest -pevil|pytest -qp evil|pytest -c x|pytest --rootdir=/x|pytest --rootdir x|pytest --override-ini=x|pytest -o x=y|pytest @x|pytest /tmp/x|pytest --junitxml=/x|pytest --basetemp /x|pytest --pdbcls=a:b"},
		{"jest **", "jest --config={}|jest -c x|jest --globalSetup x|jest --global-setup=x|jest --rootDir=/x|jest --reporters=./x|jest --testEnvironment ./x|jest --runner=./x|jest --preset x"},
		{"eslint **", "eslint -c x src|eslint --config=x src|eslint --plugin x src|eslint --rulesdir x src|eslint --rulesdir=x src|eslint --parser ./x src|eslint -f ./x src|eslint --format=./x src|eslint -o /x src|eslint --init|eslint --resolve-plugins-relative-to /x ."},
		{"tsc **", "tsc -p /x|tsc --project ../x|tsc --OUTDIR /x|tsc -outFile=../x|tsc @x"},
		{"mocha **", "mocha -r ./x|mocha --require=./x|mocha a.js /tmp/x.js|mocha --reporter ./x|mocha --config x|mocha --ui ./x|mocha --node-option=require=./x"},
		{"vitest **", "vitest --config x|vitest run --globalSetup ./x|vitest --reporter=./x|vitest --typecheck.checker=./x|vitest -r /x"},
		{"rspec **", "rspec -r ./x|rspec --require=x|rspec -O x|rspec --opt x|rspec -f ./x|rspec --out /x"},
		{"rubocop **", "rubocop -r ./x|rubocop --require ./x|rubocop --conf x|rubocop -f ./x"},
		{"cc **", "cc -wrapper ./x a.c|cc -B. a.c|cc -fplugin=./x a.c|cc -specs=x a.c|cc @x|cc -o/x a.c|cc -o ../x a.c|cc -Wl,-plugin,./x a.c|cc -fuse-ld=./x a.c|cc -Xclang -load a.c"},
		{"java **", "java -javaagent:x y|java -agentpath:x y|java @x|java -XX:OnError=id y|java -XX:Flags=x y"},
		{"tar **", "tar xf a --to-command=id|tar xf a --to-c id|tar xf a -I ./x|tar xIf ./x a|tar xfI a ./x|tar xCf /x a|tar xfT a list|tar xPf a|tar -xzIx a|tar cf a --checkpoint-action=exec=id --checkpoint=1 .|tar --use-comp=./x -xf a|tar -F x -xf a|tar xf a -C /x|tar xf host:a|tar xf a -T x|tar -xf a --directory=../x|tar --rsh-command=x -xf a"},
		{"rsync **", "rsync -e ./x a b|rsync -ae ./x a b|rsync --rsh=./x a b|rsync --rs ./x a b|rsync a host:b|rsync a /x|rsync --rsync-path=x a b"},
		{"rg **", "rg --pre ./x y|rg --pre=./x y|rg --hostname-bin=./x y"},
		{"fd **", "fd -x id|fd -Hx id|fd --exec id|fd -X id"},
		{"sort **", "sort --compress-program=./x f|sort --compress-p ./x f|sort -o /x f|sort -uo/x f|sort --outp=/x f|sort --out ../x f"},
		{"curl **", "curl -o /x y|curl -so/x y|curl -K x|curl --config=x|curl --conf x|curl --output ../x y|curl -sK x|curl -D /x y|curl file:///etc/x"},
		{"wget **", "wget -O /x y|wget -qO/x y|wget -e use_askpass=./x y|wget --exec=x y|wget --use-askpass=./x y|wget -P ../x y"},
		{"tee **", "tee /x|tee -a ../x"},
		{"dd **", "dd of=/x|dd if=a of=../x"},
		{"cp **", "cp a /x|cp -t /x a|cp --target-directory=/x a"},
		{"rm **", "rm -rf /|rm ../x|rm a/../../x"},
		{"pip **", "pip install evil|pip install -r https://x/y|pip install -r /x|pip install -e git+https://x|pip install -r r.txt --index-url https://x|pip download evil|pip install -i https://x -r r.txt"},
		{"install **", "install -s --strip-program=./x a b|install a /x"},
		{"uv **", "uv run x|uv tool run x|uv x y|uv pip install x|uv add x"},
		{"uv run pytest **", "uv run pytest -p evil"},
		{"bundle **", "bundle exec id|bundle e id|bundle config x y"},
		{"composer **", "composer exec id|composer global x|composer require evil"},
		{"poetry **", "poetry run id|poetry shell|poetry add evil"},
		{"golangci-lint **", "golangci-lint run -c x|golangci-lint run --config=x|golangci-lint custom"},
		{"gotestsum **", "gotestsum --raw-command ./x|gotestsum --post-run-command=./x|gotestsum -- -exec ./x|gotestsum --format x -- --vettool=x"},
		{"ninja **", "ninja -f x|ninja -C /x"},
		{"timeout 60 go test **", "timeout 60 go test -exec ./x"},
		{"nice make **", "nice make SHELL=./x"},
		{"env CI=1 git **", "env CI=1 git -c a=b log"},
		{"man **", "man -P ./x y|man --pager=./x y|man -H./x y"},
		{"setarch *", "setarch sh"},
		{"hg **", "hg --config alias.x=!id x|hg --conf extensions.x=./x status|hg -R ../x status|hg diff --config=a=b|hg extdiff -p ./x"},
		{"svn **", "svn diff --diff-cmd=./x|svn --config-option x status|svn commit --editor-cmd ./x"},
		{"gh **", "gh extension exec x|gh alias set a !id|gh x"},
		{"terraform **", "terraform init -plugin-dir=x|terraform -chdir=/x plan|terraform apply"},
		{"helm **", "helm template . --post-renderer ./x|helm plugin install x"},
		{"pandoc **", "pandoc a.md --filter ./x|pandoc a.md -F ./x|pandoc a.md --lua-filter=x|pandoc a.md --pdf-engine=./x|pandoc a.md -o /x|pandoc --defaults=x a.md"},
		{"pdflatex **", "pdflatex -shell-escape x|pdflatex --shell-escape x|pdflatex -output-directory=/x a"},
		{"openssl **", "openssl enc -engine ./x.so|openssl list -provider-path ."},
		{"clang-tidy **", "clang-tidy -load ./x.so a.c|clang-tidy --config-file=x a.c"},
		{"ld **", "ld -plugin ./x.so a.o|ld --plugin=./x.so a.o|ld -o /x a.o"},
		{"Git **", "Git -c a=b log"},
		{"GO **", "GO vet -vettool=x"},
		{"git.exe **", "git.exe -c a=b log"},
		{"/usr/bin/git **", "/usr/bin/git -c a=b log"},
		{"./git **", "./git grep -O./x y"},
		{"gsed **", "gsed 1e"},
		{"gmake **", "gmake SHELL=./x"},
		{"./bin/* **", "./bin/sh -c|./bin/xargs id|./bin/git -c a=b log"},
		{"BASH *", "BASH x"},
	} {
		for argv := range strings.SplitSeq(c.argvs, "|") {
			got := Policy{Allow: [][]string{spaced(c.allow)}}.Decide(spaced(argv))
			if got.Allowed || strings.Contains(got.Reason, "with these arguments") || strings.Contains(got.Reason, "is not allowed") {
				t.Errorf("allow %s: %s: %+v", c.allow, argv, got)
			}
			if strings.Contains(argv, "*") {
				continue
			}
			if got := (Policy{Allow: [][]string{spaced(argv)}}).Decide(spaced(argv)); !got.Allowed {
				t.Errorf("written out: %s: %s", argv, got.Reason)
			}
		}
	}
}

// A flag that is written out does not make its value so.
func TestWildValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, argv, want string }{
		{"go test -exec *", "go test -exec x", "-exec x of go can start another program: only a pattern that writes it out allows it"},
		{"go test -exec **", "go test -exec ./x .", "-exec ./x of go can start"},
		{"go test -exec ./x **", "go test -exec ./x .", ""},
		{"git -c core.pager=* log", "git -c core.pager=x log", "of git can start"},
		{"git -c color.ui=false **", "git -c color.ui=false log -p", ""},
		{"git -c color.ui=false **", "git -c color.ui=false config a b", "config of git can start"},
		{"git -C sub **", "git -C sub log", ""},
		{"git -C sub **", "git -C sub grep -O x", "-O of git grep can start"},
		{"cc -o **", "cc -o ../x", "-o ../x of cc would write outside"},
		{"rm -rf *", "rm -rf ..", ".. of rm would write outside of the working directory"},
		{"find . -exec grep x {} ;", "find . -exec grep x {} ;", ""},
		{"sed -i s/a/b/ *", "sed -i s/a/b/ f", ""},
		{"sed -i **", "sed -i 1e f", "1e of sed can start"},
		{"make -f own.mk **", "make -f own.mk check", ""},
		{"python3 -m *", "python3 -m pip", "-m pip of python3 can start"},
		{"npm --prefix web run **", "npm --prefix web run lint", ""},
		{"npm install left-pad", "npm install left-pad", ""},
		{"npm install *", "npm install evil", "evil of npm install brings programs from elsewhere"},
		{"make test PKG=*", "make test PKG=a;id", "PKG=a;id of make sets what its commands are made of"},
		{"node **", "node ../x.js", "../x.js does not lie below the working directory, and node runs it"},
		{"sed **", "sed -i 1d f", "-i of sed would change files: only a pattern that writes it out allows it"},
	} {
		got := Policy{Allow: [][]string{words(c.allow)}}.Decide(words(c.argv))
		if got.Allowed != (c.want == "") || !strings.Contains(got.Reason, c.want) {
			t.Errorf("allow %s: %s: %+v, want %q", c.allow, c.argv, got, c.want)
		}
	}
	quoted := Policy{Allow: [][]string{{"git", "**"}}}.Decide([]string{"git", "grep", "-Oa b"})
	if want := `"-Oa b" of git grep can start another program` + onlyWritten; quoted.Reason != want {
		t.Errorf("got %q, want %q", quoted.Reason, want)
	}
	long := Policy{Allow: [][]string{{"git", "**"}}}.Decide([]string{"git", "grep", "-O" + strings.Repeat("ä", 500)})
	if long.Allowed || len(long.Reason) > 200 {
		t.Errorf("%d bytes: %s", len(long.Reason), long.Reason)
	}
}

// A program behind another is looked for as one that stands alone.
func TestPlantedBehind(t *testing.T) {
	t.Parallel()
	p := Policy{Allow: [][]string{words("timeout 60 go test **"), words("env A=1 nice make **")}, Planted: func(name string) string {
		if name == "go" || name == "make" {
			return "/tree/" + name
		}
		return ""
	}}
	for _, argv := range []string{"timeout 60 go test .", "env A=1 nice make x"} {
		if got := p.Decide(words(argv)); got.Allowed || !strings.Contains(got.Reason, "would be found at /tree/") {
			t.Errorf("%s: %+v", argv, got)
		}
	}
}

// A pattern that can never allow anything is faulty where it stands.
func TestCheckPatternBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		word    int
		want    string
	}{
		{"npx **", 1, "npx starts other programs: the one to start, and every word before it, must be written out without *"},
		{"npx --yes **", 2, "npx starts other programs"},
		{"npx jest **", 0, ""},
		{"timeout 60 sh **", 3, "sh is a shell: write out every word"},
		{"timeout 60 **", 2, "timeout starts other programs"},
		{"env - **", 2, "env starts other programs"},
		{"env -S x **", 3, "a flag of env brings what to start"},
		{"env A=1 B=2 go test **", 0, ""},
		{"nice env time make **", 0, ""},
		{"uv run **", 2, "uv run starts other programs"},
		{"npm exec *", 2, "npm exec starts other programs"},
		{"awk **", 1, "awk starts other programs"},
		{"python3 -m **", 0, ""},
		{"go tool **", 2, "go tool starts other programs"},
		{"xargs **", 1, "xargs starts other programs: write out every word"},
		{"cpulimit **", 1, "cpulimit starts other programs: write out every word"},
		{"capsh **", 1, "capsh starts other programs: write out every word"},
		{"hyperfine **", 1, "hyperfine starts other programs: write out every word"},
		{"GIT **", 0, ""},
		{"pnpm **", 0, ""},
		{"make PKG=*", 0, ""},
		{"sed **", 0, ""},
		{"rm **", 0, ""},
		{"npm install **", 0, ""},
	} {
		word, err := CheckPattern(words(c.pattern))
		if (err == nil) != (c.want == "") || err != nil && (word != c.word || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: word %d, %v; want %d, %q", c.pattern, word, err, c.word, c.want)
		}
	}
}

// Every row can be read: no flag is in two lists, no name leads nowhere, every expression compiles.
func TestTables(t *testing.T) {
	t.Parallel()
	var row func(name string, p program)
	row = func(name string, p program) {
		seen := map[string]bool{}
		for _, list := range []string{p.early, p.module, p.starts, p.loads, p.scripts, p.writes, p.changes, p.takes, p.alone} {
			for _, f := range strings.Fields(list) {
				key := p.key(strings.TrimSuffix(f, "="))
				if !strings.HasPrefix(f, "-") || seen[key] && p.early == "" {
					t.Errorf("%s: %s stands twice or is no flag", name, f)
				}
				if p.whole && strings.HasPrefix(f, "--") {
					t.Errorf("%s: %s is written with one dash here", name, f)
				}
				seen[key] = true
			}
		}
		if p.expr != "" {
			compiled(p.expr)
		}
		if _, ok := programs()[p.then]; p.then != "" && !ok {
			t.Errorf("%s: %s is not in the table", name, p.then)
		}
		if len(seen) == 0 && p.words+p.only+p.expr+p.operands == "" && p.below == nil && p.first == anything && !p.files {
			t.Errorf("%s has nothing to look for", name)
		}
		for sub, q := range p.below {
			row(name+" "+sub, q)
		}
	}
	for name, p := range programs() {
		row(name, p)
		if carriers()[name] != "" || others[name] != "" {
			t.Errorf("%s stands in two tables", name)
		}
	}
	for name, same := range others {
		if _, ok := programs()[same]; !ok || carriers()[name] != "" {
			t.Errorf("%s is said to be %s, which is not there, or is a carrier", name, same)
		}
	}
}

// Whatever stands around it and however it is spelled, no flag of the table that starts something passes through a star.
func TestNoFlagSlipsThrough(t *testing.T) {
	t.Parallel()
	for name, p := range programs() {
		allow := [][]string{{name, "**"}}
		if _, err := CheckPattern(allow[0]); err != nil {
			continue
		}
		// Harmless flags of this program, and one that nobody knows, may stand before it.
		around := [][]string{nil, {"--no-such-flag"}, {"--no-such-flag", "x"}}
		for _, f := range strings.Fields(p.alone) {
			if f != p.ends {
				around = append(around, []string{f})
			}
		}
		for _, f := range strings.Fields(p.takes) {
			if f, ok := strings.CutSuffix(f, "="); ok {
				around = append(around, []string{f, "x"})
			}
		}
		for _, f := range strings.Fields(p.starts + " " + p.early + " " + p.module) {
			f, valued := strings.CutSuffix(f, "=")
			spellings := [][]string{{f}, {f, "./x"}}
			if valued {
				spellings = append(spellings, []string{f + "=./x"})
			}
			if letter := strings.TrimPrefix(f, "-"); len(letter) == 1 && !p.whole {
				spellings = append(spellings, []string{f + "./x"})
				for _, other := range strings.Fields(p.alone) {
					if len(other) == 2 {
						spellings = append(spellings, []string{other + letter}, []string{other + letter + "./x"})
					}
				}
			}
			if p.whole {
				spellings = append(spellings, []string{"-" + f, "x"})
			}
			for i, s := range spellings {
				for j, before := range around {
					if i > 0 && j > 0 {
						break // each spelling alone, and the first behind everything
					}
					argv := slices.Concat([]string{name}, before, s)
					if got := (Policy{Allow: allow}).Decide(argv); got.Allowed {
						t.Errorf("%q is allowed by %s **", argv, name)
					}
				}
			}
		}
	}
}

// FuzzWild: none of these commands is allowed by a pattern that leaves their last words open, wherever words are put in between.
func FuzzWild(f *testing.F) {
	bad := [][]string{
		words("git -c a=b log"), words("git grep -O x"), words("go test -exec x"), words("go vet -vettool x"), words("make SHELL=x"), words("make -f x"), words("npm exec x"),
		words("sed -f x"), words("find . -exec id"), words("tar --to-command=x"), words("node -e x"), words("cargo --config x"), words("pytest -p x"), words("rg --pre x"),
	}
	for i := range bad {
		f.Add(i, "-q\n--flag")
		f.Add(i, "--\nx")
	}
	f.Fuzz(func(t *testing.T, which int, between string) {
		argv := bad[(which%len(bad)+len(bad))%len(bad)]
		name, rest := argv[0], argv[1:]
		put := []string{}
		for w := range strings.SplitSeq(between, "\n") {
			// A word that is no flag may be the file that is run, or stand where git's own flags end: what follows is then not the program's.
			if strings.HasPrefix(w, "-") && w != "--" && w != "-args" && w != "--args" && w != "-" || name == "make" || name == "find" {
				put = append(put, w)
			}
		}
		whole := slices.Concat([]string{name}, put, rest)
		if strings.Contains(strings.Join(whole, ""), "\x00") {
			return
		}
		p := Policy{Allow: [][]string{{name, "**"}}}
		if got := p.Decide(whole); got.Allowed {
			t.Fatalf("%q is allowed", whole)
		}
		if got := (Policy{Own: whole}).Decide(whole); !got.Allowed || got.Grant != OwnCommand {
			t.Fatalf("%q is not allowed as the task's own: %+v", whole, got)
		}
	})
}
