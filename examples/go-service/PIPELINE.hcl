# A Go service: checks, tests, builds and images for two architectures.
#
#   async-pipeline run                      everything
#   async-pipeline run check                what a commit needs: a few seconds
#   async-pipeline run 'test["price"]'      the tests of one package

pipeline {
  name     = "shop"
  pass_env = ["GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN"]
}

variable "version" {
  description = "What the programs say they are"
  default     = "0.0.0-dev"

  validation {
    condition     = can(regex("^[0-9]+\\.[0-9]+\\.[0-9]+", var.version))
    error_message = "version must begin with three numbers, such as 1.4.0"
  }
}

variable "fuzz_runs" {
  description = "Inputs that the fuzzer tries"
  type        = number
  default     = 200
}

locals {
  sources  = ["**/*.go", "go.mod"]
  packages = ["api", "config", "price", "store"]
  commands = ["migrate", "shopd"]
}

# --- checks -------------------------------------------------------------------

task "format" {
  description = "Every file is formatted"
  run         = "test -z \"$(gofmt -l . | tee /dev/stderr)\""
  inputs      = local.sources

  # A mechanical failure has a mechanical agent: no model, and the patch is verified like any other.
  on_fail "agent" {
    use = agent.gofmt
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}

task "modules" {
  description = "go.mod needs no tidying"
  run         = ["go", "mod", "tidy", "-diff"]
  inputs      = local.sources
}

task "vet" {
  description = "go vet for ${matrix.os}"
  matrix = {
    os = ["linux", "darwin"]
  }
  run    = ["go", "vet", "./..."]
  env    = { GOOS = matrix.os }
  inputs = local.sources
}

task "lint" {
  description = "The rules of this project"
  run         = ["go", "run", "./tools/lint", "cmd", "internal"]
  inputs      = local.sources
}

task "routes" {
  description = "What is served is what is described"
  run         = ["go", "run", "./tools/openapi"]
  inputs      = concat(local.sources, ["api/routes.txt"])
}

task "settings" {
  description = "The settings of ${each.key} can be read"
  for_each    = toset(["dev", "staging", "prod"])
  run         = ["go", "run", "./cmd/shopd", "-check", "-config", "config/${each.key}.json"]
  inputs      = concat(local.sources, ["config/${each.key}.json"])
}

task "migrations" {
  description = "The migrations have no gap"
  run         = ["go", "run", "./cmd/migrate", "-dir", "migrations"]
  inputs      = concat(local.sources, ["migrations/*.sql"])
}

# --- tests --------------------------------------------------------------------

task "test" {
  description = "Tests of internal/${each.key}"
  for_each    = toset(local.packages)
  run         = ["go", "test", "./internal/${each.key}"]
  inputs      = local.sources
  timeout     = "5m"
}

task "test-cmd" {
  description = "Tests of cmd/${each.key}"
  for_each    = toset(local.commands)
  run         = ["go", "test", "./cmd/${each.key}"]
  inputs      = local.sources
  timeout     = "5m"
}

task "integration" {
  description = "Tests over a real socket"
  depends_on  = [task.test["api"]]
  run         = ["go", "test", "-tags=integration", "-run=TestOverSocket", "./internal/api"]
  inputs      = local.sources
  timeout     = "5m"
  retry {
    attempts = 2 # a socket may be taken for a moment
    delay    = "500ms"
  }
}

task "fuzz" {
  description = "A short look for inputs that break the parser"
  depends_on  = [task.test["price"]]
  run         = ["go", "test", "-run=^$", "-fuzz=FuzzParse", "-fuzztime=${var.fuzz_runs}x", "./internal/price"]
  inputs      = local.sources
  timeout     = "5m"
}

task "bench" {
  description = "The benchmarks still run"
  depends_on  = [task.test["price"]]
  run         = ["go", "test", "-run=^$", "-bench=.", "-benchtime=100x", "./internal/price"]
  inputs      = local.sources
}

task "coverage" {
  description = "A profile of all tests"
  depends_on  = [task.test, task.test-cmd]
  run         = "mkdir -p dist && go test -coverprofile=dist/coverage.out ./..."
  inputs      = local.sources
  outputs     = ["dist/coverage.out"]
}

# --- programs and images ------------------------------------------------------

task "build" {
  description = "${matrix.command} for linux/${matrix.arch}"
  depends_on  = [task.vet["linux"]]
  matrix = {
    arch    = ["amd64", "arm64"]
    command = local.commands
  }
  run     = ["go", "build", "-trimpath", "-ldflags=-s -w -X main.version=${var.version}", "-o", "bin/linux-${matrix.arch}/${matrix.command}", "./cmd/${matrix.command}"]
  env     = { CGO_ENABLED = "0", GOOS = "linux", GOARCH = matrix.arch }
  inputs  = local.sources
  outputs = ["bin/linux-${matrix.arch}/${matrix.command}"]
}

task "contents" {
  description = "What ${each.key} was built from"
  for_each    = toset(local.commands)
  depends_on  = [task.build["amd64,${each.key}"]]
  run         = "mkdir -p dist && go version -m bin/linux-amd64/$COMMAND > dist/$COMMAND.contents"
  env         = { COMMAND = each.key }
  outputs     = ["dist/${each.key}.contents"]
}

task "image" {
  description = "An OCI image of shopd for ${matrix.arch}"
  depends_on  = [task.build["${matrix.arch},shopd"]]
  matrix = {
    arch = ["amd64", "arm64"]
  }
  run     = ["go", "run", "./tools/image", "dist/shopd-${matrix.arch}.tar", "bin/linux-${matrix.arch}/shopd", "linux", matrix.arch]
  outputs = ["dist/shopd-${matrix.arch}.tar"]
}

task "image-check" {
  description = "Every blob of the ${matrix.arch} image is what its name says"
  depends_on  = [task.image[matrix.arch]]
  matrix = {
    arch = ["amd64", "arm64"]
  }
  run = <<-EOT
    for blob in $(tar -tf "$IMAGE" | grep ^blobs/); do
      test "$(tar -xOf "$IMAGE" "$blob" | sha256sum | cut -d' ' -f1)" = "$${blob##*/}"
    done
  EOT
  env = { IMAGE = "dist/shopd-${matrix.arch}.tar" }
}

task "smoke" {
  description = "The programs start and say their version"
  depends_on  = [task.build]
  run         = <<-EOT
    case $(uname -m) in aarch64 | arm64) arch=arm64 ;; *) arch=amd64 ;; esac
    for p in shopd migrate; do "bin/linux-$arch/$p" -version | grep -F "$VERSION"; done
  EOT
  env         = { VERSION = var.version }
}

task "checksums" {
  description = "Digests of all that is published"
  depends_on  = [task.image-check, task.contents, task.smoke]
  run         = "cd dist && sha256sum *.tar *.contents > SHA256SUMS"
  outputs     = ["dist/SHA256SUMS"]
}

# --- entry points -------------------------------------------------------------

job "check" {
  tasks = [task.format, task.modules, task.vet, task.lint, task.routes, task.settings, task.migrations, task.test, task.test-cmd]
}

job "release" {
  tasks = [task.checksums, task.integration, task.fuzz]
}

agent "gofmt" {
  command = ["gofmt", "-w", "."]
}
