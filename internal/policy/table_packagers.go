package policy

// Programs that fetch packages, and those that start what packages bring.

const npmStarts = "-c= --call= --script-shell= --shell= --node-options= --userconfig= --globalconfig= --editor= --viewer= --browser= --git= --node-arg= -n= --init-module= --location= --registry= --pack-destination="

const npmTakes = "--reporter= --loglevel= --omit= --include= --tag= --scope= --depth= --filter= -F="

const npmAlone = "-s --silent -q --quiet -d -y --yes --no --if-present --ignore-scripts --json --workspaces --ws --offline --prefer-offline --no-audit --no-fund --recursive -r --bail --parallel --stream --frozen-lockfile --immutable --global -g"

// pipIndex says where packages come from.
const pipIndex = "-i= --index-url= --extra-index-url= -f= --find-links= --trusted-host="

var installs = program{loose: true, starts: npmStarts, writes: "--prefix= --cache= -C= --dir= --cwd=", takes: npmTakes, alone: npmAlone, first: aPackage}

// node's packagers put a word that they do not know behind a flag that they do not know: -- ends their flags wherever it stands.
func packagers() map[string]program {
	return map[string]program{
		"npm": {
			loose: true, starts: npmStarts, writes: "--prefix= --cache=", takes: npmTakes + " -w= --workspace=", alone: npmAlone, ends: "--",
			only: "test t tst run run-script rum urn start stop restart ls list ll la ci clean-install ic install-clean install i in ins inst insta instal add isnt isnta isntal isntall it cit sit install-test install-ci-test " +
				"outdated audit view v info show why explain query prune pack prefix root version ping help help-search search s se find whoami dedupe ddp fund sbom doctor rebuild rb update up u upgrade uninstall un rm r remove unlink get",
			below: map[string]program{
				"install": installs, "i": installs, "in": installs, "ins": installs, "inst": installs, "insta": installs, "instal": installs, "add": installs, "isnt": installs, "isnta": installs,
				"isntal": installs, "isntall": installs, "it": installs, "install-test": installs, "pack": installs, "update": installs, "up": installs, "u": installs, "upgrade": installs,
				"exec": npmExec, "x": npmExec,
			},
		},
		"npx": {
			exact: true, starts: "-c= --call= --shell= --script-shell= --node-options= --node-arg= -n=", takes: "-p= --package= -w= --workspace= --with= --from= --python= --cache= --prefix=",
			alone: "-y --yes --no --no-install -q --quiet --ignore-existing --bun --isolated --offline", first: aProgram,
		},
		"pnpm": {
			loose: true, starts: npmStarts + " --shell-mode --shell-emulator --config-dir= --global-dir= --pnpmfile= --global-pnpmfile=", writes: "-C= --dir= --store-dir= --virtual-store-dir= --modules-dir= --lockfile-dir=", takes: npmTakes, alone: npmAlone + " -w --workspace-root", ends: "--",
			only: "test t tst run run-script start stop restart install i add update up upgrade ls list ll la outdated audit why licenses prune pack root bin version store dedupe fetch import rebuild rb recursive multi m",
			below: map[string]program{
				"install": installs, "i": installs, "add": installs, "update": installs, "up": installs, "upgrade": installs, "pack": installs, "exec": npmExec, "dlx": npmExec,
				"recursive": {starts: npmStarts, words: "exec dlx"}, "multi": {words: "exec dlx"}, "m": {words: "exec dlx"},
			},
		},
		"yarn": {
			starts: npmStarts + " --use-yarnrc=", writes: "--cwd= --modules-folder= --cache-folder=", takes: npmTakes, alone: npmAlone, ends: "--", words: "exec dlx node create config init set plugin policies global link unplug patch",
			below: map[string]program{"add": installs, "up": installs, "upgrade": installs, "dlx": npmExec, "exec": npmExec, "workspace": {skip: 1, words: "exec dlx node create config add"}, "workspaces": {below: map[string]program{"foreach": {words: "exec dlx node create config"}}}},
		},
		"corepack": {first: aProgram, alone: "-g"},
		"lerna":    {exact: true, words: "exec init create add"},
		"nx":       {exact: true, words: "exec run-script generate g migrate init", starts: "--runner= --tasks-runner="},
		"turbo":    {exact: true, words: "gen", writes: "--cwd= --cache-dir=", starts: "--root-turbo-json="},
		"pip": {
			words: "config debug run runpip", starts: "--python= --pip-args= --proxy= --cert= --config-settings= -C= --use-pep517 " + pipIndex, writes: "-t= --target= --prefix= --root= --log= --src= --report=", takes: "-c= --constraint=",
			below: map[string]program{"install": pipInstall, "download": pipInstall, "wheel": pipInstall, "inject": {first: aPackage}, "upgrade": {first: aPackage}, "run": {first: aProgram}},
		},
		"uv": {
			exact: true, starts: "--config-file= --env-file= --python-preference= -p= --python= --config-setting= -C= --with-requirements= --index= --default-index= " + pipIndex, writes: "--project= --directory= --cache-dir= --target= --prefix=",
			words: "run tool x python init auth self", takes: "--extra= --group=", alone: "-q --quiet -v --verbose --offline --no-cache --frozen --locked",
			below: map[string]program{
				"run": uvRun, "tool": {exact: true, below: map[string]program{"run": uvRun, "install": {first: aPackage}}}, "add": {first: aPackage},
				"pip": {below: map[string]program{"install": pipInstall, "sync": {first: aFile, files: true}}},
			},
		},
		"pipenv": {
			exact: true, starts: "--python= --pypi-mirror= --site-packages", writes: "-C= --directory= -P= --project=", words: "run shell script source self config plugin init new", alone: "-q -v -n --quiet --verbose",
			below: map[string]program{"run": {exact: true, alone: "-q -v -n --isolated --frozen --locked", takes: "-e= --env=", first: aProgram, stops: true}, "add": {first: aPackage}, "install": {exact: true, first: aPackage, alone: "--dev --deploy --system -d"}},
		},
		"bundle": {exact: true, words: "exec e config open console plugin gem viz", writes: "--gemfile= --path=", below: map[string]program{"exec": {exact: true, alone: "--keep-file-descriptors", takes: "--gemfile=", first: aProgram}, "e": {exact: true, first: aProgram}}},
		"gem":    {words: "exec open", starts: "--config-file= --norc -s= --source=", below: map[string]program{"install": {first: aPackage}, "i": {first: aPackage}}},
		"composer": {
			words: "exec global create-project init config self-update selfupdate require", starts: "-d= --working-dir=",
			below: map[string]program{"exec": {alone: "-v -q -n", first: aProgram}, "require": {first: aPackage}},
		},
		"brew":       {words: "sh ruby exec install tap edit create test irb bundle"},
		"apt":        {whole: true, starts: "-o= -c= -option= -config-file=", words: "install"},
		"apt-get":    {whole: true, starts: "-o= -c= -option= -config-file=", words: "install"},
		"conda":      {words: "run init config install create", below: map[string]program{"run": {takes: "-n= --name= -p= --prefix=", alone: "-v --no-capture-output --live-stream", first: aProgram}}},
		"pre-commit": {exact: true, starts: "-c= --config=", words: "try-repo install autoupdate init-templatedir"},
	}
}

var (
	pipInstall = program{
		starts: "-C= --config-settings= --global-option= -e= --editable= " + pipIndex, writes: "-r= --requirement= -c= --constraint= -t= --target= --prefix= --root= --src= --report= -d= --dest= -w= --wheel-dir=",
		alone: "-U --upgrade -q --quiet -v --verbose --user --no-deps --pre --no-cache-dir --disable-pip-version-check", first: aPackage,
	}
	npmExec = program{loose: true, starts: "-c= --call= --shell-mode", takes: "-p= --package= -w= --workspace= --filter=", alone: "-y --yes --no -q --quiet -s --silent", first: aProgram}
	uvRun   = program{
		exact: true, module: "-m= --module=", starts: "-s --script --gui-script --env-file= --config-file=", writes: "--project= --directory=", alone: "-q --quiet -v --verbose --isolated --frozen --locked --no-sync --no-project --all-extras --dev --no-dev --offline --active --exact",
		takes: "--with= --with-editable= --with-requirements= --extra= --group= --only-group= --no-group= -p= --python= --package= --index= --index-url= --from=", first: aProgram,
	}
)
