# Everything that this version reads.
pipeline {
  name        = "shop"
  concurrency = 4
  keep_runs   = 20
  pass_env    = ["GOPRIVATE"]
}

variable "go" {
  type        = string
  default     = "go"
  description = "Go command"
}
variable "flags" {
  type    = list(string)
  default = ["-v"]
}
variable "opts" {
  type    = object({ race = optional(bool, true), n = number })
  default = { n = 2 }
}
variable "from" {
  validation {
    condition     = substr(var.from, 0, 3) == "the"
    error_message = "from must begin with the."
  }
  validation {
    condition     = var.from != var.go
    error_message = "from and go must differ."
  }
}
variable "token" {
  type      = string
  default   = "kept out of sight"
  sensitive = true
}
locals {
  packages = local.all
  all      = "./..."
}
locals {
  sources = ["./**/*.go", "go.mod", "!gen/**"]
  note    = trimspace(file("notes/one.txt"))
}

agent "mine" {
  env      = { MODE = "headless", TOKEN = secret("MY_TOKEN") }
  pass_env = ["HTTPS_PROXY", "MINE_*"]
  files    = ["~/.config/mine/token", "~/.config/../.mine/./key"]
  command  = ["./tools/agent.sh", "--root", path.root]
  retry {
    extra_kinds  = ["gateway_blip"]
    on_null_kind = true
    on_no_output = true
  }
}
agent "native" {
  provider  = "openai_chat"
  model     = "m-${var.go}"
  base_url  = "http://[::1]:8080/v1"
  api_key   = "Bearer ${secret("MODEL_KEY")}"
  max_turns = 7
}
agent "pi" {
  cli      = "pi"
  provider = "anthropic"
  model    = "m"
  args     = ["--thinking", "high"]
  base_url = "http://127.0.0.1:8080"
  api_key  = secret("MODEL_KEY")
}
agent "signed_in" {
  cli = "claude"
}

task "test" {
  description = "Test every package"
  depends_on  = [task.build, task["vet"], task.build]
  run         = concat([var.go, "test"], var.flags, [local.packages, var.opts.n])
  inputs      = local.sources
  strict      = true
  tools       = { go = [var.go, "version"], cc = ["cc", "--version"] }
  outputs     = ["report.txt", "cover/**"]
  env = {
    CGO_ENABLED = "0"
    RACE        = var.opts.race
    N           = 4
    FROM        = var.from
    HOME2       = "${env("HOME", "x")}/2"
    NOTE        = local.note
    NOTES       = join(" ", fileset("notes/**/*.{txt,md}"))
    SUM         = filesha256("notes/sub/two.md")
    TOKEN       = "Bearer ${var.token}"
    NONE        = env("NONE", "default")
  }
  pass_env = ["GOFLAGS", "AWS_*"]
  dir      = "./sub/../sub"
  dotenv   = [".env", "./env/../env/test"]
  timeout  = "1m30s"
  retry {
    attempts = 3
    delay    = "500ms"
    on_exit  = [75, 1, 75]
  }
  cache {
    enabled       = true
    store_outputs = false
    clean_outputs = true
    ttl           = "168h"
  }
  on_fail "run" {
    run     = ["./notify.sh"]
    timeout = "10s"
  }
  on_fail "agent" {
    use    = agent.mine
    prompt = <<-EOT
      Find the cause.
      Fix it.
    EOT
    output = "diff"
    budget {
      attempts   = 2
      wall_clock = "5m"
      tokens     = 200000
      cost_usd   = 0.5
    }
    fallback     = [agent.native]
    reviewer     = agent.native
    protect      = ["**/*_test.go"]
    allow        = [["go", "test", "**"], concat(["go"], ["vet", "./${"x"}"])]
    verify       = [task.vet, task.test]
    pass_secrets = true
    ci           = true
  }
  scratch {
    include = ["vendor_local/**"]
    exclude = ["big-data/**"]
  }
}
task "vet" {
  run = "go vet ./... 2>&1 | tee $HOME/$(date).txt; echo $${HOME} %%{x}"
}
task "build" {
  run = [for s in split(" ", "go build ./..."): s]
}

task "greet" {
  for_each = { fr = "Bonjour", en = "Hello" }
  run      = ["echo", each.key, each.value]
}
task "cross" {
  depends_on = [task.greet["fr"]]
  matrix     = { os = ["linux", "darwin"], arch = ["amd64"] }
  run        = ["go", "build", matrix.os, matrix.arch]
}

job "default" {
  tasks = [task.test, task.vet, task.cross]
}

task "queue" {
  run     = "exec ./queue"
  inputs  = ["queue"]
  service = true
  ready {
    log     = "listening on \\d+"
    timeout = "10s"
  }
}
task "browser" {
  depends_on = [task.queue]
  for_each   = ["5173", "5174"]
  run        = ["true"]
  service    = true
  ready {
    port = tonumber(each.value)
  }
}
task "database" {
  run     = ["postgres"]
  service = true
  ready {
    command = ["pg_isready", "-q"]
  }
  on_fail "run" {
    run = ["true"]
  }
}
task "review" {
  depends_on = [task.vet]
  inputs     = ["src/**"]
  timeout    = "10m"
  agent {
    use       = agent.mine
    prompt    = "Review src."
    stdout_to = "out/review.txt"
    budget {
      wall_clock = "3m"
      tokens     = 1000
      cost_usd   = 0.5
    }
  }
  cache {
    enabled = true
  }
}
task "talk" {
  agent {
    use    = agent.native
    prompt = "Say hello."
  }
}
include "services/web/PIPELINE.hcl" {
  name      = "web_site"
  variables = { port = 5173 }
}
