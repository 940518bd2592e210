package policy

// Programs that build: what they run is written in files of the project; names and settings that change it are written out.

const makeNames = `^\.?(?:SHELL|SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|MAKEOVERRIDES|VPATH)\s*[:+?]*=|!=|\$|` + "`"

const (
	cargoStarts  = "--config= -Z="
	cargoOutputs = "--target-dir= --manifest-path= -C= --artifact-dir= --out-dir= --root= --path="
	cargoTakes   = "-p= --package= --features= -F= --target= -j= --jobs= --profile= --test= --bin= --example= --bench= --color= --message-format= --exclude="
	cargoAlone   = "-v -q --verbose --quiet --release -r --all --workspace --all-features --all-targets --lib --doc --locked --frozen --offline"
	cargoExpr    = `(?:^|\s)(?:-C\s*)?(?:linker|runner|rustc-wrapper|rustc|link-args?)=|^\+.*[/\\]`
)

func builders() map[string]program {
	return map[string]program{
		"make": {
			starts: "-E= --eval= -f= --file= --makefile= -I= --include-dir=", writes: "-C= --directory=", takes: "-j= --jobs= -l= --load-average= -o= --old-file= --assume-old= -W= --what-if= --new-file= --assume-new= -O= --output-sync= --debug= --shuffle=",
			alone: "-b -B -d -e -h -i -k -L -m -n -p -q -r -R -s -S -t -v -w --silent --quiet --keep-going --dry-run --always-make", assigns: true, expr: makeNames,
		},
		"ninja": {starts: "-f=", writes: "-C=", takes: "-j= -k= -l= -d= -w=", alone: "-v -n --verbose --quiet", exact: true},
		"just": {
			exact: true, starts: "-c= --command= --shell= --shell-arg= --shell-command -f= --justfile= --chooser= --choose -e --edit --dotenv-path= --dotenv-filename= --cygpath= --set= --init --tempdir= --fetch --fmt -g --global-justfile",
			writes: "-d= --working-directory=", assigns: true,
		},
		"task":  {starts: "-t= --taskfile= -g --global --init -i --remote-cache-dir= --download", exact: true, writes: "-d= --dir= -o=", assigns: true},
		"rake":  {starts: "-e= --execute= -E= --execute-continue= -p= --execute-print= -f= --rakefile= -r= --require= -I= --libdir= -R= --rakelibdir= -g --system", takes: "-j=", assigns: true},
		"bazel": {whole: true, starts: "-run_under= -script_path= -bazelrc= -output_base= -output_user_root= -override_repository= -override_module= -workspace_status_command= -crosstool_top= -server_javabase= -host_jvm_args= -shell_executable= -action_env= -repo_env= -credential_helper= -install_base=", words: "run mobile-install"},
		"cmake": {
			whole: true, starts: "-P= -E -C= -toolchain= -profiling-output= -open= -workflow", writes: "-B= -S= -build= -install= -prefix= -trace-redirect= -graphviz=",
			takes: "-G= -T= -A= -D= -U= -W= -target= -t= -j= -parallel= -config= -preset= -component=", first: aFile, ends: "--", then: "make",
			expr: `(?i)^(?:-D)?\w*(?:COMPILER|LAUNCHER|PROGRAM|LINKER|EXECUTABLE|EMULATOR|INCLUDE|TOOLCHAIN|FLAGS|MODULE_PATH|RULE|COMMAND|CMAKE_(?:AR|NM|LD|RANLIB|STRIP|OBJCOPY|OBJDUMP))\w*(?::\w+)?=|^-[PC].|^-E`,
		},
		"ctest": {whole: true, starts: "-S= -SP= -D= -script= -script-new-process= -overwrite= -build-and-test -dashboard= -build-makeprogram= -build-exe-dir= -test-command=", writes: "-O= -output-log= -output-junit= -test-dir=", takes: "-R= -E= -L= -j= -C="},
		"meson": {exact: true, starts: "--native-file= --cross-file= --wrap= --gdb-path= --setup= --wrapper= --exe-wrapper=", words: "devenv", writes: "-C=", expr: `(?:c|cpp|objc|rust|d)_(?:link_)?args=`},
		"gradle": {
			exact: true, starts: "-I= --init-script= -b= --build-file= -c= --settings-file= -g= --gradle-user-home= --include-build= --project-cache-dir=", expr: `^(?:-D|--system-prop=?)?(?:org\.gradle|java\.|systemProp)`, writes: "-p= --project-dir=",
			takes: "-D= --system-prop= -x= --exclude-task= -P= --project-prop= --tests= --console= --max-workers= --warning-mode=", alone: "-q -i -d -s -S -a -m --info --debug --stacktrace --offline --no-daemon --continue --parallel --rerun-tasks --scan", words: "init wrapper",
		},
		"mvn": {
			whole: true, starts: "-f= -file= -s= -settings= -gs= -global-settings= -t= -toolchains= -gt= -ps= -is=", writes: "-l= -log-file=", takes: "-pl= -projects= -P= -T= -rf= -D=",
			expr: `^[^-].*:.|^-?-?f.*=|^-(?:s|gs|t|f)=?/|^(?:-D)?(?:exec\.|argLine|jvm\b|maven\.ext|maven\.compiler\.(?:executable|fork)|jacoco|maven\.surefire\.debug|debugForkedProcess|user\.home|maven\.repo)`,
		},
		"sbt": {expr: `[;!:]|^-(?:J|D|java|sbt|init)|^@|^(?:set|eval|run|console|project|~)`},
		"cargo": {
			exact: true, starts: cargoStarts, writes: cargoOutputs, words: "run r install rustc rustdoc init new miri xtask make watch", takes: cargoTakes, alone: cargoAlone, expr: cargoExpr,
			below: map[string]program{
				"run":     {exact: true, starts: cargoStarts, writes: cargoOutputs, takes: cargoTakes, alone: cargoAlone, stops: true, ends: "--"},
				"install": {exact: true, first: aPackage, writes: "--path= --root=", takes: "--version= --branch= --git="},
				"add":     {exact: true, writes: "--path=", takes: "-F= --features= --rename= -p= --package= --git="},
			},
		},
		"dotnet": {
			exact: true, starts: "--test-adapter-path= -s= --settings= --environment= -e=", loads: "-l= --logger=", words: "run exec tool new msbuild vstest fsi nuget workload add",
			expr: `^@|^[-/]{1,2}(?:l|logger|dl|distributedlogger|rsp)[:=]|^[-/]{1,2}p(?:roperty)?:.*(?:Exe|Tool|Path|Command|Target|Event|Import)`, writes: "-o= --output= --results-directory= --artifacts-path=",
		},
		"xcodebuild": {whole: true, starts: "-xcconfig= -toolchain= -project= -workspace=", writes: "-derivedDataPath= -resultBundlePath= -archivePath= -exportPath=", expr: `^(?:CC|LD|CXX|SWIFT_EXEC|OTHER_\w+|\w*COMPILER\w*)=`},
		"terraform":  {whole: true, starts: "-plugin-dir= -backend-config= -from-module=", writes: "-chdir= -out= -state= -state-out= -backup=", words: "apply destroy console import login"},
		"helm":       {exact: true, starts: "--post-renderer= --post-renderer-args= --kubeconfig=", words: "plugin", writes: "-d= --destination= --output-dir="},
		"pandoc":     {starts: "-F= --filter= -L= --lua-filter= --pdf-engine= --pdf-engine-opt= -d= --defaults= --data-dir= --syntax-definition= --csl=", writes: "-o= --output= --extract-media= --log=", takes: "-f= -t= -V= -M= -H= -B= -A= -c= -T= -D= --template=", alone: "-s --toc -N"},
		"latex":      {whole: true, starts: "-shell-escape -enable-write18 -shell-restricted -fmt= -e= -r= -progname= -cnf-line= -lua=", writes: "-output-directory= -outdir= -auxdir= -jobname=", expr: `write18`},
		"openssl":    {whole: true, starts: "-engine= -provider= -provider-path= -config=", writes: "-out= -keyout=", words: "engine"},
		"ld":         {whole: true, starts: "-plugin= -plugin-opt= -dynamic-linker= -T=", expr: `^@`, writes: "-o= -Map="},
		"clang-tidy": {whole: true, starts: "-load= -config= -config-file= -vfsoverlay= -extra-arg= -extra-arg-before=", writes: "-export-fixes= -store-check-profile=", expr: `^@`},
		"tox":        {starts: "-c= --conf= -x= --override= --runner= --root= --workdir=", words: "exec e devenv", exact: true},
		"nox":        {starts: "-f= --noxfile= --default-venv-backend= -db= --extra-pythons= -P= -fb=", exact: true},
	}
}
