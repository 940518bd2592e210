# A C library built by CMake, and a Python package over it.
#
#   async-pipeline run                     everything
#   async-pipeline run 'ctest["Asan"]'     the C tests under the address sanitizer
#   async-pipeline run python              the Python side only

pipeline {
  name     = "stats"
  pass_env = ["CC", "CFLAGS", "LDFLAGS", "PYTHON*", "VIRTUAL_ENV"]
}

variable "python" {
  description = "Python to test with"
  default     = "python3"
}

locals {
  c_sources = ["CMakeLists.txt", "include/**/*.h", "src/**/*.c", "tests/c/*.c"]
  py_files  = fileset("{stats,tools,tests}/**/*.py")
  headers   = ["export", "mean", "median", "histogram"]
  built     = "build/Release/libstats.so"
  with_lib  = { STATS_LIBRARY = "${path.root}/build/Release/libstats.so", PYTHONDONTWRITEBYTECODE = "1" }
}

# --- checks that need no build ------------------------------------------------

task "version" {
  description = "One version everywhere"
  run         = [var.python, "tools/version.py"]
  inputs      = ["CMakeLists.txt", "include/stats/export.h", "stats/__init__.py"]
}

task "lint-c" {
  description = "Layout of the C sources"
  run         = concat([var.python, "tools/lint.py"], fileset("{include,src,tests}/**/*.{c,h}"))
}

task "lint-python" {
  description = "Layout of the Python sources"
  run         = concat([var.python, "tools/lint.py"], local.py_files)
}

task "syntax" {
  description = "Every Python file compiles"
  run         = concat([var.python, "-c", "import sys; [compile(open(p).read(), p, 'exec') for p in sys.argv[1:]]"], local.py_files)
}

task "header" {
  description = "stats/${matrix.header}.h stands alone in ${matrix.language}"
  matrix = {
    header   = local.headers
    language = ["c", "c++"]
  }
  run    = "echo '#include \"stats/${matrix.header}.h\"' | $${CC:-cc} -Wall -Wextra -Werror -Iinclude -fsyntax-only -x ${matrix.language} -"
  inputs = ["include/**/*.h"]
}

# --- the library --------------------------------------------------------------

task "configure" {
  description = "CMake for ${matrix.kind}"
  matrix = {
    kind = ["Debug", "Release", "Asan"]
  }
  run     = ["cmake", "-S", ".", "-B", "build/${matrix.kind}", "-DCMAKE_BUILD_TYPE=${matrix.kind}"]
  inputs  = ["CMakeLists.txt"]
  timeout = "3m"
}

task "compile" {
  description = "The library and its tests, ${matrix.kind}"
  depends_on  = [task.configure[matrix.kind]]
  matrix = {
    kind = ["Debug", "Release", "Asan"]
  }
  run     = ["cmake", "--build", "build/${matrix.kind}"]
  inputs  = local.c_sources
  outputs = ["build/${matrix.kind}/libstats.so"]
  timeout = "5m"
}

task "ctest" {
  description = "The C tests, ${matrix.kind}"
  depends_on  = [task.compile[matrix.kind]]
  matrix = {
    kind = ["Debug", "Release", "Asan"]
  }
  run     = ["ctest", "--test-dir", "build/${matrix.kind}", "--output-on-failure"]
  inputs  = local.c_sources
  timeout = "2m"
}

task "symbols" {
  description = "Only stats_ is exported"
  depends_on  = [task.compile["Release"]]
  run         = [var.python, "tools/symbols.py", local.built]
}

task "install" {
  description = "The library as others use it"
  depends_on  = [task.compile["Release"]]
  run         = ["cmake", "--install", "build/Release", "--prefix", "dist/usr"]
  outputs     = ["dist/usr/**"]
}

task "consumer" {
  description = "A program builds against what was installed"
  depends_on  = [task.install]
  run         = "$${CC:-cc} -Idist/usr/include tests/c/consumer.c -Ldist/usr/lib -lstats -o build/consumer && test \"$(LD_LIBRARY_PATH=dist/usr/lib build/consumer)\" = 3"
}

# --- Python -------------------------------------------------------------------

task "test" {
  description = "Python tests of ${each.key}"
  for_each    = toset(["mean", "median", "histogram", "command"])
  depends_on  = [task.compile["Release"], task.syntax]
  run         = [var.python, "-m", "unittest", "-v", "tests.py.test_${each.key}"]
  env         = local.with_lib
  inputs      = ["stats/**/*.py", "tests/py/*.py"]
  timeout     = "2m"
}

task "bench" {
  description = "How long a mean takes"
  depends_on  = [task.test["mean"]]
  run         = [var.python, "-m", "timeit", "-n", "1000", "-s", "import stats; v = list(range(100))", "stats.mean(v)"]
  env         = local.with_lib
}

task "wheel" {
  description = "The package with the library in it"
  depends_on  = [task.compile["Release"], task.version]
  run         = [var.python, "tools/wheel.py", local.built, "dist"]
  outputs     = ["dist/*.whl"]
}

task "wheel-check" {
  description = "The wheel works where the sources are not"
  depends_on  = [task.wheel]
  run         = "rm -rf build/site && mkdir -p build/site && cd build/site && $PYTHON -m zipfile -e ../../dist/*.whl . && test \"$($PYTHON -m stats 1 2 6)\" = 'mean 3, median 2'"
  env         = { PYTHON = var.python }
}

# --- what is published --------------------------------------------------------

task "docs" {
  description = "A page of the C functions"
  run         = [var.python, "tools/docs.py", "dist/stats.md"]
  inputs      = ["include/**/*.h", "tools/docs.py"]
  outputs     = ["dist/stats.md"]
}

task "checksums" {
  description = "Digests of all that is published"
  depends_on  = [task.wheel-check, task.docs, task.ctest, task.symbols, task.consumer]
  run         = "cd dist && sha256sum *.whl *.md > SHA256SUMS"
  outputs     = ["dist/SHA256SUMS"]
}

# --- entry points -------------------------------------------------------------

job "python" {
  tasks = [task.lint-python, task.test, task.bench, task.wheel-check]
}

job "quick" {
  tasks = [task.version, task.lint-c, task.lint-python, task.syntax, task.header]
}
