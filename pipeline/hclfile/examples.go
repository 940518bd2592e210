package hclfile

// The examples of the language: each is a whole file that can be read, and has every attribute of its block.

const pipelineExample = `pipeline {
  name        = "shop"
  concurrency = 4
  keep_runs   = 50
  pass_env    = ["GOFLAGS", "AWS_*"]
}
`

const variableExample = `variable "go" {
  type        = string
  default     = "go"
  description = "The Go command"
  sensitive   = false
  validation {
    condition     = length(var.go) > 0
    error_message = "go must name a command."
  }
}
task "build" {
  run = [var.go, "build", "./..."]
}
`

const localsExample = `locals {
  sources = ["**/*.go", "go.mod", "go.sum"]
}
task "vet" {
  inputs = local.sources
  run    = ["go", "vet", "./..."]
}
`

const taskExample = `task "generate" {
  run = ["go", "generate", "./..."]
}
task "test" {
  description = "Test every package"
  depends_on  = [task.generate]
  run         = "go test ./... 2>&1 | tee report.txt"
  env         = { CGO_ENABLED = "0", TOKEN = secret("NPM_TOKEN") }
  pass_env    = ["GOPRIVATE"]
  dotenv      = [".env"]
  dir         = "."
  inputs      = ["**/*.go", "!gen/**"]
  outputs     = ["report.txt"]
  timeout     = "5m"
}
task "greet" {
  for_each = { fr = "Bonjour", en = "Hello" }
  run      = ["echo", each.value]
}
task "docs" {
  run    = ["go", "run", "./internal/docs"]
  inputs = ["**/*.go"]
  strict = true
  tools  = { go = ["go", "version"] }
}
task "lint" {
  run    = ["./lint.sh"]
  inputs = auto
}
task "build" {
  depends_on = [task.test]
  matrix     = { os = ["linux", "darwin"], arch = ["amd64", "arm64"] }
  run        = ["go", "build", "./..."]
  env        = { GOOS = matrix.os, GOARCH = matrix.arch }
}
task "web" {
  run     = ["python3", "-m", "http.server"]
  service = true
}
`

const agentTaskExample = `agent "claude" {
  cli = "claude"
}
task "build" {
  run = ["make"]
}
task "review" {
  depends_on = [task.build]
  inputs     = ["src/**"]
  timeout    = "10m"
  agent {
    use       = agent.claude
    prompt    = "Review src/. List what is wrong, the worst first."
    stdout_to = "review.txt"
    budget {
      wall_clock = "3m"
      tokens     = 200000
      cost_usd   = 0.50
    }
  }
  cache {
    enabled = true
  }
}
`

const cacheExample = `task "bundle" {
  run     = ["./bundle.sh"]
  inputs  = ["src/**", "bundle.sh"]
  outputs = ["dist/**"]
  cache {
    enabled       = true
    store_outputs = true
    clean_outputs = true
    ttl           = "168h"
  }
}
`

const serviceExample = `task "web" {
  run     = ["npm", "run", "dev"]
  inputs  = ["src/**"]
  service = true
  ready {
    port    = 5173
    timeout = "30s"
  }
}
task "database" {
  run     = ["postgres", "-D", "data"]
  service = true
  ready {
    command = ["pg_isready"]
  }
}
task "queue" {
  run     = "exec ./queue --verbose"
  service = true
  ready {
    log = "listening on"
  }
}
task "browser" {
  depends_on = [task.web, task.database, task.queue]
  run        = ["npm", "run", "test:browser"]
}
`

const retryExample = `task "fetch" {
  run     = ["curl", "-fsSO", "https://example.com/data.json"]
  timeout = "2m"
  retry {
    attempts = 3
    delay    = "500ms"
    on_exit  = [6, 7, 28]
  }
}
`

const onFailExample = `agent "mine" {
  provider = "anthropic"
  model    = "claude-sonnet-4-5"
}
agent "other" {
  command = ["./tools/other.sh"]
}
task "vet" {
  run = ["go", "vet", "./..."]
}
task "test" {
  run = ["go", "test", "./..."]
  on_fail "agent" {
    use    = agent.mine
    prompt = "Fix the cause with the smallest change."
    output = "tree"
    budget {
      attempts   = 1
      wall_clock = "5m"
      tokens     = 200000
      cost_usd   = 0.50
    }
    fallback     = [agent.other]
    reviewer     = agent.other
    protect      = ["**/*_test.go"]
    allow        = [["go", "test", "**"], ["go", "vet", "./..."]]
    verify       = [task.vet]
    pass_secrets = false
    ci           = false
  }
}
`

const onFailRunExample = `task "test" {
  run = ["go", "test", "./..."]
  on_fail "run" {
    run     = ["./notify.sh"]
    timeout = "10s"
  }
}
`

const scratchExample = `task "test" {
  run = ["go", "test", "./..."]
  scratch {
    include = ["vendor_local/**"]
    exclude = ["big-data/**"]
  }
}
`

const includeExample = `variable "region" {
  default = "eu"
}
include "services/api/PIPELINE.hcl" {
  name      = "api"
  variables = { region = var.region }
}
task "release" {
  depends_on = [include.api.test]
  run        = ["./release.sh"]
}
`

const jobExample = `task "build" {
  run = ["go", "build", "./..."]
}
task "test" {
  run = ["go", "test", "./..."]
}
job "verify" {
  tasks = [task.build, task.test]
}
`

const agentRetryExample = `agent "mine" {
  command = ["./tools/agent.sh"]
  retry {
    extra_kinds  = ["gateway_blip"]
    on_null_kind = false
    on_no_output = false
  }
}
`

const agentExample = `agent "mine" {
  command  = ["./tools/agent.sh", "--careful"]
  env      = { MODE = "headless", TOKEN = secret("MY_TOKEN") }
  pass_env = ["HTTPS_PROXY"]
  files    = ["~/.config/mine/token"]
}
agent "native" {
  provider  = "anthropic"
  model     = "claude-sonnet-4-5"
  api_key   = secret("ANTHROPIC_API_KEY")
  base_url  = "https://api.anthropic.com"
  max_turns = 40
}
agent "claude" {
  cli     = "claude"
  model   = "sonnet"
  args    = []
  api_key = secret("ANTHROPIC_API_KEY")
}
`
