# This project, built by itself: async-pipeline run

locals {
  go_env  = ["GOFLAGS", "GOPROXY", "GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"]
  sources = ["**/*.go", "go.mod", "go.sum"]
}

task "format" {
  description = "Every Go file is formatted"
  run         = "test -z \"$(gofmt -l cmd hooks internal pipeline scratch *.go | tee /dev/stderr)\""
  inputs      = local.sources

  # A mechanical failure has a mechanical agent: no model, and the patch is verified like any other.
  on_fail "agent" {
    use = agent.gofmt
    budget {
      attempts   = 1
      wall_clock = "2m"
    }
  }
}

task "vet" {
  description = "go vet, here and for macOS"
  depends_on  = [task.format]
  run         = "go vet ./... && GOOS=darwin go vet ./..."
  pass_env    = local.go_env
  inputs      = local.sources
}

task "lint" {
  description = "golangci-lint"
  depends_on  = [task.vet]
  run         = ["golangci-lint", "run", "--timeout=10m"]
  pass_env    = local.go_env
  inputs      = concat(local.sources, [".golangci.yml"])
  timeout     = "12m"
}

task "test" {
  description = "Tests under the race detector; of scripts, tricks and sweeps a part, and no test that runs nothing at once"
  depends_on  = [task.vet]
  run         = ["go", "test", "-race", "-short", "-timeout=29m", "./..."]
  env         = { CGO_ENABLED = "1" }
  pass_env    = local.go_env
  inputs      = ["**"]
  timeout     = "30m"
}

task "build" {
  description = "The static program"
  depends_on  = [task.vet]
  run         = ["go", "build", "-trimpath", "-o", "bin/async-pipeline", "./cmd/async-pipeline"]
  env         = { CGO_ENABLED = "0" }
  pass_env    = local.go_env
  inputs      = local.sources
  outputs     = ["bin/async-pipeline"]
}

agent "gofmt" {
  command = ["sh", "-c", "gofmt -w cmd hooks internal pipeline scratch *.go"]
}
