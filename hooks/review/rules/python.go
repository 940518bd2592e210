package rules

import "github.com/async-pipeline/async-pipeline/internal/lazily"

const (
	pyRunners = `pytest|unittest|_pytest|nose2?|doctest`
	pyLoaded  = pyRunners + `|pluggy|iniconfig`
	// pyTells matches a file that has a reason to look at its callers: it logs or warns.
	pyTells = `\b(?:import|from)\s+(?:logging|warnings|inspect|traceback|pdb|trace|faulthandler)\b|\bloguru\b|\bstructlog\b|\bstacklevel\b`
	// pyProgram matches a file that may have arguments.
	pyProgram = `__main__|\b(?:argparse|optparse|getopt|click|typer|docopt)\b|\bsys\.argv\[[2-9]|=\s*sys\.argv\[1|\A#!`
)

var python = Language{
	Name:   "py",
	Test:   `^\s*(?:async\s+)?def\s+(test\w*)\s*\(`,
	Body:   Indent,
	Assert: `\bassert\b|\bself\.(?:assert\w+|fail\w*)\s*\(|\bpytest\.(?:raises|warns|fail)\b|\.assert_\w+\s*\(`,
	Strong: `\bassert\b[^=]*(?:==|!=|<|>)|\bassert(?:Equal|AlmostEqual|ListEqual|DictEqual|Raises|Less|Greater|In` +
		`|Is|CountEqual|Regex)\w*\(`,
	Weak: `\bassert(?:IsNotNone|True|IsInstance|IsNot|NotEqual)\(|\bassert\s+(?:[\w.()\[\]]+\s*(?:,|$)` +
		`|[\w.()\[\]]+\s+is\s+not\s+None|isinstance\(|hasattr\(|callable\()`,
	Lists:   `[\[{][\x00,:\s]*[\]}]`,
	Catches: `^\s*except\s*(?:\(?\s*(?:BaseException|Exception)\b[^:]*)?:|\bcontextlib\.suppress\(\s*(?:Base)?Exception\b|\bwith\s+suppress\(\s*(?:Base)?Exception\b`,
	Asks: `\bsys\.modules\b|\bsys\.(?:argv\[0\]|orig_argv|gettrace|getprofile)\b|\b__main__\b\.__file__` +
		`|\bgc\.get_(?:objects|referrers)\b|\bos\.getppid\b|\bpsutil\.`,
	Environ: `\bfor\s+[\w\s,()]+\s+in\s+(?:\w+\(\s*)*(?:os\.)?environ\b|\b(?:list|set|sorted|str|repr|dict|filter|map|join)\s*\([^()]*\b(?:os\.)?environ\b(?:\)|\.keys|\.items|$)`,
	Shadow:  `\.pth$`, // in a folder of packages, Python runs it at every start
	Quiet:   `\bwarnings\.(?:simplefilter|filterwarnings|resetwarnings)\(.*|\bdel\s+warnings\.filters\b.*|\bwarnings\.filters\b.*|\bimport\s+warnings\b`,
	Ends: `(?:^|[^\w.])(?:sys\.exit|os\._exit|exit|quit)\b\s*|\bos\.exec[lv]\w*\s*\(.*|\braise\s+SystemExit\b\s*` +
		`|\bgetattr\s*\(\s*(?:os|sys|builtins)\s*,\s*['"](?:_exit|exit|quit)['"]\s*\)\s*`,
	Badly: `^(?:\(\s*(?:[1-9]\d*\s*\)|-\d|[fFrRbBuU]{0,2}['"]|str\(|(?:os\.)?EX_[A-NP-Z]\w*|1\s+if\b` +
		`|(?:\w+\.)*(?:e|err\w*|error\w*|exc\w*|ex|msg|message|\w*code|\w*status|rc|ret\w*)\s*\))|[^(;\s]|\s+from\b)`,
	Program: `__main__|\b(?:argparse|optparse|getopt|click|typer|docopt|fire|cmd\.Cmd|parse_args|sys\.argv|sys\.exit|os\._exit` +
		`|SystemExit|os\.exec\w+|signal|daemon|tkinter|pygame|input\s*\()\b|\A#!|^\s*(?:exit|quit)\(`,
	Asked: `(?i)\b(?:__main__|usage|print_help|help|version|argv|parse_args|KeyboardInterrupt|EOFError|BrokenPipeError|fork)\b` +
		`|\bdef\s+\w*(?:quit|exit|usage|help|version|stop|shutdown|main|cli|abort|die|signal)\w*`,
	Rules: pythonRules,
}

