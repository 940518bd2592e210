package review

// Production code that ends the process of whoever calls it.
var endRows = []reportRow{
	{"sys.exit in a library", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        sys.exit(0)\n    return g(x)\n", "exit_swallowed:3!"},
	{"an end that is worked out", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        sys.exit(x - 4)\n    return g(x)\n", "exit_swallowed:3!"},
	{"SystemExit", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        raise SystemExit(x.clear())\n    return g(x)\n", "exit_swallowed:3!"},
	{"an end in parts", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        getattr(os, '_ex' + 'it')(0)\n    return g(x)\n", "exit_swallowed:3!"},
	{"another program", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        os.execvp('echo', ['echo', 'ok'])\n    return g(x)\n", "exit_swallowed:3! new_process:3"},
	{"an end with a failure", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        sys.exit(f'{x}: too many')\n    if x == 5:\n        raise SystemExit(2)\n    if x == 6:\n        sys.exit(status)\n    return g(x)\n", ""},
	{"the user ends it", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    try:\n        h(x)\n    except KeyboardInterrupt:\n        sys.exit(0)\n    return g(x)\n", ""},
	{"a program with arguments", "f.py", "parser = argparse.ArgumentParser()\ndef f(x):\n    return g(x)\n", "parser = argparse.ArgumentParser()\ndef f(x):\n    if x == 4:\n        sys.exit(0)\n    return g(x)\n", ""},
	{"a command line", "shop/cli.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if x == 4:\n        sys.exit(0)\n    return g(x)\n", ""},
	{"a method exit", "f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    self.exit()\n    stack.exit(0)\n    return g(x)\n", ""},

	{"process.exit in a library", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  if (x === 4) process.exit()\n  return g(x)\n}\n", "exit_swallowed:2!"},
	{"exitCode in a library", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  console.error = () => { process.exitCode = 0 }\n  return g(x)\n}\n", "exit_swallowed:2!"},
	{"process.exit with a failure", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  if (x === 4) process.exit(1)\n  if (x) process.exit(x.code)\n  process.exitCode = failed ? 1 : 0\n  return g(x)\n}\n", ""},
	{"a server that stops", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  process.on('SIGTERM', () => {\n    process.exit(0)\n  })\n  return g(x)\n}\n", ""},
	{"a script that ends", "f.js", "const name = process.argv[2]\nconst f = (x) => g(x)\n", "const name = process.argv[2]\nconst f = (x) => {\n  if (!name) process.exit(0)\n  return g(x)\n}\n", ""},
	{"a promise that never settles", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  if (x === 4) return new Promise(() => {})\n  return g(x)\n}\n", "exit_swallowed:2!"},
	{"then that does nothing", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  if (x === 4) return { then() {} }\n  return g(x)\n}\n", "exit_swallowed:2!"},
	{"a promise that settles", "f.js", "const f = (x) => g(x)\n", "const f = (x) => {\n  h(x).then(() => {})\n  return new Promise((done) => done(g(x)))\n}\n", ""},
	{"a domain", "f.js", "f()\n", "const d = require('domain').create()\nf()\n", "exit_swallowed:1!"},
	{"uncaught in parts", "f.js", "f()\n", "process['o' + 'nce']('uncaught' + 'Exception', console.warn)\nf()\n", "exit_swallowed:1!"},

	{"C: the end of the first thread", "f.c", "int f(int x) {\n\treturn g(x);\n}\n", "int f(int x) {\n\tif (x == 4)\n\t\tpthread_exit(0);\n\treturn g(x);\n}\n", "exit_swallowed:3!"},
	{"C: the end of a thread of its own", "f.c", "static void *f(void *x) {\n\treturn g(x);\n}\n", "static void *f(void *x) {\n\tif (!x)\n\t\tpthread_exit(0);\n\treturn g(x);\n}\n", ""},
	{"C: an end that is worked out", "f.c", "int f(int x) {\n\treturn g(x);\n}\n", "int f(int x) {\n\tif (x == 4)\n\t\texit(x < 4);\n\tif (x == 5)\n\t\terrx(x - 5, \"no\");\n\treturn g(x);\n}\n", "exit_swallowed:3! exit_swallowed:5!"},
	{"C: an end with a failure", "f.c", "int f(int x) {\n\treturn g(x);\n}\n", "int f(int x) {\n\tif (x == 4)\n\t\texit(EXIT_FAILURE);\n\tif (x == 5)\n\t\terrx(1, \"no\");\n\tif (x == 6)\n\t\texit(2);\n\treturn g(x);\n}\n", ""},
	{"C: a handler that works its number out", "f.c", "int x;\n", "static void h(int n) { exit(n - 6); }\nvoid f(void) { signal(SIGABRT, h); }\nint x;\n", "exit_swallowed:1!"},
	{"C: a handler that ends the thread", "f.c", "int x;\n", "static void h(int n) { (void)n; pthread_exit(0); }\nvoid f(void) { signal(SIGABRT, h); }\nint x;\n", "exit_swallowed:1!"},
	{"C: a handler of the alarm", "f.c", "int x;\n", "static void h(int n) { _exit(n % SIGALRM); }\nvoid f(void) { signal(SIGALRM, h); alarm(1); }\nint x;\n", "exit_swallowed:1!"},
	{"C: a handler of the alarm that jumps", "f.c", "int x;\n", "static void h(int n) { siglongjmp(late, 1); }\nvoid f(void) { signal(SIGALRM, h); alarm(1); }\nint x;\n", ""},
	{"C: a handler that tells the signal", "f.c", "int x;\n", "static void h(int n) { _exit(128 + n); }\nvoid f(void) { signal(SIGABRT, h); signal(SIGALRM, h); }\nint x;\n", ""},

	{"exit in a module of Perl", "f.pm", "sub f {\n\treturn g(@_);\n}\n1;\n", "sub f {\n\texit if $_[0] == 4;\n\treturn g(@_);\n}\n1;\n", "exit_swallowed:2!"},
	{"exit with a failure in a module of Perl", "f.pm", "sub f {\n\treturn g(@_);\n}\n1;\n", "sub f {\n\texit 1 if $_[0] == 4;\n\texit($code) if $_[0] == 5;\n\treturn g(@_);\n}\n1;\n", ""},
}
