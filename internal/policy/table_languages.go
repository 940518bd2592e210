package policy

// Languages: interpreters and compilers. A file below the working directory may be run, for what lies there is what is worked on;
// code on the command line may not.

const goOutputs = "-o= -C= -outputdir= -coverprofile= -cpuprofile= -memprofile= -blockprofile= -mutexprofile= -trace= -debug-actiongraph= -debug-trace= " +
	"-test.outputdir= -test.coverprofile= -test.cpuprofile= -test.memprofile= -test.blockprofile= -test.mutexprofile= -test.trace= " +
	"-test.gocoverdir= -test.testlogfile= -test.fuzzcachedir="

// -w: go env keeps GOFLAGS; -http: go doc fetches and starts a server.
const goStarts = "-exec= -toolexec= -overlay= -modfile= -vettool= -fixtool= -pkgdir= -w -http"

const goTakes = "-p= -tags= -ldflags= -gcflags= -asmflags= -gccgoflags= -mod= -modcachedir= -buildmode= -buildvcs= -covermode= -coverpkg= -run= -bench= -benchtime= -count= -timeout= " +
	"-cpu= -parallel= -pgo= -shuffle= -skip= -fuzz= -fuzztime= -fuzzminimizetime= -list= -vet= -installsuffix= -compiler= -f= -blockprofilerate= -memprofilerate= -mutexprofilefraction="

const goAlone = "-v -race -short -json -failfast -cover -c -n -x -a -i -msan -asan -work -trimpath -benchmem -fullpath -artifacts -m -u -t -d -e -deps -test -find -export -compiled"

const (
	denoStarts  = "-c= --config= --import-map= --preload= --import= --require= --env-file --unsafely-ignore-certificate-errors"
	denoOutputs = "-o= --output= --coverage= --junit-path= --outdir="
	denoAlone   = "-A --allow-all -R -W -N -E -S -I -q --quiet --check --no-check --watch --no-lock --cached-only --allow-read --allow-write --allow-net --allow-env --allow-run"
)

