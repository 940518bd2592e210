# Everything that this version reads.
pipeline {
  name        = "shop"
  concurrency = 4
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
variable "from" {}
locals {
  packages = local.all
  all      = "./..."
}
locals {
  sources = ["./**/*.go", "go.mod", "!gen/**"]
}

agent "mine" {
  command = ["./tools/agent.sh", "--root", path.root]
}

task "test" {
  description = "Test every package"
  depends_on  = [task.build, task["vet"], task.build]
  run         = concat([var.go, "test"], var.flags, [local.packages, var.opts.n])
  inputs      = local.sources
  outputs     = ["report.txt", "cover/**"]
  env = {
    CGO_ENABLED = "0"
    RACE        = var.opts.race
    N           = 4
    FROM        = var.from
    HOME2       = "${env("HOME", "x")}/2"
    NONE        = env("NONE", "default")
  }
  pass_env = ["GOFLAGS", "AWS_*"]
  dir      = "./sub/../sub"
  timeout  = "1m30s"
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
    budget {
      attempts   = 2
      wall_clock = "5m"
    }
    protect      = ["**/*_test.go"]
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

job "default" {
  tasks = [task.test, task.vet]
}
