package policy

// Programs that check: test runners, linters, formatters. Their settings name modules that are run.

const jsConfig = "-c= --config= --config-path= --plugin= --rulesdir= --resolve-plugins-relative-to= --plugin-search-dir= --init --inspect-config --custom-syntax= --custom-formatter= --config-basedir= --env-info"

const jestModules = "--config= -c= --globalSetup= --globalTeardown= --setupFiles= --setupFilesAfterEnv= --runner= --testRunner= --transform= --resolver= --testEnvironmentOptions= --rootDir= --preset= --projects= --prettierPath= " +
	"--moduleNameMapper= --filter= --testSequencer= --snapshotSerializers= --testResultsProcessor= --dependencyExtractor= --modulePaths= --roots= --haste= --globals= --watchPlugins= --snapshotResolver= --snapshotFormat="

func checkers() map[string]program {
	return map[string]program{
		"pytest": {
			exact: true, starts: "-p= -c= --config-file= --rootdir= -o= --override-ini= --confcutdir= --pdbcls= --pyargs --tx= --rsyncdir= --cov-config=", writes: "--junitxml= --junit-xml= --basetemp= --log-file= --report-log= --resultlog= --debug= --html=",
			takes: "--dist= -k= -m= -n= -r= -W= --maxfail= --tb= --durations= --ignore= --deselect= --cov= --cov-report= --timeout= --color= --import-mode=", alone: "-v -q -s -x -l -h -V --lf --ff --sw --co --collect-only --no-header", first: aFile, files: true, expr: `^@`,
		},
		"jest": {exact: true, camel: true, starts: jestModules, loads: "--reporters= --coverageReporters= --testEnvironment=", writes: "--outputFile= --coverageDirectory= --cacheDirectory=", expr: `^--[\w-]+\.|^--reporters=.*[/.]`},
		"vitest": {
			exact: true, camel: true, starts: "-c= --config= --globalSetup= --setupFiles= --ui --open --diff= --snapshotEnvironment= --runner= --project-config= --workspace= --execArgv=",
			loads: "--reporter= --environment= --pool=", writes: "--outputFile= -r= --root= --dir=", expr: `(?i)^--(?:coverage\.custom|typecheck\.|browser|pool-?options|coverage\.reports-?directory=(?:/|\.\.)|sequence\.sequencer|experimental|server\.|deps\.|environment-?options|api)`,
		},
		"mocha":  {exact: true, camel: true, starts: "-r= --require= --import= --loader= --experimental-loader= --config= --package= --file= -n= --node-option= --eval= --print= --env-file= -e= -p=", loads: "-R= --reporter= -u= --ui=", first: aFile, files: true, takes: "-g= -f= -t= --grep= --fgrep= --timeout=", expr: `^--(?:import|loader)|data:`},
		"ava":    {exact: true, camel: true, starts: "--config= --node-arguments=", first: aFile, files: true},
		"tap":    {exact: true, camel: true, starts: "--node-arg= --test-arg= --before= --after= --config= --plugin= --import= --require=", first: aFile, files: true},
		"nyc":    {first: aProgram, camel: true, exact: true, starts: "-r= --require= --nycrc-path= --cwd=", takes: "--reporter= -x= -n=", alone: "--all --silent -s"},
		"c8":     {first: aProgram, camel: true, exact: true, starts: "--config= -c=", takes: "-r= --reporter= -x= -n=", alone: "--all"},
		"eslint": {exact: true, starts: jsConfig, loads: "-f= --format= --formatter= --parser=", writes: "-o= --output-file= --cache-location= --cache-file=", takes: "--ext= --rule= --max-warnings= --ignore-pattern= --ignore-path=", alone: "--fix --quiet --cache --write -w --check -l --list-different", camel: true},
		"tsc": {
			whole: true, fold: true, writes: "-p= -project= -outDir= -outFile= -out= -declarationDir= -tsBuildInfoFile= -generateTrace= -generateCpuProfile= -rootDir= -baseUrl=", starts: "-plugins=", expr: `^@`,
			takes: "-t= -target= -m= -module= -lib= -jsx=", alone: "-noEmit -b -build -w -watch -strict -v",
		},
		"webpack":  {exact: true, starts: "-c= --config= --config-name= --require= --env= --loader="},
		"vite":     {exact: true, starts: "-c= --config= --configLoader= --open", writes: "--outDir="},
		"rollup":   {exact: true, starts: "-c --config -p= --plugin= --configPlugin= --environment=", writes: "-o= -d= --file= --dir="},
		"esbuild":  {exact: true, whole: true, writes: "-outfile= -outdir= -metafile= -servedir=", starts: "-plugins="},
		"babel":    {exact: true, starts: "--config-file= --presets= --plugins= --root-mode= -x=", writes: "-o= -d= --out-file= --out-dir="},
		"rspec":    {starts: "-r= --require= -I= -O= --options= --default-path= --bisect --drb --init", loads: "-f= --format=", writes: "-o= --out=", takes: "-e= -E= -t= -P= -j= --tag= --example= --seed= --order=", first: aFile, files: true},
		"rubocop":  {starts: "-r= --require= -c= --config= --plugin= --init --start-server", loads: "-f= --format=", writes: "-o= --out= --cache-root="},
		"rails":    {words: "runner r console c dbconsole db new plugin app:template generate g", exact: true},
		"phpunit":  {exact: true, starts: "--bootstrap= -c= --configuration= --extension= --printer= --loader= --include-path= -d= --extensions-directory= --cache-directory=", writes: "--log-junit= --coverage-clover= --coverage-html= --coverage-php= --log-teamcity="},
		"mypy":     {starts: "--config-file= --python-executable= --custom-typeshed-dir= --cache-dir= -c= --command= --install-types", takes: "-m= -p=", writes: "--junit-xml= --html-report= --txt-report= --xml-report= --any-exprs-report="},
		"pylint":   {starts: "--rcfile= --init-hook= --load-plugins= --generate-rcfile --source-roots=", loads: "-f= --output-format=", writes: "--output="},
		"flake8":   {starts: "--config= --append-config= --enable-extensions=", loads: "--format=", writes: "--output-file= --tee="},
		"ruff":     {exact: true, starts: "--config= --extension=", writes: "-o= --output-file= --cache-dir="},
		"black":    {starts: "--config= -c= --code="},
		"isort":    {starts: "--settings-path= --settings-file= --sp= --config-root="},
		"coverage": {words: "run", starts: "--rcfile=", below: map[string]program{"run": {module: "-m= --module=", starts: "--rcfile= --concurrency=", takes: "--source= --omit= --include= --data-file= --context=", alone: "--branch -a --append -p -L", first: aFile, stops: true}}},
		"golangci-lint": {
			starts: "-c= --config= --enable-plugins= --custom= --modules-download-mode=", words: "custom", writes: "--cpu-profile-path= --mem-profile-path= --trace-path= --output= --path-prefix=", exact: true, expr: `^--output\.[\w.-]+\.path=(?:/|\.\.)`, alone: "--fix -v --fast --no-config",
		},
		"gotestsum":   {whole: true, starts: "-raw-command -post-run-command= -watch", writes: "-junitfile= -jsonfile= -jsonfile-timing-events= -packages=", takes: "-f= -format= -rerun-fails=", ends: "--", then: "go"},
		"ginkgo":      {whole: true, starts: goStarts + " -after-run-hook= -afterSuiteHook=", writes: goOutputs + " -output-dir= -junit-report= -json-report=", words: "bootstrap generate watch", expr: `-ext(?:ld|ldflags|ar)\b`, ends: "--"},
		"gofmt":       {whole: true, writes: "-cpuprofile="},
		"staticcheck": {whole: true, starts: "-debug.cpuprofile= -debug.memprofile= -debug.trace="},
		"dlv":         {expr: `.`},
		"protoc":      {exact: true, whole: true, starts: "-plugin=", expr: `^@|^--[\w-]+_(?:out|opt)=(?:.*:)?(?:/|\.\.)`},
		"buf":         {exact: true, starts: "--template= --config= --against-config="},
		"hadolint":    {starts: "-c= --config="},
		"shellcheck":  {starts: "--rcfile="},
	}
}