func languages() map[string]program {
	return map[string]program{
		"go": {
			whole: true, starts: goStarts, writes: goOutputs, takes: goTakes, alone: goAlone, words: "run generate tool bug", ends: "-args",
			expr: `-ext(?:ld|ldflags|ar)\b|^-{1,2}(?:compiler|gccgoflags)\b`,
			below: map[string]program{
				"run":  {whole: true, starts: goStarts, writes: goOutputs, takes: goTakes, alone: goAlone, first: aGoFolder, stops: true},
				"tool": {whole: true, starts: goStarts, first: aCode, stops: true},
			},
		},
		"python": {starts: "-c=", module: "-m=", takes: "-W= -X= -Q= --check-hash-based-pycs=", alone: "-b -B -d -E -h -i -I -O -P -q -R -s -S -t -u -v -V -x -3 -?", first: aFile, stops: true},
		"node": {
			starts: "-e= --eval= -p= --print= -r= --require= --import= --loader= --experimental-loader= --env-file= --env-file-if-exists= --openssl-config= --experimental-config-file= " +
				"--experimental-default-config-file --snapshot-blob= --build-snapshot-config= --experimental-sea-config= --test-global-setup= -P= --project= -C= --compiler= --tsconfig= --cwd=",
			loads:  "--test-reporter=",
			writes: "--test-reporter-destination= --cpu-prof-dir= --heap-prof-dir= --diagnostic-dir= --report-dir= --report-directory= --redirect-warnings= --trace-event-file-pattern= --tls-keylog= --localstorage-file=",
			takes:  "--test-name-pattern= --test-skip-pattern= --test-concurrency= --test-shard= --test-timeout= --conditions= --input-type= --max-old-space-size= --stack-trace-limit= --unhandled-rejections= --run= --watch-path=",
			alone:  "-c --check --test --test-only --watch --no-warnings --enable-source-maps --experimental-strip-types --trace-warnings --trace-uncaught --experimental-test-coverage --expose-gc --test-force-exit --experimental-vm-modules --preserve-symlinks -v --version -h --help -i",
			exact:  true, first: aFile, stops: true, expr: `^(?:--?[\w-]+=)?data:|^-[cip]*[ep]`,
		},
		"deno": {
			exact: true, starts: denoStarts, writes: denoOutputs,
			words: "eval repl install i add x run serve upgrade init create jupyter", expr: `^(?:https?|npm|jsr|data|file):`,
			below: map[string]program{
				"run":   {exact: true, starts: denoStarts, writes: denoOutputs, alone: denoAlone, first: aFile, stops: true, expr: `^(?:https?|npm|jsr|data|file):`},
				"serve": {exact: true, starts: denoStarts, writes: denoOutputs, alone: denoAlone, first: aFile, stops: true, expr: `^(?:https?|npm|jsr|data|file):`},
			},
		},
		"bun": {
			exact: true, starts: "-e= --eval= -p= --print= -r= --preload= --require= --import= -c= --config= --shell= --env-file=", writes: "--cwd= --outdir= --outfile= --coverage-dir= --reporter-outfile=",
			only: "test build install i pm outdated why audit", below: map[string]program{"run": {exact: true, first: aProgram}, "x": {exact: true, alone: "--bun", takes: "-p= --package=", first: aProgram}, "install": {first: aPackage}, "i": {first: aPackage}},
		},
		"perl": {starts: "-e= -E= -M= -m= -S -d", takes: "-I= -F= -x=", alone: "-n -p -l -a -w -W -X -c -s -t -T -u -U -v -V -f -g -i -0", first: aFile, stops: true},
		"ruby": {starts: "-e= -r= -S -x -X= -C=", takes: "-E= -K= -F= -I= -W= -T= --encoding= --external-encoding= --internal-encoding= --enable= --disable= --dump=", alone: "-a -c -d -h -l -n -p -s -U -v -w -y -i -0", first: aFile, stops: true},
		"php": {
			exact: true, starts: "-r= --run= -B= --process-begin= -R= --process-code= -E= --process-end= -F= --process-file= -d= --define= -c= --php-ini= -z= --zend-extension= -S= --server= -a -t=",
			alone: "-l --syntax-check -m -n -q -v -i -w -s -C -H -e", takes: "-f= --file=", first: aFile, stops: true,
		},
		"lua":     {starts: "-e= -l=", alone: "-i -v -E -W", first: aFile, stops: true},
		"rscript": {whole: true, starts: "-e=", first: aFile, stops: true, expr: `^--(?:default-packages|init-file)`},
		"r":       {whole: true, starts: "-e= -f= -file= -g= -gui= -d= -debugger=", words: "CMD"},
		"julia":   {starts: "-e= --eval= -E= --print= -L= --load= -J= --sysimage= -m= --module= -C=", takes: "-t= --threads= -p= -O= --project=", alone: "-q -i --color --startup-file", first: aFile, stops: true},
		"octave":  {starts: "--eval= --path=", first: aFile, stops: true},
		"elixir":  {starts: "-e= --eval= --rpc-eval= -r= -pr= -pa= -pz= -S= --erl= --hidden", first: aFile, stops: true},
		"mix":     {words: "run eval cmd do archive.install escript.install local.hex local.rebar", below: map[string]program{"run": {starts: "-e= --eval= -r= --require="}}},
		"erl":     {whole: true, starts: "-eval= -run= -s= -boot= -config= -args_file= -init= -remsh=", expr: `^-`},
		"groovy":  {starts: "-e=", first: aFile, stops: true},
		"scala":   {starts: "-e= -execute-expression= -J=", whole: true},
		"runghc":  {starts: "-e= -ghc-arg=", whole: true, first: aFile, stops: true, expr: `^-?-f`},
		"ghc":     {whole: true, starts: "-e=", expr: `^-(?:F$|pgm|fplugin|B)|^@`, writes: "-o= -odir= -outputdir="},
		"ocaml":   {whole: true, starts: "-e= -init=", first: aFile, stops: true},
		"crystal": {words: "eval run tool play"},
		"racket":  {starts: "-e= --eval= -l= --lib= -r= -u= -t= -k= -f= --load= --require= -p= -q=", first: aFile, stops: true},
		"swift":   {words: "run repl package", starts: "-Xlinker= -Xcc= -Xswiftc= -Xcxx= -toolset= -toolchain= -swift-sdk= -pkg-config-path=", whole: true, writes: "-scratch-path= -package-path= -build-path="},
		"zig":     {words: "run", starts: "--test-cmd= --zig-lib-dir= --build-runner= --test-runner=", exact: true, expr: `^-femit-.*=(?:/|\.\.)`, writes: "-p= --prefix= --cache-dir= --global-cache-dir="},
		"cc": {
			whole: true, starts: "-wrapper= -specs= -Xlinker= -Xclang= -load= -ld-path= -gcc-toolchain= -run= -imultilib= -iplugindir= -plugin= -add-plugin= -cc1 -cc1as", expr: `^(?:-fplugin|-fpass-plugin|-B|-Wl,|-fuse-ld=.*/|-Xassembler|-ccc|@)`,
			writes: "-o= -MF= -dumpdir= -dumpbase= -MJ= -serialize-diagnostics=", takes: "-x= -I= -L= -D= -U= -include= -isystem=",
		},
		"rustc": {exact: true, expr: `(?:linker|link-args?|codegen-backend|link-self-contained)=|^@|^-Z`, writes: "-o= --out-dir=", starts: "--sysroot= --extern="},
		"java": {
			whole: true, starts: "-processor= -processorpath= -processor-path= -upgrade-module-path= -patch-module= -Xplugin=", writes: "-d= -s= -h=",
			expr: `^(?:-javaagent|-agentlib|-agentpath|-XX:(?:On(?:Error|OutOfMemoryError)|Flags|VMOptionsFile)|-J|-Xplugin|-Xbootclasspath|@)`,
		},
		"awk": {starts: "-f= --file= -e= --source= -E= --exec= -i= --include= -l= --load= -d --dump-variables -o --pretty-print -p --profile -D --debug -W=", takes: "-F= --field-separator= -v= --assign=", alone: "-b -c -C -g -h -n -N -O -P -r -s -S -t -V", first: aCode, stops: true},
		"sed": {
			scripts: "-e= --expression=", starts: "-f= --file=", changes: "-i --in-place", takes: "-l= --line-length=", alone: "-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data --posix --debug --sandbox --follow-symlinks -b --binary",
			first: aScript,
		},
	}
}
