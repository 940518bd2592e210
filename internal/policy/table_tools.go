package policy

// Programs that look at files, move them or fetch them, git, and those that start one program and are known well enough.

func tools() map[string]program {
	return map[string]program{
		"git": {
			early:  "-c= -C= --exec-path --git-dir= --work-tree= --config-env= --super-prefix= -p --paginate",
			takes:  "--namespace= --attr-source=",
			alone:  "--text --no-pager -P --no-optional-locks --literal-pathspecs --bare --no-replace-objects",
			starts: "--config-env= --exec-path= --git-dir= --work-tree= --upload-pack= --receive-pack= --exec= --ext-diff --textconv --open-files-in-pager --extcmd= --config= --template= --separate-git-dir= --web --browser= --tool= --sequence-editor=",
			writes: "--output= --output-directory= --prefix=",
			words:  "config clone filter-branch difftool mergetool bisect instaweb daemon credential remote-ext remote-fd send-email svn p4 cvsimport cvsserver shell hook for-each-repo web--browse gui citool gitk maintenance scalar fast-import upload-pack receive-pack upload-archive archimport quiltimport subtree credential-store credential-cache http-backend",
			expr:   `^(?:!|alias\.|ext::|fd::)`,
			below: map[string]program{
				"grep":         {starts: "-O --open-files-in-pager --textconv", takes: "-e= -f= -A= -B= -C= -m= --max-count="},
				"rebase":       {starts: "-x= --exec= -i --interactive --edit-todo", loads: "-s= --strategy="},
				"merge":        {loads: "-s= --strategy=", takes: "-m= -F= -X="},
				"pull":         {loads: "-s= --strategy="},
				"clone":        {starts: "-u= -c= --upload-pack= --config= --template="},
				"archive":      {writes: "-o= --output=", starts: "--remote= --exec="},
				"format-patch": {writes: "-o= --output-directory="},
				"bugreport":    {writes: "-o="},
				"diagnose":     {writes: "-o="},
				"bundle":       {words: "create", below: map[string]program{"create": {files: true}}},
				"worktree":     {below: map[string]program{"add": {files: true}, "move": {files: true}}},
				"submodule":    {words: "foreach add update", below: map[string]program{"foreach": {first: aCode}}},
				"init":         {files: true, starts: "--template= --separate-git-dir="},
				"help":         {starts: "-w --web -i --info -m --man"},
				"commit":       {takes: "-m= -F= -C= -c= -t= --template="},
				"remote":       {words: "add set-url"},
				"apply":        {starts: "--unsafe-paths --directory="},
			},
		},
		"hg": {
			starts: "--config= -R= --repository= --cwd= --editor= -e= -p= --program=", words: "extdiff config clone bisect serve debugextensions", takes: "-r= --rev= -l= -u= -d= -m= -U= -X= -I=", alone: "-q -v -y --git --stat",
			expr: `^ssh:|^ext`,
		},
		"svn":   {starts: "--config-option= --config-dir= --diff-cmd= --diff3-cmd= --merge-cmd= --editor-cmd= --old-patch-cmd="},
		"gh":    {exact: true, only: "pr issue run workflow release repo status search browse label ruleset", starts: "--editor -e --web -w"},
		"find":  {whole: true, starts: "-exec -execdir -ok -okdir -files0-from=", changes: "-delete", writes: "-fprint= -fprint0= -fprintf= -fls="},
		"fd":    {exact: true, starts: "-x -X --exec --exec-batch"},
		"rg":    {exact: true, starts: "--pre= --hostname-bin="},
		"ag":    {starts: "--pager="},
		"ack":   {starts: "--pager= --ackrc= --output= --files-from="},
		"bat":   {starts: "--pager= --config-file=", exact: true},
		"man":   {starts: "-P= --pager= -H --html -C= --config-file= -p= --preprocessor="},
		"sort":  {starts: "--compress-program= --files0-from=", writes: "-o= --output= -T= --temporary-directory=", takes: "-k= -t= -S= --key= --field-separator= --buffer-size= --parallel= --batch-size="},
		"split": {starts: "--filter="},
		"tar": {
			starts: "-I= -F= --checkpoint-action= --to-command= --use-compress-program= --rsh-command= --rmt-command= --info-script= --new-volume-script= -T= --files-from=", writes: "-C= --directory= --one-top-level= --index-file= -g= --listed-incremental=", alone: "--checkpoint",
			changes: "--remove-files -P --absolute-names", clustered: true, expr: `^[^/]*:`, takes: "-f= -b= -H= -K= -L= -N= -V= -X= --exclude= --strip-components=",
		},
		"cpio":  {starts: "--rsh-command= --rmt-command=", writes: "-O= -D= --directory=", changes: "--absolute-filenames", expr: `^[^/]*:`, takes: "-F= -I= -H="},
		"zip":   {whole: true, starts: "-TT= -unzip-command=", expr: `^-[A-Za-z]*T`, files: true},
		"unzip": {writes: "-d=", changes: "-:"},
		"rsync": {starts: "-e= --rsh= --rsync-path= --config= --daemon --files-from= -M= --remote-option=", changes: "--delete --remove-source-files", writes: "--log-file= --backup-dir= --partial-dir= -T= --temp-dir=", files: true, expr: `^[^-/][^/]*:|^rsync:`, takes: "-f= -B= -z= --exclude= --include="},
		"curl": {
			starts: "-K= --config= --engine=", writes: "-o= --output= --output-dir= -D= --dump-header= -c= --cookie-jar= --trace= --trace-ascii= --stderr= --libcurl= --hsts= --alt-svc= --etag-save= --ssl-sessions=",
			takes: "-H= -d= -X= -A= -b= -e= -F= -u= -m= -x= -E= -T= -w= -y= -Y= -z= -r= -C= -Q= -t= -U= -P= --header= --data= --request= --url= --max-time= --retry=", expr: `^file:`,
		},
		"wget":  {starts: "-e= --execute= --config= --use-askpass=", writes: "-O= --output-document= -P= --directory-prefix= -o= --output-file= -a= --append-output= --save-cookies= --rejected-log= --warc-file=", takes: "-t= -T= -U= -Q= -w= -i= -B= -A= -R= -D= -I= -X= -l="},
		"tee":   {files: true, starts: "--strip-program=", writes: "-t= --target-directory="},
		"dd":    {operands: "of"},
		"patch": {files: true, writes: "-o= --output= -r= --reject-file= -d= --directory= -B= --prefix=", takes: "-p= -i= -F= -D= -V= -z= -Y= --strip= --input="},
		"yq":    {exact: true, changes: "-i --inplace", starts: "--from-file= -s= --split-exp=", expr: `\b(?:load\w*|env\w*|system)\(`},
	}
}

