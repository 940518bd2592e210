package review

// Libraries that are replaced under names that are put together, and checkers that are silenced in other words.
var quietRows = []reportRow{
	{"assert in parts", "f.js", "f()\n", "const m = require(['as', 'sert'].join(''))\nm['deep' + 'Equal'] = () => {}\nf()\n", "library_shadowed:2!"},
	{"assert in a loop", "f.js", "f()\n", "for (const m of ['assert', 'node:assert']) {\n  for (const k of Object.keys(require(m))) if (/Equal/.test(k)) require(m)[k] = () => {}\n}\nf()\n", "library_shadowed:2!"},
	{"assert by the loader", "f.js", "f()\n", "Object.assign(module.constructor._load('as' + 'sert'), { ['strict' + 'Equal']() {} })\nf()\n", "library_shadowed:1!"},
	{"plugins", "f.js", "f()\n", "for (const file of files) plugins[file] = require(file)\nrequire(file).setup(f)\nf()\n", ""},
	{"warnings reset", "f.py", "x = 1\n", "import warnings\nwarnings.resetwarnings()\nx = 1\n", "suppression_added:2!"},
	{"filters gone", "f.py", "import warnings\nx = 1\n", "import warnings\ndel warnings.filters[:]\nx = 1\n", "suppression_added:2!"},
	{"C: unused", "f.c", "static int x;\n", "static int x __attribute__((unused));\n", "suppression_added:1!"},
	{"C: unused, and more", "f.c", "int f(int x) { return 3; }\n", "int f(int x __attribute__((unused))) { return 4; }\n", "suppression_added:1"},
	{"C: pragma by a macro", "f.c", "static int x;\n", "#define QUIET(x) _Pragma(#x)\nQUIET(GCC diagnostic ignored \"-Wunused-variable\")\nstatic int x;\n", "suppression_added:2!"},
	{"C: a header of the system", "b.h", absent, "#pragma GCC system_header\nstatic int x;\n", "suppression_added:1!"},
	{"C: a line of a header of the system", "f.c", "static int x;\n", "# 1 \"/usr/include/a.h\" 1 3\nstatic int x;\n", "suppression_added:1!"},
	{"C: a line of a grammar", "f.c", "static int x;\n", "#line 3 \"grammar.y\"\nstatic int x;\n", ""},
	{"Java: a stream that writes on", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    PrintStream old = System.out;\n    System.setOut(new PrintStream(new OutputStream() {\n      public void write(int b) {\n        old.write(b);\n        log.write(b);\n      }\n      public void write(byte[] b, int from, int n) {\n        old.write(b, from, n);\n        log.write(b, from, n);\n      }\n      public void flush() {\n        old.flush();\n      }\n    }, true));\n  }\n}\n", "library_shadowed:4"},
	{"Java: a stream that writes on some", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    PrintStream old = System.out;\n    System.setOut(new PrintStream(new OutputStream() {\n      public void write(int b) {\n        if (b > 9) old.write(b);\n      }\n    }));\n  }\n}\n", "library_shadowed:4!"},
	{"Java: a stream that writes on more", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    PrintStream old = System.out;\n    System.setOut(new PrintStream(new OutputStream() {\n      public void write(int b) {\n        old.write(b);\n        if (b == 10) old.print(PASS);\n      }\n    }));\n  }\n}\n", "library_shadowed:4!"},
	{"Java: a stream that writes lines on", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    PrintStream old = System.out;\n    System.setOut(new PrintStream(new OutputStream() {\n      public void write(int b) {\n        old.write(b);\n      }\n    }) {\n      public void println(String s) { super.println(edited(s)); }\n    });\n  }\n}\n", "library_shadowed:4!"},
	{"Java: a stream that writes on elsewhere", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    PrintStream old = new Quiet(System.out);\n    System.setOut(new PrintStream(new OutputStream() {\n      public void write(int b) {\n        old.write(b);\n      }\n    }));\n  }\n}\n", "library_shadowed:4!"},
	{"Java: a tee of a library", "F.java", "import org.apache.commons.io.output.TeeOutputStream;\nclass F {\n}\n", "import org.apache.commons.io.output.TeeOutputStream;\nclass F {\n  void f() {\n    System.setErr(new PrintStream(new TeeOutputStream(System.err, log), true));\n  }\n}\n", "library_shadowed:4"},
	{"Java: a tee of its own", "F.java", "class F {\n}\n", "class F {\n  void f() {\n    System.setErr(new PrintStream(new TeeOutputStream(System.err, log), true));\n  }\n}\n", "library_shadowed:3!"},
}