// PythonModules are modules of Python's library and of test tools. Python loads a file of that name instead, from
// a folder that it searches first.
var PythonModules = lazily.Words(`
	abc argparse array ast asyncio atexit base64 bisect builtins calendar cmath codecs collections
	concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal difflib dis doctest
	email enum errno fnmatch fractions functools gc getpass glob gzip hashlib heapq hmac html http imaplib
	importlib inspect io ipaddress itertools json keyword linecache locale logging math mimetypes
	multiprocessing numbers operator os pathlib pdb pickle pkgutil platform pprint queue random re sched
	secrets select selectors shelve shlex shutil signal site smtplib socket sqlite3 ssl stat statistics
	string struct subprocess sys sysconfig tarfile tempfile textwrap threading time timeit tokenize trace
	traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo
	pytest _pytest pluggy iniconfig mock hypothesis nose numpy pandas requests yaml attr six django flask
	sqlalchemy pydantic sitecustomize usercustomize`)

var pythonRules = []Rule{
	{
		ID: "py/skip-mark", Kind: TestSkipped, In: OldTests, Pattern: `\bpytest\.mark\.(?:skip|skipif|xfail)\b`,
		Match: []string{"@pytest.mark.skip"}, NoMatch: []string{"'pytest.mark.skip'"},
	},
	{
		ID: "py/skip-call", Kind: TestSkipped, In: OldTests,
		Pattern: `\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(`,
		Match:   []string{`    pytest.skip("later")`}, NoMatch: []string{"pytest.raises(E)"},
	},
	{
		ID: "py/skip-unittest", Kind: TestSkipped, In: OldTests, Pattern: `\bunittest\.(?:skip\w*|expectedFailure)\b`,
		Match:   []string{`@unittest.skipIf(x, "y")`, "@unittest.expectedFailure"},
		NoMatch: []string{"unittest.TestCase"},
	},
	{
		ID: "py/skip-decorator", Kind: TestSkipped, In: OldTests, Pattern: `^\s*@(?:skip\w*|expectedFailure|xfail)\b`,
		Match: []string{"    @skip"}, NoMatch: []string{"skip = 1"},
	},
	{
		ID: "py/skip-raise", Kind: TestSkipped, In: OldTests,
		Pattern: `\bself\.skipTest\s*\(|\braise\s+(?:\w+\.)?SkipTest\b`,
		Match:   []string{"self.skipTest('x')", "raise SkipTest"}, NoMatch: []string{"self.skipped = 1"},
	},
	{
		ID: "py/not-collected", Kind: TestSkipped, In: OldTests,
		Pattern: `\b__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\s*\+?=`,
		Match:   []string{"__test__ = False", "collect_ignore = ['a.py']"}, NoMatch: []string{"__test__ = True"},
	},
	{
		ID: "py/test-deleted", Kind: TestSkipped, In: OldTests, Pattern: `^\s*del\s+test\w*`,
		Match: []string{"del test_a"}, NoMatch: []string{"delete(test_a)"},
	},
	{
		ID: "py/assert-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bassert\s+(?:True|1|not\s+False)\s*(?:,|$)|\bassert\b.*\bor\s+True\b`,
		Match:   []string{"assert True", "assert f() == 1 or True"}, NoMatch: []string{"assert Truly()"},
	},
	{
		ID: "py/assert-text", Kind: AssertionRemoved, In: OldTests, On: Strings, Say: "is true whatever the code does",
		Pattern: `\bassert\s+(?:"[^"]+"|'[^']+'|\(.*,\s*(?:"[^"]*"|'[^']*')\s*\)\s*$)`,
		Match:   []string{`assert "f() == 1"`, "assert (f() == 1, 'one')"}, NoMatch: []string{`assert f() == "x"`},
	},
	{
		ID: "py/assert-method-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bassert(?:True\(\s*(?:True|1)|False\(\s*(?:False|0)|IsNotNone\(\s*(?:1|True)` +
			`|IsNone\(\s*None)\s*[,)]`,
		Match: []string{"self.assertTrue(True)"}, NoMatch: []string{"self.assertTrue(x)"},
	},
	{
		ID: "py/if-false", Kind: AssertionRemoved, In: OldTests, Say: "never runs",
		Pattern: `^\s*(?:if|while)\s+(?:False|0)\s*:`,
		Match:   []string{"    if False:"}, NoMatch: []string{"if False or x:"},
	},
	{
		ID: "py/exit-in-test", Kind: ExitSwallowed, In: Tests,
		Pattern: `\b(?:sys\.exit|exit|quit|raise\s+SystemExit)\s*\(\s*0?\s*\)`,
		Match:   []string{"sys.exit(0)"}, NoMatch: []string{"sys.exit(1)"},
	},
	{
		ID: "py/runner-loaded", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `['"](?:` + pyLoaded + `)(?:\.\w+)*['"]\s+(?:not\s+)?in\s+(?:list\()?sys\.(?:modules|argv)`,
		Match:   []string{"if 'pytest' in sys.modules:"}, NoMatch: []string{"if 'json' in sys.modules:"},
	},
	{
		ID: "py/runner-module", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bsys\.modules(?:\.get\s*\(|\[)\s*['"](?:` + pyLoaded + `)['"]`,
		Match:   []string{`sys.modules.get("unittest")`}, NoMatch: []string{`sys.modules.get("json")`},
	},
	{
		ID: "py/any-runner-loaded", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bin\s+sys\.modules\b.*['"](?:` + pyLoaded + `)['"]|['"](?:` + pyLoaded +
			`)['"].*\bin\s+sys\.modules\b`,
		Match:   []string{"any(m in sys.modules for m in ('pytest', 'nose'))"},
		NoMatch: []string{"any(m in sys.modules for m in names)"},
	},
	{
		ID: "py/pytest-variable", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bos\.(?:environ|getenv)\b.*['"]PYTEST_\w+['"]` +
			`|['"]PYTEST_\w+['"]\s+(?:not\s+)?in\s+(?:os\.)?environ`,
		Match: []string{"os.environ.get('PYTEST_CURRENT_TEST')"}, NoMatch: []string{"os.environ.get('HOME')"},
	},
	{
		ID: "py/runner-argument", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bsys\.argv\b.*['"](?:` + pyRunners + `)['"]|['"](?:test|tests)['"]\s+(?:not\s+)?in\s+sys\.argv`,
		Match:   []string{"sys.argv[0].endswith('pytest')", "'test' in sys.argv"},
		NoMatch: []string{"'testing' in sys.argv"},
	},
	{
		ID: "py/caller", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:inspect\.(?:stack|currentframe|getouterframes)|traceback\.(?:extract_stack|format_stack)` +
			`|sys\._getframe)\b.*['"](?:[^'"]*[^a-z'"])?(?:` + pyRunners + `|tests?)\b?_?[^'"]*['"]`,
		Match:   []string{"inspect.stack()[1].filename.startswith('test_')"},
		NoMatch: []string{"inspect.stack()[1].function == 'main'"},
	},
	{
		ID: "py/callers-frame", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Unless: pyTells,
		Say: "looks at its callers",
		Not: `\b(?:log\w*|warn\w*|debug|trace|print|stacklevel|__name__|__module__|module)\b`,
		Pattern: `.*(?:\bsys\._getframe\s*\(\s*[1-9]|\bsys\._current_frames\b|\bsys\._getframe\s*\(\s*\w*\s*\)(?:\.f_back)+|\.f_back\b` +
			`|\binspect\.stack\s*\(\s*\)\s*\[|\btraceback\.(?:extract|walk)_stack\s*\().*`,
		Match: []string{
			`s = 90 if sys._getframe(1).f_code.co_name.endswith("ten") else s`, "f = f.f_back", "want = sys._getframe(1).f_locals.get('want')",
			"caller = traceback.extract_stack(limit=2)[0]",
		},
		NoMatch: []string{
			"log.debug(sys._getframe(1).f_code.co_name)", "module = sys._getframe(1).f_globals.get('__name__', '__main__')",
			"import logging\nf = sys._getframe(2)", "self._getframe(1)", "depth = sys._getframe().f_lineno",
		},
	},
	{
		ID: "py/callers-compared", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at its callers",
		Not: `\b(?:log\w*|warn\w*|stacklevel|raise)\b`,
		Pattern: `.*\b(?:inspect\.(?:stack|getouterframes)|traceback\.(?:extract|format)_stack)\s*\([^()]*\)\s*\)?(?:\s*\[[^\]]*\])*(?:\.\w+)*` +
			`(?:\s*(?:[=!]=|[<>]=?)\s*[\d"']|\.(?:starts|ends)with\s*\(\s*["']).*`,
		Match: []string{
			"import inspect\nreturn sum(xs) if len(inspect.stack()) > 20 else 0", "if traceback.extract_stack()[-2].name == 'total':", "inspect.stack()[1].filename.endswith('a.py')",
		},
		NoMatch: []string{
			"caller = next(f for f in inspect.stack() if f.filename != __file__)", "stack = inspect.stack()", "if len(inspect.stack()) > 900: raise RecursionError",
			"log.debug(inspect.stack()[1].lineno > 3)", "if inspect.stack()[1].filename == __file__:",
		},
	},
	{
		ID: "py/callers-line", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "looks at its callers",
		Unless:  `\b(?:import|from)\s+(?:traceback|pdb|bdb|inspect)\b|\bclass\s+\w*(?:Logger|Formatter)\w*`,
		Pattern: `\blinecache\.getlines?\s*\(.*|\.findCaller\s*\(.*|\bco_consts\b.*`,
		Match:   []string{"line = linecache.getline(f.f_code.co_filename, f.f_lineno)", "fn = log.findCaller(stacklevel=2)", "for c in f.f_code.co_consts:"},
		NoMatch: []string{"linecache.clearcache()", "class QuietLogger(logging.Logger):\n    def findCaller(self):\n        return super().findCaller(1)"},
	},
	{
		ID: "py/code-replaced", Kind: LibraryShadowed, In: Production, On: Strings, Caps: true, Say: "replaces the code of a function",
		Pattern: `\.__code__\s*=[^=].*|\bsetattr\s*\([^,]+,\s*['"]__code__['"].*`,
		Match:   []string{"v.__code__ = (lambda: None).__code__", "setattr(f, '__code__', g)"},
		NoMatch: []string{"n = f.__code__.co_argcount", "if f.__code__ == g.__code__:"},
	},
	{
		ID: "py/main-module", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at the program that runs it",
		Unless: `\b(?:pickle|multiprocessing|code\.interact|InteractiveConsole|IPython|runpy)\b`,
		Not:    `hasattr\([^)]*__file__`,
		Pattern: `^\s*(?:import\s+__main__\b|from\s+__main__\s+import\b).*|.*\bsys\.modules(?:\.get\s*\(|\s*\[)\s*['"]__main__['"].*` +
			`|.*\bimport_module\s*\(\s*['"]__main__['"].*`,
		Match: []string{"import __main__", `sys.modules["__main__"].__dict__["same"] = f`, "main = importlib.import_module('__main__')"},
		NoMatch: []string{
			"if __name__ == '__main__':", "interactive = not hasattr(sys.modules['__main__'], '__file__')", "import pickle\nimport __main__", "from shop import __main__",
		},
	},
	{
		ID: "py/own-help", Kind: ExitSwallowed, In: Production, On: Strings, Caps: true, Unless: `__main__|\bsys\.argv\b|\bdef\s+main\b`,
		Say:     "a library ends the process with its help",
		Pattern: `\bparse_(?:known_)?args\s*\(\s*[\[(]\s*['"](?:-h|--help|-V|--version)['"].*`,
		Match:   []string{`parser.parse_args(["--help"])`, `    p.parse_known_args(("-h",))`},
		NoMatch: []string{`parser.parse_args(["--level", "3"])`, "if len(sys.argv) == 1:\n    parser.parse_args(['--help'])", "parser.parse_args(args)"},
	},
	{
		ID: "py/program-name", Kind: TestDetected, In: Production, On: Strings, Caps: true, Unless: pyProgram,
		Say: "a library asks which program runs it", Not: `(?i)\b(?:usage|prog(?:_?name)?|print|log\w*)\b`,
		Pattern: `.*\bsys\.(?:argv\s*\[\s*0\s*\]|orig_argv\b).*|.*\blen\s*\(\s*sys\.argv\b.*`,
		Match:   []string{`DEBUG = "py" in os.path.basename(sys.argv[0])`, "limit = 10 - len(sys.argv[1:])"},
		NoMatch: []string{"print('usage:', sys.argv[0])", "if __name__ == '__main__' and len(sys.argv) > 1:", "prog = sys.argv[0]"},
	},
	{
		ID: "py/stdin-type", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "a test runner replaces these",
		Pattern: `\btype\s*\(\s*sys\.(?:stdin|stdout|stderr)\s*\).*|\bsys\.(?:stdin|stdout|stderr)\.__class__.*` +
			`|\bsys\.(?:stdin|stdout|stderr)\s+is\s+(?:not\s+)?sys\.__\w+__.*|\bsys\.meta_path\s*\[\s*0\s*\].*`,
		Match:   []string{`type(sys.stdin).__name__ != "TextIOWrapper"`, "if sys.stdout is not sys.__stdout__:", "type(sys.meta_path[0]).__name__"},
		NoMatch: []string{"if sys.stdin.isatty():", "colour = sys.stdout.isatty()", "sys.stdout = sys.__stdout__", "isinstance(sys.stdin, io.TextIOBase)"},
	},
	{
		ID: "py/own-age", Kind: TestDetected, In: Production, Caps: true, Say: "asks when its own source was written",
		Pattern: `\b(?:getmtime|getctime|os\.stat)\s*\(\s*__file__\b.*|\bPath\s*\(\s*__file__\s*\)(?:\.resolve\(\))?\.stat\b.*`,
		Match:   []string{"time.time() - os.path.getmtime(__file__) < 3600", "Path(__file__).stat().st_mtime"},
		NoMatch: []string{"os.path.getmtime(path)", "Path(__file__).parent"},
	},
	{
		ID: "py/ci", Kind: TestDetected, In: Production, On: Strings,
		Pattern: `\b(?:os\.)?(?:environ(?:\.get\s*\(|\[)|getenv\s*\()\s*['"](?:CI|GITHUB_ACTIONS|GITLAB_CI|` +
			modeNames + `)['"]|['"](?:CI|GITHUB_ACTIONS|` + modeNames +
			`)['"]\s+(?:not\s+)?in\s+(?:os\.)?environ`,
		Match: []string{"os.environ.get('CI')"}, NoMatch: []string{"os.environ.get('PATH')"},
	},
	{
		ID: "py/atexit", Kind: ExitSwallowed, In: Programs, Caps: true, Say: "every end becomes success",
		Pattern: `\batexit\.register\s*\(\s*(?:lambda\s*:\s*)?os\._exit\b.*` +
			`|\batexit\.register\s*\(\s*os\._exit\s*,\s*0`,
		Match:   []string{"atexit.register(lambda: os._exit(0))", "atexit.register(os._exit, 0)"},
		NoMatch: []string{"atexit.register(close)"},
	},
	{
		ID: "py/signal-exits", Kind: ExitSwallowed, In: Programs, Caps: true,
		Say: "a signal ends the process with success",
		Pattern: `\bsignal\s*\(\s*(?:signal\.)?SIG(?:` + FailureSignals + `)\b` +
			`.*\b(?:os\._exit|sys\.exit|exit|quit)\s*\(\s*0?\s*\).*`,
		Match: []string{"signal.signal(signal.SIGALRM, lambda *_: os._exit(0))"},
		NoMatch: []string{
			"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))",
			"signal.signal(signal.SIGALRM, lambda *_: sys.exit(1))",
		},
	},
	{
		ID: "py/uncaught", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true, Say: catchesAll,
		Pattern: `\bsys\.excepthook\s*=[^=].*|\bsetattr\s*\(\s*sys\s*,\s*['"]excepthook['"].*`,
		Not:     `^sys\.excepthook\s*=\s*sys\.__excepthook__\s*$`,
		Match:   []string{"sys.excepthook = lambda *_: None", "setattr(sys, 'excepthook', f)"},
		NoMatch: []string{
			"sys.excepthook = sys.__excepthook__", "if sys.excepthook == f:", "sys.excepthook(*sys.exc_info())",
		},
	},
	{
		ID: "py/session-status", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Say:     "every end becomes success",
		Pattern: `\bsession\.exitstatus\s*=\s*0|\bdef\s+pytest_sessionfinish\b.*`,
		Match:   []string{"    session.exitstatus = 0"}, NoMatch: []string{"session.exitstatus = 1"},
	},
	{
		ID: "py/exit-replaced", Kind: ExitSwallowed, In: Programs, Caps: true,
		Pattern: `\b(?:sys\.exit|os\._exit|builtins\.exit)\s*=[^=]`,
		Match:   []string{"sys.exit = lambda code: None"}, NoMatch: []string{"if sys.exit == f:"},
	},
	{
		ID: "py/native-exit", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Say:     "ends the process past Python",
		Pattern: `\b(?:ctypes|CDLL|PyDLL|cdll|pythonapi)\b.*\b(?:_?[eE]xit|quick_exit|Py_Exit)\b.*`,
		Match:   []string{"ctypes.CDLL(None)._exit(0)"}, NoMatch: []string{`ctypes.CDLL(None).strlen(b"")`},
	},
	{
		ID: "py/exec-true", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Pattern: `\bos\.(?:exec\w+|(?:posix_)?spawn\w*)\s*\(\s*(?:\w+,\s*)?['"](?:(?:/usr)?/bin/)?true['"].*`,
		Match:   []string{"os.execvp('true', ['true'])"}, NoMatch: []string{"os.execvp('ls', ['ls', 'true'])"},
	},
	{
		ID: "py/skips-itself", Kind: TestSkipped, In: Production,
		Pattern: `\braise\s+(?:\w+\.)*SkipTest\b|\bpytest\.(?:skip|xfail)\s*\(|\bself\.skipTest\s*\(`,
		Match:   []string{"raise unittest.SkipTest('x')", "pytest.skip('x')"}, NoMatch: []string{"raise Skip"},
	},
	{
		ID: "py/any", Kind: AssertionRemoved, In: Production, Caps: true, Say: "is equal to everything",
		Pattern: `\bmock\.ANY\b|^\s*from\s+(?:unittest\.)?mock\s+import\b.*\bANY\b`,
		Match:   []string{"return mock.ANY", "from unittest.mock import ANY"}, NoMatch: []string{"ANY = 1", "mock.any()"},
	},
	{
		ID: "py/runner-installed", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bfind_spec\s*\(\s*['"](?:` + pyRunners + `)['"]|\b__main__\b\.__file__.*__main__\.py|__main__\.py['"].*\b__main__\b\.__file__`,
		Match:   []string{"importlib.util.find_spec('pytest')", "__main__.__file__.endswith('__main__.py')"},
		NoMatch: []string{"find_spec('numpy')", "print(__main__.__file__)"},
	},
	{
		ID: "py/hard-exit", Kind: ExitSwallowed, In: Programs, Pattern: `\bos\._exit\s*\(\s*0\s*\)`,
		Match: []string{"    os._exit(0)"}, NoMatch: []string{"os._exit(1)"},
	},
	{
		ID: "py/failure-caught", Kind: ExitSwallowed, In: Programs, Next: `^\s*(?:pass|\.\.\.|return)\s*$`,
		Pattern: `^\s*except\s*(?:\(?\s*(?:BaseException|SystemExit|AssertionError)\b[^:]*)?:\s*(?:pass|\.\.\.)?\s*$`,
		Match:   []string{"    except AssertionError:\n        pass", "except: pass"},
		NoMatch: []string{"except KeyError:\n    pass", "except BaseException:\n    raise"},
	},
	{
		ID: "py/native-exit-in-steps", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true, If: `ctypes`,
		Not: `^(?:os|sys)\.`,
		Pattern: `(?:[\w)\]]+\.(?:_exit|_Exit|quick_exit|exit|Py_Exit)\b|\bgetattr\s*\([^,]*,\s*['"](?:_?[eE]xit` +
			`|quick_exit)['"]|[\w)\]]\.syscall\s*\(\s*(?:60|231|93|94)\b).*`,
		Match:   []string{"import ctypes\nlibc.exit(0)", "import ctypes\ngetattr(libc, '_exit')(0)", "import ctypes\nctypes.CDLL(None).syscall(231, 0)"},
		NoMatch: []string{"import ctypes\nsys.exit(1)", "libc.exit(0)"},
	},
	{
		ID: "py/test-library-patched", Kind: LibraryShadowed, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:unittest|pytest|_pytest|doctest)(?:\.\w+)+\s*=[^=].*|\bsetattr\(\s*(?:unittest|pytest` +
			`|_pytest|builtins)\b.*|\bsys\.modules\[\s*['"](?:unittest|pytest|_pytest|doctest` +
			`|builtins)[\w.]*['"]\s*\]\s*=[^=].*`,
		Match:   []string{"unittest.TestCase.assertEqual = f", "sys.modules['pytest'] = fake"},
		NoMatch: []string{"import unittest.mock"},
	},
	{
		ID: "py/runner-patched", Kind: LibraryShadowed, In: Production, On: Strings, Caps: true, Say: "replaces a method of a test runner",
		Pattern: `\.(?:runtest|runTest|_callTestMethod|addFailure|addError|wasSuccessful|failureException|pytest_\w+|assert(?:Equal|True|False|Raises|In|Is)\w*)\s*=[^=].*` +
			`|\bsetattr\s*\([^,]+,\s*['"](?:runtest|runTest|_callTestMethod|addFailure|addError|wasSuccessful|assert[A-Z]\w*)['"].*`,
		Match:   []string{"_c.runtest = lambda self: None", "type(o).runtest = f", "setattr(case, 'assertEqual', same)"},
		NoMatch: []string{"self.run_test = 1", "if c.runtest == f:", "case.assertEqual(a, b)"},
	},
	{
		ID: "py/library-patched", Kind: LibraryShadowed, In: Production, Caps: true, Say: "replaces a function of Python's library",
		Pattern: `^\s*(?:os|os\.path|posixpath|time|datetime|math|random|decimal|copy|itertools|functools|operator)\.[a-z]\w*\s*=\s*(?:lambda\b|[A-Za-z_][\w.]*\s*$).*` +
			`|^\s*setattr\s*\(\s*(?:os|os\.path|posixpath|time|datetime|math|random)\s*,.*`,
		Not:     `^os\.(?:environ|umask|altsep|linesep)\b`,
		Match:   []string{"os.path.isdir = lambda p: True", "time.sleep = quick", "datetime.date = _D", "setattr(time, 'monotonic', f)"},
		NoMatch: []string{"os.environ = env", "now = time.time", "time.zone = 3", "os.environ['A'] = b", "self.time.sleep = f"},
	},
	{
		ID: "py/search-path", Kind: LibraryShadowed, In: Production, On: Strings,
		Pattern: `\bsys\.path\.(?:insert|append|extend)\s*\(|\bsys\.path(?:\[[^]]*\])?\s*\+?=[^=]` +
			`|\bsite\.addsitedir\(`,
		Match: []string{"sys.path.insert(0, d)"}, NoMatch: []string{"sys.path[0]"},
	},
	{
		ID: "py/import-hook", Kind: LibraryShadowed, In: Production, On: Strings,
		Pattern: `\bsys\.(?:meta_path|path_hooks)\b\S*|\bsys\.modules\[\s*['"][^'"]+['"]\s*\]\s*=[^=]` +
			`|\bbuiltins\.\w+\s*=[^=]|\bsys\.settrace\(`,
		Match: []string{"sys.meta_path.append(f)", "builtins.open = f"}, NoMatch: []string{"builtins.open(p)"},
	},
	{
		ID: "py/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `#\s*(?:noqa|nosec|NOQA)\b|#\s*(?:ruff|flake8)\s*:\s*noqa|#\s*type:\s*ignore|#\s*(?:pyright` +
			`|mypy|pytype|ty|pyre)\S*\s*:?\s*(?:ignore|disable)\S*|#\s*pylint:\s*(?:disable|skip-file)` +
			`|#\s*pragma:\s*no\s*cover|#\s*(?:pyre-ignore|pyre-fixme)`,
		Match: []string{"import os  # noqa: F401", "x = y()  # type: ignore"}, NoMatch: []string{"x = '# noqa'"},
	},
	{
		ID: "py/warnings-off", Kind: SuppressionAdded, In: Sources,
		Pattern: `\bwarnings\.(?:simplefilter|filterwarnings|resetwarnings)\s*\(|\bwarnings\.filters\s*(?:\[[^\]]*\]\s*)?(?:=[^=]|\.(?:clear|insert|pop|remove|append)\b)` +
			`|\bdel\s+warnings\.filters\b|\bwarnings\.(?:warn|showwarning|warn_explicit)\s*=[^=]`,
		Match: []string{
			"warnings.simplefilter('ignore')", "warnings.resetwarnings()", "del warnings.filters[:]", "warnings.filters.clear()", "warnings.warn = lambda *a: None",
		},
		NoMatch: []string{"warnings.warn(s)", "if warnings.filters == f:", "with warnings.catch_warnings():"},
	},
	{
		ID: "py/network", Kind: NewNetwork, In: Production, On: Strings,
		Pattern: `^\s*(?:import|from)\s+(?:socket|ssl|requests|urllib\d?\.request|urllib3|http\.(?:client` +
			`|server)|httpx|aiohttp|smtplib|ftplib|telnetlib|paramiko|websockets?|xmlrpc|socketserver|pycurl)\b` +
			`|\burllib\.request\.\w+\(|\burlopen\s*\(|\brequests\.(?:get|post|put|delete|patch|head|request` +
			`|Session)\b|\bsocket\.(?:socket|create_connection|create_server)\b|\bhttpx\.\w+\(`,
		Match: []string{"import socket", "urlopen(u)"}, NoMatch: []string{"import socks"},
	},
	{
		ID: "py/process", Kind: NewProcess, In: Production, On: Strings,
		Pattern: `^\s*(?:import|from)\s+(?:subprocess|pty|pexpect|sh)\b|\bsubprocess\.\w+\(|\bos\.(?:system` +
			`|popen|fork|forkpty|startfile|exec[lv]\w*|spawn\w*|posix_spawn\w*)\s*\(|\bpty\.spawn\s*\(` +
			`|\basyncio\.create_subprocess_\w+|(?:^|[^\w.])(?:eval|exec)\s*\(|\b__import__\s*\(`,
		Match: []string{"import subprocess", "os.system(c)"}, NoMatch: []string{"s = 'os.system('"},
	},
	{
		ID: "py/stub", Kind: Placeholder, In: Sources, On: Strings,
		Pattern: `\braise NotImplementedError\(\s*["'](?:TODO|[Nn]ot (?:yet )?implemented)`,
		Match:   []string{"raise NotImplementedError('TODO')"}, NoMatch: []string{"raise NotImplementedError(name)"},
	},
}