// wrappers start one program, which is judged as if it stood alone.
func wrappers() map[string]program {
	return map[string]program{
		"env":       {first: aProgram, vars: true, starts: "-S= --split-string=", takes: "-u= --unset= -C= --chdir= -a= --argv0=", alone: "-i --ignore-environment -0 --null -v --debug --list-signal-handling"},
		"timeout":   {first: aProgram, skip: 1, takes: "-k= --kill-after= -s= --signal=", alone: "--foreground --preserve-status -v --verbose -p -f"},
		"nice":      {first: aProgram, takes: "-n= --adjustment="},
		"ionice":    {first: aProgram, takes: "-c= -n= --class= --classdata=", alone: "-t --ignore"},
		"nohup":     {first: aProgram},
		"setsid":    {first: aProgram, alone: "-c -f -w --ctty --fork --wait"},
		"stdbuf":    {first: aProgram, takes: "-i= -o= -e= --input= --output= --error="},
		"unbuffer":  {first: aProgram, alone: "-p"},
		"time":      {first: aProgram, takes: "-f= --format=", starts: "-o= --output=", alone: "-p --portability -v --verbose -q --quiet -a --append"},
		"taskset":   {first: aProgram, skip: 1, alone: "-c --cpu-list -a --all-tasks"},
		"chrt":      {first: aProgram, skip: 1, takes: "-T= -P= -D=", alone: "-b -f -i -o -r -d -R"},
		"xvfb-run":  {first: aProgram, takes: "-s= -n= -e= -f= -p= -w= --server-args= --server-num= --error-file= --auth-file= --wait=", alone: "-a --auto-servernum -l --listen-tcp"},
		"dotenv":    {first: aProgram, takes: "-f= -e="},
		"cross-env": {first: aProgram, vars: true},
	}
}
